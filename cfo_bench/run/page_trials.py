"""The trials that a live page holds: read while its run goes on, or after its process was killed.

A damaged page is no error: what can't be read is left out.
"""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass
from typing import Any

import orjson

from cfo_bench.records import Result, StartedTrial, Status, Trial, TrialRecord, record_of
from cfo_bench.results.trace import parse_trial
from cfo_bench.run.page_layout import (
    HEAD,
    KEPT_AT,
    LENGTH,
    LINES_AT,
    LINES_END,
    MAGIC,
    RESULT,
    RESULT_AT,
    SLOT_AT,
    SLOT_SIZE,
    TURN,
    TURN_AT,
)

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
        found = [_trial(row) for row in orjson.loads(b"[%b]" % payload)]
        if result_turn == turn and len(found) == 1 and isinstance(found[0], StartedTrial):
            found = [_with_result(found[0], *numbers)]
    except (ValueError, TypeError):
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
