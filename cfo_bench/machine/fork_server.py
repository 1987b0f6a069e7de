"""The fork server, from which runs are forked: it is started when needed, and replaced if it dies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, process
from typing import Any

from cfo_bench.clock import monotonic, sleep
from cfo_bench.errors import RunError
from cfo_bench.machine.processes import (
    STOP_SIGNALS,
    ForkServerContext,
    ProcessDiedError,
    call_in_subprocess,
    end_children,
    signals_blocked,
    without_main_module,
)

# One thread for each run. Set before numpy is imported, because BLAS starts its threads then.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# A call in a fork of the server fails after the server was killed this many times.
MOST_KILLS = 3
# The seconds that a process may take from closing its pipes to its end, and the seconds between two checks.
DYING_SECONDS, LOOK_SECONDS = 1.0, 0.01


def fork_server(preload: Sequence[str]) -> ForkServerContext:
    """Starts the fork server, which has imported the modules that runs need, and has no threads.

    It blocks Ctrl-C and SIGTERM, and ends with the process that calls this function.
    """
    context = ForkServerContext()
    always = ("cfo_bench.run.process", "cfo_bench.run.supervisor", "numpy.random")
    context.set_forkserver_preload([*always, *preload])
    running_server()
    return context


def running_server() -> int:
    """The process id of the fork server. If it was killed, another one is started."""
    # The server inherits the blocked signals and the environment.
    with signals_blocked(*STOP_SIGNALS), _one_thread_each(), without_main_module():
        forkserver.ensure_running()
    server: Any = forkserver._forkserver
    pid: int = server._forkserver_pid
    return pid


def call_in_fork(
    context: ForkServerContext,
    doing: str,
    function: Callable[..., Any],
    *args: Any,
    limit: tuple[float, str] | None = None,
) -> Any:
    """`call_in_subprocess` in a fork of the server. If the server is killed meanwhile, it is replaced."""
    n_killed = 0
    while n_killed < MOST_KILLS:
        server = running_server()
        try:
            return call_in_subprocess(context, doing, function, *args, limit=limit)
        except ProcessDiedError:
            if not is_gone(server):
                raise
            n_killed += 1
    raise RunError(
        f"{doing}: the process that it is forked from was killed {n_killed} times: find out what kills it "
        "(the kernel, if memory is short), then run the same command"
    )


def end_orphans(server: int) -> None:
    """Ends the processes that finished runs of this fork server left behind."""
    ours = {child.pid for child in set(process._children)}  # type: ignore[attr-defined]
    end_children(server, but=ours)


def is_gone(server: int) -> bool:
    """Whether this fork server died. Waits, because its pipes are closed before its end is reported."""
    give_up_at = monotonic() + DYING_SECONDS
    while running_server() == server:
        if monotonic() > give_up_at:
            return False
        sleep(LOOK_SECONDS)
    return True


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """One thread for the server and its forks; the environment of this process is unchanged."""
    before = {variable: os.environ.get(variable) for variable in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for variable, value in before.items():
            if value is None:
                del os.environ[variable]
            else:
                os.environ[variable] = value
