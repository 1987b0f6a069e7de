"""Processes: started without the user's script, signalled, observed and ended."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.context import ForkContext, SpawnContext
from typing import Any

import pytest

from cfo_bench.errors import DataError, RunError, UserError
from cfo_bench.machine import processes
from cfo_bench.machine.fork_server import fork_server
from cfo_bench.machine.processes import (
    ForkServerContext,
    call_in_subprocess,
    counting_continuations,
    times_continued,
)

# --- starting ---------------------------------------------------------------------------------------


NAMES = ("CFO_BENCH_OLD", "CFO_BENCH_NEW")


def tell_environment(pipe: object) -> None:
    pipe.send([os.environ.get(name) for name in NAMES])  # type: ignore[attr-defined]


def told_by_a_process(context: ForkServerContext) -> list[str | None]:
    ours, theirs = context.Pipe()
    child = context.Process(target=tell_environment, args=(theirs,))
    child.start()
    assert ours.poll(60)
    values: list[str | None] = ours.recv()
    child.join()
    return values


def test_a_process_has_the_settings_of_when_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_OLD", "a")
    context = fork_server([])
    assert told_by_a_process(context) == ["a", None]

    monkeypatch.delenv("CFO_BENCH_OLD")
    monkeypatch.setenv("CFO_BENCH_NEW", "b")
    assert told_by_a_process(context) == [None, "b"]


# --- the answer of another process ------------------------------------------------------------------


def _pid_and(*args: Any) -> tuple[int, Any]:
    return os.getpid(), args


@pytest.mark.parametrize("context", [ForkContext(), SpawnContext()])
def test_the_answer_comes_from_another_process(context: Any) -> None:
    pid, args = call_in_subprocess(context, "answering", _pid_and, 1, "ü")
    assert pid != os.getpid() and args == (1, "ü")


def _wrong_data() -> None:
    raise DataError("no column 'y'")


def _failed_run() -> None:
    raise RunError("the disk is full")


def _defect() -> None:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (_wrong_data, UserError, "no column 'y'"),
        (_failed_run, RunError, "the disk is full"),
        (_defect, RunError, "unexpected KeyError: 'x'"),
    ],
)
def test_an_error_keeps_its_message_and_its_exit_code(
    function: Callable[[], None], kind: type[Exception], message: str
) -> None:
    with pytest.raises((UserError, RunError)) as caught:
        call_in_subprocess(ForkContext(), "failing", function)
    assert caught.type is kind and str(caught.value) == message


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_death_is_an_error_that_says_what_the_process_was_for() -> None:
    with pytest.raises(RunError, match=r"^loading task 'iris' killed its process \(exit code -9\)$"):
        call_in_subprocess(ForkContext(), "loading task 'iris'", _die)


def _interrupt_ourselves() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "survived"


def test_an_answer_that_nobody_waits_for_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    receiver.close()  # as when the caller was stopped by Ctrl-C
    process = multiprocessing.get_context("fork").Process(target=processes._call, args=(sender, os.getpid))

    process.start()
    process.join()

    assert process.exitcode == 0
    assert capfd.readouterr().err == ""


def test_ctrl_c_is_left_to_the_driver() -> None:
    assert call_in_subprocess(ForkContext(), "waiting", _interrupt_ourselves) == "survived"


# --- signals ----------------------------------------------------------------------------------------


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


# --- continuations ----------------------------------------------------------------------------------


def counted(action: Callable[[], None]) -> int:
    before = times_continued()
    action()
    after = times_continued()
    assert before is not None and after is not None
    return after - before


def test_continuations_are_counted_and_others_hear_of_them_too() -> None:
    heard: list[int] = []
    handler = signal.signal(signal.SIGCONT, lambda number, frame: heard.append(number))
    try:
        with counting_continuations(), counting_continuations():
            assert counted(lambda: None) == 0
            assert counted(lambda: os.kill(os.getpid(), signal.SIGCONT)) >= 1
        assert heard == [signal.SIGCONT]
        os.kill(os.getpid(), signal.SIGCONT)
        assert len(heard) == 2
    finally:
        signal.signal(signal.SIGCONT, handler)


def test_where_nobody_counts_nothing_is_known() -> None:
    assert times_continued() is None
    counts: list[int | None] = []

    def on_another_thread() -> None:
        with counting_continuations():
            counts.append(times_continued())

    thread = threading.Thread(target=on_another_thread)
    thread.start()
    thread.join()
    assert counts == [None]


# --- what Linux reports in /proc --------------------------------------------------------------------


def test_a_stopped_process_is_told_from_a_sleeping_one() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert not processes.is_stopped(processes.process_stat(process.pid))
        process.send_signal(signal.SIGSTOP)
        while not processes.is_stopped(processes.process_stat(process.pid)):
            time.sleep(0.005)
        process.kill()
    assert processes.process_stat(process.pid) == [] and not processes.is_stopped([])


def test_a_process_that_works_has_run_for_that_long() -> None:
    before, waited = processes.seconds_run(processes.process_stat(os.getpid())), processes.seconds_waited()
    began = time.process_time()
    while time.process_time() < began + 0.2:
        pass
    assert 0.15 < processes.seconds_run(processes.process_stat(os.getpid())) - before < 1.0
    assert processes.seconds_waited() >= waited


# --- ending -----------------------------------------------------------------------------------------


CODE = """
import os, subprocess, sys, time
from cfo_bench.machine.processes import adopt_orphans, end_children

adopt_orphans()
subprocess.Popen(["sleep", "60"])
keep = subprocess.Popen(["sleep", "60"])
if os.fork() == 0:                       # a double fork, with children of its own
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen(["sh", "-c", "trap '' TERM HUP; sleep 60; sleep 60"])
        time.sleep(60)
    os._exit(0)
time.sleep(0.5)
end_children(os.getpid(), but=[keep.pid])
print(*[line for line in subprocess.check_output(["ps", "-o", "stat=,args=", "--ppid", str(os.getpid())],
      text=True).splitlines() if "sleep" in line and not line.startswith("Z")], sep=";")
keep.kill()
"""


def test_double_forks_and_new_sessions_end_and_what_is_kept_stays() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=60
    )
    assert [line.split()[1:] for line in answer.stdout.split(";")] == [["sleep", "60"]]
    left = subprocess.check_output(["ps", "-eo", "args="], text=True)
    assert "trap '' TERM HUP; sleep 60; sleep 60" not in left
