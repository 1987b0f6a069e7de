"""The process that runs are forked from: it is started when needed, and a death of it is noticed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from typing import Any

from cfo_bench.clock import monotonic, sleep
from cfo_bench.machine.signals import STOP_SIGNALS

# One thread for each run. Set before numpy is imported, since its BLAS starts its threads then.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# How long a process may take from closing its pipes to its end, and how often we look.
DYING_SECONDS, LOOK_SECONDS = 1.0, 0.01


def fork_server(preload: Sequence[str]) -> ForkServerContext:
    """Starts the process that runs are forked from: it has imported what they need, and has no threads.

    It blocks Ctrl-C and SIGTERM, and ends with the process that calls this.
    """
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"
    context = multiprocessing.get_context("forkserver")
    always = (
        "__main__",
        "cfo_bench.run.entry",
        "cfo_bench.run.process",
        "cfo_bench.run.preloaded",
        "numpy.random",
    )
    context.set_forkserver_preload([*always, *preload])
    running_server()
    return context


def running_server() -> int:
    """The process id of the fork server, which is started again if it was killed."""
    resource_tracker.ensure_running()  # first, and alone: it unblocks signals when it has started
    with _stop_signals_blocked():  # which the server inherits
        forkserver.ensure_running()
    server: Any = forkserver._forkserver
    pid: int = server._forkserver_pid
    return pid


def is_gone(server: int) -> bool:
    """Whether that fork server died. Waits a moment, since its pipes are closed before the system says so."""
    give_up_at = monotonic() + DYING_SECONDS
    while running_server() == server:
        if monotonic() > give_up_at:
            return False
        sleep(LOOK_SECONDS)
    return True


@contextmanager
def _stop_signals_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
