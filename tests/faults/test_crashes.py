"""A process that dies is a failed trial, or a failed run; never a lost one."""

from __future__ import annotations

import os
import signal

import pytest

from cfo_bench.records import EndReason, Status


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ("segfaults", Status.FAILED, "SIGSEGV"),
        ("exits", Status.FAILED, "exit code 3"),
        ("raises", Status.FAILED, "RuntimeError: no such luck"),
        ("no_number", Status.FAILED, "the loss is nan"),
    ],
)
def test_a_trial_that_crashes_is_logged_with_its_reason_and_the_run_goes_on(
    bench, faulty, fault: str, status: Status, reason: str, parallel: int
):
    result = bench.run(*faulty(fault, budget=60), "--max-trials", 8, "--parallel", parallel)
    trace = bench.trace()
    assert result.returncode == 0, result.stderr
    assert trace.end is not None and trace.end.reason is EndReason.MAX_TRIALS
    by_number = {trial.number: trial for trial in trace.trials}
    assert sorted(by_number) == list(range(8))
    assert by_number[3].status is status and by_number[3].loss is None
    assert reason in by_number[3].error
    assert all(by_number[number].status is Status.OK for number in by_number if number != 3)
    if parallel == 1:
        assert_the_clock_never_goes_back(trace)
    bench.assert_nothing_is_left()


@pytest.mark.parametrize("parallel", [1, 2])
def test_an_abort_of_a_library_without_memory_is_status_memory(bench, faulty, parallel: int):
    bench.run(*faulty("out_of_memory_in_cpp", budget=60), "--max-trials", 5, "--parallel", parallel)
    statuses = {trial.number: trial.status for trial in bench.trace().trials}
    assert statuses == {0: "ok", 1: "ok", 2: "ok", 3: "memory", 4: "ok"}


def test_a_run_survives_crash_after_crash(bench, faulty):
    result = bench.run(*faulty("segfaults", budget=60, every=3, at=1), "--max-trials", 12)
    trace = bench.trace()
    assert result.returncode == 0, result.stderr
    assert [trial.number for trial in trace.trials] == list(range(12))
    failed = [trial.number for trial in trace.trials if trial.status is Status.FAILED]
    assert failed == [1, 4, 7, 10]
    assert_the_clock_never_goes_back(trace)


def test_a_process_killed_from_outside_costs_its_trial_and_not_the_run(bench, faulty):
    words = faulty(budget=60, seconds=0.05)
    running = bench.start(*words, "--max-trials", 30)
    bench.wait_for_trials(5)
    [victim] = bench.run_processes()
    os.kill(victim, signal.SIGKILL)
    running.communicate()
    trace = bench.trace()
    assert running.returncode == 0
    assert [trial.number for trial in trace.trials] == list(range(30))
    failed = [trial for trial in trace.trials if trial.status is not Status.OK]
    assert len(failed) <= 1  # none, if it was between two trials
    assert all("SIGKILL" in trial.error for trial in failed)
    assert_the_clock_never_goes_back(trace)
    bench.assert_nothing_is_left()


def test_a_method_that_dies_in_ask_ends_its_run_with_an_error(bench, faulty, methods):
    result = bench.run(*faulty(budget=60, method=methods("DiesInAsk"), at=-1))
    trace = bench.trace()
    assert result.returncode == 1
    assert trace.end is not None and trace.end.reason is EndReason.ERROR
    assert "died outside of a trial: killed by SIGSEGV" in trace.end.error
    assert trace.end.elapsed >= trace.trials[-1].ended
    assert len(trace.trials) == 3
    assert "SIGSEGV" in result.stderr and result.stderr.count("\n") == 1
    bench.assert_nothing_is_left()


def test_a_method_that_dies_in_tell_keeps_the_trial_and_ends_with_an_error(bench, faulty, methods):
    result = bench.run(*faulty(budget=60, method=methods("DiesInTell"), at=-1))
    trace = bench.trace()
    assert result.returncode == 1
    assert [(trial.number, trial.status) for trial in trace.trials] == [(n, Status.OK) for n in range(4)]
    assert trace.end is not None and trace.end.reason is EndReason.ERROR
    assert trace.end.elapsed >= trace.trials[-1].ended
    bench.assert_nothing_is_left()


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("RaisesInAsk", "the method failed in ask: RuntimeError: no idea"),
        ("LeavesTheSpace", "x = 0"),
        ("Miscounts", "trial 0 in place of 1"),
    ],
)
def test_a_method_that_fails_ends_its_run_with_its_reason(bench, faulty, methods, method: str, words: str):
    result = bench.run(*faulty(budget=60, method=methods(method), at=-1))
    trace = bench.trace()
    assert result.returncode == 1
    assert trace.end is not None and trace.end.reason is EndReason.ERROR and words in trace.end.error
    assert words in result.stderr and "Traceback" not in result.stderr
    again = bench.run(*faulty(budget=60, method=methods(method), at=-1))
    assert again.returncode == 1 and "--force" in again.stderr
    bench.assert_nothing_is_left()


def assert_the_clock_never_goes_back(trace):
    moments = [moment for trial in trace.trials for moment in (trial.started, trial.ended)]
    assert moments == sorted(moments)
    assert trace.end.elapsed >= moments[-1]
