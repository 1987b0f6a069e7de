"""The live page: a file that a run's process and its supervisor both map into memory.

The run's process writes the running trials, its progress and the start of its clock to the page. This needs
no system call, and can still be read after either process was killed. The page is beside the trace. Its lock
shows that a process is executing the run.

The stages of a trial on the page: `began` stores it without a result, `evaluated` with its result, `tested`
with its test score. When the method has received the result, its line is written to the trace, or stored here
with `keep`, to be written together with the lines of other cheap trials. Then `remove` removes the trial.

The running trials are written to two slots in turn, so that a reader always finds a complete slot, even after
a kill in the middle of a write. A damaged page is not an error: unreadable parts are left out.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
from ctypes import LittleEndianStructure, c_char, c_double, c_int64, c_uint8
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from cfo_bench.errors import RunError, TraceError, describe
from cfo_bench.files.locks import open_locked
from cfo_bench.files.writing import open_file, read_regular
from cfo_bench.machine import facts
from cfo_bench.records import EndReason, Result, StartedTrial, Status, Trial
from cfo_bench.results.schema import (
    DECODE_ERRORS,
    BadLineError,
    ConfigValue,
    EndRecord,
    Pause,
    TrialRecord,
    decode,
    encode,
    trial_record,
)
from cfo_bench.values import NonNegative, NonNegativeInt, PositiveInt

# --- the layout -----------------------------------------------------------------------------------

MAGIC = b"cfolive9"  # another layout has another number
SLOT_BYTES, WAITING_BYTES, MAX_PAUSES = 128 * 1024, 64 * 1024, 32
NO_CALL, ASK, TELL = 0, 1, 2
# Seconds that a supervisor waits for the lock, because `cfo-bench status` and `watch` hold it briefly to test
# it.
_LOCK_PATIENCE_SECONDS = 0.2


class _Structure(LittleEndianStructure):
    """Its numbers have eight aligned bytes each, so a reader sees the old or the new number, never a
    mixture.
    """

    _fields_: ClassVar[list[tuple[str, type]]]


class _OkResult(_Structure):
    """The result of the only trial in a slot, if it is `ok`; valid if `turn` is the turn of that slot."""

    _fields_ = [
        ("loss", c_double),
        ("score", c_double),
        ("ended", c_double),
        ("fit_seconds", c_double),
        ("validate_seconds", c_double),
        ("peak_memory_mb", c_double),  # NaN: not measured
        ("cpu_seconds", c_double),  # NaN: not measured
        ("turn", c_int64),
    ]


class _Slot(_Structure):
    """The running trials, one line each."""

    _fields_ = [("length", c_int64), ("text", c_uint8 * (SLOT_BYTES - 8))]


class _Waiting(_Structure):
    """Lines that wait to be written to the trace."""

    _fields_ = [("length", c_int64), ("text", c_uint8 * (WAITING_BYTES - 8))]


class _Pause(_Structure):
    _fields_ = [(name, c_double) for name in Pause.__struct_fields__]


class _NotedPause(_Structure):
    """Valid if its seconds are above 0."""

    _fields_ = [
        ("since", c_double),
        ("seconds", c_double),
        ("cpu_seconds", c_double),
        ("is_charged", c_int64),
    ]


class Layout(_Structure):
    """The content of a page."""

    _fields_ = [
        ("magic", c_char * 8),
        ("turn", c_int64),  # the slot that was written last is number `turn % 2`
        # The reading of the machine's monotonic clock when the run's clock was 0; NaN: it is not running.
        ("zero", c_double),
        ("trials", c_int64),
        ("best_loss", c_double),  # NaN: no trial has a loss
        # The current call of the method (NO_CALL, ASK or TELL), and its start in seconds of the run's clock.
        ("call", c_int64),
        ("call_since", c_double),
        ("is_prepared", c_int64),
        # The last time at which the supervisor saw the run's process running, on the machine's monotonic
        # clock, and the processor seconds of its descendants at that time.
        ("seen_running_at", c_double),
        ("seen_cpu_seconds", c_double),
        ("noted_pause", _NotedPause),
        ("result", _OkResult),
        ("slots", _Slot * 2),
        ("waiting", _Waiting),
        # The pauses of the run. `clear` keeps them.
        ("n_pauses", c_int64),
        ("pauses", _Pause * MAX_PAUSES),
    ]


SIZE = ctypes.sizeof(Layout)


def _text(part: _Slot | _Waiting) -> memoryview:
    """The bytes of a slot, or of the waiting lines."""
    return memoryview(part.text).cast("B")


# --- the trials on a page -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrialsOnPage:
    """The trials on a page. The trace may already contain some of the evaluated ones."""

    evaluated: list[TrialRecord]
    started: list[StartedTrial]  # without a result


class _StartedLine(msgspec.Struct, frozen=True, tag_field="kind", tag="started"):
    """A trial without a result, in a slot."""

    number: NonNegativeInt
    config: dict[str, ConfigValue]
    rows: PositiveInt | None
    thread: NonNegativeInt
    started: NonNegative
    ask_seconds: NonNegative
    ask_cpu_seconds: NonNegative | None

    def begun(self) -> StartedTrial:
        trial = Trial(self.number, self.config, self.rows, self.thread)
        return StartedTrial(trial, self.started, self.ask_seconds, self.ask_cpu_seconds)


_ENCODER = msgspec.json.Encoder()
_SLOT_DECODER = msgspec.json.Decoder(_StartedLine | TrialRecord)


def _trials_on(page: Layout) -> TrialsOnPage:
    """The trials of the waiting lines, and those in the slot that was written last."""
    while True:
        turn, result = page.turn, page.result
        if page.magic != MAGIC:
            return TrialsOnPage([], [])
        slot = page.slots[turn % 2]
        length = slot.length
        lines = bytes(_text(slot)[: max(length, 0)])
        ok = _OkResult.from_buffer_copy(result)
        if page.turn == turn:  # else the slot may have been written again while it was read
            break
    evaluated, are_whole = _waiting_trials(page.waiting)
    if not are_whole or not 0 < length <= SLOT_BYTES - 8:
        return TrialsOnPage(evaluated, [])
    try:
        running = _SLOT_DECODER.decode_lines(lines)
        if ok.turn == turn and len(running) == 1 and isinstance(running[0], _StartedLine):
            running = [_with_result(running[0].begun(), ok)]
    except (BadLineError, *DECODE_ERRORS):
        return TrialsOnPage(evaluated, [])
    known = {record.number for record in evaluated}
    new = [line for line in running if line.number not in known]
    evaluated += [line for line in new if isinstance(line, TrialRecord)]
    return TrialsOnPage(evaluated, [line.begun() for line in new if isinstance(line, _StartedLine)])


def _waiting_trials(waiting: _Waiting) -> tuple[list[TrialRecord], bool]:
    """The trials of the waiting lines up to the first damaged one, and whether none is damaged."""
    trials: list[TrialRecord] = []
    length = waiting.length
    if not 0 <= length <= WAITING_BYTES - 8:
        return trials, False
    try:
        for line in bytes(_text(waiting)[:length]).splitlines():
            trials.append(_trial(line))
    except BadLineError:
        return trials, False
    return trials, True


def _trial(line: bytes) -> TrialRecord:
    record = decode(line)
    if not isinstance(record, TrialRecord):
        raise BadLineError("no trial")
    return record


def _with_result(begun: StartedTrial, ok: _OkResult) -> TrialRecord:
    peak, cpu_seconds = (
        None if math.isnan(number) else number for number in (ok.peak_memory_mb, ok.cpu_seconds)
    )
    result = Result(
        Status.OK, ok.loss, ok.fit_seconds, ok.validate_seconds, peak, error=None, cpu_seconds=cpu_seconds
    )
    # Encoded and decoded, which validates it.
    return _trial(encode(trial_record(begun, result, ok.score, ok.ended)))


# --- the page -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The progress of a run.

    Parameters
    ----------
    zero
        The reading of the machine's monotonic clock when the run's clock was 0, which moves while the run is
        paused; None if the run's clock is not running.
    trials
        The number of trials in the trace, or waiting to be written to it.
    best_loss
        The lowest loss of these; None if no trial has a loss.
    """

    zero: float | None
    trials: int
    best_loss: float | None


