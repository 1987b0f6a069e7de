"""Processes: how they are started, signalled, observed and ended.

multiprocessing imports the main module in every process that it starts, since a function may be defined
there. The functions that are started here are always defined in this package, and a script that calls
`run_suite` would run its suite again in every process, unless its author protected it. Therefore the main
module is hidden.
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

# Signals that ask a process to stop. The fork server blocks them, its children only until they have handlers.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


# --- starting ---------------------------------------------------------------------------------------


@contextmanager
def without_main_module() -> Iterator[None]:
    """Inside, multiprocessing finds an empty main module when it starts a process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class _ForkServerProcess(context.ForkServerProcess):
    """A process with the CFO_BENCH… variables at the moment when it is started.

    Otherwise it would have those of the start of the server, which may have been for another suite.
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
        with without_main_module(), signals_blocked(signal.SIGINT):  # this may also start the server
            return context.ForkServerProcess._Popen(process_obj)


def _our_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("CFO_BENCH")}


class _SpawnProcess(context.SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with without_main_module():
            return context.SpawnProcess._Popen(process_obj)


class ForkServerContext(context.ForkServerContext):
    """Processes that are forked from a server, which has imported the modules that they need."""

    Process = _ForkServerProcess

    def start_server(self, modules: list[str]) -> None:
        """Starts the server, which imports these modules. Does not wait for it."""
        self.set_forkserver_preload(modules)
        with without_main_module(), signals_blocked(signal.SIGINT):
            forkserver.ensure_running()


class SpawnContext(context.SpawnContext):
    """Processes that start with nothing loaded."""

    Process = _SpawnProcess


class ProcessDiedError(RunError):
    """A process died before it returned its result."""


def call_in_subprocess(
    context: ForkContext | ForkServerContext | SpawnContext,
    doing: str,
    function: Callable[..., Any],
    *args: Any,
    limit: tuple[float, str] | None = None,
) -> Any:
    """Calls `function(*args)` in a new process and returns what it returns.

    Modules and data that the function loads do not stay in this process. `limit` is the number of seconds
    that it may take, with the option that sets this number. An error in the function is raised here, with the
    same message and exit code. `doing` names the purpose of the process in an error.
    """
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(sender, function, *args), daemon=True)
    try:
        child.start()
    except (OSError, EOFError) as error:
        receiver.close()
        raise ProcessDiedError(f"{doing}: its process can't be started ({describe(error)})") from None
    finally:
        sender.close()
    try:
        if limit is not None and not receiver.poll(limit[0]):
            child.kill()
            seconds, option = limit
            raise RunError(
                f"{doing} took longer than {seconds:g} s: find out what hangs, or raise the limit with "
                f"{option}"
            )
        answer, exit_code, message = receiver.recv()
    except EOFError:
        child.join()
        raise ProcessDiedError(f"{doing} killed its process (exit code {child.exitcode})") from None
    finally:
        receiver.close()
    child.join()
    if message is not None:
        raise (UserError if exit_code == UserError.exit_code else RunError)(message)
    return answer


def _call(pipe: Connection, function: Callable[..., Any], *args: Any) -> None:
    """The body of the new process: sends (answer, exit code, error message)."""
    die_with_parent()
    # A terminal sends Ctrl-C to every process of the group. The driver handles it, and sends SIGTERM here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    with suppress(BrokenPipeError):  # the caller was stopped, and does not wait for the answer
        try:
            pipe.send((function(*args), 0, None))
        except CfoBenchError as error:
            pipe.send((None, error.exit_code, str(error)))
        except Exception as error:
            pipe.send((None, 1, f"unexpected {describe(error)}"))


# --- signals ----------------------------------------------------------------------------------------


@contextmanager
def signals_blocked(*numbers: int) -> Iterator[None]:
    """Processes that are started inside, and their forks, do not receive these signals."""
    resource_tracker.ensure_running()  # before the block: it unblocks signals when it has started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """A Ctrl-C inside is handled at the end, so that it does not come between a start and its record."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C interrupts the main thread only
        return
    signals: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if signals:
        signal.raise_signal(signal.SIGINT)


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
    """Makes this process survive Ctrl-C and SIGTERM, which reach its whole group. The supervisor ends it
    instead.

    The handlers do nothing. The signals are not ignored, because programs started from here would inherit
    this.
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


class _Continuations:
    """Counts how often this process was continued after a stop. The count is global, because signals are sent
    to the whole process.
    """

    times = 0
    n_counting = 0  # the number of `counting_continuations` blocks that are active


def times_continued() -> int | None:
    """How often this process was continued after Ctrl-Z or SIGSTOP; None if this is not counted.

    A process that is frozen with its container, or halted with its virtual machine, receives no signal.
    """
    return _Continuations.times if _Continuations.n_counting else None


@contextmanager
def counting_continuations() -> Iterator[None]:
    """Counts continuations inside. Only the main thread can handle signals: another one counts nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGCONT)

    def on_continue(number: int, frame: Any) -> None:
        _Continuations.times += 1
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCONT, on_continue)
    signal.siginterrupt(signal.SIGCONT, False)
    _Continuations.n_counting += 1
    try:
        yield
    finally:
        _Continuations.n_counting -= 1
        signal.signal(signal.SIGCONT, before if before is not None else signal.SIG_DFL)


