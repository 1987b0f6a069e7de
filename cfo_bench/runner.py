"""One run: a RunSpec becomes an iterator of records, the header first and the end last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench import tasks
from cfo_bench.clock import Clock, VirtualClock, WallClock, utc_now
from cfo_bench.errors import Exhausted, RunError, TraceError, UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.live import LivePage
from cfo_bench.machine import cap_memory, peak_memory_mb
from cfo_bench.metrics import METRICS
from cfo_bench.optimizers import METHODS
from cfo_bench.parallel import ProcessPool, VirtualPool, search_parallel
from cfo_bench.records import (
    DataRef,
    EndReason,
    EndRecord,
    Fold,
    Learner,
    Optimizer,
    ResumeRecord,
    RunSpec,
    TaskFacts,
    Trial,
    TrialRecord,
)
from cfo_bench.search import Limits, Records, Referee, search
from cfo_bench.space import Config, Space
from cfo_bench.suite import command_line
from cfo_bench.trace import SCHEMA_VERSION, Record, Trace


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be done: its spec, its data, where its trace goes, and what the header says of here and now."""

    spec: RunSpec
    data: DataRef
    trace_path: Path
    provenance: Mapping[str, Any] = field(default_factory=dict)


def run(job: Job, past: Trace | None, live: LivePage, why: str = "") -> Iterator[Record]:
    """The records of a run, or, given its `past`, of what is left of it; `why` it has to go on is recorded.

    Data is loaded and the model's data built before the clock starts; a replay is not charged either.
    """
    spec = job.spec
    learner: Learner = LEARNERS.load(spec.learner)(**spec.learner_options)
    fold, facts = tasks.load_fold(job.data, spec.fold, spec.n_folds, spec.seed)
    _check_fit(spec, learner, facts)
    space = learner.space(fold.n_rows)
    start = learner.start(space)
    seed = method_seed(spec)
    optimizer: Optimizer = METHODS.load(spec.method)(space, start, seed, **spec.options)
    header = _header(job, learner, fold, facts, space, start)
    metric = METRICS[fold.metric]
    is_virtual = spec.clock == "virtual"
    referee = Referee(
        space,
        Limits(spec.budget_seconds, spec.max_trials, spec.trial_timeout_seconds),
        metric.to_score,
        (lambda: None) if is_virtual else peak_memory_mb,
    )
    waiting: list[Trial] = []
    elapsed = 0.0
    if past is None:
        yield header
    else:
        check_same_run(job.trace_path, past.header, header)
        waiting = replay(optimizer, past, spec)
        elapsed = past.elapsed
        yield ResumeRecord(elapsed, len(past.trials), utc_now(), why)

    best = past.best if past else None
    trials = len(past.trials) if past else 0
    clock: Clock
    records: Records
    cap = partial(cap_memory, spec.memory_mb) if spec.memory_mb else lambda: None
    prepare = partial(learner.prepare, fold, spec.threads, spec.seed)
    if is_virtual:
        clock = VirtualClock(elapsed)
        if spec.workers == 1:
            records = search(optimizer, prepare(), clock, referee, live, trials)
        else:
            simulated = VirtualPool(prepare(), clock, referee)
            records = search_parallel(optimizer, simulated, spec.workers, clock, referee, live, trials, waiting)
    elif spec.workers == 1:
        objective = prepare()
        cap()
        clock = WallClock(elapsed)
        live.start_clock(clock.zero, trials, best.loss if best else None)
        records = search(optimizer, objective, clock, referee, live, trials)
    else:
        pool = ProcessPool(prepare, cap, spec.workers, referee)
        clock = WallClock(elapsed)
        pool.start_clock(clock)
        live.start_clock(clock.zero, trials, best.loss if best else None)
        records = search_parallel(optimizer, pool, spec.workers, clock, referee, live, trials, waiting)

    error = None
    while True:
        try:
            record = next(records)
        except StopIteration as stop:
            reason: EndReason = stop.value
            break
        except RunError as failure:
            reason, error = EndReason.ERROR, str(failure)
            break
        yield record
        trials += 1
        if record.loss is not None and (best is None or best.loss is None or record.loss < best.loss):
            best = record
        live.told(record.number)
        live.tally(trials, best.loss if best else None)
    yield end_record(reason, clock.now(), trials, best, error)


