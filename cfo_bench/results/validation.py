"""What a whole trace is: the one check that every command puts a trace through.

The first line is the header, every other line a trial, a resume or an end; each has the keys that a reader
needs, with values of the right type. Trials are numbered without gaps, nothing follows a final end but a
resume with other limits, and an end or a resume counts the trials before it. Trials that a resume says are
superseded don't count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from cfo_bench.results.line_types import COUNT, BadLineError, LineRow, check_row, check_trial, parsed
from cfo_bench.results.other_lines import (
    bad_line,
    check_may_follow,
    check_other,
    check_others,
    header_of,
    split_lines,
    with_limits,
)
from cfo_bench.results.outline import outline
from cfo_bench.results.trial_columns import check_columns, columns_of


@dataclass(frozen=True, slots=True)
class Lines:
    """The whole lines of a trace, checked."""

    header: LineRow  # with the names that this version uses, and the limits of the last resume
    trials: list[LineRow]  # those that count
    columns: dict[str, Sequence[Any]]  # the trials again: for each field of TrialRecord the values of all
    resumes: list[LineRow]
    ends: list[LineRow]  # those of a run that was interrupted and resumed, and the last one
    last: LineRow  # the last line; the header where there is no other

    @property
    def end(self) -> LineRow | None:
        """The last line, if it is an end: then the run was not resumed after it."""
        return self.last if self.last["kind"] == "end" else None


def check(path: object, whole: bytes) -> Lines | None:
    """The whole lines of a trace, or a TraceError that names the first bad one; None without a line.

    `path` is for the message only. Traces have millions of lines in all: a good one is checked column by
    column, and only a bad one line by line, to find the place.
    """
    texts = split_lines(whole)
    if not texts:
        return None
    header = header_of(path, texts[0])
    try:
        return _checked(header, list(map(orjson.loads, texts[1:])))
    except (BadLineError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        number, why = _first_bad(header, texts)
        raise bad_line(path, number, why) from None


def check_ends(path: object, whole: bytes) -> tuple[LineRow, LineRow] | None:
    """The header and the last line of a trace that was checked; None without a line."""
    unchanged = outline(path, whole)
    if unchanged is not None:
        return unchanged.header, unchanged.end
    found = check(path, whole)
    return None if found is None else (found.header, found.last)


def _checked(header: LineRow, rows: list[LineRow]) -> Lines:
    others = [(at, row) for at, row in enumerate(rows) if row["kind"] != "trial"]
    check_others(others, len(rows))
    resumes, ends = ([row for _, row in others if row["kind"] == kind] for kind in ("resume", "end"))
    trials = _counted(rows) if any(row.get("superseded") for row in resumes) else None
    if trials is None:
        trials = [row for row in rows if row["kind"] == "trial"]
    columns = columns_of(trials)
    check_columns(columns, _trials_at_once(header))
    header = with_limits(header, resumes)
    return Lines(header, trials, columns, resumes, ends, rows[-1] if rows else header)


def _counted(rows: Sequence[LineRow]) -> list[LineRow]:
    """The trials that count. The others are checked here, since nobody else looks at them."""
    found: list[LineRow] = []
    for row in rows:
        if row["kind"] == "trial":
            found.append(row)
        elif row["kind"] == "resume":
            count = len(found) - row.get("superseded", 0)
            for gone in found[count:]:
                check_trial(gone)
            del found[count:]
    return found


def _trials_at_once(header: LineRow) -> int:
    at_once: int = header["spec"].get("parallel", 1)
    return at_once


# --- where a bad trace is bad ---------------------------------------------------------------------


def _first_bad(header: LineRow, texts: Sequence[bytes]) -> tuple[int, str]:
    """The number of the first bad line, from 1, and what is wrong with it."""
    at_once = _trials_at_once(header)
    trials: list[LineRow] = []  # that count
    numbers: set[int] = set()
    before: LineRow = {"kind": "run"}
    for line, text in enumerate(texts[1:], start=2):
        try:
            row = parsed(text)
            if "kind" not in row:
                raise BadLineError("kind is missing")
            is_trial_line = row["kind"] == "trial"
            try:
                check_may_follow(before, None if is_trial_line else row)
            except BadLineError as error:
                return line - 1, str(error)
            before = row
            if not is_trial_line:
                check_row(row, {"superseded": COUNT})
                if row["kind"] == "resume":
                    del trials[max(len(trials) - row.get("superseded", 0), 0) :]
                    numbers = {one["number"] for one in trials}
                check_other(row, len(trials))
                continue
            check_trial(row)
            number = row["number"]
            if number in numbers:
                raise BadLineError(f"trial {number} is there twice")
            if at_once == 1 and number != len(numbers):
                raise BadLineError(f"trial {number} stands where trial {len(numbers)} should")
            if at_once == 1 and trials and row["ended"] < trials[-1]["ended"]:
                raise BadLineError(f"trial {number} ended before the trial above it")
        except BadLineError as error:
            return line, str(error)
        numbers.add(number)
        trials.append(row)
    return len(texts), f"trials are missing: the last number is {max(numbers, default=0)}"
