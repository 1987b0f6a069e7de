"""Runs what is missing of a suite, and tells what became of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfo_bench import machine
from cfo_bench.engines.listener import Active
from cfo_bench.errors import UserError
from cfo_bench.records import RunSpec, TaskFacts
from cfo_bench.results import plan, trace
from cfo_bench.results.folder import check_no_links
from cfo_bench.results.identity import data_differences, data_identity, of_another_run
from cfo_bench.results.limits import is_done, limits_of
from cfo_bench.results.standing import PastRun, found_at, in_words, refuse_other_limits, spent_seconds
from cfo_bench.run.fork_server import fork_server
from cfo_bench.run.inspection import inspect_task, packages
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Outcome, Verdict
from cfo_bench.run_id import method_label, run_id
from cfo_bench.suite.model import Suite
from cfo_bench.suite_events import (
    Note,
    OnEvent,
    RunFinished,
    RunsStarted,
    RunsUnderWay,
    ignore,
    while_preparing,
)
from cfo_bench.suite_runs import SuiteRuns, runs_of
from cfo_bench.tasks import facts_if_known

if TYPE_CHECKING:
    from cfo_bench.processes import ForkServerContext
    from cfo_bench.result_frames import ResultFrames


@dataclass(frozen=True, slots=True)
class SuiteOutcome:
    """What became of each run, in the order of the suite."""

    runs: SuiteRuns
    jobs: Sequence[Job]
    verdicts: Sequence[Verdict]

    @property
    def failures(self) -> list[tuple[RunSpec, str]]:
        """The runs that failed, each with the reason."""
        return [
            (job.spec, verdict.message or "")
            for job, verdict in zip(self.jobs, self.verdicts, strict=True)
            if verdict.outcome is Outcome.FAILED
        ]

    @property
    def exit_code(self) -> int:
        """0 if all is well, else that of the worst: 1 for a run that failed, 2 for a mistake in the suite."""
        return max((verdict.exit_code for verdict in self.verdicts), default=0)

    @property
    def traces(self) -> list[Path]:
        """The traces of the runs that have ended.

        A trace that its run could not be resumed from may be of another run: it is not among them.
        """
        ended = zip(self.jobs, self.verdicts, strict=True)
        return [job.trace_path for job, verdict in ended if verdict.end is not None]

    def frames(self) -> ResultFrames:
        """All results in the folder of the suite, as pandas frames."""
        from cfo_bench.result_frames import load_results

        return load_results(self.runs.suite.results)


def run_suite(
    suite: Suite | SuiteRuns | str | Path,
    *,
    force: bool = False,
    on_event: OnEvent = ignore,
) -> SuiteOutcome:
    """Runs what is missing of a suite. Finished runs are skipped, interrupted ones are resumed.

    Everything that can be checked is checked before the first run starts, and a mistake is a `UserError`.
    A run that fails stops no other: see `SuiteOutcome.failures`. Ctrl-C ends all runs and raises
    `Interrupted`; the same call resumes them.

    suite     a `Suite`, the path of its file, the name of one that comes with the package, or `runs_of(…)`
    force     run finished runs again; a copy of each old trace is kept
    on_event  is called with each event, on the thread that called `run_suite`
    returns   what became of each run

    >>> import tempfile
    >>> from cfo_bench import Suite, run_suite
    >>> suite = Suite(
    ...     learners=["synthetic-5d"], tasks=["synthetic-1k"], methods=["cfo", "rs"], folds="0-1",
    ...     budget_seconds=1e6, max_trials=20, clock="virtual", results=tempfile.mkdtemp(),
    ... )
    >>> outcome = run_suite(suite)
    >>> len(outcome.verdicts), outcome.failures
    (4, [])
    >>> frames = outcome.frames()
    >>> len(frames.runs), len(frames.trials)
    (4, 80)
    """
    runs = suite if isinstance(suite, SuiteRuns) else runs_of(suite, on_event=on_event)
    if runs.engine is None or not runs.import_files:
        raise UserError("these runs are only to be looked at: make them without import_files=False")
    results = runs.suite.results
    check_no_links(results, map(run_id, runs.specs))
    traits = runs.check()
    context = fork_server(packages(runs.specs, runs.data.values()))
    paths = [trace.path_of(results, spec) for spec in runs.specs]
    pasts = [None if force else found_at(path) for path in paths]
    refuse_other_limits(runs.specs, pasts, results, traits.not_resumable, traits.knows_budget)
    if told := in_words(runs.specs, pasts):
        on_event(Note(told))
    facts, looked_at = _facts(runs, pasts, context, on_event)
    identities = [data_identity(facts[spec.task, spec.learner]) for spec in runs.specs]
    _refuse_other_data(paths, pasts, identities)
    for task in looked_at:
        _tell_of_columns(task, next(found for (one, _), found in facts.items() if one == task), on_event)
    plan.record(results, runs.specs)
    here = machine.provenance()
    jobs = [
        Job(
            spec,
            runs.data[spec.task],
            path,
            here,
            data_identity=identity,
            replays=method_label(spec) not in traits.not_resumable,
        )
        for spec, path, identity in zip(runs.specs, paths, identities, strict=True)
    ]
    metrics = {task: found.metric for (task, _), found in facts.items()}
    at_once = min(runs.engine.at_once(), len(jobs))
    on_event(RunsStarted(jobs, at_once, metrics, spent_seconds(runs.specs, pasts)))
    verdicts = runs.engine.run(jobs, _Telling(results, on_event), force=force, context=context)
    return SuiteOutcome(runs, jobs, verdicts)


@dataclass(frozen=True, slots=True)
class _Telling:
    """What an engine reports, as events; and why a run failed that has no end in its trace to say so."""

    results: Path
    on_event: OnEvent = field(repr=False)

    def tick(self, active: Sequence[Active]) -> None:
        self.on_event(RunsUnderWay(active))

    def said(self, text: str) -> None:
        self.on_event(Note(text))

    def warned(self, text: str) -> None:
        self.on_event(Note(text, is_warning=True))

    def finished(self, job: Job, verdict: Verdict) -> None:
        if verdict.outcome is Outcome.FAILED and verdict.end is None:
            plan.record_failure(self.results, job.spec, verdict.message or "")
        self.on_event(RunFinished(job, verdict))


def _facts(
    runs: SuiteRuns,
    pasts: Sequence[PastRun | None],
    context: ForkServerContext,
    on_event: OnEvent,
) -> tuple[dict[tuple[str, str], TaskFacts], list[str]]:
    """The facts of each task, with each learner: two learners may have recordings of the same task.

    Data is looked at once for each task and learner. If all their runs are done, and the data has not changed
    since, it is not read. The tasks whose data was looked at are the second part of the answer.
    """
    first: dict[tuple[str, str], RunSpec] = {}
    unfinished = set()
    for spec, past in zip(runs.specs, pasts, strict=True):
        first.setdefault((spec.task, spec.learner), spec)
        if past is None or not is_done(past.header, past.last, limits_of(spec)):
            unfinished.add((spec.task, spec.learner))
    found: dict[tuple[str, str], TaskFacts] = {}
    looked_at: dict[str, None] = {}  # in order, each once
    for key, spec in first.items():
        ref = runs.data[spec.task]
        known = None if key in unfinished else facts_if_known(ref, spec.n_folds)
        if known is None:
            with while_preparing(spec.task, on_event):
                known = inspect_task(spec, ref, context)
            looked_at[spec.task] = None
        found[key] = known
    return found, list(looked_at)


def _tell_of_columns(task: str, facts: TaskFacts, on_event: OnEvent) -> None:
    """What was left out of a file, and the columns that may not be what their owner thinks."""
    for remark in facts.remarks:
        on_event(Note(f"{task}: {remark}", is_warning=True))
    if facts.dropped_rows:
        rows = f"{facts.dropped_rows} row{'s' * (facts.dropped_rows != 1)}"
        on_event(Note(f"{task}: {rows} without a target left out, {facts.n_rows} are left"))


def _refuse_other_data(
    paths: Sequence[Path], pasts: Sequence[PastRun | None], identities: Sequence[Mapping[str, Any]]
) -> None:
    """A trace of other data is not of this suite, finished or not: nothing is run beside it."""
    others = [
        (path, found)
        for path, past, here in zip(paths, pasts, identities, strict=True)
        if past is not None and (found := data_differences(past.data, here))
    ]
    if others:
        path, found = others[0]
        more = f", and {len(others) - 1} more" if len(others) > 1 else ""
        raise of_another_run(path, found, more)
