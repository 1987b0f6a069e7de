"""What a method or learner starts does not outlive its run; and loading that hangs has an end."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.helpers.commands import PLUGINS, Commands, one_line, wait_until

LEARNER = f"""
import os, signal, subprocess, sys, time
sys.path.insert(0, {str(PLUGINS)!r})
from learners import Faulty

def forks():
    if os.fork() == 0:
        time.sleep(300)

def forks_twice():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)

def opens(): subprocess.Popen(["sleep", "300"])
def opens_a_session(): subprocess.Popen(["sleep", "300"], start_new_session=True)
def ignores(): subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1; done"])
def tracks():
    from multiprocessing import shared_memory
    shared_memory.SharedMemory(create=True, size=64)

class Starts(Faulty):
    def __init__(self, *, how: str = "opens"): super().__init__(at=-1, seconds=0.05); self.how = how
    def prepare(self, fold, threads, seed):
        globals()[self.how]()
        return self

class Hangs(Faulty):
    def __init__(self): super().__init__(at=-1)
    def prepare(self, fold, threads, seed):
        time.sleep(600)
"""


def words(commands: Commands, how: str, trials: int) -> list[str]:
    (commands.folder / "starts.py").write_text(LEARNER)
    line = f"run --task synthetic-1k --method rs --budget 60 --max-trials {trials} --folds 0 -q"
    return [*line.split(), "--learner", "starts.py:Starts", "--learner-option", f"how={how}"]


WAYS = ["forks", "forks_twice", "opens", "opens_a_session", "ignores", "tracks"]


@pytest.mark.parametrize("how", WAYS)
def test_nothing_outlives_a_run_that_ends(commands: Commands, how: str):
    result = commands(*words(commands, how, 3))
    assert result.returncode == 0, result.stderr
    wait_until(lambda: not commands.processes(), f"the end of {list(commands.processes().values())}", 5)


@pytest.mark.parametrize("how", WAYS)
def test_nothing_outlives_a_run_that_is_killed(commands: Commands, how: str):
    running = commands.start(*words(commands, how, 400))
    commands.wait_for_trials(2)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=30)
    wait_until(lambda: not commands.processes(), f"the end of {list(commands.processes().values())}", 5)


@pytest.mark.parametrize("who", ["command", "run"])
@pytest.mark.parametrize("how", WAYS)
def test_nothing_outlives_a_process_that_is_killed_at_once(commands: Commands, how: str, who: str):
    running = commands.start(*words(commands, how, 20))
    commands.wait_for_trials(2)
    if who == "command":
        running.kill()
    else:
        os.kill(commands.run_processes()[0], signal.SIGKILL)
    running.communicate(timeout=60)
    wait_until(lambda: not commands.processes(), f"the end of {list(commands.processes().values())}", 5)


def test_nothing_outlives_a_run_that_is_killed_at_its_deadline(commands: Commands):
    line = words(commands, "forks_twice", 400)
    line[line.index("--budget") + 1] = "1"
    assert commands(*line).returncode == 0
    wait_until(lambda: not commands.processes(), f"the end of {list(commands.processes().values())}", 5)


@pytest.mark.slow
def test_what_a_run_started_ends_before_the_next_run(commands: Commands):
    running = commands.start(*words(commands, "opens", 100), "--folds", "0-2")
    wait_until(lambda: len(list(commands.results.rglob("*.jsonl"))) >= 3, "the third run")
    sleeping = [command for command in commands.processes().values() if command.startswith("sleep")]
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=30)
    assert len(sleeping) <= 1


def test_a_hang_while_preparing_has_a_limit_of_its_own(commands: Commands):
    (commands.folder / "starts.py").write_text(LEARNER)
    line = "run --task synthetic-1k --method rs --budget 60 --folds 0 -q --learner starts.py:Hangs"
    began = time.monotonic()
    result = commands(*line.split(), "--prepare-timeout", "2s", seconds=60)
    assert time.monotonic() - began < 30
    one_line(result, 1, "prepare", "--prepare-timeout")
    wait_until(lambda: not commands.processes(), "the end of all processes", 5)
