"""Locks on files: one holder at a time, whatever becomes of the file or the process."""

from __future__ import annotations

import errno
import fcntl
import math
import multiprocessing
import os
import time
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from cfo_bench.errors import NoLocksError
from cfo_bench.files import locks

fork = multiprocessing.get_context("fork")


def opened(path: Path) -> int:
    fd = locks.open_locked(path)
    assert fd is not None
    return fd


def test_a_locked_file_is_seen_as_such_until_its_holder_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    assert not locks.is_locked(path)
    fd = opened(path)
    assert locks.is_locked(path) and locks.open_locked(path) is None
    os.close(fd)
    assert not locks.is_locked(path)


def test_opening_keeps_what_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"mine")
    fd = opened(path)
    assert os.read(fd, 10) == b"mine"
    os.close(fd)


def test_a_lock_that_is_released_in_time_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "file"
    ours, theirs = fork.Pipe()
    holder = fork.Process(target=_hold, args=(path, theirs))
    holder.start()
    ours.recv()
    with closing(path.open("rb+")) as file:
        assert not locks.lock(file.fileno(), path) and not locks.lock(file.fileno(), path, 0.05)
        ours.send(0.2)
        assert locks.lock(file.fileno(), path, 20.0)
    holder.join()


def _hold(path: Path, pipe: Connection) -> None:
    opened(path)
    pipe.send("held")
    time.sleep(pipe.recv())


@pytest.mark.parametrize("patience", [20.0, math.inf])
def test_a_lock_outlives_no_process_however_that_ends(tmp_path: Path, patience: float) -> None:
    path = tmp_path / "file"
    ours, theirs = fork.Pipe()
    holder = fork.Process(target=_hold, args=(path, theirs))
    holder.start()
    ours.recv()
    holder.kill()
    fd = locks.open_locked(path, patience)
    assert fd is not None
    os.close(fd)
    holder.join()


def test_who_waited_for_a_file_that_was_removed_gets_the_one_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "file"
    first = opened(path)
    waiter = fork.Process(target=_wait_and_write, args=(path, first))
    waiter.start()
    time.sleep(0.2)  # it waits at the lock of the first file
    path.unlink()
    assert not locks.has_name(first, path)
    os.close(first)
    waiter.join()
    assert path.read_bytes() == b"second"


def _wait_and_write(path: Path, inherited: int) -> None:
    os.close(inherited)  # it would keep the lock that we wait for
    fd = locks.open_locked(path, math.inf)
    assert fd is not None
    os.write(fd, b"second")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
@pytest.mark.parametrize("patience", [0.0, 20.0, math.inf])
def test_a_file_system_without_locks_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, patience: float
) -> None:
    def flock(fd: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)  # no file system of a test machine is without
    with pytest.raises(NoLocksError, match=f"{tmp_path} is on a file system without file locks.*Lustre"):
        locks.open_locked(tmp_path / "file", patience)
    assert not locks.is_locked(tmp_path / "file")


def test_a_file_that_was_replaced_has_lost_its_name(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    fd = opened(path)
    assert locks.has_name(fd, path)
    other.touch()
    other.replace(path)
    assert not locks.has_name(fd, path)
    os.close(fd)
