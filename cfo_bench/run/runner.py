"""One run: the iterator of its records, the header first and the end last."""

from __future__ import annotations

import gc
import math
import platform
from collections.abc import Callable, Generator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from cfo_bench.clock import (
    Clock,
    SharedWallClock,
    VirtualClock,
    WallClock,
    process_seconds,
    process_seconds_of,
    utc_now,
)
from cfo_bench.errors import DataError, RunError, UserError
from cfo_bench.machine import facts as contention
from cfo_bench.machine.facts import PeakMemory, cap_memory
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.options import with_facts_of_run
from cfo_bench.optimizers.program import ProgramMethod
from cfo_bench.records import EndReason, Objective, Optimizer, TaskFacts
from cfo_bench.results.comparability import (
    check_resumable,
    code_differences,
    data_differences,
    data_identity,
)
from cfo_bench.results.folder import log_path
from cfo_bench.results.run import Run
from cfo_bench.results.schema import AnyLine, OwnCode, ResumeRecord
from cfo_bench.run.checks import check_clock, check_problem, learner_of, load_fold
from cfo_bench.run.header import header_of, method_seed
from cfo_bench.run.job import Job
from cfo_bench.run.loop import (
    Charged,
    InProcessPool,
    Limits,
    Pool,
    ProcessPool,
    Referee,
    VirtualPool,
    search,
)
from cfo_bench.run.page import LivePage, end_record
from cfo_bench.run.pauses import take_off_pauses
from cfo_bench.run.plugin_checks import number_of
from cfo_bench.run.replay import replay


def run(job: Job, past: Run | None, page: LivePage, why: str = "") -> Generator[AnyLine, None, None]:
    """The records of a run or, given its `past`, the missing ones. `why` is the reason why it ended before.

    The clock does not run while data is loaded, the model's data is built and the past is replayed. The
    running trials are on the page; the consumer of a record removes its trial from the page.
    """
    spec = job.spec
    learner = learner_of(spec)
    check_clock(spec, learner)
    fold, facts = load_fold(spec, job.data, learner)
    _check_data(job, facts)
    check_problem(spec.learner, learner, facts)
    space = learner.space(fold.n_rows)
    start = space.accept(learner.start(space))
    # An older version computed the seed in another way.
    seed = past.header.method_seed if past is not None else None
    seed = method_seed(spec) if seed is None else seed
    # If only results on all rows are recorded, a multi-fidelity method has a single level.
    n_rows = fold.n_rows if fold.recording is None else fold.recording.full_rows
    options = with_facts_of_run(spec.options, n_rows, learner.cost_related, spec.budget_seconds)
    optimizer: Optimizer = METHODS.load(spec.method)(space, start, seed, **options)
    header = header_of(job, learner, fold, facts, space, start, seed, optimizer)
    _check_own_code(job, header.own_code)
    is_virtual = spec.clock == "virtual"
    referee = Referee(
        space,
        Limits(spec.budget_seconds, spec.max_trials, spec.trial_timeout_seconds),
        header.metric_facts.to_score,
    )
    if not is_virtual:
        referee = replace(
            referee,
            peak_memory_mb=PeakMemory(),
            learner_cpu_seconds=process_seconds,
            method_cpu_seconds=_cpu_clock(optimizer),
        )
    if past is None:
        yield header
        past, untold = Run(job.trace_path, header, parsed=()), []
    else:
        check_resumable(job.trace_path, past.header, spec, header.data, header.own_code)
        page.prepared(True)
        untold = replay(optimizer, past, spec, referee)
        page.prepared(False)
        limits = spec.limits
        yield ResumeRecord(
            elapsed=past.told_seconds,
            trials=len(past.trials),
            utc=utc_now(),
            why=why,
            node=platform.node(),
            superseded=past.superseded,
            limits=None if limits == past.limits else limits,
        )

    best, trials, error = past.best, len(past.trials), None
    prepare = partial(learner.prepare, fold, spec.threads, spec.seed)
    with ExitStack() as cleanup:
        began = None if is_virtual else contention.ticks()
        clock, pool = _start(job, prepare, referee, past.told_seconds, page, cleanup)
        if spec.charge_method:
            optimizer = Charged(optimizer, clock)
        records = search(
            optimizer,
            pool,
            clock,
            referee,
            page,
            done=trials,
            untold=untold,
            best_loss=math.inf if best is None or best.loss is None else best.loss,
            test=_test_of(pool, clock, page) if fold.test_y is not None else None,
        )
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
        ended_at = clock.now()
        page.stop_clock()  # writing the end of a long trace takes longer than the supervisor waits
        yield end_record(reason, ended_at, trials, best, error, page.method_call(), began, page.pauses())
        if isinstance(clock, WallClock):
            page.start_clock(clock.zero)