# --- /proc of Linux; on other systems these functions return nothing, without an error --------------


_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def process_stat(pid: int) -> list[bytes]:
    """The fields of /proc/<pid>/stat from the state on; empty if there is no such process."""
    return _stat(f"/proc/{pid}")


def _stat(folder: str) -> list[bytes]:
    # The command before the fields is in parentheses, and may contain anything.
    return _read(f"{folder}/stat").rpartition(b")")[2].split()


def is_stopped(fields: list[bytes]) -> bool:
    """Whether the process of these `stat` fields is stopped, by a signal or a debugger."""
    return fields[:1] in ([b"T"], [b"t"])


def children_of(pid: int) -> list[int]:
    """The processes that a process has forked or adopted, and has not waited for."""
    task = f"/proc/{pid}/task"
    return [int(child) for thread in _listed(task) for child in _read(f"{task}/{thread}/children").split()]


def descendants_of(pid: int) -> list[int]:
    """The children of a process, their children, and so on."""
    descendants = children_of(pid)
    for descendant in descendants:  # the list grows during the loop
        descendants += children_of(descendant)
    return descendants


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # the process has ended
        return []


def session_of(fields: list[bytes]) -> bytes:
    """The session of the process of these `stat` fields; empty if it has ended."""
    return fields[3] if fields else b""


def descendants_cpu_seconds(pid: int) -> float:
    """The processor seconds of all descendants of a process that adopts orphans, in all sessions.

    Those of processes that were waited for are included.
    """
    stats = map(process_stat, descendants_of(pid))
    return sum(_cpu_seconds(process_stat(pid))[2:]) + sum(sum(_cpu_seconds(fields)) for fields in stats)


def threads_that_computed(pid: int) -> int:
    """How many living threads of the descendants of a process have used the processor so far."""
    tasks = (f"/proc/{descendant}/task" for descendant in descendants_of(pid))
    stats = (_stat(f"{task}/{thread}") for task in tasks for thread in _listed(task))
    return sum(any(_cpu_seconds(fields)[:2]) for fields in stats)


def _cpu_seconds(fields: list[bytes]) -> list[float]:
    """User and system seconds of the process of these `stat` fields, and of children that it waited for."""
    return [int(ticks) / _TICKS_A_SECOND for ticks in fields[11:15]]


def seconds_run(fields: list[bytes]) -> float:
    """The processor seconds of the process of these `stat` fields and of children that it waited for."""
    return sum(_cpu_seconds(fields))


def seconds_waited() -> float:
    """The seconds that this thread was ready to run while other threads used the processors."""
    fields = _read("/proc/thread-self/schedstat").split()
    return int(fields[1]) / 1e9 if len(fields) == 3 else 0.0


def slowness() -> float:
    """The factor by which this thread has been slower than on an idle machine so far; 1 if it is unknown."""
    fields = _read("/proc/thread-self/schedstat").split()
    run, waited = (int(fields[0]), int(fields[1])) if len(fields) == 3 else (1, 0)
    return (run + waited) / max(run, 1)


def age_seconds() -> float:
    """The seconds since this process was started; 0 if unknown."""
    fields, uptime = process_stat(os.getpid()), _read("/proc/uptime").split()
    if len(fields) < 20 or not uptime:
        return 0.0
    return max(float(uptime[0]) - int(fields[19]) / _TICKS_A_SECOND, 0.0)


def _read(path: str) -> bytes:
    """The content of a small file. `Path` would be slower, and supervisors read several times a second."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:  # the process has just ended
        return b""
    finally:
        os.close(fd)


# --- ending -----------------------------------------------------------------------------------------


# The seconds that killed processes may take to end, and the seconds between two checks.
_PATIENCE_SECONDS, _LOOK_SECONDS = 2.0, 0.002


def adopt_orphans() -> None:
    """Makes this process the parent of every orphan among its descendants, on Linux.

    Therefore no process that a run starts is lost, not even after a double fork or in a new session, and all
    of them can be ended when the run is over.
    """
    if sys.platform == "linux":
        set_child_subreaper = 36  # PR_SET_CHILD_SUBREAPER
        ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def end_children(parent: int, but: Collection[int] = ()) -> None:
    """Kills the children of a process that adopts orphans, and all their descendants; not those in `but`."""
    give_up_at = monotonic() + _PATIENCE_SECONDS
    while True:
        children = _living_by_parent()
        living = [pid for pid in children.get(parent, ()) if pid not in but]
        if not living or monotonic() > give_up_at:
            return
        for pid in _with_descendants(living, children):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        sleep(_LOOK_SECONDS)  # processes started meanwhile are adopted, and found in the next iteration


def _with_descendants(pids: Iterable[int], children: dict[int, list[int]]) -> list[int]:
    family: list[int] = []
    for pid in pids:
        family += [pid, *_with_descendants(children.get(pid, ()), children)]
    return family


def _living_by_parent() -> dict[int, list[int]]:
    """The process ids of all children of each process; empty if the system has no /proc."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):
            fields = process_stat(int(name)) if name.isdecimal() else []
            if fields and fields[0] not in (b"Z", b"X"):
                children.setdefault(int(fields[1]), []).append(int(name))
    return children
