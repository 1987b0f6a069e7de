"""kill -9 while a finished run goes on with a longer budget: nothing is lost, the same command resumes."""

from __future__ import annotations

import os
import signal

import orjson
import pytest

from cfo_bench.records import EndReason, Status
from cfo_bench.results.run import read_run

VIRTUAL = ["--task", "synthetic-30k", "--learner", "synthetic", "--clock", "virtual", "--folds", "0", "-q"]


def kill(bench, running) -> None:
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    bench.wait_until(lambda: not bench.run_processes(), "the run's process to die")


def test_an_extended_run_that_is_killed_loses_nothing_and_is_resumed(bench, faulty):
    assert bench.run(*faulty(budget=1, seconds=0.1, method="cfo")).returncode == 0
    finished = bench.lines()
    short = bench.trace()
    assert short.end is not None and short.end.reason is EndReason.BUDGET

    more = [*faulty(budget=60, seconds=0.1, method="cfo"), "--max-trials", len(short.trials) + 12]
    running = bench.start(*more)
    bench.wait_for_trials(len(short.trials) + 5)
    kill(bench, running)
    killed = bench.trace()
    assert killed.end is None and len(killed.trials) > len(short.trials)

    before = bench.lines()
    assert before[: len(finished)] == finished
    assert bench.run(*more).returncode == 0
    assert bench.lines()[: len(before)] == before
    after = bench.trace()
    assert after.end is not None and after.end.reason is EndReason.MAX_TRIALS
    assert [trial.number for trial in after.trials] == list(range(len(short.trials) + 12))
    resumes = [row for line in bench.lines() if (row := orjson.loads(line))["kind"] == "resume"]
    assert [row["limits"] is None for row in resumes] == [False, True]
    assert resumes[0]["superseded"] == sum(trial.status is Status.TIMEOUT for trial in short.trials)
    assert resumes[1]["superseded"] == 0
    bench.assert_nothing_is_left()


@pytest.mark.slow
def test_a_kill_while_the_process_starts_leaves_the_finished_run_as_it_was(bench, faulty):
    words = faulty(budget=1, seconds=0.1, method="cfo")
    assert bench.run(*words).returncode == 0
    finished = bench.lines()

    running = bench.start(*faulty(budget=60, seconds=0.1, method="cfo"), "--max-trials", 30)
    bench.wait_until(bench.run_processes, "a process of the run")
    kill(bench, running)
    assert bench.lines()[: len(finished)] == finished
    assert bench.run(*faulty(budget=60, seconds=0.1, method="cfo"), "--max-trials", 30).returncode == 0
    after = bench.trace()
    assert [trial.number for trial in after.trials] == list(range(30))


@pytest.mark.slow
def test_a_killed_extension_on_the_virtual_clock_is_the_run_that_was_never_stopped(bench):
    assert bench.run(*VIRTUAL, "--method", "rs", "--budget", 2000).returncode == 0
    short = len(bench.trial_lines())
    more = [*VIRTUAL, "--method", "rs", "--budget", 1e9, "--max-trials", 12_000]
    running = bench.start(*more)
    bench.wait_for_trials(short + 500)
    kill(bench, running)
    assert bench.run(*more).returncode == 0
    (path,) = bench.traces()
    grown = read_run(path, parse_trials=True)

    assert bench.run(*more, "--force").returncode == 0
    whole = read_run(path)

    assert grown is not None and whole is not None
    assert grown.trials == whole.trials
    assert grown.end is not None and whole.end is not None
    assert (grown.end.elapsed, grown.end.best_loss) == (whole.end.elapsed, whole.end.best_loss)
