"""Who dies with whom, and who survives which signal."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.context import ForkContext
from typing import Any

import pytest

from cfo_bench.machine import processes
from cfo_bench.machine.processes import call_in_subprocess

fork = multiprocessing.get_context("fork")


def _two_generations(pipe: Any) -> None:
    child = fork.Process(target=_child, args=(pipe,))
    child.start()
    time.sleep(60)


def _child(pipe: Any) -> None:
    processes.die_with_parent()
    pipe.send(os.getpid())
    time.sleep(60)


def test_a_child_dies_with_its_parent() -> None:
    ours, theirs = fork.Pipe(duplex=False)
    parent = fork.Process(target=_two_generations, args=(theirs,))
    parent.start()
    theirs.close()
    assert ours.poll(20)
    ours.recv()
    assert parent.pid is not None
    os.kill(parent.pid, signal.SIGKILL)
    parent.join()
    # The grandchild is not ours to wait for; but the pipe is closed once nobody is left to write to it.
    assert ours.poll(20)
    with pytest.raises(EOFError):
        ours.recv()


def _survive_signals() -> str:
    processes.leave_stopping_to_others()
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
    return os.popen("kill -TERM $$; echo not killed").read()  # a program started from here is not deaf


def test_a_process_that_leaves_stopping_to_others_hears_neither_signal_but_its_programs_do() -> None:
    assert call_in_subprocess(ForkContext(), "surviving", _survive_signals) == ""


@pytest.mark.parametrize(
    ("exit_code", "name"), [(-9, "SIGKILL"), (-11, "SIGSEGV"), (3, "exit code 3"), (-999, "exit code -999")]
)
def test_an_exit_code_is_named(exit_code: int, name: str) -> None:
    assert processes.signal_name(exit_code) == name
