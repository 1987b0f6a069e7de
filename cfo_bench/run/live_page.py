"""What a run is doing right now: a page of memory that it shares with its supervisor.

The page is a file beside the trace, mapped by both, so that telling costs the run no system call
and wakes nobody, and what it says outlives the kill of either. It holds the line of the trial under
way as far as it is known: without a status while it is evaluated, whole while the method is told; and
the lines of the newest cheap trials, which are written to the trace together.
Its lock says that the run has an owner. Two slots are written in turn, so that a reader, or a kill
in the middle of a write, always finds a whole one.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from cfo_bench.errors import RunError, TraceError
from cfo_bench.records import Result, Status, Trial, TrialRecord

# magic, turn of the slots, zero of the clock, trials told, best loss
_HEAD = struct.Struct("<8sqdqd")
_MAGIC = b"cfolive5"
_TURN, _ZERO, _TALLY = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<qd")
_TURN_AT, _ZERO_AT, _TALLY_AT = 8, 16, 24
# loss, score, ended, fit and validate seconds, peak memory; last, since it makes them count, their turn
_FOUND, _FOUND_AT = struct.Struct("<6dq"), 64
_LENGTH = struct.Struct("<q")
_SLOT_AT, _SLOT_SIZE = 128, 128 * 1024
# After the slots: the length of the lines that wait, and the lines.
_KEPT_AT = _SLOT_AT + 2 * _SLOT_SIZE
_LINES_AT = _KEPT_AT + _LENGTH.size
_SIZE = _KEPT_AT + 64 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`zero` is where on the machine's monotonic clock the run's clock stands at 0; None before it starts."""

    zero: float | None
    trials: int
    best_loss: float | None


