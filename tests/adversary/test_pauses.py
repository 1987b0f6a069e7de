"""A run that was stopped and continued (Ctrl-Z, a batch system, a suspended machine) loses no budget."""

from __future__ import annotations

import os
import signal
import time
from itertools import pairwise

import orjson
import pytest

from tests.helpers.commands import Commands, faulty, virtual

BUDGET, PAUSE, TRIAL = 4.0, 3.0, 0.05


def stop(commands: Commands, who: str) -> list[int]:
    """Stops the run's own processes, the supervisor that watches them, or all."""
    runs = commands.run_processes()
    chosen = {"run": runs, "supervisor": [commands.started[0].pid], "all": list(commands.processes())}[who]
    for pid in chosen:
        os.kill(pid, signal.SIGSTOP)
    return chosen


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("who", ["run", "supervisor", "all"])
def test_a_pause_takes_nothing_off_the_budget(commands: Commands, who: str, parallel: int):
    running = commands.start(*faulty(budget=BUDGET, seconds=TRIAL, at=-1), "--parallel", parallel)
    commands.wait_for_trials(5)
    stopped = stop(commands, who)
    time.sleep(PAUSE)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    [end] = commands.rows("end")
    trials = commands.rows()
    assert end["reason"] == "budget"
    # Half of what fits into the budget, where three quarters of it were lost.
    done = [trial for trial in trials if trial["status"] == "ok"]
    assert len(done) >= 0.5 * parallel * BUDGET / TRIAL, f"{len(done)} trials"
    assert all(trial["ended"] - trial["started"] < PAUSE / 2 for trial in done)
    assert not [trial for trial in trials if trial["status"] == "failed"]
    if who != "supervisor":  # then the run went on
        [pause] = end["pauses"]
        assert 0 < pause["at"] < BUDGET and 0.8 * PAUSE < pause["seconds"] < PAUSE + 2


@pytest.mark.slow
def test_a_long_trial_that_went_on_while_its_supervisor_was_stopped_is_charged(commands: Commands):
    """It sleeps, as one that waits for a device does: that it went on can't be told by what it used."""
    running = commands.start(*faulty(budget=7, seconds=5.0, at=-1))
    commands.wait_until(lambda: commands.run_processes() and commands.rows("run"), "the run")
    stopped = stop(commands, "supervisor")
    time.sleep(PAUSE)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    [end] = commands.rows("end")
    first, *_ = commands.rows()
    assert end["pauses"] == [] and first["status"] == "ok"
    assert first["ended"] - first["started"] >= 5.0


@pytest.mark.slow
def test_trials_that_went_on_while_the_method_was_stopped_are_charged(commands: Commands):
    running = commands.start(*faulty(budget=7, seconds=5.0, at=-1), "--parallel", 2)
    commands.wait_until(lambda: len(commands.run_processes()) == 3 and commands.rows("run"), "the run")
    time.sleep(0.5)  # its trials start
    method, *_ = sorted(commands.run_processes())  # the evaluators were forked from it
    os.kill(method, signal.SIGSTOP)
    time.sleep(PAUSE)
    os.kill(method, signal.SIGCONT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    [end] = commands.rows("end")
    done = [trial for trial in commands.rows() if trial["status"] == "ok"]
    assert end["pauses"] == [] and len(done) == 2
    assert all(trial["ended"] - trial["started"] >= 5.0 for trial in done)


def test_a_run_that_is_stopped_past_its_deadline_goes_on_where_it_was(commands: Commands):
    running = commands.start(*faulty(budget=2, seconds=TRIAL, at=-1))
    commands.wait_for_trials(5)
    stopped = stop(commands, "all")
    time.sleep(4)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    [end] = commands.rows("end")
    assert end["reason"] == "budget" and end["elapsed"] < 2.5
    assert len(commands.rows()) >= 0.5 * 2 / TRIAL


@pytest.mark.slow
def test_a_run_that_was_paused_interrupted_and_resumed_has_its_clock_and_its_pauses(commands: Commands):
    words = faulty(budget=BUDGET, seconds=TRIAL, at=-1)
    running = commands.start(*words)
    commands.wait_for_trials(5)
    stopped = stop(commands, "run")
    time.sleep(PAUSE)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    commands.wait_for_trials(15)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=60)
    [interrupted] = commands.rows("end")
    assert interrupted["reason"] == "interrupted" and len(interrupted["pauses"]) == 1
    assert interrupted["elapsed"] < BUDGET
    result = commands(*words)
    assert result.returncode == 0, result.stderr
    [resumed] = commands.rows("resume")
    end = commands.rows("end")[-1]
    assert resumed["elapsed"] == interrupted["elapsed"] and end["reason"] == "budget"
    assert end["pauses"] == interrupted["pauses"]
    trials = commands.rows()
    assert all(one["ended"] <= after["started"] for one, after in pairwise(trials))


def test_the_report_names_runs_that_were_paused(commands: Commands):
    assert commands(*virtual(folds="0-1")).returncode == 0
    for path in commands.results.rglob("*.jsonl"):
        *lines, last = path.read_bytes().splitlines()
        end = {**orjson.loads(last), "pauses": [{"at": 1.5, "seconds": 66.0}]}
        path.write_bytes(b"\n".join([*lines, orjson.dumps(end)]) + b"\n")
    result = commands("report", "results", "--format", "csv")
    assert result.returncode == 0, result.stderr
    assert "pause" in result.stderr and "2" in result.stderr
