"""Ctrl-C, SIGTERM and kill -9: a clean end, nothing left behind, and the same command resumes the run."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from cfo_bench.records import EndReason, Status

# A command that is told to stop does so at once, unless a busy disk makes it wait to sync its trace.
PATIENCE_SECONDS = 90.0

VIRTUAL = ["--task", "synthetic-30k", "--learner", "synthetic", "--clock", "virtual", "--folds", "0", "-q"]


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("parallel", [1, 2])
def test_a_stopped_run_ends_cleanly_and_is_resumed_by_the_same_command(
    bench, faulty, number: int, exit_code: int, parallel: int
):
    words = [*faulty(budget=60, seconds=0.05, method="cfo"), "--max-trials", "40", "--parallel", parallel]
    running = bench.start(*words)
    bench.wait_for_trials(8)
    os.killpg(running.pid, number)  # as a terminal, or a batch system, does it: everybody gets it
    _, err = running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == exit_code
    assert "run the same command to resume" in err and err.count("\n") == 1
    stopped = bench.trace()
    assert stopped.end is not None and stopped.end.reason is EndReason.INTERRUPTED
    assert {trial.status for trial in stopped.trials} == {Status.OK}
    bench.assert_nothing_is_left()

    before = bench.trial_lines()
    assert bench.run(*words).returncode == 0
    after = bench.trace()
    assert bench.trial_lines()[: len(before)] == before
    assert sorted(trial.number for trial in after.trials) == list(range(40))
    assert after.end is not None and after.end.reason is EndReason.MAX_TRIALS
    assert sum(b'"kind":"resume"' in line for line in bench.lines()) == 1
    bench.assert_nothing_is_left()


def test_a_second_ctrl_c_leaves_at_once_and_loses_nothing(bench, faulty):
    words = faulty("busy_in_c", budget=60, at=12)
    running = bench.start(*words)
    bench.wait_for_trials(12)
    os.killpg(running.pid, signal.SIGINT)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130
    bench.assert_no_process_is_left()
    before = bench.trial_lines()
    assert len(before) == 12
    again = bench.start(*words, "--trial-timeout", 60)  # another spec: told so, and nothing is lost
    again.communicate(timeout=PATIENCE_SECONDS)
    assert again.returncode == 2
    assert bench.trial_lines() == before


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.4])
def test_ctrl_c_while_it_is_starting_says_so_in_one_line(bench, faulty, seconds: float):
    running = bench.start(*faulty(budget=60, seconds=0.05))
    bench.wait_until(lambda: len(bench.processes()) > 2, "our first children")  # before, Python itself starts
    time.sleep(seconds)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130
    assert len(err.split("\n")) <= 3 and "stopped" in err and "Traceback" not in err, err
    bench.assert_nothing_is_left()


def test_the_run_dies_with_a_driver_that_is_killed(bench, faulty):
    running = bench.start(*faulty("busy_in_c", budget=60))
    bench.wait_for_trials(3)
    assert len(bench.run_processes()) == 1
    os.kill(running.pid, signal.SIGKILL)
    bench.assert_no_process_is_left()


def test_the_evaluators_die_with_a_driver_that_is_killed(bench, faulty):
    running = bench.start(*faulty("sleeps", budget=60, every=2, at=1), "--parallel", 2)
    bench.wait_for_trials(1)
    assert len(bench.run_processes()) == 3
    os.kill(running.pid, signal.SIGKILL)
    bench.assert_no_process_is_left()


def test_a_reader_of_stderr_that_goes_away_leaves_no_run_behind(bench, faulty):
    words = [word for word in faulty(budget=1) if word != "-q"]
    running = bench.start(*words)
    running.stderr.close()
    assert running.wait(timeout=30) != 0
    bench.assert_no_process_is_left()


def test_kills_at_random_moments_lose_no_trial_of_a_real_run(bench, faulty):
    """`kill -9` of the whole group, again and again, until the budget is spent."""
    words = faulty(budget=2, seconds=0.01, method="cfo")
    rng = random.Random(1)
    before: list[bytes] = []
    for kill in range(9):
        running = bench.start(*words)
        if kill % 3:  # two in three in the midst of trials, the others anywhere from the start on
            wait_for = len(before) + rng.randrange(1, 12)
            give_up_at = time.monotonic() + 30
            while len(bench.trial_lines()) < wait_for and running.poll() is None:
                assert time.monotonic() < give_up_at
                time.sleep(rng.random() * 0.01)
        else:
            time.sleep(rng.random() * 1.5)
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        bench.assert_no_process_is_left()
        now = bench.trial_lines()
        assert now[: len(before)] == before
        before = now
    assert bench.run(*words).returncode == 0
    trace = bench.trace()
    assert bench.trial_lines()[: len(before)] == before
    assert [trial.number for trial in trace.trials] == list(range(len(trace.trials)))
    assert {trial.status for trial in trace.trials} <= {Status.OK, Status.TIMEOUT}
    moments = [moment for trial in trace.trials for moment in (trial.started, trial.ended)]
    assert moments == sorted(moments)
    assert trace.end is not None and trace.end.reason is EndReason.BUDGET
    assert sum(b'"kind":"resume"' in line for line in bench.lines()) >= 4
    bench.assert_nothing_is_left()


@pytest.mark.parametrize("parallel", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_virtual_run_that_was_killed_often_ends_as_one_that_never_was(bench, parallel: int):
    words = [*VIRTUAL, "--method", "cfo", "--budget", "1e9", "--max-trials", "3000", "--parallel", parallel]
    assert bench.run(*words, "--results", "whole").returncode == 0
    [whole] = (bench.folder / "whole").rglob("*.jsonl")
    rng = random.Random(2)
    for _ in range(5):
        grown = sum(path.stat().st_size for path in bench.traces()) + rng.randrange(20_000, 250_000)
        running = bench.start(*words)
        while sum(path.stat().st_size for path in bench.traces()) < grown and running.poll() is None:
            time.sleep(0.001)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
    assert bench.run(*words).returncode == 0
    lines = [line for line in whole.read_bytes().split(b"\n") if line.startswith(b'{"kind":"trial"')]
    assert len(lines) == 3000
    assert bench.trial_lines() == lines
    bench.assert_nothing_is_left()


def test_a_method_that_can_not_be_resumed_starts_again_and_its_trace_is_kept(bench, faulty, methods):
    words = [*faulty(budget=60, seconds=0.05, method=methods("Forgetful")), "--max-trials", "20"]
    words.remove("-q")
    for kept in range(2):
        running = bench.start(*words)
        bench.wait_until(lambda kept=kept: len(list(bench.results.rglob("*.interrupted"))) == kept, "it")
        bench.wait_for_trials(5)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        bench.assert_no_process_is_left()
    cut_off = bench.trial_lines()

    again = bench.run(*words)

    assert again.returncode == 0
    assert (
        "can't be resumed: it starts again, and the old trace is kept as fold-0_seed-0-2.interrupted"
        in again.stderr
    )
    aside = bench.trace_path().with_name("fold-0_seed-0-2.interrupted").read_bytes().splitlines()
    assert [line for line in aside if b'"kind":"trial"' in line] == cut_off
    assert [trial.number for trial in bench.trace().trials] == list(range(20))
    assert not any(b'"kind":"resume"' in line for line in bench.lines())
    bench.assert_nothing_is_left()


def test_a_method_that_can_not_be_replayed_ends_with_the_process_that_a_trial_killed(bench, faulty, methods):
    ended = bench.run(*faulty("segfaults", budget=60, at=4, method=methods("Forgetful")))

    assert ended.returncode == 1 and "can't be resumed" in ended.stderr
    end = bench.trace().end
    assert end is not None and end.reason is EndReason.ERROR and end.trials == 5