class NotedPause(NamedTuple):
    """A pause that the supervisor saw, and that the run's process has not recorded yet."""

    since: float  # on the machine's monotonic clock
    seconds: float
    cpu_seconds: float  # used by descendants of the run's process in the pause
    is_charged: bool  # it counts on the run's clock, because these descendants computed

    def record(self, zero: float) -> Pause:
        """The record of the pause in a trace, if the run's clock was 0 at the time `zero`."""
        charged_seconds = self.seconds if self.is_charged else 0.0
        return Pause(max(self.since - zero, 0.0), self.seconds, self.cpu_seconds, charged_seconds)


class MethodCall(NamedTuple):
    """An `ask` or `tell` of the method that has not returned."""

    is_tell: bool
    since: float  # in seconds of the run's clock

    def cut_off_at(self, elapsed: float) -> tuple[float, float]:
        """The seconds of a cut-off ask, and those of a cut-off tell, if the clock reads `elapsed`."""
        seconds = max(elapsed - self.since, 0.0)
        return (0.0, seconds) if self.is_tell else (seconds, 0.0)


class BusyError(RunError):
    """Another process is executing this run."""


class LivePage:
    """The page. The run's process writes it, except for `clear`; the supervisor reads it.

    A closed page keeps its last content.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd
        self._map(Layout.from_buffer(mmap.mmap(fd, SIZE)))
        self._turn = 0
        self._rows: dict[int, bytes] = {}  # the running trials, by number, as lines
        self._in_slot = 0  # the number of them in the slot that was written last
        self.latest = 0.0  # in the run's process: the last reading of the run's clock that it wrote

    def _map(self, page: Layout) -> None:
        self._page, self._ok, self._waiting = page, page.result, page.waiting
        self._slots = [(slot, _text(slot)) for slot in page.slots]
        self._lines = _text(page.waiting)

    @classmethod
    def own(cls, path: Path) -> LivePage:
        """The page, locked for one supervisor; BusyError if another process has locked it.

        Until it is cleared, it still has the content of a killed predecessor.
        """
        try:
            fd = open_locked(path, _LOCK_PATIENCE_SECONDS)
        except OSError as error:
            raise TraceError(f"can't write {path}: {error.strerror}; choose another --results") from None
        if fd is None:
            raise BusyError(f"{path} is locked: another cfo-bench executes this run")
        try:
            # Allocate the whole page now, because a write to a mapped page without space on the disk is
            # fatal.
            os.posix_fallocate(fd, 0, SIZE)
        except OSError as error:
            os.close(fd)
            path.unlink()
            raise RunError(
                f"can't write {path}: {error.strerror}; free some space, then run the same command"
            ) from None
        return cls(path, fd)

    @classmethod
    def join(cls, path: Path) -> LivePage:
        """The page for the run's own process, without the lock."""
        return cls(path, open_file(path, os.O_RDWR))

    @staticmethod
    def left_behind(path: Path) -> TrialsOnPage:
        """The trials on the page of a killed run; none without a page. The page is not changed."""
        try:
            content = read_regular(path)[:SIZE]
        except OSError:
            return TrialsOnPage([], [])
        return _trials_on(Layout.from_buffer_copy(content.ljust(SIZE, b"\0")))

    def trials(self) -> TrialsOnPage:
        """The trials of the waiting lines, and those in the slot that was written last."""
        return _trials_on(self._page)

    def close(self, remove: bool = False) -> None:
        self._map(Layout.from_buffer_copy(self._page))
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)

    def clear(self) -> None:
        """Removes everything from the page except the pauses."""
        page = self._page
        page.turn, page.zero, page.trials, page.best_loss = 0, math.nan, 0, math.nan
        first, last = Layout.call.offset, Layout.n_pauses.offset
        ctypes.memset(ctypes.addressof(page) + first, 0, last - first)
        page.magic = MAGIC

    # --- the progress of the run ---

    def start_clock(self, zero: float) -> None:
        """From now on the run's deadlines hold."""
        self._page.zero = zero

    def stop_clock(self) -> None:
        """No deadline holds until the clock is started again."""
        self._page.zero = math.nan

    def tally(self, trials: int, best_loss: float | None) -> None:
        self._page.trials = trials
        self._page.best_loss = math.nan if best_loss is None else best_loss

    def snapshot(self) -> Snapshot:
        page = self._page
        zero, best = page.zero, page.best_loss
        if (noted := self.noted_pause) and not noted.is_charged:
            zero += noted.seconds
        return Snapshot(None if math.isnan(zero) else zero, page.trials, None if math.isnan(best) else best)

    @property
    def is_prepared(self) -> bool:
        """Whether the data and the model's data are ready, or the run is replaying, which may take long."""
        return bool(self._page.is_prepared)

    def prepared(self, is_so: bool) -> None:
        self._page.is_prepared = is_so

    # --- pauses ---

    @property
    def is_clock_running(self) -> bool:
        return not math.isnan(self._page.zero)

    @property
    def seen_running_at(self) -> float:
        """The last time at which the run's process was not stopped, on the machine's monotonic clock."""
        return float(self._page.seen_running_at)

    @property
    def seen_cpu_seconds(self) -> float:
        """The processor seconds of all descendants of the run's process at that time."""
        return float(self._page.seen_cpu_seconds)

    def seen_running(self, now: float, descendants_cpu_seconds: float) -> None:
        self._page.seen_running_at, self._page.seen_cpu_seconds = now, descendants_cpu_seconds

    @property
    def noted_pause(self) -> NotedPause | None:
        noted = self._page.noted_pause
        if not 0.0 < noted.seconds < math.inf:
            return None
        return NotedPause(noted.since, noted.seconds, noted.cpu_seconds, bool(noted.is_charged))

    def note_pause(self, noted: NotedPause | None) -> None:
        """Store a pause that the supervisor saw; None: the run's process has recorded it."""
        self._page.noted_pause = noted or NotedPause(0.0, 0.0, 0.0, False)

    def record_noted_pause(self) -> None:
        """Record the noted pause, because the run's process died before it could."""
        if (noted := self.noted_pause) and self.is_clock_running:
            self.add_pause(noted.record(self._page.zero))
        self.note_pause(None)

    def add_pause(self, pause: Pause) -> None:
        """Add a pause. If there are more than `MAX_PAUSES`, the last ones are combined."""
        page = self._page
        count = min(max(page.n_pauses, 0), MAX_PAUSES)
        if count == MAX_PAUSES:
            count, last = count - 1, page.pauses[count - 1]
            pause = Pause(
                last.at,
                last.seconds + pause.seconds,
                last.cpu_seconds + pause.cpu_seconds,
                last.charged_seconds + pause.charged_seconds,
            )
        page.pauses[count] = msgspec.structs.astuple(pause)
        page.n_pauses = count + 1

    def forget_pauses(self) -> None:
        """Remove the pauses: the run starts from the beginning."""
        self._page.n_pauses = 0

    def pauses(self) -> tuple[Pause, ...]:
        """The pauses of the whole run; none if the page cannot be read."""
        count = self._page.n_pauses
        if not 0 <= count <= MAX_PAUSES:
            return ()
        rows = [
            [getattr(pause, name) for name in Pause.__struct_fields__] for pause in self._page.pauses[:count]
        ]
        return tuple(Pause(*row) for row in rows if all(0 <= number < math.inf for number in row))

    # --- the calls of the method ---

    def asks(self, since: float) -> None:
        """The method is being asked for a trial: until `began`, or `returned`."""
        page = self._page
        page.call_since, page.call = since, ASK

    def tells(self, since: float) -> None:
        """The method is receiving a result: until `returned`."""
        page = self._page
        page.call_since, page.call = since, TELL

    def returned(self) -> None:
        self._page.call = NO_CALL

    def method_call(self) -> MethodCall | None:
        """The running call of the method; None if there is none."""
        call, since = self._page.call, self._page.call_since
        return MethodCall(call == TELL, since) if call in (ASK, TELL) and since >= 0.0 else None

    # --- the running trials ---

    def began(self, begun: StartedTrial) -> None:
        self.returned()
        trial, started, ask_seconds, ask_cpu_seconds = begun
        self.latest = started
        try:
            self._rows[trial.number] = _ENCODER.encode(
                _StartedLine(
                    trial.number,
                    trial.config,
                    trial.rows,
                    trial.thread,
                    started,
                    ask_seconds,
                    ask_cpu_seconds,
                )
            )
        except TypeError as error:
            raise RunError(f"the method failed in ask: its trial is not JSON: {describe(error)}") from None
        self._write_slot()

    def evaluated(
        self, begun: StartedTrial, result: Result, score: float | None, ended: float, asked: int | None = None
    ) -> None:
        """From now on the trial counts, whatever happens in the tell.

        For an `ok` trial that is alone in its slot, like most trials, seven numbers are enough. Writing them
        is faster than writing the slot, and the run's clock is running.
        """
        status, loss, fit_seconds, validate_seconds, peak, _, cpu_seconds = result
        self.latest = ended
        if status is Status.OK and asked is None and self._in_slot == 1:
            ok = self._ok
            ok.loss, ok.score, ok.ended = loss, score, ended
            ok.fit_seconds, ok.validate_seconds = fit_seconds, validate_seconds
            ok.peak_memory_mb = math.nan if peak is None else peak
            ok.cpu_seconds = math.nan if cpu_seconds is None else cpu_seconds
            ok.turn = self._turn  # last: it makes the result valid
        else:
            self._put(trial_record(begun, result, score, ended, asked=asked))

    def tested(self, record: TrialRecord) -> None:
        """From now on the trial counts with its test score."""
        self._put(record)

    def _put(self, record: TrialRecord) -> None:
        self._rows[record.number] = _ENCODER.encode(record)
        self._write_slot()

    def remove(self, number: int) -> None:
        """Remove a trial whose line is in the trace, or waits to be written to it.

        The slot is not written again for this: a reader recognises by its number that the trial is in the
        trace.
        """
        del self._rows[number]

    def _write_slot(self) -> None:
        lines = b"\n".join(self._rows.values())
        slot, text = self._slots[(self._turn + 1) % 2]
        if len(lines) > len(text):
            raise RunError(f"the running trials take {len(lines)} bytes: a configuration has to be smaller")
        self._turn += 1
        self._in_slot = len(self._rows)
        text[: len(lines)] = lines
        slot.length = len(lines)
        self._page.turn = self._turn  # last: it makes the slot valid

    # --- the lines that wait to be written to the trace ---

    def keep(self, line: bytes) -> bool:
        """Stores a line for the trace, where it also survives a kill; False if there is no room."""
        length = self._waiting.length
        if length + len(line) > len(self._lines):
            return False
        self._lines[length : length + len(line)] = line
        self._waiting.length = length + len(line)  # last: it makes the line count
        return True

    def kept(self) -> bytes:
        """The waiting lines."""
        return bytes(self._lines[: self._waiting.length])

    def drop_kept(self) -> None:
        """Remove the waiting lines, which are in the trace now."""
        self._waiting.length = 0


# --- the last line of a trace ---------------------------------------------------------------------


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
    """The end record of a run, from its page.

    `cut_off` is the method's call that had not returned when the run ended. `began` contains the machine's
    ticks at the start of the run; without it, the load is left out.
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