def _check_data(job: Job, facts: TaskFacts) -> None:
    """The data must be the same on each machine as when the command started; otherwise results would be
    mixed.
    """
    if job.data_identity is None:
        return
    differences = data_differences(job.data_identity, data_identity(facts))
    if differences:
        first = differences[0]
        raise DataError(
            f"the data of task {job.spec.task!r} has changed since the command started "
            f"({first.name} {first.first} then, {first.second} now on {platform.node()}): "
            "run it with another --results"
        )


def _check_own_code(job: Job, own_code: OwnCode | None) -> None:
    """A local file must be the same on each machine as when the command started."""
    for difference in code_differences(job.spec, job.own_code, own_code):
        raise UserError(
            f"{difference.name} has changed since the command started ({difference.first} then, "
            f"{difference.second} now on {platform.node()}): run it with another --results"
        )


def _cpu_clock(optimizer: Optimizer) -> Callable[[], float]:
    """The processor seconds of a method: those of this process and, if the method is a program, of the
    program.
    """
    if not isinstance(optimizer, ProgramMethod):
        return process_seconds
    pid = optimizer.pid
    return lambda: process_seconds() + process_seconds_of(pid)


def _test_of(pool: Pool, clock: Clock, page: LivePage) -> Callable[[], float | None]:
    """Returns the test loss of the model that was just evaluated; the run's clock is stopped meanwhile."""
    assert isinstance(pool, InProcessPool), "a run with a test part has one trial at a time"
    objective = pool.objective

    def test() -> float | None:
        stopped_at = clock.now()
        page.stop_clock()
        try:
            loss = number_of("test loss", objective.test_loss())
            return loss if math.isfinite(loss) else None
        except Exception:  # a model that can be validated but not tested has no test score
            return None
        finally:
            clock.rewind(stopped_at)
            if isinstance(clock, WallClock):
                page.start_clock(clock.zero)

    return test


def _start(
    job: Job,
    prepare: Callable[[], Objective],
    referee: Referee,
    elapsed: float,
    page: LivePage,
    cleanup: ExitStack,
) -> tuple[Clock, Pool]:
    """Builds the pool that evaluates trials, and then starts the clock at `elapsed` seconds."""
    spec = job.spec
    if spec.clock == "virtual":
        virtual = VirtualClock(elapsed)
        objective = prepare()
        page.prepared(True)
        if spec.parallel == 1:
            return virtual, InProcessPool(objective, virtual, referee)
        return virtual, VirtualPool(objective, virtual, spec.parallel, referee)

    def cap() -> None:
        if spec.memory_mb is not None:
            cap_memory(spec.memory_mb)

    pool: Pool
    clock: WallClock
    if spec.parallel == 1:
        objective = prepare()
        cap()
        # The loaded objects are permanent, and one garbage collection over them took 0.1 s, as long as dozens
        # of cheap trials.
        gc.freeze()
        clock = WallClock(elapsed)
        cleanup.enter_context(take_off_pauses(clock, page))
        pool = InProcessPool(objective, clock, referee)
    else:
        clock = SharedWallClock(elapsed)
        # Before the evaluators are forked: they inherit the handler, and wait in it for this process.
        cleanup.enter_context(take_off_pauses(clock, page))
        pool = ProcessPool(prepare, cap, spec.parallel, referee, clock, log_path(job.trace_path))
        cleanup.callback(pool.close)
        clock.rewind(elapsed)
    page.prepared(True)
    page.start_clock(clock.zero)
    return clock, pool
