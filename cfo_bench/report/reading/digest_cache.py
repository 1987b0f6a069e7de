"""Digests of earlier reports, in one file: a trace that has not changed since then is not read again.

The file begins with a line that names the code that made the digests. A record for each trace follows: a
head with its checksum and lengths, JSON, and the numbers of its incumbents as 64-bit floats. Where few
traces have changed, their records are appended: a trace's last record counts.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from cfo_bench import __version__, results
from cfo_bench.files.cache import code_hash
from cfo_bench.files.writing import open_file, read_regular, write_whole
from cfo_bench.metrics import Array
from cfo_bench.report.reading.digest import Digest, State
from cfo_bench.report.reading.packed_steps import NUMBER, packed, unpacked

Stamp = list[int]


def stamp(path: str) -> Stamp | None:
    """What tells whether a trace is the one that was read; None if it can't be told.

    The time of the last change of its inode is set by this machine alone: a cache that comes with somebody
    else's results knows no such time, so it is not believed.
    """
    try:
        found = os.stat(path)
    except OSError:  # the reading says what is wrong
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


# The file is written anew when more than this share of its records is out of date.
_MOST_OUTDATED = 0.2

# Of each record: its checksum, and how many bytes of JSON and of numbers follow.
_HEAD = struct.Struct("<IIQ")


class DigestCache:
    """The file, as it was when the report began."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._code = _code()
        self._records: dict[str, memoryview] = {}
        self._digests: dict[str, tuple[Stamp, Digest | None]] = {}
        self._outdated = 0  # records of traces that have a later record
        self._can_append = False
        if file is not None:
            with suppress(OSError, ValueError, LookupError, TypeError):
                self._read(read_regular(file))

    def _read(self, content: bytes) -> None:
        """Up to the first record that is not whole: a report was killed while it wrote that."""
        if not content.startswith(self._code):
            return
        whole, at = memoryview(content), len(self._code)
        while at < len(content):
            if len(content) < (begin := at + _HEAD.size):
                return
            checksum, of_text, of_numbers = _HEAD.unpack_from(content, at)
            middle, end = begin + of_text, begin + of_text + of_numbers
            if end > len(content) or checksum != self._checksum(whole[begin:end]):
                return
            row = orjson.loads(whole[begin:middle])
            path, digest = row["path"], row["digest"]
            numbers = np.frombuffer(content, NUMBER, of_numbers // NUMBER.itemsize, middle)
            self._outdated += path in self._records
            self._digests[path] = row["stamp"], None if digest is None else _from_json(digest, numbers)
            self._records[path] = whole[at:end]
            at = end
        self._can_append = True

    def __len__(self) -> int:
        return len(self._digests)

    def unchanged(self, stamps: Mapping[str, Stamp | None]) -> dict[str, Digest | None]:
        """The digests of those traces that still have their stamp; None for one without a whole header."""
        return {
            path: known[1]
            for path, now in stamps.items()
            if (known := self._digests.get(path)) is not None and known[0] == now
        }

    def write(
        self,
        stamps: Mapping[str, Stamp | None],
        digests: Mapping[str, Digest | None],
        fresh: Iterable[str],
    ) -> None:
        """Writes the digests; those of `fresh` paths have changed. Without a cache a report takes longer."""
        if self._file is None:
            return
        gone = len(self._digests.keys() - digests.keys())
        changed = {path for path in fresh if path in digests}
        outdated = self._outdated + gone + len(changed & self._digests.keys())
        with suppress(OSError, TypeError):  # TypeError: a name or a header that is no JSON
            new = {path: self._record(path, stamps[path], digests[path]) for path in changed}
            if self._can_append and outdated <= _MOST_OUTDATED * len(digests):
                fd = open_file(self._file, os.O_WRONLY | os.O_APPEND)
                with open(fd, "ab") as file:
                    file.write(b"".join(new.values()))
                return
            records = [new[path] if path in new else self._records[path] for path in digests]
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, b"".join([self._code, *records]))

    def _record(self, path: str, stamp: Stamp | None, one: Digest | None) -> bytes:
        digest, numbers = (None, b"") if one is None else _to_json(one)
        text = _padded(orjson.dumps({"path": path, "stamp": stamp, "digest": digest}))
        return _HEAD.pack(self._checksum(text + numbers), len(text), len(numbers)) + text + numbers

    def _checksum(self, content: bytes | memoryview) -> int:
        """Of the record and the code: another version may append to a file that this one has just written."""
        return zlib.crc32(content, zlib.crc32(self._code))


def _padded(text: bytes) -> bytes:
    """With blanks, so that the numbers after it begin where a processor reads them fastest."""
    return text.ljust(-(-len(text) // NUMBER.itemsize) * NUMBER.itemsize)


def _code() -> bytes:
    """The version of the code that makes digests."""
    folder = Path(__file__).parent
    files = (folder / f"{name}.py" for name in ("digest", "digest_cache", "packed_steps"))
    name = f"{__version__} {code_hash(*files, Path(results.__file__).parent)}".encode()
    return _padded(name + b" ")[:-1] + b"\n"


def _to_json(one: Digest) -> tuple[dict[str, Any], bytes]:
    """`full` is null where it is the same as `steps`."""
    row = {field.name: getattr(one, field.name) for field in fields(one)}
    steps, numbers = packed(one.steps)
    full, more_numbers = (None, b"") if one.full == one.steps else packed(one.full)
    return {**row, "steps": steps, "full": full}, numbers + more_numbers


def _from_json(row: dict[str, Any], numbers: Array) -> Digest:
    """Not checked once more: the checksum and the stamp say that it is what this code wrote."""
    steps, numbers = unpacked(row["steps"], numbers)
    full = steps if row["full"] is None else unpacked(row["full"], numbers)[0]
    return Digest(**{**row, "steps": steps, "full": full, "state": State(row["state"])})
