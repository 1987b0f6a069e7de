"""Ways to start a process that don't run the user's own script again.

multiprocessing imports the main module in every process that it starts, since a function may be defined
there. What we start is always defined in this package, and a script that calls `run_suite` would run its
suite again, in every process, unless its author knew to protect it.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import context, forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from types import ModuleType
from typing import Any

from cfo_bench.clock import monotonic, sleep
from cfo_bench.errors import CfoBenchError, RunError, UserError, describe

# --- processes -------------------------------------------------------------------------------------


@contextmanager
def without_main_module() -> Iterator[None]:
    """While a process is started, multiprocessing finds an empty main module."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def signals_blocked(*numbers: int) -> Iterator[None]:
    """A process that is started here, and what is forked from it, does not hear these signals."""
    resource_tracker.ensure_running()  # first, and alone: it unblocks signals when it has started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """A Ctrl-C in here is answered at the end, so that it does not come between a start and its record."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C interrupts the main thread only
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


class _ForkServerProcess(context.ForkServerProcess):
    """A process with this program's settings of the environment as they are when it is started.

    It would have those from when the server was started, which may have been for another suite.
    """

    def start(self) -> None:
        self._environment = _our_environment()
        super().start()

    def run(self) -> None:
        for name in _our_environment().keys() - self._environment.keys():
            del os.environ[name]
        os.environ.update(self._environment)
        super().run()

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with without_main_module(), signals_blocked(signal.SIGINT):  # the server itself may be started now
            return context.ForkServerProcess._Popen(process_obj)


def _our_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("CFO_BENCH")}


class _SpawnProcess(context.SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with without_main_module():
            return context.SpawnProcess._Popen(process_obj)


class ForkServerContext(context.ForkServerContext):
    """Processes that are forked from a server, which has imported what they need."""

    Process = _ForkServerProcess

    def start_server(self, modules: list[str]) -> None:
        """Starts the server, which imports these modules. Does not wait for it."""
        self.set_forkserver_preload(modules)
        with without_main_module(), signals_blocked(signal.SIGINT):
            forkserver.ensure_running()


class SpawnContext(context.SpawnContext):
    """Processes that start with nothing loaded."""

    Process = _SpawnProcess


# --- signals ---------------------------------------------------------------------------------------
# Signals: which of them ask a process to stop, and how a child ends with its parent.


# Signals that ask us to stop. The fork server blocks them; its children do so until they have handlers.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def die_with_parent() -> None:
    """Asks the kernel to kill this process when the process that it was forked from ends, for any reason."""
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    # The fork server lives as long as a process has this pipe open. Its children must close it: else they
    # and the server would keep each other alive after the death of the process that started them.
    server: Any = forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    starter = multiprocessing.parent_process()
    if starter is not None and not starter.is_alive():  # it died before we asked the kernel
        os._exit(1)


def leave_stopping_to_others() -> None:
    """Makes this process survive Ctrl-C and SIGTERM, which reach its whole group: the supervisor ends it.

    The handlers do nothing. To ignore the signals would not do: programs started from here would inherit it.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def signal_name(exit_code: int) -> str:
    """The name of the signal that ended a process, from its negative exit code."""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"exit code {exit_code}"


# --- proc ------------------------------------------------------------------------------------------
# What Linux tells of processes in /proc. Elsewhere nothing is known, and that is no error.


_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def process_stat(pid: int) -> list[bytes]:
    """The fields of /proc/<pid>/stat from the state on; empty where there is no such process."""
    # The command stands before them in parentheses, and may contain anything.
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def is_stopped(fields: list[bytes]) -> bool:
    """Whether the process of these `stat` fields is stopped, by a signal or a debugger."""
    return fields[:1] in ([b"T"], [b"t"])


def children_of(pid: int) -> list[int]:
    """The processes that its main thread has forked, and that have not ended."""
    return list(map(int, _read(f"/proc/{pid}/task/{pid}/children").split()))


def seconds_run(fields: list[bytes]) -> float:
    """How long the process of these `stat` fields, and children that it waited for, had a processor."""
    return sum(map(int, fields[11:15])) / _TICKS_A_SECOND


def seconds_waited() -> float:
    """How long this thread was ready to run, while others had the processors."""
    fields = _read("/proc/thread-self/schedstat").split()
    return int(fields[1]) / 1e9 if len(fields) == 3 else 0.0


def slowness() -> float:
    """How many times longer than on an idle machine this thread has taken so far; 1 where it is not known."""
    fields = _read("/proc/thread-self/schedstat").split()
    run, waited = (int(fields[0]), int(fields[1])) if len(fields) == 3 else (1, 0)
    return (run + waited) / max(run, 1)


def age_seconds() -> float:
    """How long ago this process was started; 0 where that is not known."""
    fields, uptime = process_stat(os.getpid()), _read("/proc/uptime").split()
    if len(fields) < 20 or not uptime:
        return 0.0
    return max(float(uptime[0]) - int(fields[19]) / _TICKS_A_SECOND, 0.0)


def _read(path: str) -> bytes:
    """Not by `Path`, which takes several times as long: supervisors do this several times a second."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:  # it ended while we looked
        return b""
    finally:
        os.close(fd)


# --- children --------------------------------------------------------------------------------------
# What a process leaves behind when it ends: the processes that it started, and their own.
#
# On Linux a process can ask to become the parent of orphans below it. So nothing that a run starts gets out
# of sight, not even by a double fork or a new session, and it can be ended when the run is over.


# How long killed processes may take to end, and how often we look.
_PATIENCE_SECONDS, _LOOK_SECONDS = 2.0, 0.002


def adopt_orphans() -> None:
    """From now on this process is the parent of every orphan among its descendants."""
    if sys.platform == "linux":
        set_child_subreaper = 36  # PR_SET_CHILD_SUBREAPER
        ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def end_children(parent: int, but: Collection[int] = ()) -> None:
    """Kills the children of a process that adopts orphans, and all their descendants; not those in `but`."""
    give_up_at = monotonic() + _PATIENCE_SECONDS
    while True:
        children = _living_by_parent()
        found = [pid for pid in children.get(parent, ()) if pid not in but]
        if not found or monotonic() > give_up_at:
            return
        for pid in _with_descendants(found, children):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        sleep(_LOOK_SECONDS)  # what was started meanwhile is adopted, and found the next time


def _with_descendants(pids: Iterable[int], children: dict[int, list[int]]) -> list[int]:
    found: list[int] = []
    for pid in pids:
        found += [pid, *_with_descendants(children.get(pid, ()), children)]
    return found


def _living_by_parent() -> dict[int, list[int]]:
    """The process ids of all children of each process; empty where the system has no /proc."""
    found: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):
            fields = process_stat(int(name)) if name.isdecimal() else []
            if fields and fields[0] not in (b"Z", b"X"):
                found.setdefault(int(fields[1]), []).append(int(name))
    return found


