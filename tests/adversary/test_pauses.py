"""A run that was stopped and continued (Ctrl-Z, a batch system, a suspended machine) loses no budget."""

from __future__ import annotations

import os
import signal
import sys
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


# --- processes of the run that compute while it is stopped ------------------------------------------

CPU_SECONDS = 3.0
COMPUTING = f"""
import os, signal, sys, time

def compute(seconds={CPU_SECONDS}):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

def stop(pid): os.kill(pid, signal.SIGSTOP)
def go_on(pid): os.kill(pid, signal.SIGCONT)
"""
# A method in a program: what it does when it is asked for trial 2 is its argument.
PROGRAM = f"""{COMPUTING}
import json

def computes_on():
    open("asked", "w").close()
    while not os.path.exists("continued"):
        pass

def waits():
    open("asked", "w").close()
    time.sleep({CPU_SECONDS})

def stops_its_parent():
    stop(os.getppid())
    compute()
    go_on(os.getppid())

def stops_its_parent_for_ever():
    stop(os.getppid())
    compute(600)

for line in sys.stdin:
    message, answer = json.loads(line), {{}}
    if message["do"] == "hello":
        answer = {{"protocol": 1}}
    if message["do"] == "ask":
        if message["number"] == 2:
            globals()[sys.argv[1]]()
        answer = {{"config": {{"x": 1, "y": 1.0}}}}
    print(json.dumps(answer), flush=True)
"""
# A method that stops itself at trial 2, while a process that it has started computes. The system counts
# nothing of a process that is `forgotten`: one whose parent ignores its end.
METHOD = f"""{COMPUTING}
from cfo_bench.plugins import Trial

class Stops:
    def __init__(self, space, start, seed, *, child: str = "child"):
        self.start, self.child, self.asked = start, child, 0

    def ask(self):
        if self.asked == 2:
            method = os.getpid()
            if os.fork() == 0:
                if self.child == "orphan":
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                time.sleep(0.3)
                if self.child == "forgotten":
                    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                    if os.fork():
                        try:
                            os.wait()  # until it has ended
                        except ChildProcessError:
                            time.sleep(0.3)
                            go_on(method)
                            os._exit(0)
                compute()
                if self.child == "forgotten":
                    os._exit(0)
                go_on(method)
                os._exit(0)
            stop(method)
        self.asked += 1
        return Trial(self.asked - 1, dict(self.start))

    def tell(self, trial, result): pass
"""


def with_program(commands: Commands, how: str, budget: float = 60) -> list[str]:
    (commands.folder / "program.py").write_text(PROGRAM)
    method = f"exec:{sys.executable} program.py {how}"
    return [*faulty(budget=budget, method=method, seconds=0.01, at=-1), "--max-trials", "5"]


def assert_is_charged(commands: Commands) -> None:
    [end] = commands.rows("end")
    [pause] = end["pauses"]
    assert pause["cpu_seconds"] > 0.1  # of a busy machine, too
    assert pause["charged_seconds"] == pause["seconds"] > 0.8 * CPU_SECONDS
    third = commands.rows()[2]
    assert third["ask_seconds"] > 0.9 * CPU_SECONDS and end["elapsed"] > 0.9 * CPU_SECONDS


@pytest.mark.parametrize("how", ["computes_on", "waits"])
def test_ctrl_z_is_a_pause_unless_a_program_in_a_session_of_its_own_computes_on(commands: Commands, how: str):
    running = commands.start(*with_program(commands, how))
    commands.wait_until(lambda: (commands.folder / "asked").exists(), "the third ask")
    group = [pid for pid in commands.processes() if os.getpgid(pid) == running.pid]
    for pid in group:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(CPU_SECONDS + 2)
    for pid in group:
        os.kill(pid, signal.SIGCONT)
    (commands.folder / "continued").touch()
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    if how == "computes_on":
        assert_is_charged(commands)
    else:
        [end] = commands.rows("end")
        [pause] = end["pauses"]
        assert pause["charged_seconds"] == 0.0 and pause["seconds"] > CPU_SECONDS
        assert end["elapsed"] < CPU_SECONDS


def test_a_program_that_stops_its_parent_and_computes_is_charged(commands: Commands):
    result = commands(*with_program(commands, "stops_its_parent"))
    assert result.returncode == 0, result.stderr
    assert_is_charged(commands)


def test_a_program_that_stops_its_parent_for_ever_is_ended_at_the_deadline(commands: Commands):
    result = commands(*with_program(commands, "stops_its_parent_for_ever", budget=3))
    assert result.returncode == 0, result.stderr
    [end] = commands.rows("end")
    [pause] = end["pauses"]
    assert end["reason"] == "budget" and end["elapsed"] < 20
    assert pause["charged_seconds"] == pause["seconds"] > 0.0
    assert not commands.processes()


@pytest.mark.parametrize("child", ["child", "orphan", "forgotten"])
def test_a_method_that_stops_itself_while_its_child_computes_is_charged(commands: Commands, child: str):
    (commands.folder / "stops.py").write_text(METHOD)
    words = faulty(budget=60, method="stops.py:Stops", seconds=0.01, at=-1)
    result = commands(*words, "--option", f"child={child}", "--max-trials", "5")
    assert result.returncode == 0, result.stderr
    assert_is_charged(commands)


@pytest.mark.parametrize("charged", [0.0, 66.0])
def test_the_report_names_runs_that_were_paused(commands: Commands, charged: float):
    assert commands(*virtual(folds="0-1")).returncode == 0
    for path in commands.results.rglob("*.jsonl"):
        *lines, last = path.read_bytes().splitlines()
        end = {**orjson.loads(last), "pauses": [{"at": 1.5, "seconds": 66.0, "charged_seconds": charged}]}
        path.write_bytes(b"\n".join([*lines, orjson.dumps(end)]) + b"\n")
    result = commands("report", "results", "--format", "csv")
    assert result.returncode == 0, result.stderr
    what = "were stopped while processes" if charged else "were paused"
    assert f"2 of 2 runs {what}" in result.stderr and "(for up to 66 s, which are" in result.stderr
