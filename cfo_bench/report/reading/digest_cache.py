"""Digests of earlier reports, in one file: a trace that has not changed since then is not read again.

The first line names the code that made the digests. Each other line is the digest of a trace, after a
checksum of the line. Where few traces have changed, their lines are appended: a trace's last line counts.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import orjson

from cfo_bench import __version__, results
from cfo_bench.code_hash import code_hash
from cfo_bench.report.reading.digest import Digest, State, Steps
from cfo_bench.report.reading.packed_configs import packed, unpacked
from cfo_bench.results.digest_in_trace import steps_to_json, trusted_steps
from cfo_bench.safe_writing import open_file, read_regular, write_whole

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


# The file is written anew when more than this share of its lines is out of date.
_MOST_OUTDATED = 0.2


class DigestCache:
    """The file, as it was when the report began."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._code = _code()
        self._lines: dict[str, bytes] = {}
        self._digests: dict[str, tuple[Stamp, Digest | None]] = {}
        self._outdated = 0  # lines of traces that have a later line
        self._can_append = False
        if file is not None:
            with suppress(OSError, ValueError, LookupError, TypeError):
                self._read(read_regular(file))

    def _read(self, content: bytes) -> None:
        first, *lines = content.split(b"\n")
        if first != self._code:
            return
        whole = lines.pop() == b""
        for line in lines:
            checksum, _, text = line.partition(b" ")
            if checksum != self._checksum(text):  # a report was killed while it wrote this line
                whole = False
                continue
            row = orjson.loads(text)
            path, digest = row["path"], row["digest"]
            self._outdated += path in self._lines
            self._digests[path] = row["stamp"], None if digest is None else _from_json(digest)
            self._lines[path] = line
        self._can_append = whole

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
            new = {path: self._line(path, stamps[path], digests[path]) for path in changed}
            if self._can_append and outdated <= _MOST_OUTDATED * len(digests):
                fd = open_file(self._file, os.O_WRONLY | os.O_APPEND)
                with open(fd, "ab") as file:
                    file.write(b"".join(line + b"\n" for line in new.values()))
                return
            lines = [new[path] if path in new else self._lines[path] for path in digests]
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, b"\n".join([self._code, *lines, b""]))

    def _line(self, path: str, stamp: Stamp | None, one: Digest | None) -> bytes:
        text = orjson.dumps({"path": path, "stamp": stamp, "digest": one and _to_json(one)})
        return self._checksum(text) + b" " + text

    def _checksum(self, text: bytes) -> bytes:
        """Of the line and the code: another version may append to a file that this one has just written."""
        return b"%08x" % zlib.crc32(text, zlib.crc32(self._code))


def _code() -> bytes:
    """The version of the code that makes digests."""
    folder = Path(__file__).parent
    files = (folder / f"{name}.py" for name in ("digest", "digest_cache", "packed_configs"))
    return f"{__version__} {code_hash(*files, Path(results.__file__).parent)}".encode()


def _to_json(one: Digest) -> dict[str, Any]:
    """`full` is null where it is the same as `steps`."""
    row = {field.name: getattr(one, field.name) for field in fields(one)}
    full = None if one.full == one.steps else _steps_to_json(one.full)
    return {**row, "steps": _steps_to_json(one.steps), "full": full}


def _steps_to_json(steps: Steps) -> dict[str, Any]:
    row = steps_to_json(steps)
    numbers = packed(steps.configs)
    return row if numbers is None else {**row, "names": [], "configs": [], "packed": numbers}


def _from_json(row: dict[str, Any]) -> Digest:
    """Not checked once more: the checksum and the stamp say that it is what this code wrote."""
    steps = _steps_from_json(row["steps"])
    full = steps if row["full"] is None else _steps_from_json(row["full"])
    return Digest(**{**row, "steps": steps, "full": full, "state": State(row["state"])})


def _steps_from_json(row: dict[str, Any]) -> Steps:
    steps = trusted_steps(row)
    if "packed" not in row:
        return steps
    configs = unpacked(row["packed"])
    return replace(steps, configs=configs, best_config=configs[-1])