# --- continuations ---------------------------------------------------------------------------------
# How often this process was continued after a stop: Ctrl-Z and `fg`, SIGSTOP and SIGCONT.
#
# A process that is frozen with its container, or halted with its virtual machine, hears nothing of it. So
# whether there was a signal tells the one from the other.


class _Count:
    """Of the whole process: signals come to all of it."""

    times = 0
    counters = 0  # who counts at the moment


def times_continued() -> int | None:
    """None where nobody counts."""
    return _Count.times if _Count.counters else None


@contextmanager
def counting_continuations() -> Iterator[None]:
    """Only the main thread can handle signals: on another one, nothing is counted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGCONT)

    def on_continue(number: int, frame: Any) -> None:
        _Count.times += 1
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCONT, on_continue)
    signal.siginterrupt(signal.SIGCONT, False)
    _Count.counters += 1
    try:
        yield
    finally:
        _Count.counters -= 1
        signal.signal(signal.SIGCONT, before if before is not None else signal.SIG_DFL)


# --- subprocess call -------------------------------------------------------------------------------
# A function's answer from another process, so that what it loads does not stay in this one.


def call_in_subprocess(
    context: ForkContext | ForkServerContext | SpawnContext,
    doing: str,
    function: Callable[..., Any],
    *args: Any,
    limit: tuple[float, str] | None = None,
) -> Any:
    """Calls `function(*args)` in a new process and returns what it returns.

    `limit` is how many seconds it may take, and the option that sets them. Without it, there is none.
    An error that it raises is raised here, with the same message and exit code. `doing` says in an
    error what the process was for, should it die.
    """
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(theirs, function, *args), daemon=True)
    child.start()
    theirs.close()
    try:
        if limit is not None and not ours.poll(limit[0]):
            child.kill()
            seconds, option = limit
            raise RunError(
                f"{doing} took longer than {seconds:g} s: look for what hangs, or give it longer by {option}"
            )
        answer, exit_code, message = ours.recv()
    except EOFError:
        child.join()
        raise RunError(f"{doing} killed its process (exit code {child.exitcode})") from None
    finally:
        ours.close()
    child.join()
    if message is not None:
        raise (UserError if exit_code == UserError.exit_code else RunError)(message)
    return answer


def _call(pipe: Connection, function: Callable[..., Any], *args: Any) -> None:
    """The new process: sends (answer, exit code, error message)."""
    die_with_parent()
    # A terminal sends Ctrl-C to every process of the group. The driver handles it, and ends us by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    try:
        pipe.send((function(*args), 0, None))
    except CfoBenchError as error:
        pipe.send((None, error.exit_code, str(error)))
    except Exception as error:
        pipe.send((None, 1, f"unexpected {describe(error)}"))