class LivePage:
    """The shared page; the run's process is its `Watcher`, the supervisor reads it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd
        self._map = mmap.mmap(fd, _SIZE)
        self._turn = self._kept = 0
        self._published = 0  # trials in the slot that was written last
        self._begun: dict[int, bytes] = {}  # the lines of the trials under way, up to their evaluation
        self._whole: dict[int, bytes] = {}  # and of those among several that were evaluated

    @classmethod
    def own(cls, path: Path) -> LivePage:
        """The page, locked for one supervisor.

        What a killed predecessor left on it stands there until it is cleared: first it has to be safe in
        the trace.
        """
        fd = _open_locked(path)
        try:
            # Room for the whole page now: a write to a mapped page that the disk can't hold is fatal.
            os.posix_fallocate(fd, 0, _SIZE)
        except OSError as error:
            os.close(fd)
            path.unlink()
            raise RunError(
                f"can't write {path}: {error.strerror}; make room, then run the same command"
            ) from None
        return cls(path, fd)

    @classmethod
    def join(cls, path: Path) -> LivePage:
        """The page as the run's own process sees it."""
        return cls(path, os.open(path, os.O_RDWR))

    def clear(self) -> None:
        self._map[:_SLOT_AT] = _HEAD.pack(_MAGIC, 0, math.nan, 0, math.nan).ljust(_SLOT_AT, b"\0")
        for slot in (0, 1):
            _LENGTH.pack_into(self._map, _SLOT_AT + slot * _SLOT_SIZE, 0)
        self.let_go()

    def start_clock(self, zero: float) -> None:
        """From now on the run's deadlines hold."""
        _ZERO.pack_into(self._map, _ZERO_AT, zero)

    def stop_clock(self) -> None:
        """No deadline holds until the clock is started again."""
        _ZERO.pack_into(self._map, _ZERO_AT, math.nan)

    def tally(self, trials: int, best_loss: float | None) -> None:
        _TALLY.pack_into(self._map, _TALLY_AT, trials, math.nan if best_loss is None else best_loss)

    def began(self, trial: Trial, started: float, ask_seconds: float) -> None:
        line = {
            "kind": "trial",
            "number": trial.number,
            "config": trial.config,
            "rows": trial.rows,
            "thread": trial.thread,
            "started": started,
            "ask_seconds": ask_seconds,
        }
        self._begun[trial.number] = orjson.dumps(line)
        self._publish()

    def evaluated(self, trial: Trial, result: Result, score: float | None, ended: float) -> None:
        """Known from now on, whatever happens while the method is told.

        For the only trial on the page that ended well, as most do, six numbers say it all: this is on
        the clock of every trial.
        """
        if result.status is Status.OK and self._published == 1:
            _, loss, fit_seconds, validate_seconds, peak, _ = result
            peak = math.nan if peak is None else peak
            _FOUND.pack_into(
                self._map, _FOUND_AT, loss, score, ended, fit_seconds, validate_seconds, peak, self._turn
            )
        else:
            begun = self._begun[trial.number]
            self._whole[trial.number] = _joined(begun, _outcome(result, score, ended))
            self._publish()

    def line(self, record: TrialRecord) -> bytes:
        """The line of the trace for a trial that was just told: what the page has of it, gone on with."""
        outcome = {
            "status": record.status,
            "loss": record.loss,
            "score": record.score,
            "ended": record.ended,
            "fit_seconds": record.fit_seconds,
            "validate_seconds": record.validate_seconds,
            "peak_memory_mb": record.peak_memory_mb,
            "error": record.error,
            "tell_seconds": record.tell_seconds,
            "test_score": record.test_score,
        }
        if record.asked is not None:
            outcome["asked"] = record.asked
        return _joined(self._begun[record.number], outcome, orjson.OPT_APPEND_NEWLINE)

    def keep(self, line: bytes) -> bool:
        """Holds a line that the trace is to get, as safe from a kill as there; False if there is no room."""
        first = _LINES_AT + self._kept
        last = first + len(line)
        if last > _SIZE:
            return False
        self._map[first:last] = line
        self._kept += len(line)
        self._map[_KEPT_AT:_LINES_AT] = _LENGTH.pack(self._kept)  # last, and at once: it makes the line count
        return True

    def kept(self) -> bytes:
        """The lines that wait."""
        return self._map[_LINES_AT : _LINES_AT + self._kept]

    def let_go(self) -> None:
        """They stand in the trace now."""
        self._kept = 0
        self._map[_KEPT_AT:_LINES_AT] = _LENGTH.pack(0)

    def told(self, number: int, trials: int, best_loss: float | None) -> None:
        """Its line is safe now, which is what counts: no need to publish.

        It is one of so many `trials` in all.
        """
        del self._begun[number]
        if self._whole:
            self._whole.pop(number, None)
        self.tally(trials, best_loss)

    def _publish(self) -> None:
        lines = {**self._begun, **self._whole} if self._whole else self._begun
        rows = b",".join(lines.values())
        payload = _LENGTH.pack(len(rows)) + rows
        if len(payload) > _SLOT_SIZE:
            raise RunError(f"the trials under way take {len(rows)} bytes: a configuration has to be smaller")
        self._turn += 1
        self._published = len(self._begun)
        at = _SLOT_AT + (self._turn % 2) * _SLOT_SIZE
        self._map[at : at + len(payload)] = payload
        _TURN.pack_into(self._map, _TURN_AT, self._turn)

    def snapshot(self) -> Snapshot:
        _, _, zero, trials, best = _HEAD.unpack_from(self._map)
        return Snapshot(None if math.isnan(zero) else zero, trials, None if math.isnan(best) else best)

    def under_way(self) -> list[dict[str, Any]]:
        """The trials whose lines wait, and those that were under way when the page was last written.

        Empty when it holds nothing readable.
        """
        while True:
            magic, turn, *_ = _HEAD.unpack_from(self._map)
            if magic != _MAGIC:
                return []
            at = _SLOT_AT + (turn % 2) * _SLOT_SIZE
            (length,) = _LENGTH.unpack_from(self._map, at)
            payload = self._map[at + _LENGTH.size : at + _LENGTH.size + max(length, 0)]
            *found, found_turn = _FOUND.unpack_from(self._map, _FOUND_AT)
            (turn_by_now,) = _TURN.unpack_from(self._map, _TURN_AT)
            if turn_by_now == turn:  # else the slot may have been written again while it was read
                break
        waiting = self._waiting()
        if not 0 < length <= _SLOT_SIZE - _LENGTH.size:
            return waiting
        try:
            rows: list[dict[str, Any]] = orjson.loads(b"[%b]" % payload)
        except ValueError:
            return waiting
        if found_turn == turn and len(rows) == 1:
            loss, score, ended, fit_seconds, validate_seconds, peak = found
            result = Result(
                Status.OK, loss, fit_seconds, validate_seconds, None if math.isnan(peak) else peak
            )
            rows[0] |= _outcome(result, score, ended)
        told = {row["number"] for row in waiting}
        return waiting + [row for row in rows if row["number"] not in told]

    def _waiting(self) -> list[dict[str, Any]]:
        (length,) = _LENGTH.unpack_from(self._map, _KEPT_AT)
        if not 0 < length <= _SIZE - _LINES_AT:
            return []
        try:
            return [orjson.loads(line) for line in self._map[_LINES_AT : _LINES_AT + length].splitlines()]
        except ValueError:
            return []

    def close(self, remove: bool = False) -> None:
        self._map.close()
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _outcome(result: Result, score: float | None, ended: float) -> dict[str, Any]:
    """The part of a trial's line that is known once it was evaluated."""
    return {
        "status": result.status,
        "loss": result.loss,
        "score": score,
        "ended": ended,
        "fit_seconds": result.fit_seconds,
        "validate_seconds": result.validate_seconds,
        "peak_memory_mb": result.peak_memory_mb,
        "error": result.error,
    }


def _joined(begun: bytes, more: dict[str, Any], option: int | None = None) -> bytes:
    return b"%b,%b" % (begun[:-1], orjson.dumps(more, option=option)[1:])


class BusyError(RunError):
    """Somebody else is at this run."""


def _open_locked(path: Path) -> int:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise TraceError(
                f"can't write {path.parent}: {error.strerror}; choose another --results"
            ) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        except BlockingIOError:
            os.close(fd)
            raise BusyError(f"{path} is locked: another cfo-bench is at this run") from None
        except FileNotFoundError:
            pass
        os.close(fd)  # its owner removed the file between our open and our lock: try the new one
