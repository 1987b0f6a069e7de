"""A cache of numpy arrays on disk: data is parsed and encoded once, and parallel runs share the memory.

`cached` returns the entry of a key, which it builds first if the cache has none:

    entry = cached("tables", [name, file_state(path)], lambda: CacheEntry({"losses": losses}, {"rows": 5}))
    entry.arrays["losses"], entry.facts["rows"]

An entry is one file, named by a hash of its key. The key holds everything that decides the content, such as
the SHA-256 of the data and of the code that reads it, so that an entry is never out of date. The file is
written under another name by one process and then renamed; other processes that need the entry wait. It
ends with a checksum, and a damaged entry is built again. If the folder can't be written, the arrays stay in
memory.

The cache is $CFO_BENCH_CACHE, by default `cfo-bench` in the user's cache folder (XDG). It is kept below
$CFO_BENCH_CACHE_GB (10) by removing the least recently used entries; 0 switches it off.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from cfo_bench.errors import NoLocksError, UserError
from cfo_bench.files.locks import has_name, open_locked
from cfo_bench.metrics import Array

FOLDER, LIMIT = "CFO_BENCH_CACHE", "CFO_BENCH_CACHE_GB"
_DEFAULT_GB = 10.0

_WHOLE, _UNFINISHED = ".arrays", ".part"
_OF_0_2 = ".fold"  # the entries of version 0.2, which are not read, and are removed when the cache is full
_LENGTH_BYTES, _ALIGNMENT, _CHECKSUM_BYTES = 8, 64, 4
_CHECKSUM_OF_NOTHING = zlib.crc32(b"cfo-bench")  # not 0: a file of zeros would have the right checksum


@dataclass(frozen=True, slots=True, eq=False)
class CacheEntry:
    """Named arrays, and facts that JSON can hold."""

    arrays: dict[str, Array]
    facts: dict[str, Any]


def cached(
    folder: str,
    key: object,
    build: Callable[[], CacheEntry],
    may_keep: Callable[[], bool] = lambda: True,
) -> CacheEntry:
    """The entry of `key` in a folder of the cache. It is built if it is missing.

    The key is a value that JSON can hold. The arrays are mapped into memory. A process may write to
    them: only that process sees the change. `may_keep` is called after `build`, and reports whether the key
    still describes what was built.
    """
    path, limit = _path_of(folder, key), limit_bytes()
    if path is None:
        return build()
    entry = _read(path)
    if entry is not None:
        return entry
    unfinished = path.with_suffix(_UNFINISHED)
    with _sole_writer(unfinished) as file:
        entry = _read(path) if file else None  # another process built it while this one waited
        if entry is not None:
            return entry
        built = build()
        if file and may_keep() and _size(built) <= limit:
            with suppress(OSError):  # most likely a full disk
                _write(file, built)
                unfinished.replace(path)
                _make_room(path.parent.parent, limit, keep=path)
                return _read(path, verify=False) or built
        return built


def recall(folder: str, key: object) -> CacheEntry | None:
    """The entry of `key` if the cache contains it; nothing is built."""
    path = _path_of(folder, key)
    return _read(path) if path else None


# --- keys ---------------------------------------------------------------------------------------------


def code_hash(*paths: Path) -> str:
    """The SHA-256 of the given files and of every Python file in the given folders."""
    content = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            content.update(file.read_bytes())
    return content.hexdigest()


def file_state(path: Path) -> list[int]:
    """The inode, size and times of a file, which change with its content; OSError if it is missing."""
    status = path.stat()
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


# --- the folder ---------------------------------------------------------------------------------------


def cache_folder(name: str) -> Path | None:
    """A folder of the cache; None if the cache is switched off."""
    if limit_bytes() == 0:
        return None
    given = os.environ.get(FOLDER)
    if given:
        return Path(given).expanduser() / name
    try:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # the user has no home folder
        return None
    return Path(caches) / "cfo-bench" / name


def limit_bytes() -> int:
    """The largest size of the cache; 0 switches it off."""
    given = os.environ.get(LIMIT) or str(_DEFAULT_GB)
    try:
        limit = round(float(given) * 1e9)
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise UserError(f"{LIMIT} is {given!r}: give a number of gigabytes, 0 for no cache")
    return limit


def _path_of(folder: str, key: object) -> Path | None:
    parent = cache_folder(folder)
    if parent is None:
        return None
    parts = json.dumps([_format(), key], sort_keys=True)
    return parent / f"{hashlib.sha256(parts.encode()).hexdigest()}{_WHOLE}"


@cache
def _format() -> str:
    return code_hash(Path(__file__))


def _make_room(root: Path, limit: int, keep: Path) -> None:
    """Removes the least recently used entries. Processes that have mapped an entry can still use it."""
    for left in root.glob(f"*/*{_UNFINISHED}"):  # by a process that died while it wrote
        with suppress(OSError):
            file = _locked(left, 0.0)
            if file is not None:
                left.unlink()
                file.close()
    entries = []
    for path in (*root.glob(f"*/*{_WHOLE}"), *root.glob(f"*/*{_OF_0_2}")):
        with suppress(FileNotFoundError):  # other processes remove entries too
            status = path.stat()
            entries.append((path == keep, status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, _, size, _ in entries)
    for _, _, size, path in sorted(entries):
        if total <= limit or path == keep:
            return
        path.unlink(missing_ok=True)
        total -= size


@contextmanager
def _sole_writer(path: Path) -> Iterator[IO[bytes] | None]:
    """The file to write an entry to, locked by this process; None if it can't be created or locked."""
    file = _locked(path, math.inf)
    try:
        yield file
    finally:
        if file is not None:
            with suppress(OSError):  # a finished entry was renamed
                if has_name(file.fileno(), path):
                    path.unlink()
            file.close()


