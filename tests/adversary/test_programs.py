"""A method in a program of its own ends with its run, however that ends."""

from __future__ import annotations

import os
import shlex
import signal
import sys

import pytest

from cfo_bench.records import EndReason
from tests.helpers.commands import FAULTY, ROOT, Commands, wait_until

CLIENT = ROOT / "examples" / "hill_climb.py"
# It never answers its fifth question, and does not end when its stdin does.
STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
def asks(message):
    if message.get("number") == 4:
        open("silent", "w").close()
        time.sleep(600)
    return message["do"] == "ask"
"""


def words(commands: Commands, *, stubborn: bool = False, budget: float = 60) -> list[str]:
    script = commands.folder / "client.py"
    source = CLIENT.read_text()
    if stubborn:
        source = STUBBORN + source.replace('    elif message["do"] == "ask":', "    elif asks(message):")
    script.write_text(source)
    method = f"exec:{shlex.join([sys.executable, str(script)])}"
    line = ["run", "--task", "synthetic-1k", "--learner", FAULTY, "--learner-option", "seconds=0.05"]
    return [*line, "--method", method, "--budget", str(budget), "--folds", "0", "-q", "--max-trials", "40"]


def clients(commands: Commands) -> list[int]:
    found = commands.processes().items()
    return [pid for pid, command in found if "client.py" in command.partition("--method")[0]]


def test_a_stopped_run_ends_its_program_and_is_resumed(commands: Commands) -> None:
    """A signal to all processes, as a batch system sends it: the program dies first, and is not to blame."""
    running = commands.start(*words(commands))
    commands.wait_for_trials(4)
    assert len(clients(commands)) == 1
    os.kill(clients(commands)[0], signal.SIGTERM)
    os.killpg(running.pid, signal.SIGTERM)
    running.communicate(timeout=30)
    assert running.returncode == 143
    wait_until(lambda: not commands.processes(), "the end of all processes", 5)
    before = commands.rows()
    assert commands.rows("end")[-1]["reason"] == EndReason.INTERRUPTED

    assert commands(*words(commands)).returncode == 0
    assert commands.rows()[: len(before)] == before
    assert len(commands.rows()) == 40
    wait_until(lambda: not commands.processes(), "the end of all processes", 5)


@pytest.mark.parametrize("who", ["command", "run"])
def test_a_stubborn_program_does_not_outlive_a_kill(commands: Commands, who: str) -> None:
    running = commands.start(*words(commands, stubborn=True))
    wait_until((commands.folder / "silent").exists, "the question without an answer")
    assert clients(commands)
    if who == "command":
        running.kill()
    else:
        os.kill(commands.run_processes()[0], signal.SIGKILL)
        os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=60)
    wait_until(lambda: not commands.processes(), f"the end of {commands.processes()}", 5)


def test_a_program_that_does_not_answer_is_cut_off_at_the_budget(commands: Commands) -> None:
    result = commands(*words(commands, stubborn=True, budget=2))
    assert result.returncode == 0, result.stderr
    [end] = commands.rows("end")
    assert end["reason"] == EndReason.BUDGET and end["trials"] == 4
    assert end["cut_ask_seconds"] > 0.5
    wait_until(lambda: not commands.processes(), "the end of all processes", 5)