def end_record(
    reason: EndReason, elapsed: float, trials: int, best: TrialRecord | None, error: str | None = None
) -> EndRecord:
    if best is None:
        return EndRecord(reason, elapsed, trials, None, None, None, error)
    return EndRecord(reason, elapsed, trials, best.loss, best.score, best.number, error)


def method_seed(spec: RunSpec) -> int:
    """One seed a fold, so that a method does not draw the same directions on all of them."""
    return int(np.random.SeedSequence([spec.seed, spec.fold]).generate_state(1)[0])


def replay(optimizer: Optimizer, past: Trace, spec: RunSpec) -> list[Trial]:
    """Brings a fresh method to where the trace stands; the trials it is still owed.

    It is asked in the order of the run: as many trials as were under way, then one after each tell.
    """
    waiting: dict[int, Trial] = {}
    asked = 0
    for told, record in enumerate(past.trials):
        while asked < min(told + spec.workers, spec.max_trials or told + spec.workers):
            try:
                trial = optimizer.ask()
            except Exhausted:
                break
            waiting[trial.number] = trial
            asked += 1
        found = waiting.pop(record.number, None)
        if found is None or found.config != record.config or found.rows != record.rows:
            raise TraceError(
                f"trial {record.number} of the trace is not what method {spec.method!r} asks for now: "
                "it was made by another version; use --force to run it again, or another --results"
            )
        optimizer.tell(found, record.result())
    return [waiting[number] for number in sorted(waiting)]


def check_same_run(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """A trace goes on only with the very run that it is of."""
    differing = [
        f"{key} {old['spec'].get(key)!r} there, {value!r} here"
        for key, value in new["spec"].items()
        if key != "memory_mb" and old["spec"].get(key) != value
    ]
    if not differing and "data" in new and old["data"]["sha256"] != new["data"]["sha256"]:
        differing = [f"data {old['data']['sha256'][:12]}… there, {new['data']['sha256'][:12]}… here"]
    if differing:
        raise TraceError(
            f"{path} is of another run ({'; '.join(differing)}): use another --results, or --force to run it again"
        )


def spec_header(spec: RunSpec) -> dict[str, Any]:
    """The part of a header that is known before the data is loaded."""
    return {"kind": "run", "schema": SCHEMA_VERSION, "spec": asdict(spec)}


def _header(
    job: Job, learner: Learner, fold: Fold, facts: TaskFacts, space: Space, start: Config
) -> dict[str, Any]:
    return {
        **spec_header(job.spec),
        "method_seed": method_seed(job.spec),
        "space": space.to_json(),
        "start": start,
        "cost_related": list(learner.cost_related),
        "problem": facts.problem,
        "metric": facts.metric,
        "constant_loss": fold.constant_loss,
        "data": {
            "source": facts.source,
            "sha256": facts.sha256,
            "rows": facts.n_rows,
            "features": facts.n_features,
            "classes": facts.n_classes,
            "train_rows": fold.n_rows,
            "validation_rows": len(fold.valid_y),
            "folds": facts.folds_source,
            "validation": "fold",
        },
        "utc": utc_now(),
        "command": command_line(job.spec, job.data),
        **job.provenance,
    }


def _check_fit(spec: RunSpec, learner: Learner, facts: TaskFacts) -> None:
    if facts.problem not in learner.problems:
        kinds = ", ".join(learner.problems)
        raise UserError(f"task {spec.task!r} is {facts.problem}, and learner {spec.learner!r} takes {kinds} only")
    if learner.virtual != (spec.clock == "virtual"):
        raise UserError(
            f"learner {spec.learner!r} has analytic seconds: give --clock virtual"
            if learner.virtual
            else f"--clock virtual needs a learner with analytic seconds, and {spec.learner!r} really trains: choose a synthetic one"
        )
