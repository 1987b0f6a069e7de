"""After a process_exit: every trial that was evaluated is in the trace, and one that was cut off says how."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.errors import RunError, TraceError
from cfo_bench.records import DataRef, EndReason, Result, RunSpec, StartedTrial, Status, Trial
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import TrialRecord, encode, trial_record
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage, end_record
from cfo_bench.run.recovery import (
    ExitCause,
    KilledError,
    ProcessExit,
    complete_trace,
    has_unwritten_trial,
    prepare_to_resume,
)
from tests.helpers.traces import header_of

SPEC = RunSpec("xgboost", "iris", "rs", 0, budget_seconds=100.0)
ZERO = 1000.0  # of the run's clock, on the machine's
OK = Result(Status.OK, 0.25, 0.5)


def started(number: int) -> StartedTrial:
    return StartedTrial(Trial(number, {"x": number}), float(number), 0.0)


def record(number: int, tell_seconds: float | None = None) -> TrialRecord:
    return trial_record(started(number), OK, 0.75, number + 0.5, tell_seconds)


@pytest.fixture(autouse=True)
def running_clock(page: LivePage) -> None:
    page.start_clock(ZERO)


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    """A job whose trace has the trials 0 and 1, and what is given; the changes are the spec's."""

    def make(*more: Any, replays: bool = True, **changes: Any) -> Job:
        spec = replace(SPEC, **changes)
        records = [header_of(spec), record(0, 0.0), record(1, 0.0), *more]
        (tmp_path / "t.jsonl").write_bytes(b"".join(map(encode, records)))
        return Job(spec, DataRef("iris", "bundled"), tmp_path / "t.jsonl", replays=replays)

    return make


def evaluate(page: LivePage, number: int) -> None:
    page.began(started(number))
    page.evaluated(started(number), OK, 0.75, number + 0.5)


def completed(job: Job, page: LivePage, process_exit: ProcessExit) -> Run:
    """The run after its process died."""
    end = complete_trace(job, page, process_exit, has_begun=True)
    run = read_run(job.trace_path, parse_trials=True)
    assert run is not None and run.end == end
    return run


def trials(job: Job) -> Sequence[TrialRecord]:
    run = read_run(job.trace_path)
    assert run is not None
    return run.trials


SEGFAULT = ProcessExit(ExitCause.EXIT, ZERO + 9.0, -signal.SIGSEGV, "some words\nthe last line\n")
OVER = ProcessExit(ExitCause.BUDGET, ZERO + 100.0)
KILLED = ProcessExit(ExitCause.EXIT, ZERO + 9.0, -signal.SIGKILL)


def test_a_trial_that_was_evaluated_counts_as_it_is(job: Callable[..., Job], page: LivePage) -> None:
    todo = job()
    evaluate(page, 2)
    after = completed(todo, page, SEGFAULT)
    assert after.trials == trials(todo) == [record(0, 0.0), record(1, 0.0), record(2)] and after.end is None


def test_a_trial_that_is_in_the_trace_already_is_not_written_again(
    job: Callable[..., Job], page: LivePage
) -> None:
    todo = job()
    evaluate(page, 1)
    after = completed(todo, page, OVER)
    assert after.trials == [record(0, 0.0), record(1, 0.0)]
    assert after.end is not None and after.end.reason is EndReason.BUDGET


@pytest.mark.parametrize("parallel", [1, 2])
def test_the_end_says_how_long_the_method_was_at_an_ask_that_was_cut_off(
    job: Callable[..., Job], page: LivePage, parallel: int
) -> None:
    page.asks(40.0)
    end = completed(job(parallel=parallel), page, OVER).end
    assert end is not None and (end.cut_ask_seconds, end.cut_tell_seconds) == (60.0, 0.0)


@pytest.mark.parametrize("parallel", [1, 2])
def test_the_end_says_how_long_the_method_was_at_a_tell_that_was_cut_off(
    job: Callable[..., Job], page: LivePage, parallel: int
) -> None:
    evaluate(page, 2)
    page.tells(40.0)
    after = completed(job(parallel=parallel), page, OVER)
    assert after.trials[-1] == record(2)
    assert after.end is not None
    assert (after.end.cut_ask_seconds, after.end.cut_tell_seconds) == (0.0, 60.0)


