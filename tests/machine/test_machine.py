"""What a process can find out about, and do to, itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from cfo_bench import machine
from cfo_bench.machine import memory, signals

fork = multiprocessing.get_context("fork")


def elsewhere(function: Callable[..., Any], *args: Any) -> Any:
    """The function's answer from a process of its own."""
    ours, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=_answer, args=(theirs, function, *args))
    process.start()
    theirs.close()
    answer = ours.recv()
    process.join()
    return answer


def _answer(pipe: Any, function: Callable[..., Any], *args: Any) -> None:
    pipe.send(function(*args))


def test_the_provenance_can_stand_in_a_header_and_names_what_matters():
    found = machine.provenance()
    assert orjson.loads(orjson.dumps(found)) == found
    assert {"cfo_bench", "machine", "python", "packages"} <= found.keys()
    assert {"cpu", "cores", "memory_mb", "os"} <= found["machine"].keys()
    assert {"numpy", "scikit-learn"} <= found["packages"].keys()


def test_cores_and_memory_are_those_of_here():
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    assert machine.total_memory_mb() > 100
    assert 5 < memory.PeakMemory()(0.0) < machine.total_memory_mb()


def _allocate_under_a_cap() -> list[str]:
    memory.cap_memory(200)
    said = []
    for megabytes in (100, 400, 100):
        try:
            said.append(f"{len(bytearray(megabytes * 2**20)) // 2**20} MB")
        except MemoryError:
            said.append("MemoryError")
    return said


def test_a_process_with_a_cap_goes_on_after_it_asked_for_too_much():
    assert elsewhere(_allocate_under_a_cap) == ["100 MB", "MemoryError", "100 MB"]


def _two_generations(pipe: Any) -> None:
    child = fork.Process(target=_child, args=(pipe,))
    child.start()
    time.sleep(60)


def _child(pipe: Any) -> None:
    signals.die_with_parent()
    pipe.send(os.getpid())
    time.sleep(60)


def test_a_child_dies_with_its_parent():
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
    signals.leave_stopping_to_others()
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
    return os.popen("kill -TERM $$; echo not killed").read()  # a program started from here is not deaf


def test_a_process_that_leaves_stopping_to_others_hears_neither_signal_but_its_programs_do():
    assert elsewhere(_survive_signals) == ""


@pytest.mark.parametrize(
    ("exit_code", "name"), [(-9, "SIGKILL"), (-11, "SIGSEGV"), (3, "exit code 3"), (-999, "exit code -999")]
)
def test_an_exit_code_is_named(exit_code: int, name: str):
    assert signals.signal_name(exit_code) == name
