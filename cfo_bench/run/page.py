"""The live page: a file that a run's process and its supervisor both map into memory.

The run's process says there which trials are under way, how far it is, and when its clock started.
That costs it no system call, and what it said can still be read after either process was killed.
The page lies beside the trace. Its lock shows that somebody works on the run.

A trial's way over the page: `began` stores it without a result, `evaluated` with one, `tested` with its test
score. When the method has been told, its line is written to the trace, or stored here with `keep` to be
written together with the lines of other cheap trials. After that, `remove` takes the trial off.

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
from typing import NamedTuple

import msgspec

from cfo_bench.errors import RunError, TraceError, describe
from cfo_bench.files.locks import open_locked
from cfo_bench.files.writing import open_file, read_regular
from cfo_bench.machine import facts
from cfo_bench.records import EndReason, Result, StartedTrial, Status, Trial
from cfo_bench.results.schema import (
    BadLineError,
    EndRecord,
    Pause,
    TrialRecord,
    Value,
    decode,
    encode,
    trial_record,
)
from cfo_bench.values import NonNegativeInt, PositiveInt, Seconds

# --- page layout -----------------------------------------------------------------------------------
# Where everything stands on a live page, and in which form.


# At the top: magic, turn of the slots, zero of the clock, number of trials, best loss. The last slot
# that was written is number `turn % 2`.
HEAD = struct.Struct("<8sqdqd")
MAGIC = b"cfolive7"
TURN, ZERO, TALLY = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<qd")
TURN_AT, ZERO_AT, TALLY_AT = 8, 16, 24
# What the method is doing: nothing, an ask or a tell; and since when, in seconds of the run's clock.
CALL, CALL_AT = struct.Struct("<qd"), 40
NO_CALL, ASK, TELL = 0, 1, 2
# The result of the only trial in a slot: loss, score, ended, fit and validate seconds, peak memory. Last
# comes the turn of that slot, which makes the result valid.
RESULT, RESULT_AT = struct.Struct("<6dq"), 64
# A slot: the length of its content, and a line for each trial that is running.
LENGTH = struct.Struct("<q")
SLOT_AT, SLOT_SIZE = 128, 128 * 1024
# After the slots: the length of the lines that wait to be written, and the lines.
KEPT_AT = SLOT_AT + 2 * SLOT_SIZE
LINES_AT = KEPT_AT + LENGTH.size
LINES_END = KEPT_AT + 64 * 1024
# Whether the run is prepared; when the supervisor last saw its process running; since when and how long the
# supervisor saw it stopped (0 s: not); and the pauses that were taken off the clock: how many, and each one.
PREPARED, PREPARED_AT = struct.Struct("<q"), LINES_END
SEEN, SEEN_AT = struct.Struct("<d"), LINES_END + 8
NOTED, NOTED_AT = struct.Struct("<dd"), LINES_END + 16
PAUSES, PAUSE, PAUSES_AT, MOST_PAUSES = struct.Struct("<q"), struct.Struct("<dd"), LINES_END + 32, 32
SIZE = PAUSES_AT + PAUSES.size + MOST_PAUSES * PAUSE.size


# --- page trials -----------------------------------------------------------------------------------
# The trials that a live page holds: read while its run goes on, or after its process was killed.
#
# A damaged page is no error: what can't be read is left out.


PageBytes = mmap.mmap | bytes


@dataclass(frozen=True, slots=True)
class TrialsOnPage:
    """The trials that a page holds. The trace may have some of the evaluated ones already."""

    evaluated: list[TrialRecord]
    started: list[StartedTrial]  # without a result


def trials_on(page: PageBytes) -> TrialsOnPage:
    """The trials whose lines wait, and those in the slot that was written last.

    None where the page can't be read.
    """
    while True:
        magic, turn, *_ = HEAD.unpack_from(page)
        if magic != MAGIC:
            return TrialsOnPage([], [])
        at = SLOT_AT + (turn % 2) * SLOT_SIZE
        (length,) = LENGTH.unpack_from(page, at)
        payload = page[at + LENGTH.size : at + LENGTH.size + max(length, 0)]
        *numbers, result_turn = RESULT.unpack_from(page, RESULT_AT)
        (turn_by_now,) = TURN.unpack_from(page, TURN_AT)
        if turn_by_now == turn:  # else the slot may have been written again while it was read
            break
    evaluated, are_whole = _kept_trials(page)
    if not are_whole or not 0 < length <= SLOT_SIZE - LENGTH.size:
        return TrialsOnPage(evaluated, [])
    try:
        found = [_started(line) for line in _SLOT_DECODER.decode_lines(payload)]
        if result_turn == turn and len(found) == 1 and isinstance(found[0], StartedTrial):
            found = [_with_result(found[0], *numbers)]
    except (msgspec.MsgspecError, BadLineError, UnicodeDecodeError, RecursionError):
        return TrialsOnPage(evaluated, [])
    known = {record.number for record in evaluated}
    evaluated += [one for one in found if isinstance(one, TrialRecord) and one.number not in known]
    started = [one for one in found if isinstance(one, StartedTrial) and one.trial.number not in known]
    return TrialsOnPage(evaluated, started)


def _kept_trials(page: PageBytes) -> tuple[list[TrialRecord], bool]:
    """The trials whose lines wait, up to the first bad line; and whether there is none."""
    (length,) = LENGTH.unpack_from(page, KEPT_AT)
    found: list[TrialRecord] = []
    if not 0 <= length <= LINES_END - LINES_AT:
        return found, False
    try:
        for line in page[LINES_AT : LINES_AT + length].splitlines():
            found.append(_kept_trial(line))
    except BadLineError:
        return found, False
    return found, True


def _kept_trial(line: bytes) -> TrialRecord:
    record = decode(line)
    if not isinstance(record, TrialRecord):
        raise BadLineError("no trial")
    return record


class _StartedLine(msgspec.Struct, frozen=True, tag_field="kind", tag="started"):
    """A trial without a result, in a slot."""

    number: NonNegativeInt
    config: dict[str, Value]
    rows: PositiveInt | None
    thread: NonNegativeInt
    started: Seconds
    ask_seconds: Seconds


_ENCODER = msgspec.json.Encoder()
_SLOT_DECODER = msgspec.json.Decoder(_StartedLine | TrialRecord)


def _started(line: _StartedLine | TrialRecord) -> StartedTrial | TrialRecord:
    if isinstance(line, TrialRecord):
        return line
    trial = Trial(line.number, line.config, line.rows, line.thread)
    return StartedTrial(trial, line.started, line.ask_seconds)


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
    return _kept_trial(encode(trial_record(begun, result, score, ended)))


# --- live page -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far a run is."""

    # Where the machine's monotonic clock stood when the run's clock was at 0; None: it is not running.
    # It moves while the run is paused.
    zero: float | None
    trials: int  # in the trace, or kept to be written to it
    best_loss: float | None  # of these


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
        self._map = mmap.mmap(fd, SIZE)
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
            os.posix_fallocate(fd, 0, SIZE)
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

    @staticmethod
    def left_behind(path: Path) -> TrialsOnPage:
        """The trials on the page of a killed run, which stays as it is; none where there is no page."""
        try:
            return trials_on(read_regular(path)[:SIZE].ljust(SIZE, b"\0"))
        except OSError:
            return TrialsOnPage([], [])

    def trials(self) -> TrialsOnPage:
        """The trials whose lines wait, and those in the slot that was written last."""
        return trials_on(self._map)

    def close(self, remove: bool = False) -> None:
        self._map.close()
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)

    def clear(self) -> None:
        """Removes everything from the page but the pauses."""
        self._map[:SLOT_AT] = HEAD.pack(MAGIC, 0, math.nan, 0, math.nan).ljust(SLOT_AT, b"\0")
        self._map[LINES_END:PAUSES_AT] = bytes(PAUSES_AT - LINES_END)
        for slot in (0, 1):
            LENGTH.pack_into(self._map, SLOT_AT + slot * SLOT_SIZE, 0)
        self.drop_kept()

    # --- how far the run is ---

    def start_clock(self, zero: float) -> None:
        """From now on the run's deadlines hold."""
        ZERO.pack_into(self._map, ZERO_AT, zero)

    def stop_clock(self) -> None:
        """No deadline holds until the clock is started again."""
        ZERO.pack_into(self._map, ZERO_AT, math.nan)

    def tally(self, trials: int, best_loss: float | None) -> None:
        TALLY.pack_into(self._map, TALLY_AT, trials, math.nan if best_loss is None else best_loss)

    def snapshot(self) -> Snapshot:
        _, _, zero, trials, best = HEAD.unpack_from(self._map)
        if noted := self.noted_pause:
            zero += noted.seconds
        return Snapshot(None if math.isnan(zero) else zero, trials, None if math.isnan(best) else best)

    @property
    def is_prepared(self) -> bool:
        """The run has loaded its data and built the model's data; or it replays, which may take long."""
        return bool(PREPARED.unpack_from(self._map, PREPARED_AT)[0])

    def prepared(self, is_so: bool) -> None:
        PREPARED.pack_into(self._map, PREPARED_AT, is_so)

    # --- pauses ---

    @property
    def is_clock_running(self) -> bool:
        return not math.isnan(ZERO.unpack_from(self._map, ZERO_AT)[0])

    @property
    def seen_running_at(self) -> float:
        """When the run's process was last seen not to be stopped, on the machine's monotonic clock."""
        seen: float = SEEN.unpack_from(self._map, SEEN_AT)[0]
        return seen

    def seen_running(self, now: float) -> None:
        SEEN.pack_into(self._map, SEEN_AT, now)

    @property
    def noted_pause(self) -> NotedPause | None:
        noted = NotedPause(*NOTED.unpack_from(self._map, NOTED_AT))
        return noted if 0.0 < noted.seconds < math.inf else None

    def note_pause(self, noted: tuple[float, float] | None) -> None:
        """The supervisor saw the run stopped: (since when, how long); None: it was taken off the clock."""
        NOTED.pack_into(self._map, NOTED_AT, *(noted or (0.0, 0.0)))

    def add_pause(self, at: float, seconds: float) -> None:
        """A pause was taken off the clock. When there are very many, the last ones count as one."""
        (count,) = PAUSES.unpack_from(self._map, PAUSES_AT)
        count = min(max(count, 0), MOST_PAUSES)
        place = PAUSES_AT + PAUSES.size + min(count, MOST_PAUSES - 1) * PAUSE.size
        if count == MOST_PAUSES:
            at, before = PAUSE.unpack_from(self._map, place)
            seconds += before
        PAUSE.pack_into(self._map, place, max(at, 0.0), seconds)
        PAUSES.pack_into(self._map, PAUSES_AT, min(count + 1, MOST_PAUSES))

    def forget_pauses(self) -> None:
        """The run starts from the beginning."""
        PAUSES.pack_into(self._map, PAUSES_AT, 0)

    def pauses(self) -> tuple[Pause, ...]:
        """Those of the whole run that were taken off its clock; none where the page can't be read."""
        (count,) = PAUSES.unpack_from(self._map, PAUSES_AT)
        if not 0 <= count <= MOST_PAUSES:
            return ()
        first = PAUSES_AT + PAUSES.size
        found = [PAUSE.unpack_from(self._map, first + n * PAUSE.size) for n in range(count)]
        return tuple(Pause(*pause) for pause in found if all(0 <= number < math.inf for number in pause))

    # --- what the method is doing ---

    def asks(self, since: float) -> None:
        """The method is being asked for a trial: until `began`, or `returned`."""
        CALL.pack_into(self._map, CALL_AT, ASK, since)

    def tells(self, since: float) -> None:
        """The method is being told of a result: until `returned`."""
        CALL.pack_into(self._map, CALL_AT, TELL, since)

    def returned(self) -> None:
        CALL.pack_into(self._map, CALL_AT, NO_CALL, 0.0)

    def method_call(self) -> MethodCall | None:
        """None if the method is doing nothing."""
        call, since = CALL.unpack_from(self._map, CALL_AT)
        return MethodCall(call == TELL, since) if call in (ASK, TELL) and since >= 0.0 else None

    # --- the trials under way ---

    def began(self, begun: StartedTrial) -> None:
        self.returned()
        trial, started, ask_seconds = begun
        self.latest = started
        try:
            self._rows[trial.number] = _ENCODER.encode(
                _StartedLine(trial.number, trial.config, trial.rows, trial.thread, started, ask_seconds)
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
            RESULT.pack_into(
                self._map, RESULT_AT, loss, score, ended, fit_seconds, validate_seconds, peak, self._turn
            )
        else:
            self._put(trial_record(begun, result, score, ended, asked=asked))

    def tested(self, record: TrialRecord) -> None:
        """From now on the trial counts with its test score."""
        self._put(record)

    def _put(self, record: TrialRecord) -> None:
        self._rows[record.number] = _ENCODER.encode(record)
        self._write_slot()

    def remove(self, number: int) -> None:
        """The trial's line is in the trace, or kept for it.

        The slot is not written again for that: a reader knows by its number that a trial was written.
        """
        del self._rows[number]

    def _write_slot(self) -> None:
        rows = b"\n".join(self._rows.values())
        payload = LENGTH.pack(len(rows)) + rows
        if len(payload) > SLOT_SIZE:
            raise RunError(f"the trials under way take {len(rows)} bytes: a configuration has to be smaller")
        self._turn += 1
        self._in_slot = len(self._rows)
        at = SLOT_AT + (self._turn % 2) * SLOT_SIZE
        self._map[at : at + len(payload)] = payload
        TURN.pack_into(self._map, TURN_AT, self._turn)

    # --- the lines that wait to be written to the trace ---

    def keep(self, line: bytes) -> bool:
        """Stores a line for the trace, as safe from a kill as there; False if there is no room."""
        first = LINES_AT + self._kept
        last = first + len(line)
        if last > LINES_END:
            return False
        self._map[first:last] = line
        self._kept += len(line)
        self._map[KEPT_AT:LINES_AT] = LENGTH.pack(self._kept)  # last, and at once: it makes the line count
        return True

    def kept(self) -> bytes:
        """The lines that wait."""
        return self._map[LINES_AT : LINES_AT + self._kept]

    def drop_kept(self) -> None:
        """They are in the trace now."""
        self._kept = 0
        self._map[KEPT_AT:LINES_AT] = LENGTH.pack(0)


# --- ending ----------------------------------------------------------------------------------------
# The last line of a trace: why the run ended, and what it came to.


def end_record(
    reason: EndReason,
    elapsed: float,
    trials: int,
    best: TrialRecord | None,
    error: str | None = None,
    cut_off: MethodCall | None = None,
    began: facts.Ticks | None = None,
    pauses: tuple[Pause, ...] = (),
) -> EndRecord:
    """`cut_off` is what the method was doing when the run ended.

    `began` are the machine's ticks when the run started; without them the load is left out.
    """
    cut_ask_seconds, cut_tell_seconds = cut_off.cut_off_at(elapsed) if cut_off else (0.0, 0.0)
    return EndRecord(
        reason=reason,
        elapsed=elapsed,
        trials=trials,
        best_loss=best.loss if best else None,
        best_score=best.score if best else None,
        best_number=best.number if best else None,
        error=error,
        cut_ask_seconds=cut_ask_seconds,
        cut_tell_seconds=cut_tell_seconds,
        load=facts.machine_load() if began else None,
        steal_percent=facts.steal_percent(began),
        pauses=pauses,
    )
