"""A run's trace on disk: JSONL, one line for each record, one writer at a time.

Lines are appended with one write, and never changed. A kill can leave a torn last line: the next
writer cuts it off, or completes it when only its end of line is missing. Anything else that is not a
record makes the trace unreadable, and it is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from cfo_bench.errors import RunError, TraceError
from cfo_bench.locks import lock
from cfo_bench.records import EndReason, EndRecord, Pause, ResumeRecord, RunSpec, Status, TrialRecord
from cfo_bench.results.files import TRACE_SUFFIX, interrupted_path
from cfo_bench.run_id import run_id
from cfo_bench.safe_writing import open_file

SCHEMA_VERSION = 1
# How long a writer waits for the lock: the last one may be a killed process that takes a moment to die.
LOCK_PATIENCE_SECONDS = 10.0

Record = Mapping[str, Any] | TrialRecord | EndRecord | ResumeRecord


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as read."""

    header: dict[str, Any]
    trials: list[TrialRecord]
    end: EndRecord | None  # the last line; None while the run is under way, or if its process was killed
    pauses: tuple[Pause, ...] = ()  # as far as the trace tells: a run that was interrupted said so

    @property
    def best(self) -> TrialRecord | None:
        """The trial with the lowest loss, the first of equals."""
        scored = [trial for trial in self.trials if trial.loss is not None]
        return min(scored, key=lambda trial: trial.loss or 0.0, default=None)

    @property
    def elapsed(self) -> float:
        """Where the run's clock stood when the method had been told of the last trial."""
        return max((trial.ended + (trial.tell_seconds or 0.0) for trial in self.trials), default=0.0)

    @property
    def is_finished(self) -> bool:
        """An interrupted run is not: it can be resumed."""
        return self.end is not None and self.end.reason is not EndReason.INTERRUPTED


def path_of(results: Path, spec: RunSpec) -> Path:
    """results/<learner>/<task>/<method>/fold-<f>_seed-<s>.jsonl"""
    return results / f"{run_id(spec)}{TRACE_SUFFIX}"


def encode(record: Record) -> bytes:
    """The line of a record; a trial has the key `asked` only where it has a value."""
    if not isinstance(record, TrialRecord):
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    # Spelled out, since a loop over the fields takes a microsecond longer, and the run's clock is running.
    (number, config, rows, thread, status, loss, score, started, ended, ask_seconds, *rest) = record
    fit_seconds, validate_seconds, tell_seconds, peak_memory_mb, error, test_score, asked = rest
    row = {
        "kind": "trial",
        "number": number,
        "config": config,
        "rows": rows,
        "thread": thread,
        "status": str(status),  # orjson takes ten times as long for the enum itself
        "loss": loss,
        "score": score,
        "started": started,
        "ended": ended,
        "ask_seconds": ask_seconds,
        "fit_seconds": fit_seconds,
        "validate_seconds": validate_seconds,
        "tell_seconds": tell_seconds,
        "peak_memory_mb": peak_memory_mb,
        "error": error,
        "test_score": test_score,
    }
    if asked is not None:
        row["asked"] = asked
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def read(path: Path) -> Trace | None:
    """The trace in a file; None without a file or a whole header. A torn last line is ignored."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"can't read {path}: {error.strerror}") from None
    whole, _ = split_torn(data)
    header: dict[str, Any] | None = None
    trials: list[TrialRecord] = []
    end: EndRecord | None = None
    pauses: tuple[Pause, ...] = ()
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            row = orjson.loads(line)
            kind = row["kind"]
            if header is None:
                header = _checked_header(path, row)
            elif kind == "trial":
                trials.append(parse_trial(row))
            elif kind == "end":
                end = parse_end(row)
                pauses = end.pauses
            elif kind == "resume":
                end = None
            else:
                raise ValueError(kind)
        except (ValueError, TypeError, KeyError):
            raise TraceError(
                f"{path}, line {number} is not a record of a trace: "
                "move the file away, or run it again with --force"
            ) from None
    return None if header is None else Trace(header, trials, end, pauses)


def ends(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The first and the last whole line, read without the lines between; None where there is none."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        block = _BLOCK
        while b"\n" not in (first := file.read(block)) and file.tell() < size:
            block *= 2
            file.seek(0)
        begin = max(size - _BLOCK, 0)
        while True:
            file.seek(begin)
            whole, _ = split_torn(file.read())
            # The block may start in the middle of a line: the last one is whole if another ends before it.
            if whole.rstrip(b"\n").count(b"\n") or begin == 0:
                break
            begin = max(begin - _BLOCK, 0)
    last = whole.rstrip(b"\n").rpartition(b"\n")[2]
    if not last:
        return None
    header = orjson.loads(split_torn(first)[0].partition(b"\n")[0] or last)
    if not isinstance(header, dict):
        raise ValueError("its first line is no header")
    return with_current_names(header), orjson.loads(last)


# How much of a trace is read at once from either end; a header or a trial is a few kB.
_BLOCK = 1 << 16


def parse_trial(row: Mapping[str, Any]) -> TrialRecord:
    """A trial line as a record; keys of a newer version are ignored."""
    status = _STATUSES[row["status"]]
    record = TrialRecord._make((*_UP_TO_STATUS(row), status, *_AFTER_STATUS(row), *map(row.get, _OPTIONAL)))
    if type(record.number) is not int or not 0.0 <= record.started <= record.ended:
        raise ValueError("a trial has a number, and ends after it started")
    return record


def parse_end(row: Mapping[str, Any]) -> EndRecord:
    """An end line as a record; keys of a newer version are ignored."""
    known = {key: row[key] for key in _END_KEYS if key in row}
    pauses = tuple(Pause(float(one["at"]), float(one["seconds"])) for one in row.get("pauses", ()))
    return EndRecord(**{**known, "reason": EndReason(row["reason"]), "pauses": pauses})


# The traces of a suite have millions of trials: each is parsed without a loop over its keys.
_OPTIONAL = tuple(TrialRecord._field_defaults)
_NEEDED = TrialRecord._fields[: -len(_OPTIONAL)]
_UP_TO_STATUS = itemgetter(*_NEEDED[: _NEEDED.index("status")])
_AFTER_STATUS = itemgetter(*_NEEDED[_NEEDED.index("status") + 1 :])
_STATUSES = {str(status): status for status in Status}
_END_KEYS = tuple(field.name for field in fields(EndRecord))


def split_torn(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and the torn rest. A last line that lacks only its end of line is whole.

    The beginning of a record is torn, and so are the zeros that a power cut leaves in its place. Other
    bytes were not written by us: they are left where they are, for `read` to complain of.
    """
    cut = data.rfind(b"\n") + 1
    rest = data[cut:]
    try:
        orjson.loads(rest)
    except ValueError:
        written = rest.rstrip(b"\0")
        is_torn = written.startswith(_BEGINNING[: len(written)])
        return (data[:cut], rest) if is_torn else (data, b"")
    return data + b"\n", b""


