"""Imported by the fork server: it adopts what dead runs leave behind, and takes it along when it ends."""

from __future__ import annotations

import atexit
import os
import sys
import warnings

from cfo_bench.machine.children import adopt_orphans, end_children


def _adopt() -> None:
    server = os.getpid()
    adopt_orphans()
    # multiprocessing wonders about the children that it has not forked.
    warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")

    def end() -> None:
        if os.getpid() == server:  # a process that was forked from it may end in the same way
            end_children(server)

    atexit.register(end)


# Only there: another process has children of its own, which are none of our business.
if any("multiprocessing.forkserver" in word for word in sys.orig_argv):
    _adopt()