def test_an_incumbent_keeps_its_test_score_when_its_tell_is_cut_off(
    job: Callable[..., Job], page: LivePage
) -> None:
    evaluate(page, 2)
    page.tested(msgspec.structs.replace(record(2), test_score=0.5))
    page.tells(40.0)
    after = completed(job(validation="holdout"), page, OVER)
    assert after.trials[-1] == msgspec.structs.replace(record(2), test_score=0.5)


@pytest.mark.parametrize("was", ["evaluating", "between"])
def test_nothing_was_cut_off_from_a_method_that_was_doing_nothing(
    job: Callable[..., Job], page: LivePage, was: str
) -> None:
    page.asks(1.5)
    page.began(started(2))
    if was == "between":
        page.evaluated(started(2), OK, 0.75, 2.5)
        page.tells(2.5)
        page.returned()
    end = completed(job(), page, OVER).end
    assert end is not None and end.cut_ask_seconds == end.cut_tell_seconds == 0.0


def test_an_interrupted_run_s_clock_does_not_count_what_was_cut_off(
    job: Callable[..., Job], page: LivePage
) -> None:
    page.asks(1.5)
    end = completed(job(), page, replace(OVER, cause=ExitCause.STOP)).end
    assert end is not None and (end.elapsed, end.cut_ask_seconds) == (1.5, 0.0)


@pytest.mark.parametrize(
    ("process_exit", "status", "error"),
    [
        (SEGFAULT, Status.FAILED, "killed by SIGSEGV: the last line"),
        (KILLED, Status.FAILED, "killed by SIGKILL"),
        (replace(SEGFAULT, code=3), Status.FAILED, "exit code 3: the last line"),
        (
            ProcessExit(ExitCause.EXIT, ZERO + 9.0, -signal.SIGABRT, "what(): std::bad_alloc"),
            Status.MEMORY,
            "killed by SIGABRT: what(): std::bad_alloc",
        ),
        (ProcessExit(ExitCause.TRIAL_TIMEOUT, ZERO + 9.0), Status.TIMEOUT, None),
    ],
)
def test_a_trial_that_was_cut_off_is_logged_with_what_ended_it(
    job: Callable[..., Job], page: LivePage, process_exit: ProcessExit, status: Status, error: str | None
) -> None:
    page.began(started(2))
    last = completed(job(), page, process_exit).trials[-1]
    assert (last.number, last.status, last.error, last.loss) == (2, status, error, None)
    assert (last.started, last.ended, last.fit_seconds, last.tell_seconds) == (2.0, 9.0, 7.0, None)


def test_trials_at_once_are_logged_the_evaluated_first(job: Callable[..., Job], page: LivePage) -> None:
    todo = job(parallel=2)
    page.began(started(2))
    page.began(started(3))
    page.evaluated(started(3), OK, 0.75, 3.5, 5)
    after = completed(todo, page, SEGFAULT)
    assert [(one.number, one.status, one.asked) for one in after.trials[2:]] == [
        (3, Status.OK, 5),
        (2, Status.FAILED, None),
    ]


def test_a_stopped_run_is_interrupted_and_its_trial_will_be_asked_for_again(
    job: Callable[..., Job], page: LivePage
) -> None:
    page.began(started(2))
    after = completed(job(), page, ProcessExit(ExitCause.STOP, ZERO + 9.0))
    assert len(after.trials) == 2 and after.end is not None
    assert (after.end.reason, after.end.elapsed) == (EndReason.INTERRUPTED, 1.5)


def test_a_kill_from_outside_between_trials_is_worth_another_attempt(
    job: Callable[..., Job], page: LivePage
) -> None:
    with pytest.raises(KilledError, match="died after 2 trials: killed by SIGKILL") as caught:
        complete_trace(job(), page, KILLED, has_begun=True)
    assert caught.value.has_begun


def test_a_death_in_the_method_ends_the_run(job: Callable[..., Job], page: LivePage) -> None:
    end = completed(job(), page, SEGFAULT).end
    assert end is not None and end.reason is EndReason.ERROR
    assert end.error == "the process died outside of a trial: killed by SIGSEGV: the last line"


def test_a_method_that_can_not_be_resumed_ends_with_its_process(
    job: Callable[..., Job], page: LivePage
) -> None:
    page.began(started(2))
    end = completed(job(replays=False), page, SEGFAULT).end
    assert end is not None and end.error is not None and "can't be resumed" in end.error


def test_the_last_trial_that_is_allowed_ends_the_run(job: Callable[..., Job], page: LivePage) -> None:
    page.began(started(2))
    end = completed(job(max_trials=3), page, SEGFAULT).end
    assert end is not None and (end.reason, end.trials) == (EndReason.MAX_TRIALS, 3)