# Every record starts with these bytes.
_BEGINNING = b'{"kind":"'


def _checked_header(path: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    if row["kind"] != "run" or not isinstance(row.get("spec", {}), dict):
        raise ValueError("the first line is no header")
    if row["schema"] != SCHEMA_VERSION:
        raise TraceError(
            f"{path} has trace version {row['schema']}, this cfo-bench reads version {SCHEMA_VERSION}: "
            "use another --results, or --force to run it again"
        )
    return with_current_names(row)


def with_current_names(header: Mapping[str, Any]) -> dict[str, Any]:
    """A header with the names that this version uses: older ones call `parallel` `workers`."""
    spec = header.get("spec")
    if not isinstance(spec, dict) or "workers" not in spec:
        return dict(header)
    options = spec.get("options")
    if isinstance(options, dict):
        options = {"parallel" if key == "workers" else key: value for key, value in options.items()}
    renamed = {"parallel" if key == "workers" else key: value for key, value in spec.items()}
    return {**header, "spec": {**renamed, "options": options}}


def set_aside(path: Path) -> Path:
    """Renames a trace that can't be resumed, so that no reader takes it for a run; returns the new path."""
    number = 1
    while (kept := interrupted_path(path, number)).exists():
        number += 1
    path.rename(kept)
    return kept


class TraceWriter:
    """The one writer of a trace: holds its lock, repairs its torn end, appends whole lines."""

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
        """Cuts off or completes a torn last line; returns how many bytes were cut."""
        whole, torn = split_torn(self.path.read_bytes())
        if torn:
            os.ftruncate(self._fd, len(whole))
            self._size = len(whole)
        elif len(whole) > self._size:
            self.write(b"\n")
        return len(torn)

    def clear(self) -> None:
        """Removes everything from the trace."""
        os.ftruncate(self._fd, 0)
        self._size = 0

    def append(self, record: Record) -> None:
        self.write(encode(record))

    def write(self, lines: bytes) -> None:
        """Appends whole lines: all of them, or nothing."""
        try:
            written = os.write(self._fd, lines)
            if written < len(lines):  # a disk that fills up takes what it can
                written += os.write(self._fd, lines[written:])
            if written < len(lines):
                raise OSError(0, "the disk took only a part of a line")
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise RunError(
                f"can't write {self.path}: {error.strerror}; what was written before is kept: "
                "make room, then run the same command to resume"
            ) from None
        self._size += len(lines)

    def sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise RunError(f"can't bring {self.path} to disk: {error.strerror}") from None

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
