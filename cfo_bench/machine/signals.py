"""Signals, and the end of a process: who is asked to stop, and what dies with whom."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from typing import Any

# What asks us to stop. The fork server blocks them, and so do its children until they have their handlers.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the one it was forked from is gone, however that happens."""
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    # The fork server lives as long as somebody holds this pipe: its children must not, or they and it
    # would keep each other alive after the death of the process that all of them work for.
    server: Any = forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    starter = multiprocessing.parent_process()
    if starter is not None and not starter.is_alive():  # it was gone before we asked
        os._exit(1)


def leave_stopping_to_others() -> None:
    """Ctrl-C and SIGTERM reach every process of a group: what becomes of this one, its supervisor decides.

    A handler that does nothing, since a signal that is ignored would stay so in programs started from here.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def signal_name(exit_code: int) -> str:
    """How a process ended, from a negative exit code."""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"exit code {exit_code}"
