"""Trials that are `ok` in their trace though they ended past the budget: they don't count.

A run of ours has none, since it judges such a trial as a timeout; a trace by somebody else may have some. A
digest counts them among the timeouts, so that they are found in the lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import orjson

from cfo_bench.records import Status
from cfo_bench.results.line_types import LineRow
from cfo_bench.results.other_lines import counted_trials, is_trial, split_lines
from cfo_bench.results.outline import Outline
from cfo_bench.results.validation import Lines


def late_in_lines(found: Lines) -> int:
    budget = found.header["spec"]["budget_seconds"]
    trials = zip(found.columns["status"], found.columns["ended"], strict=True)
    return sum(status == Status.OK and ended > budget for status, ended in trials)


def late_in_outline(found: Outline, last_ended: float) -> int | None:
    """The same where the trials are not parsed, and the last one ended at `last_ended`.

    None if a line is not as our writer writes it: then every line has to be checked. Of trials one after the
    other, only those at the end of the trace are parsed, mostly the one that was cut off.
    """
    spec = found.header["spec"]
    budget = spec["budget_seconds"]
    if last_ended <= budget:
        return 0
    try:
        if spec.get("parallel", 1) == 1 and not found.resumes:
            last = list(takewhile(lambda row: row["ended"] > budget, _from_the_last(found.text)))
        else:
            texts, _ = counted_trials(split_lines(found.text)[1:])
            last = [row for row in map(orjson.loads, texts) if row["ended"] > budget]
        return [row["status"] for row in last].count(Status.OK)
    except (ValueError, KeyError, TypeError):
        return None


def _from_the_last(text: bytes) -> Iterator[LineRow]:
    """The trials above the end of a trace, the last one first."""
    stop = text.rfind(b"\n", 0, -1)
    while True:
        start = text.rfind(b"\n", 0, stop) + 1
        line = text[start:stop]
        if not is_trial(line):
            return
        yield orjson.loads(line)
        stop = start - 1
