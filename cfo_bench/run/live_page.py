"""The live page: a file that a run's process and its supervisor both map into memory.

The run's process says there which trials are under way, how far it is, and when its clock started.
That costs it no system call, and what it said can still be read after either process was killed.
The page lies beside the trace. Its lock shows that somebody works on the run.

A trial's way over the page: `began` stores it without a result, `evaluated` with one. When the method
has been told, its line is written to the trace, or stored here with `keep` to be written together with
the lines of other cheap trials. After that, `remove` takes the trial off.

The trials under way are written to two slots in turn, so that a reader always finds a whole slot, also
after a kill in the middle of a write.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from cfo_bench.errors import RunError, TraceError, describe
from cfo_bench.locks import open_locked
from cfo_bench.records import Pause, Result, StartedTrial, Status, Trial, TrialRecord, record_of
from cfo_bench.results.trace import parse_trial
from cfo_bench.safe_writing import open_file, read_regular

# At the top: magic, turn of the slots, zero of the clock, number of trials, best loss. The last slot
# that was written is number `turn % 2`.
_HEAD = struct.Struct("<8sqdqd")
_MAGIC = b"cfolive7"
_TURN, _ZERO, _TALLY = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<qd")
_TURN_AT, _ZERO_AT, _TALLY_AT = 8, 16, 24
# What the method is doing: nothing, an ask or a tell; and since when, in seconds of the run's clock.
_CALL, _CALL_AT = struct.Struct("<qd"), 40
_NO_CALL, _ASK, _TELL = 0, 1, 2
# The result of the only trial in a slot: loss, score, ended, fit and validate seconds, peak memory. Last
# comes the turn of that slot, which makes the result valid.
_RESULT, _RESULT_AT = struct.Struct("<6dq"), 64
# A slot: the length of its content, and the trials under way as JSON arrays.
_LENGTH = struct.Struct("<q")
_SLOT_AT, _SLOT_SIZE = 128, 128 * 1024
# After the slots: the length of the lines that wait to be written, and the lines.
_KEPT_AT = _SLOT_AT + 2 * _SLOT_SIZE
_LINES_AT = _KEPT_AT + _LENGTH.size
_LINES_END = _KEPT_AT + 64 * 1024
# Whether the run is prepared; when the supervisor last saw its process running; since when and how long the
# supervisor saw it stopped (0 s: not); and the pauses that were taken off the clock: how many, and each one.
_PREPARED, _PREPARED_AT = struct.Struct("<q"), _LINES_END
_SEEN, _SEEN_AT = struct.Struct("<d"), _LINES_END + 8
_NOTED, _NOTED_AT = struct.Struct("<dd"), _LINES_END + 16
_PAUSES, _PAUSE, _PAUSES_AT, _MOST_PAUSES = struct.Struct("<q"), struct.Struct("<dd"), _LINES_END + 32, 32
_SIZE = _PAUSES_AT + _PAUSES.size + _MOST_PAUSES * _PAUSE.size


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far a run is."""

    # Where the machine's monotonic clock stood when the run's clock was at 0; None: it is not running.
    # It moves while the run is paused.
    zero: float | None
    trials: int  # in the trace, or kept to be written to it
    best_loss: float | None  # of these


@dataclass(frozen=True, slots=True)
class TrialsOnPage:
    """The trials that a page holds. The trace may have some of the evaluated ones already."""

    evaluated: list[TrialRecord]
    started: list[StartedTrial]  # without a result


class NotedPause(NamedTuple):
    """A pause that the supervisor saw, and that is not taken off the run's clock yet."""

    since: float  # on the machine's monotonic clock
    seconds: float


class MethodCall(NamedTuple):
    """An ask or a tell of the method that is not done."""

    is_tell: bool
    since: float  # in seconds of the run's clock

    def cut_off_at(self, elapsed: float) -> tuple[float, float]:
        """The seconds of a cut-off ask, and those of a cut-off tell, where the clock stands at `elapsed`."""
        seconds = max(elapsed - self.since, 0.0)
        return (0.0, seconds) if self.is_tell else (seconds, 0.0)


class BusyError(RunError):
    """Another process works on this run."""


