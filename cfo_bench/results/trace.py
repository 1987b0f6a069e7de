"""The file of a trace: JSONL, one line for each record, one writer at a time.

Lines are appended with one write, and never changed. A kill can leave an incomplete last line: the next
writer removes it, or completes it if only its line end is missing. Anything else that is not a record makes
the trace unreadable, and the file is left unchanged.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from cfo_bench.errors import RunError, TraceError
from cfo_bench.files.locks import lock
from cfo_bench.files.writing import open_file, read_regular, write_whole
from cfo_bench.records import RunSpec, run_id
from cfo_bench.results.digest import sealed
from cfo_bench.results.folder import INTERRUPTED_SUFFIX, REPLACED_SUFFIX, TRACE_SUFFIX, kept_path
from cfo_bench.results.schema import (
    DECODE_ERRORS,
    AnyLine,
    BadLineError,
    EndRecord,
    ResumeRecord,
    decode,
    decode_header,
    decode_trials,
    encode,
    resumed_header,
)

# Seconds that a writer waits for the lock, because a killed process may take a moment to die.
LOCK_PATIENCE_SECONDS = 10.0

# Every record starts with these bytes.
_BEGINNING = b'{"kind":"'
_TRIAL = b'{"kind":"trial",'
_RESUME = b'{"kind":"resume",'


def path_of(results: Path, spec: RunSpec) -> Path:
    """results/<learner>/<task>/<method>/fold-<f>_seed-<s>.jsonl"""
    return results / f"{run_id(spec)}{TRACE_SUFFIX}"


# --- text -----------------------------------------------------------------------------------------


def whole_lines(path: Path) -> bytes | None:
    """The text of a trace without an incomplete last line; None if the file does not exist."""
    try:
        return split_torn(read_regular(path))[0]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"can't read {path}: {error.strerror}") from None


def split_torn(data: bytes) -> tuple[bytes, bytes]:
    """The complete lines, and the incomplete rest. A last line that lacks only its line end is complete.

    The rest is the beginning of a record, or the zeros that a power cut leaves in its place. Other bytes were
    not written by a TraceWriter: they stay with the lines, and a reader refuses them.
    """
    cut = data.rfind(b"\n") + 1
    rest = data[cut:]
    try:
        msgspec.json.decode(rest)
    except DECODE_ERRORS:
        written = rest.rstrip(b"\0")
        is_torn = written.startswith(_BEGINNING[: len(written)])
        return (data[:cut], rest) if is_torn else (data, b"")
    return data + b"\n", b""


def split_lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def is_trial(line: bytes) -> bool:
    """Whether the line is a trial, as a TraceWriter begins it."""
    return line.startswith(_TRIAL)


def trials_crc32(lines: Sequence[bytes]) -> int:
    """The checksum of the lines that are trials."""
    return zlib.crc32(b"\n".join([line for line in lines if is_trial(line)]))


def counting_trials(lines: Sequence[bytes]) -> tuple[list[bytes], list[ResumeRecord]]:
    """The trial lines that count, without those that a resume superseded; and the resume records."""
    trials: list[bytes] = []
    resumes: list[ResumeRecord] = []
    for line in lines:
        if is_trial(line):
            trials.append(line)
        elif line.startswith(_RESUME) and isinstance(record := decode(line), ResumeRecord):
            resumes.append(record)
            record.drop_superseded(trials)
    return trials, resumes


# --- files ----------------------------------------------------------------------------------------


def set_aside(path: Path) -> Path:
    """Renames a trace that cannot be resumed, so that no reader treats it as a run; returns the new path."""
    number = 1
    while (kept := kept_path(path, INTERRUPTED_SUFFIX, number)).exists():
        number += 1
    path.rename(kept)
    return kept


def _keep_copy(path: Path, content: bytes) -> None:
    """Copies a trace beside it, unless an earlier attempt to replace it left the same copy."""
    number = 1
    while (kept := kept_path(path, REPLACED_SUFFIX, number)).exists():
        if kept.is_file() and read_regular(kept) == content:
            return
        number += 1
    try:
        write_whole(kept, content, sync=True)
    except OSError as error:
        raise RunError(
            f"can't write {kept}, the copy of the trace to be replaced: {error.strerror}; free some space, "
            "then run the same command again"
        ) from None


class TraceWriter:
    """The only writer of a trace: holds its lock, repairs its incomplete last line, appends complete
    lines.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise TraceError(f"can't write {path}: {error.strerror}; choose another --results") from None
        try:
            is_ours = lock(self._fd, path, LOCK_PATIENCE_SECONDS)
        except BaseException:
            os.close(self._fd)
            raise
        if not is_ours:
            os.close(self._fd)
            raise TraceError(f"{path} is being written by another process: wait for it, or stop it")
        self._size = os.fstat(self._fd).st_size

    def mend(self) -> int:
        """Removes or completes an incomplete last line; returns the number of removed bytes."""
        whole, torn = split_torn(self.path.read_bytes())
        if torn:
            os.ftruncate(self._fd, len(whole))
            self._size = len(whole)
        elif len(whole) > self._size:
            self.write(b"\n")
        return len(torn)

    def clear(self) -> None:
        """Removes everything from the trace. A copy of its run is kept beside it."""
        before = self.path.read_bytes()
        if b"\n" in before:
            _keep_copy(self.path, before)
        os.ftruncate(self._fd, 0)
        self._size = 0

    def append(self, record: AnyLine) -> None:
        """Appends the line of a record; an end gets checksum and digest of the trials before it."""
        if isinstance(record, EndRecord):
            record = sealed_end(record, self.path.read_bytes())
        self.write(encode(record))

    def write(self, lines: bytes) -> None:
        """Appends complete lines: all of them, or nothing."""
        try:
            written = os.write(self._fd, lines)
            if written < len(lines):  # the disk may fill up during the write
                written += os.write(self._fd, lines[written:])
            if written < len(lines):
                raise OSError(0, "the disk took only a part of a line")
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise RunError(
                f"can't write {self.path}: {error.strerror}; everything written before is kept: "
                "free some space, then run the same command to resume"
            ) from None
        self._size += len(lines)

    def sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise RunError(f"can't write {self.path} to disk: {error.strerror}") from None

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sealed_end(end: EndRecord, text: bytes) -> EndRecord:
    """The end record of a run whose trace has this text, with the checksum and digest of its trials."""
    first, *lines = split_lines(text) or [b""]
    crc32 = trials_crc32(lines)
    try:
        texts, resumes = counting_trials(lines)
        header = resumed_header(decode_header(first), resumes)
        return sealed(end, header, decode_trials(texts), crc32)
    except (BadLineError, *DECODE_ERRORS, MemoryError):  # a report then reads every line
        return msgspec.structs.replace(end, trials_crc32=crc32)
