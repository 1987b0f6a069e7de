"""Ways to start a process that don't run the user's own script again.

multiprocessing imports the main module in every process that it starts, since a function may be defined
there. What we start is always defined in this package, and a script that calls `run_suite` would run its
suite again, in every process, unless its author knew to protect it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import context, forkserver, resource_tracker
from types import ModuleType
from typing import Any


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
