"""On the virtual clock a run whose process is killed ends with the trace that it would have had."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.helpers.commands import PLUGINS, Commands, virtual, wait_until

# A method that takes its time, so that there is a moment to kill it in.
SLOW = f"""
import sys, time
sys.path.insert(0, {str(PLUGINS)!r})
from methods import Draws

class Slow(Draws):
    def ask(self):
        time.sleep(0.02)
        return super().ask()
"""

TRIALS = 120


def lines(path: Path) -> list[bytes]:
    """What is of the run itself: neither the header, which tells of the machine, nor where it was resumed."""
    return [line for line in path.read_bytes().splitlines()[1:] if b'"kind":"resume"' not in line]


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.slow
def test_a_killed_run_ends_with_the_trace_that_it_would_have_had(commands: Commands, parallel: int):
    (commands.folder / "slow.py").write_text(SLOW)
    words = [*virtual(trials=TRIALS, method="slow.py:Slow"), "--parallel", parallel]
    undisturbed = commands(*words, "--results", "undisturbed")
    assert undisturbed.returncode == 0, undisturbed.stderr
    [whole] = (commands.folder / "undisturbed").rglob("*.jsonl")

    running = commands.start(*words)
    for told in (5, 40):
        commands.wait_for_trials(told)
        wait_until(commands.run_processes, "the run's process")
        for pid in commands.run_processes():
            os.kill(pid, signal.SIGKILL)
    _, err = running.communicate(timeout=60)
    if running.returncode:
        assert commands(*words).returncode == 0, err
    assert lines(commands.trace_path()) == lines(whole)
