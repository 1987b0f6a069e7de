"""One run: a RunSpec becomes an iterator of records, the header first and the end last."""

from __future__ import annotations

import gc
import math
import platform
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench import tasks
from cfo_bench.clock import Clock, VirtualClock, WallClock, utc_now
from cfo_bench.errors import Exhausted, RunError, TraceError, UserError
from cfo_bench.learners import LEARNERS, REFERENCES
from cfo_bench.machine import contention
from cfo_bench.machine.memory import PeakMemory, cap_memory
from cfo_bench.metrics import METRICS
from cfo_bench.optimizers import METHODS
from cfo_bench.records import (
    DataRef,
    EndReason,
    EndRecord,
    Fold,
    Learner,
    Objective,
    Optimizer,
    ResumeRecord,
    RunSpec,
    TaskFacts,
    Trial,
    TrialRecord,
)
from cfo_bench.registry import default_options
from cfo_bench.results.identity import differences
from cfo_bench.results.trace import SCHEMA_VERSION, Record, Trace
from cfo_bench.run.live_page import LivePage
from cfo_bench.run.parallel import Pool, ProcessPool, VirtualPool, search_parallel
from cfo_bench.run.search import Limits, Referee, search
from cfo_bench.space import Config, Space
from cfo_bench.suite.command import command_line


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be done: its spec, its data, its trace, and what the header says of here and now.

    Where the data is loaded from a copy, `given` is what the command names. Of a method that `replays`
    not, nothing that was cut off can be gone on with.
    """

    spec: RunSpec
    data: DataRef
    trace_path: Path
    provenance: Mapping[str, Any] = field(default_factory=dict)
    given: DataRef | None = None
    replays: bool = True


def run(job: Job, past: Trace | None, live: LivePage, why: str = "") -> Generator[Record, None, None]:
    """The records of a run, or, given its `past`, of what is left of it; `why` it has to go on is recorded.

    Data is loaded and the model's data built before the clock starts; a replay is not charged either.
    """
    spec = job.spec
    learner = learner_of(spec)
    fold, facts = tasks.load_fold(
        job.data,
        spec.fold,
        spec.n_folds,
        spec.seed,
        spec.holdout_share if spec.validation == "holdout" else None,
    )
    check_clock(spec, learner)
    check_problem(spec.learner, learner, facts)
    space = learner.space(fold.n_rows)
    start = learner.start(space)
    seed = method_seed(spec)
    optimizer: Optimizer = METHODS.load(spec.method)(space, start, seed, **options_for(spec, fold))
    header = _header(job, learner, fold, facts, space, start)
    metric = METRICS[fold.metric]
    is_virtual = spec.clock == "virtual"
    referee = Referee(
        space,
        Limits(spec.budget_seconds, spec.max_trials, spec.trial_timeout_seconds),
        metric.to_score,
        (lambda now: None) if is_virtual else PeakMemory(),
    )
    if past is None:
        yield header
        past, waiting = Trace(header, [], None), []
    else:
        check_same_run(job.trace_path, past.header, header)
        waiting = replay(optimizer, past, spec)
        yield ResumeRecord(
            elapsed=past.elapsed, trials=len(past.trials), utc=utc_now(), why=why, node=platform.node()
        )

    best, trials, error = past.best, len(past.trials), None
    prepare = partial(learner.prepare, fold, spec.threads, spec.seed)
    with ExitStack() as cleanup:
        began = None if is_virtual else contention.ticks()
        clock, evaluator = _start(spec, prepare, referee, past, live, cleanup)
        if isinstance(evaluator, Pool):
            records = search_parallel(optimizer, evaluator, clock, referee, live, trials, waiting)
        else:
            best_loss = math.inf if best is None or best.loss is None else best.loss
            test = partial(_test, evaluator, clock, live) if fold.test_y is not None else lambda: None
            records = search(optimizer, evaluator, clock, referee, live, trials, best_loss, test)
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
            live.told(record.number, trials, best.loss if best else None)
        yield end_record(reason, clock.now(), trials, best, error, began=began)


def learner_of(spec: RunSpec) -> Learner:
    """What the run tunes: the spec's learner, or a reference's own, which takes the method's options."""
    reference = METHODS.row(spec.method).learner
    learner: Learner = (
        LEARNERS.load(spec.learner)(**spec.learner_options)
        if reference is None
        else REFERENCES.load(reference)(**spec.options)
    )
    return learner


def options_for(spec: RunSpec, fold: Fold) -> dict[str, Any]:
    """The method's options; one whose resource is rows is told how many there are."""
    known = {"n_rows": fold.n_rows} if "n_rows" in spec.options else {}
    return {**spec.options, **known}


def _test(objective: Objective, clock: Clock, live: LivePage) -> float | None:
    """The test loss of the model just evaluated, while the run's clock stands still."""
    stopped_at = clock.now()
    live.stop_clock()
    try:
        return objective.test_loss()
    except Exception:  # a model that validates but can't be tested has no test score, and nothing worse
        return None
    finally:
        clock.rewind(stopped_at)
        if isinstance(clock, WallClock):
            live.start_clock(clock.zero)


