"""Two commands on one results folder: every run is done once, whatever happens to one of them."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

from cfo_bench.records import EndReason, Status
from cfo_bench.results.run import read_run

RUNS, TRIALS = 24, 6


def suite(faulty, seconds: float = 0.03) -> list[str]:
    words = [word for word in faulty(budget=60, seconds=seconds) if word != "-q"]
    return [
        *words,
        "--seed",
        "0",
        "--seed",
        "1",
        "--seed",
        "2",
        "--folds",
        "0-7",
        "--max-trials",
        f"{TRIALS}",
    ]


def assert_every_run_is_there_once(bench, resumed: int = 0) -> None:
    paths = bench.traces()
    assert len(paths) == RUNS
    for path in paths:
        run = read_run(path)
        assert [(trial.number, trial.status) for trial in run.trials] == [
            (n, Status.OK) for n in range(TRIALS)
        ]
        assert run.end is not None and run.end.reason is EndReason.MAX_TRIALS
    kinds = Counter(line[: len(b'{"kind":"tri')] for line in bench.lines())
    assert kinds[b'{"kind":"run'] == kinds[b'{"kind":"end'] == RUNS
    assert kinds[b'{"kind":"res'] <= resumed
    bench.assert_nothing_is_left()


def test_two_commands_share_the_runs_and_both_see_them_all_done(bench, faulty):
    # Long enough that neither does all runs before the other has started, on a busy machine, too.
    commands = [bench.start(*suite(faulty, seconds=0.1)) for _ in range(2)]
    told = [command.communicate(timeout=100)[1] for command in commands]
    assert [command.returncode for command in commands] == [0, 0], told
    done = [text.count(": done") for text in told]
    assert sum(done) == RUNS and min(done) > 0, told
    for text in told:
        assert text.count(": done") + text.count(": already done") == RUNS
        assert text.count("waiting for another cfo-bench") <= 1
        assert f"[{RUNS}/{RUNS}]" in text
    assert_every_run_is_there_once(bench)


@pytest.mark.slow
def test_a_command_waits_for_the_run_that_another_is_at_and_says_so_once(bench, faulty):
    words = [word for word in faulty(budget=60, seconds=0.4) if word != "-q"] + ["--max-trials", "30"]
    first = bench.start(*words)
    bench.wait_for_trials(1)
    second = bench.start(*words)
    told = second.communicate(timeout=60)[1]
    assert first.wait(timeout=60) == 0 and second.returncode == 0
    assert told.count("waiting for another cfo-bench, which executes 1 of the runs") == 1
    assert "already done" in told
    assert len(bench.trace().trials) == 30
    bench.assert_nothing_is_left()


def test_a_run_of_a_stopped_command_is_resumed_by_the_other(bench, faulty):
    words = [word for word in faulty(budget=60, seconds=0.1) if word != "-q"] + ["--max-trials", "30"]
    first = bench.start(*words)
    bench.wait_for_trials(2)
    second = bench.start(*words)
    bench.wait_for_trials(12)
    os.killpg(first.pid, signal.SIGINT)
    assert first.wait(timeout=60) == 130
    told = second.communicate(timeout=60)[1]
    assert second.returncode == 0 and "resumed after" in told
    assert [trial.number for trial in bench.trace().trials] == list(range(30))
    bench.assert_nothing_is_left()


def test_the_runs_of_a_command_that_is_killed_are_finished_by_the_other(bench, faulty):
    first, second = (bench.start(*suite(faulty)) for _ in range(2))
    bench.wait_until(lambda: len(bench.traces()) >= 6, "a quarter of the runs")
    os.killpg(first.pid, signal.SIGKILL)
    told = second.communicate(timeout=60)[1]
    assert second.returncode == 0, told
    assert told.count(": done") + told.count(": already done") == RUNS
    assert_every_run_is_there_once(bench, resumed=1)
