"""A run's trace on disk: JSONL, one line for each record, one writer at a time.

Lines are appended with one write, and never changed. A kill can leave a torn last line: the next
writer cuts it off, or completes it when only its end of line is missing. Anything else that is not a
record makes the trace unreadable, and it is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from cfo_bench.errors import RunError, SpaceError, TraceError
from cfo_bench.files.locks import lock
from cfo_bench.files.writing import open_file, read_regular, write_whole
from cfo_bench.records import EndReason, EndRecord, Pause, ResumeRecord, RunSpec, Status, TrialRecord, run_id
from cfo_bench.results.digest_in_trace import sealed
from cfo_bench.results.folder import INTERRUPTED_SUFFIX, REPLACED_SUFFIX, TRACE_SUFFIX, kept_path, stamp
from cfo_bench.results.line_types import BadLineError, check_trial
from cfo_bench.results.other_lines import SCHEMA_VERSION as SCHEMA_VERSION
from cfo_bench.results.outline import Outline, outline
from cfo_bench.results.validation import Lines, check, check_ends
from cfo_bench.space import Config, Space

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
    superseded: int = 0  # trials that were left out, since the run is to go on with other limits

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

    def that_may_follow(self, records: Iterable[TrialRecord]) -> list[TrialRecord]:
        """Those of the records that the trace lacks and that may follow its trials, as a live page has them.

        The first one that may not, and all after it, are left out: the page was damaged.
        """
        at_once = self.header["spec"].get("parallel", 1)
        known = {trial.number for trial in self.trials}
        ended = max((trial.ended for trial in self.trials), default=0.0)
        found: list[TrialRecord] = []
        for record in records:
            if record.number in known:
                continue
            if record.number >= len(known) + at_once or (at_once == 1 and record.ended < ended):
                break
            if not self._has_in_space(record.config):
                break
            known.add(record.number)
            ended = record.ended
            found.append(record)
        return found

    def _has_in_space(self, config: Config) -> bool:
        """Whether the run could have tried this configuration; a header without a space says nothing."""
        rows = self.header.get("space")
        try:
            return not rows or bool(Space.from_json(rows).check(config))
        except (SpaceError, LookupError, TypeError):
            return False


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
    found = lines_of(path)
    if found is None:
        return None
    columns = {**found.columns, "status": [_STATUSES[status] for status in found.columns["status"]]}
    trials = list(map(TrialRecord._make, zip(*columns.values(), strict=True)))
    ends = [parse_end(row) for row in found.ends]
    return Trace(
        found.header,
        trials,
        ends[-1] if found.last["kind"] == "end" else None,
        ends[-1].pauses if ends else (),
    )


def lines_of(path: Path) -> Lines | None:
    """The lines of a trace, every one of them checked; None without a file or a whole header."""
    whole = whole_lines(path)
    return None if whole is None else check(path, whole)


def outline_or_lines(path: Path) -> Outline | Lines | None:
    """The trace without its trials where their checksum is right (see `outline`), else every line, checked.

    None without a file or a whole header.
    """
    whole = whole_lines(path)
    return None if whole is None else outline(path, whole) or check(path, whole)


def whole_lines(path: Path) -> bytes | None:
    """The file without a torn last line; None where there is no file."""
    try:
        return split_torn(read_regular(path))[0]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"can't read {path}: {error.strerror}") from None


def ends(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The first and the last line of a trace that was checked (see `check_ends`); None where there is none.

    A trace that has not changed since the last call is not read again.
    """
    try:
        now = stamp(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"can't read {path}: {error.strerror}") from None
    known = _known_ends.get(str(path))
    if known is not None and known[0] == now:
        return known[1]
    whole = whole_lines(path)
    both = None if whole is None else check_ends(path, whole)
    if both is not None:
        both[1].pop("digest", None)  # thousands of ends are kept in memory
    _known_ends[str(path)] = now, both
    return both


_known_ends: dict[str, tuple[tuple[int, int], tuple[dict[str, Any], dict[str, Any]] | None]] = {}


def parse_trial(row: Mapping[str, Any]) -> TrialRecord:
    """A trial line as a record; keys of a newer version are ignored."""
    if not isinstance(row, dict):
        raise BadLineError("no mapping")
    check_trial(row)
    record = TrialRecord._make(map(row.get, TrialRecord._fields))
    return record._replace(status=_STATUSES[row["status"]])


def parse_end(row: Mapping[str, Any]) -> EndRecord:
    """An end line as a record; keys of a newer version are ignored."""
    known = {key: row[key] for key in _END_KEYS if key in row}
    pauses = tuple(Pause(float(one["at"]), float(one["seconds"])) for one in row.get("pauses", ()))
    return EndRecord(**{**known, "reason": EndReason(row["reason"]), "pauses": pauses})


_STATUSES = {str(status): status for status in Status}
# The digest is left out: thousands of ends are kept in memory.
_END_KEYS = tuple(field.name for field in fields(EndRecord) if not field.name.startswith("digest"))


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


def set_aside(path: Path) -> Path:
    """Renames a trace that can't be resumed, so that no reader takes it for a run; returns the new path."""
    number = 1
    while (kept := kept_path(path, INTERRUPTED_SUFFIX, number)).exists():
        number += 1
    path.rename(kept)
    return kept


def _keep_copy(path: Path, content: bytes) -> None:
    """Beside the trace; not once more if an earlier attempt to replace it has left the same copy."""
    number = 1
    while (kept := kept_path(path, REPLACED_SUFFIX, number)).exists():
        if kept.is_file() and read_regular(kept) == content:
            return
        number += 1
    try:
        write_whole(kept, content, sync=True)
    except OSError as error:
        raise RunError(
            f"can't write {kept}, the copy of what is replaced: {error.strerror}; make room, then run the "
            "same command"
        ) from None


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
        """Removes everything from the trace. A copy of the run that it held is kept beside it."""
        before = self.path.read_bytes()
        if b"\n" in before:
            _keep_copy(self.path, before)
        os.ftruncate(self._fd, 0)
        self._size = 0

    def append(self, record: Record) -> None:
        """Appends the line of a record; an end gets checksum and digest of the trials before it."""
        if isinstance(record, EndRecord):
            record = sealed(record, self.path.read_bytes())
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