@pytest.mark.parametrize(("process_exit", "kind"), [(KILLED, KilledError), (SEGFAULT, RunError)])
def test_a_run_that_has_not_begun_leaves_the_older_trace_as_it_is(
    job: Callable[..., Job], page: LivePage, process_exit: ProcessExit, kind: type[RunError]
) -> None:
    todo = job()
    before = todo.trace_path.read_bytes()
    with pytest.raises(RunError, match="died before its first line") as caught:
        complete_trace(todo, page, process_exit, has_begun=False)
    assert caught.type is kind and todo.trace_path.read_bytes() == before


def test_an_earlier_commands_trials_are_brought_in_and_its_torn_line_cut_off(
    job: Callable[..., Job], page: LivePage
) -> None:
    todo = job()
    with todo.trace_path.open("ab") as file:
        file.write(b'{"kind":"tri')
    page.keep(encode(record(2, 0.25)))
    evaluate(page, 3)
    said: list[str] = []
    past = prepare_to_resume(todo, page, said.append)
    assert past is not None
    assert past.trials == trials(todo) == [record(0, 0.0), record(1, 0.0), record(2, 0.25), record(3)]
    assert "12 bytes removed" in said[0] and "resumed after 4 trials, at 3.5 s" in said[1]


def test_on_the_virtual_clock_an_untold_trial_is_evaluated_again(
    job: Callable[..., Job], page: LivePage
) -> None:
    todo = job(clock="virtual")
    evaluate(page, 2)
    assert not has_unwritten_trial(todo, page)
    past = prepare_to_resume(todo, page, lambda text: None)
    assert past is not None and len(past.trials) == 2


@pytest.mark.parametrize("parallel", [1, 3])
def test_on_the_virtual_clock_a_kill_from_outside_is_blamed_on_no_trial(
    job: Callable[..., Job], page: LivePage, parallel: int
) -> None:
    todo = job(clock="virtual", parallel=parallel)
    before = todo.trace_path.read_bytes()
    page.stop_clock()  # the virtual clock has no zero on the machine's
    evaluate(page, 2)
    page.began(started(3))
    with pytest.raises(KilledError, match="died after 2 trials: killed by SIGKILL") as caught:
        complete_trace(todo, page, KILLED, has_begun=True)
    assert caught.value.has_begun and todo.trace_path.read_bytes() == before


def test_on_the_virtual_clock_a_crash_is_still_blamed_on_its_trial(
    job: Callable[..., Job], page: LivePage
) -> None:
    page.stop_clock()
    page.began(started(2))
    last = completed(job(clock="virtual"), page, SEGFAULT).trials[-1]
    assert (last.number, last.status) == (2, Status.FAILED)


def test_an_interrupted_run_that_can_not_be_resumed_is_set_aside(
    job: Callable[..., Job], page: LivePage
) -> None:
    todo = job(replays=False)
    before = todo.trace_path.read_bytes()
    said: list[str] = []
    assert prepare_to_resume(todo, page, said.append) is None
    assert not todo.trace_path.exists()
    assert todo.trace_path.with_suffix(".interrupted").read_bytes() == before
    assert "can't be resumed: it starts again, and the old trace is kept as t.interrupted" in said[0]


def test_a_finished_run_is_left_as_it_is_and_another_run_refused(
    job: Callable[..., Job], page: LivePage
) -> None:
    todo = job(end_record(EndReason.BUDGET, 100.0, 2, None))
    evaluate(page, 2)
    past = prepare_to_resume(todo, page, lambda text: None)
    assert past is not None and past.is_finished and len(past.trials) == 2
    with pytest.raises(TraceError, match="belongs to another run"):
        prepare_to_resume(replace(todo, spec=replace(SPEC, seed=9)), page, lambda text: None)


def test_a_page_with_a_trial_that_the_trace_lacks_must_not_be_removed(
    job: Callable[..., Job], page: LivePage
) -> None:
    todo = job()
    assert not has_unwritten_trial(todo, page)
    page.began(started(2))
    assert not has_unwritten_trial(todo, page)
    page.evaluated(started(2), OK, 0.75, 2.5)
    assert has_unwritten_trial(todo, page)
    complete_trace(todo, page, SEGFAULT, has_begun=True)
    assert not has_unwritten_trial(todo, page)