def _locked(path: Path, patience_seconds: float) -> IO[bytes] | None:
    try:
        fd = open_locked(path, patience_seconds)
    except (OSError, NoLocksError):
        return None
    return None if fd is None else open(fd, "r+b")


# --- the file of an entry -----------------------------------------------------------------------------


def _write(file: IO[bytes], entry: CacheEntry) -> None:
    """The header's length, the header in JSON, the arrays, each at a multiple of _ALIGNMENT, the checksum."""
    checksum = _CHECKSUM_OF_NOTHING

    def put(data: bytes | memoryview) -> None:
        nonlocal checksum
        checksum = zlib.crc32(data, checksum)
        file.write(data)

    shapes = {name: [array.dtype.str, array.shape] for name, array in entry.arrays.items()}
    header = json.dumps({"facts": entry.facts, "arrays": shapes}).encode()
    file.truncate(0)  # another process may have died while it wrote
    put(len(header).to_bytes(_LENGTH_BYTES, "little"))
    put(header)
    for array in entry.arrays.values():
        put(b"\0" * (-file.tell() % _ALIGNMENT))
        put(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    file.write(checksum.to_bytes(_CHECKSUM_BYTES, "little"))
    file.flush()


def _read(path: Path, verify: bool = True) -> CacheEntry | None:
    """The entry, its arrays mapped copy-on-write, so that all readers share the memory; None if damaged."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):  # missing, or empty
        return None
    if verify:
        checksum = zlib.crc32(memoryview(mapped)[:-_CHECKSUM_BYTES], _CHECKSUM_OF_NOTHING)
        if checksum.to_bytes(_CHECKSUM_BYTES, "little") != mapped[-_CHECKSUM_BYTES:]:
            return None
        with suppress(OSError):
            os.utime(path)  # `_make_room` keeps what was used last
    at = _LENGTH_BYTES + int.from_bytes(mapped[:_LENGTH_BYTES], "little")
    header = json.loads(mapped[_LENGTH_BYTES:at])
    arrays = {}
    for name, (dtype, shape) in header["arrays"].items():
        at += -at % _ALIGNMENT
        array = np.frombuffer(mapped, dtype, math.prod(shape), at).reshape(shape)
        arrays[name] = array
        at += array.nbytes
    return CacheEntry(arrays, header["facts"])


def _size(entry: CacheEntry) -> int:
    return sum(array.nbytes for array in entry.arrays.values())
