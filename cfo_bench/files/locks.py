"""Locks on files: one process at a time. A lock is released when its process ends, however it ends.

They use `flock`. On a network file system without it, asking for a lock raises a NoLocksError, since two
commands could write the same trace.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
from pathlib import Path

from cfo_bench.clock import monotonic, sleep
from cfo_bench.errors import NoLocksError
from cfo_bench.files.writing import open_file

# The seconds between two attempts to get a lock that another process holds.
_RETRY_SECONDS = 0.02
# The errors of flock on a file system without locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


def lock(fd: int, path: Path, patience_seconds: float = 0.0) -> bool:
    """Locks an open file; False if another process still holds the lock after `patience_seconds`.

    `path` is the file's name, for the NoLocksError if the file system has no locks.
    """
    give_up_at = monotonic() + patience_seconds
    may_wait = 0 if patience_seconds == math.inf else fcntl.LOCK_NB
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | may_wait)
        except BlockingIOError:
            if monotonic() >= give_up_at:
                return False
            sleep(_RETRY_SECONDS)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise NoLocksError(path.parent, error) from None
            raise
        else:
            return True


def open_locked(path: Path, patience_seconds: float = 0.0) -> int | None:
    """The file, opened for reading and writing and locked; None if another process keeps the lock.

    The file is created if it is missing, and never emptied. Its last owner may have removed or renamed it
    while this process waited for the lock: then the file that has the name now is opened instead. A link is
    an OSError.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = open_file(path, os.O_RDWR | os.O_CREAT)
        try:
            is_locked_here = lock(fd, path, patience_seconds)
            if is_locked_here and has_name(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        if not is_locked_here:
            return None


def has_name(fd: int, path: Path) -> bool:
    """Whether the open file is still the file at `path`, and was not removed, renamed or replaced."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of this file; False if there is no file or the file system has no
    locks.
    """
    try:
        # A link or a pipe is not a lock; without O_NONBLOCK, a pipe would wait for a writer.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False