def _start(
    spec: RunSpec,
    prepare: Callable[[], Objective],
    referee: Referee,
    past: Trace,
    live: LivePage,
    cleanup: ExitStack,
) -> tuple[Clock, Objective | Pool]:
    """The clock, started where the past left it once all is built, and what evaluates trials."""
    if spec.clock == "virtual":
        virtual = VirtualClock(past.elapsed)
        objective = prepare()
        return virtual, objective if spec.parallel == 1 else VirtualPool(
            objective, virtual, spec.parallel, referee
        )

    def cap() -> None:
        if spec.memory_mb is not None:
            cap_memory(spec.memory_mb)

    evaluator: Objective | Pool
    if spec.parallel == 1:
        evaluator = prepare()
        cap()
        # What is loaded stays: one walk over it by the collector took 0.1 s, dozens of cheap trials.
        gc.freeze()
        clock = WallClock(past.elapsed)
    else:
        evaluator = ProcessPool(prepare, cap, spec.parallel, referee)
        cleanup.callback(evaluator.close)
        clock = WallClock(past.elapsed)
        evaluator.start_clock(clock)
    live.tally(len(past.trials), past.best.loss if past.best else None)
    live.start_clock(clock.zero)
    return clock, evaluator


def end_record(
    reason: EndReason,
    elapsed: float,
    trials: int,
    best: TrialRecord | None,
    error: str | None = None,
    cut_ask_seconds: float = 0.0,
    began: contention.Ticks | None = None,
) -> EndRecord:
    """`began` is when the machine was first looked at: without it, nothing is said of how busy it was."""
    return EndRecord(
        reason=reason,
        elapsed=elapsed,
        trials=trials,
        best_loss=best.loss if best else None,
        best_score=best.score if best else None,
        best_number=best.number if best else None,
        error=error,
        cut_ask_seconds=cut_ask_seconds,
        load=contention.load() if began else None,
        steal_percent=contention.steal_percent(began),
    )


def method_seed(spec: RunSpec) -> int:
    """One seed a fold, so that a method does not draw the same directions on all of them."""
    return int(np.random.SeedSequence([spec.seed, spec.fold]).generate_state(1)[0])


def replay(optimizer: Optimizer, past: Trace, spec: RunSpec) -> list[tuple[Trial, float]]:
    """Brings a fresh method to where the trace stands; the trials it is still owed, and when it asked.

    It is asked in the order of the run: as many trials as it had been asked for before each tell, or,
    where the trace does not say, as many as could be under way at once.
    """
    waiting: dict[int, tuple[Trial, float]] = {}
    asked, now = 0, 0.0
    for told, record in enumerate(past.trials):
        under_way = min(told + spec.parallel, spec.max_trials or told + spec.parallel)
        while asked < (record.asked or under_way):
            try:
                trial = optimizer.ask()
            except Exhausted:
                break
            waiting[trial.number] = (trial, now)
            asked += 1
        found, _ = waiting.pop(record.number, (None, now))
        if found is None or found.config != record.config or found.rows != record.rows:
            raise TraceError(
                f"trial {record.number} of the trace is not what method {spec.method!r} asks for now: "
                "it was made by another version; use --force to run it again, or another --results"
            )
        optimizer.tell(found, record.result())
        now = record.ended
    return [waiting[number] for number in sorted(waiting)]


def check_same_run(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """A trace goes on only with the very run that it is of."""
    differing = [f"{what} {there} there, {here} here" for what, there, here in differences(old, new)]
    if differing:
        raise TraceError(
            f"{path} is of another run ({'; '.join(differing)}): "
            "use another --results, or --force to run it again"
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
            "test_rows": 0 if fold.test_y is None else len(fold.test_y),
        },
        "utc": utc_now(),
        "command": reproducing_command(job.spec, job.given or job.data),
        **job.provenance,
        "machine": {**job.provenance.get("machine", {}), **contention.at_start()},
    }


def reproducing_command(spec: RunSpec, data: DataRef) -> str:
    """The command that does this run again, with the options that a person would have to give."""
    methods = default_options(METHODS.load(spec.method))
    learners = default_options(LEARNERS.load(spec.learner))
    given = replace(
        spec,
        options={k: v for k, v in spec.options.items() if k != "parallel" and methods.get(k) != v},
        learner_options={k: v for k, v in spec.learner_options.items() if learners.get(k) != v},
    )
    return command_line(given, data)


def check_clock(spec: RunSpec, learner: Learner) -> None:
    """What can be wrong with a spec before its data is looked at."""
    if spec.validation == "holdout" and spec.parallel > 1:
        raise UserError(
            f"--validation holdout tests each incumbent off the clock, which --parallel {spec.parallel} can't"
        )
    if METHODS.row(spec.method).learner is not None and spec.clock == "virtual":
        raise UserError(f"method {spec.method!r} takes real seconds: it can't run with --clock virtual")
    if learner.virtual != (spec.clock == "virtual"):
        raise UserError(
            f"learner {spec.learner!r} has analytic seconds: give --clock virtual"
            if learner.virtual
            else f"--clock virtual needs analytic seconds, and learner {spec.learner!r} really trains: "
            "choose a synthetic one"
        )


def check_problem(name: str, learner: Learner, facts: TaskFacts) -> None:
    if facts.problem not in learner.problems:
        kinds = ", ".join(learner.problems)
        raise UserError(
            f"task {facts.name!r} is {facts.problem}, and learner {name!r} takes {kinds} only: "
            "choose another --learner"
        )
