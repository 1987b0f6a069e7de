"""The files that a run leaves in a results folder: what they are called, and whether one has changed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# The trace of a run. Every file with this suffix below a results folder is one.
TRACE_SUFFIX = ".jsonl"
# The live page, which a run shares with its supervisor; there only while the run is under way, or was killed.
PAGE_SUFFIX = ".live"
# What the run's process printed; kept only if the process died.
LOG_SUFFIX = ".log"
# A trace that was cut off and could not be resumed, kept beside the trace of the new start.
INTERRUPTED_SUFFIX = ".interrupted"


def page_path(trace_path: Path) -> Path:
    return trace_path.with_suffix(PAGE_SUFFIX)


def log_path(trace_path: Path) -> Path:
    return trace_path.with_suffix(LOG_SUFFIX)


def interrupted_path(trace_path: Path, number: int = 1) -> Path:
    """Where the first, or a later, trace is kept that could not be resumed."""
    nth = f"-{number}" if number > 1 else ""
    return trace_path.with_name(f"{trace_path.stem}{nth}{INTERRUPTED_SUFFIX}")


def stamp(path: str | Path) -> tuple[int, int]:
    """The size of a file and when it was last written, in nanoseconds: it changes when the file does."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def read_regular(path: str | Path) -> bytes:
    """The content of a regular file. OSError for a link, a pipe, a socket or a device: none is opened."""
    # Without O_NONBLOCK, opening a pipe would wait for somebody who writes to it.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
        return file.read()