class LivePage:
    """The page. The run's process writes it, but for `clear`; the supervisor reads it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd
        self._map = mmap.mmap(fd, _SIZE)
        self._turn = self._kept = 0
        self._rows: dict[int, bytes] = {}  # the trials under way, by number, as JSON
        self._in_slot = 0  # how many of them are in the slot that was written last
        self.latest = 0.0  # in the run's process: the last second of the run's clock that it told of

    @classmethod
    def own(cls, path: Path) -> LivePage:
        """The page, locked for one supervisor; BusyError if another one has it.

        It still holds what a killed predecessor left, until it is cleared.
        """
        try:
            fd = open_locked(path)
        except OSError as error:
            raise TraceError(f"can't write {path}: {error.strerror}; choose another --results") from None
        if fd is None:
            raise BusyError(f"{path} is locked: another cfo-bench is at this run")
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
        """The page as the run's own process opens it, without the lock."""
        return cls(path, open_file(path, os.O_RDWR))

    @classmethod
    def left_behind(cls, path: Path) -> TrialsOnPage:
        """The trials on the page of a killed run, which stays as it is; none where there is no page."""
        try:
            data = read_regular(path)[:_SIZE]
        except OSError:
            return TrialsOnPage([], [])
        page = cls(path, -1)  # in memory of our own
        page._map[: len(data)] = data
        found = page.trials()
        page._map.close()
        return found

    def close(self, remove: bool = False) -> None:
        self._map.close()
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)

    def clear(self) -> None:
        """Removes everything from the page but the pauses."""
        self._map[:_SLOT_AT] = _HEAD.pack(_MAGIC, 0, math.nan, 0, math.nan).ljust(_SLOT_AT, b"\0")
        self._map[_LINES_END:_PAUSES_AT] = bytes(_PAUSES_AT - _LINES_END)
        for slot in (0, 1):
            _LENGTH.pack_into(self._map, _SLOT_AT + slot * _SLOT_SIZE, 0)
        self.drop_kept()

    # --- how far the run is ---

    def start_clock(self, zero: float) -> None:
        """From now on the run's deadlines hold."""
        _ZERO.pack_into(self._map, _ZERO_AT, zero)

    def stop_clock(self) -> None:
        """No deadline holds until the clock is started again."""
        _ZERO.pack_into(self._map, _ZERO_AT, math.nan)

    def tally(self, trials: int, best_loss: float | None) -> None:
        _TALLY.pack_into(self._map, _TALLY_AT, trials, math.nan if best_loss is None else best_loss)

    def snapshot(self) -> Snapshot:
        _, _, zero, trials, best = _HEAD.unpack_from(self._map)
        if noted := self.noted_pause:
            zero += noted.seconds
        return Snapshot(None if math.isnan(zero) else zero, trials, None if math.isnan(best) else best)

    @property
    def is_prepared(self) -> bool:
        """The run has loaded its data and built the model's data; or it replays, which may take long."""
        return bool(_PREPARED.unpack_from(self._map, _PREPARED_AT)[0])

    def prepared(self, is_so: bool) -> None:
        _PREPARED.pack_into(self._map, _PREPARED_AT, is_so)

    # --- pauses ---

    @property
    def is_clock_running(self) -> bool:
        return not math.isnan(_ZERO.unpack_from(self._map, _ZERO_AT)[0])

    @property
    def seen_running_at(self) -> float:
        """When the run's process was last seen not to be stopped, on the machine's monotonic clock."""
        seen: float = _SEEN.unpack_from(self._map, _SEEN_AT)[0]
        return seen

    def seen_running(self, now: float) -> None:
        _SEEN.pack_into(self._map, _SEEN_AT, now)

    @property
    def noted_pause(self) -> NotedPause | None:
        noted = NotedPause(*_NOTED.unpack_from(self._map, _NOTED_AT))
        return noted if 0.0 < noted.seconds < math.inf else None

    def note_pause(self, noted: tuple[float, float] | None) -> None:
        """The supervisor saw the run stopped: (since when, how long); None: it was taken off the clock."""
        _NOTED.pack_into(self._map, _NOTED_AT, *(noted or (0.0, 0.0)))

    def add_pause(self, at: float, seconds: float) -> None:
        """A pause was taken off the clock. When there are very many, the last ones count as one."""
        (count,) = _PAUSES.unpack_from(self._map, _PAUSES_AT)
        count = min(max(count, 0), _MOST_PAUSES)
        place = _PAUSES_AT + _PAUSES.size + min(count, _MOST_PAUSES - 1) * _PAUSE.size
        if count == _MOST_PAUSES:
            at, before = _PAUSE.unpack_from(self._map, place)
            seconds += before
        _PAUSE.pack_into(self._map, place, max(at, 0.0), seconds)
        _PAUSES.pack_into(self._map, _PAUSES_AT, min(count + 1, _MOST_PAUSES))

    def forget_pauses(self) -> None:
        """The run starts from the beginning."""
        _PAUSES.pack_into(self._map, _PAUSES_AT, 0)

    def pauses(self) -> tuple[Pause, ...]:
        """Those of the whole run that were taken off its clock; none where the page can't be read."""
        (count,) = _PAUSES.unpack_from(self._map, _PAUSES_AT)
        if not 0 <= count <= _MOST_PAUSES:
            return ()
        first = _PAUSES_AT + _PAUSES.size
        found = [_PAUSE.unpack_from(self._map, first + n * _PAUSE.size) for n in range(count)]
        return tuple(Pause(*pause) for pause in found if all(0 <= number < math.inf for number in pause))

    # --- what the method is doing ---

    def asks(self, since: float) -> None:
        """The method is being asked for a trial: until `began`, or `returned`."""
        _CALL.pack_into(self._map, _CALL_AT, _ASK, since)

    def tells(self, since: float) -> None:
        """The method is being told of a result: until `returned`."""
        _CALL.pack_into(self._map, _CALL_AT, _TELL, since)

    def returned(self) -> None:
        _CALL.pack_into(self._map, _CALL_AT, _NO_CALL, 0.0)

    def method_call(self) -> MethodCall | None:
        """None if the method is doing nothing."""
        call, since = _CALL.unpack_from(self._map, _CALL_AT)
        return MethodCall(call == _TELL, since) if call in (_ASK, _TELL) and since >= 0.0 else None

    # --- the trials under way ---

    def began(self, begun: StartedTrial) -> None:
        self.returned()
        trial, started, ask_seconds = begun
        self.latest = started
        try:
            self._rows[trial.number] = orjson.dumps(
                (trial.number, trial.config, trial.rows, trial.thread, started, ask_seconds)
            )
        except TypeError as error:
            raise RunError(f"the method failed in ask: its trial is no JSON: {describe(error)}") from None
        self._write_slot()

    def evaluated(
        self, begun: StartedTrial, result: Result, score: float | None, ended: float, asked: int | None = None
    ) -> None:
        """From now on the trial counts, whatever happens while the method is told.

        Six numbers are enough for an `ok` trial that is alone in its slot, as most are. They are
        faster to write than the slot, and the run's clock is running.
        """
        status, loss, fit_seconds, validate_seconds, peak, _ = result
        self.latest = ended
        if status is Status.OK and asked is None and self._in_slot == 1:
            peak = math.nan if peak is None else peak
            _RESULT.pack_into(
                self._map, _RESULT_AT, loss, score, ended, fit_seconds, validate_seconds, peak, self._turn
            )
        else:
            record = record_of(begun, result, score, ended, asked=asked)
            self._rows[record.number] = orjson.dumps(tuple(record))
            self._write_slot()

    def remove(self, number: int) -> None:
        """The trial's line is in the trace, or kept for it.

        The slot is not written again for that: a reader knows by its number that a trial was written.
        """
        del self._rows[number]

    def _write_slot(self) -> None:
        rows = b",".join(self._rows.values())
        payload = _LENGTH.pack(len(rows)) + rows
        if len(payload) > _SLOT_SIZE:
            raise RunError(f"the trials under way take {len(rows)} bytes: a configuration has to be smaller")
        self._turn += 1
        self._in_slot = len(self._rows)
        at = _SLOT_AT + (self._turn % 2) * _SLOT_SIZE
        self._map[at : at + len(payload)] = payload
        _TURN.pack_into(self._map, _TURN_AT, self._turn)

    # --- the lines that wait to be written to the trace ---

    def keep(self, line: bytes) -> bool:
        """Stores a line for the trace, as safe from a kill as there; False if there is no room."""
        first = _LINES_AT + self._kept
        last = first + len(line)
        if last > _LINES_END:
            return False
        self._map[first:last] = line
        self._kept += len(line)
        self._map[_KEPT_AT:_LINES_AT] = _LENGTH.pack(self._kept)  # last, and at once: it makes the line count
        return True

    def kept(self) -> bytes:
        """The lines that wait."""
        return self._map[_LINES_AT : _LINES_AT + self._kept]

    def drop_kept(self) -> None:
        """They are in the trace now."""
        self._kept = 0
        self._map[_KEPT_AT:_LINES_AT] = _LENGTH.pack(0)

    # --- what a reader finds ---

    def trials(self) -> TrialsOnPage:
        """The trials whose lines wait, and those in the slot that was written last.

        None where the page can't be read.
        """
        while True:
            magic, turn, *_ = _HEAD.unpack_from(self._map)
            if magic != _MAGIC:
                return TrialsOnPage([], [])
            at = _SLOT_AT + (turn % 2) * _SLOT_SIZE
            (length,) = _LENGTH.unpack_from(self._map, at)
            payload = self._map[at + _LENGTH.size : at + _LENGTH.size + max(length, 0)]
            *numbers, result_turn = _RESULT.unpack_from(self._map, _RESULT_AT)
            (turn_by_now,) = _TURN.unpack_from(self._map, _TURN_AT)
            if turn_by_now == turn:  # else the slot may have been written again while it was read
                break
        evaluated, are_whole = self._kept_trials()
        if not are_whole or not 0 < length <= _SLOT_SIZE - _LENGTH.size:
            return TrialsOnPage(evaluated, [])
        try:
            found = [_trial(row) for row in orjson.loads(b"[%b]" % payload)]
            if result_turn == turn and len(found) == 1 and isinstance(found[0], StartedTrial):
                found = [_with_result(found[0], *numbers)]
        except (ValueError, TypeError):
            return TrialsOnPage(evaluated, [])
        known = {record.number for record in evaluated}
        evaluated += [one for one in found if isinstance(one, TrialRecord) and one.number not in known]
        started = [one for one in found if isinstance(one, StartedTrial) and one.trial.number not in known]
        return TrialsOnPage(evaluated, started)

    def _kept_trials(self) -> tuple[list[TrialRecord], bool]:
        """The trials whose lines wait, up to the first bad line; and whether there is none."""
        (length,) = _LENGTH.unpack_from(self._map, _KEPT_AT)
        found: list[TrialRecord] = []
        if not 0 <= length <= _LINES_END - _LINES_AT:
            return found, False
        try:
            for line in self._map[_LINES_AT : _LINES_AT + length].splitlines():
                found.append(parse_trial(orjson.loads(line)))
        except ValueError:
            return found, False
        return found, True


def _trial(row: list[Any]) -> StartedTrial | TrialRecord:
    """A trial in a slot: six values without a result, and a whole record with one."""
    if len(row) == 6:
        number, config, rows, thread, started, ask_seconds = row
        begun = StartedTrial(Trial(number, config, rows, thread), started, ask_seconds)
        # As a trial that was cut off at once, it has to be one that a trace may hold.
        _checked(record_of(begun, Result(Status.TIMEOUT), None, started))
        return begun
    return _checked(TrialRecord._make(row))


def _checked(record: TrialRecord) -> TrialRecord:
    return parse_trial(record._asdict())


def _with_result(
    begun: StartedTrial,
    loss: float,
    score: float,
    ended: float,
    fit_seconds: float,
    validate_seconds: float,
    peak: float,
) -> TrialRecord:
    result = Result(Status.OK, loss, fit_seconds, validate_seconds, None if math.isnan(peak) else peak)
    return _checked(record_of(begun, result, score, ended))
