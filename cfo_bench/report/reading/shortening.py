"""Reads runs as if they had had a shorter budget: `cfo-bench report --budget`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from cfo_bench.errors import CfoBenchError
from cfo_bench.report.reading.digest import Digest, State, digest_of
from cfo_bench.report.reading.load import is_reference
from cfo_bench.results.limits import finished_before
from cfo_bench.results.shortening import shortened
from cfo_bench.results.trace import lines_of


def as_if_ended(digests: Sequence[Digest], budget_seconds: float) -> tuple[list[Digest], list[str]]:
    """The digests of runs as if each had ended at `budget_seconds`, and a line for each that can't be read.

    Only trials that ended by then count. Traces of runs with a longer budget are read again: what a digest
    keeps is of the whole run. Runs with a shorter one are as they are; one that goes on with a longer budget
    may have come that far. References are as they are: scores are scaled by what they came to.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(partial(_shorter, budget_seconds=budget_seconds), digests))
    unreadable = [answer for answer in answers if isinstance(answer, str)]
    return [answer for answer in answers if isinstance(answer, Digest)], unreadable


def _shorter(one: Digest, budget_seconds: float) -> Digest | str | None:
    is_there = one.budget_seconds == budget_seconds
    if is_there or is_reference(one) or (one.budget_seconds < budget_seconds and not one.goes_on):
        return one
    if one.header.get("knows_budget"):
        return (
            f"{one.path} is left out: its method plans with its budget, so a run of "
            f"{one.budget_seconds:g} s is not one of {budget_seconds:g} s at its beginning"
        )
    path = Path(one.path)
    try:
        is_in_finished_part = one.goes_on and one.budget_seconds > budget_seconds
        found = finished_before(path) if is_in_finished_part else lines_of(path)
    except CfoBenchError as error:
        return str(error)
    if found is None:
        return None
    shorter = digest_of(path, shortened(found, budget_seconds))
    # A run that goes on, and has not come so far, stays one with the shorter budget that it had.
    return shorter if shorter.state is State.DONE or not one.goes_on else one
