"""Small runs by an engine, in a separate process that can be stopped.

The process takes one argument, a JSON object: the `engine`, its `options`, the folder of `results`, and
whether the runs are `endless`. It prints a line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.engines import ENGINES, Engine
from cfo_bench.engines.scheduling import Active
from cfo_bench.errors import Interrupted
from cfo_bench.machine.fork_server import fork_server
from cfo_bench.records import DataRef, RunSpec
from cfo_bench.results.trace import path_of
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Verdict

TASK = "synthetic-1k"
# The number of trials of each fold: a run that takes longer than the later ones, one that fails, and two
# short ones.
TRIALS = (3000, 0, 5, 7)
FAILING_FOLD = 1


@dataclass
class RecordingListener:
    """Records the reports of an engine."""

    finished_folds: list[int] = field(default_factory=list)

    def tick(self, active: Sequence[Active]) -> None:
        pass

    def said(self, text: str) -> None:
        pass

    def warned(self, text: str) -> None:
        pass

    def finished(self, job: Job, verdict: Verdict) -> None:
        self.finished_folds.append(job.spec.fold)


def small_specs() -> list[RunSpec]:
    """Specs of small runs. A learner whose seconds are a formula needs the virtual clock, so a run on the
    wall clock fails.
    """
    return [
        _spec(fold, max_trials=trials or None, clock="wall" if fold == FAILING_FOLD else "virtual")
        for fold, trials in enumerate(TRIALS)
    ]


def endless_specs() -> list[RunSpec]:
    return [_spec(fold, budget_seconds=1e15, clock="virtual") for fold in range(2)]


def _spec(fold: int, **limits: Any) -> RunSpec:
    return RunSpec(
        "synthetic", TASK, "rs", fold, options={"parallel": 1}, **{"budget_seconds": 1e9, **limits}
    )


def jobs(results: Path, specs: Sequence[RunSpec]) -> list[Job]:
    return [Job(spec, DataRef(TASK, "synthetic"), path_of(results, spec)) for spec in specs]


def do(engine: Engine, todo: Sequence[Job], force: bool) -> dict[str, Any]:
    """Run the jobs, and return the verdicts of the engine and its reports."""
    engine.check()
    listener = RecordingListener()
    verdicts = engine.run(todo, listener, force=force, context=fork_server([]))
    return {
        "outcomes": [verdict.outcome for verdict in verdicts],
        "trials": [verdict.end.trials if verdict.end else 0 for verdict in verdicts],
        "exit_codes": [verdict.exit_code for verdict in verdicts],
        "finished_folds": listener.finished_folds,
    }


def main() -> None:
    asked = json.loads(sys.argv[1])
    engine, results = asked["engine"], Path(asked["results"])
    options = ENGINES.options(engine, asked["options"])

    def build() -> Engine:
        built: Engine = ENGINES.load(engine)(**options)
        return built

    if asked["endless"]:
        try:
            do(build(), jobs(results, endless_specs()), force=False)
        except Interrupted as stopped:
            print(json.dumps({"interrupted": stopped.exit_code}))
        return
    todo = jobs(results, small_specs())
    answers = []
    for force in (False, False, True):  # the first time, again, and again with force
        answer = do(build(), todo, force)
        answer["written"] = [
            job.trace_path.stat().st_mtime_ns if job.trace_path.exists() else None for job in todo
        ]
        answers.append(answer)
    print(json.dumps(answers))
