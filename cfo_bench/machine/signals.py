"""Signals: which of them ask a process to stop, and how a child ends with its parent."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from typing import Any

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
