"""Reads runs as if they had had a shorter budget: `cfo-bench report --budget`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cfo_bench.errors import CfoBenchError
from cfo_bench.report.contents import plural
from cfo_bench.report.reading.digest import Digest, State, digest_of
from cfo_bench.report.reading.load import is_reference
from cfo_bench.report.reading.run_names import run_names
from cfo_bench.results.limits import finished_before
from cfo_bench.results.shortening import shortened
from cfo_bench.results.trace import lines_of


@dataclass(frozen=True, slots=True)
class Shortened:
    """The runs as if they had ended sooner, and what a reader has to know of it."""

    digests: list[Digest]
    unreadable: list[str]  # a line for each trace that can't be read any more
    notices: list[str]


def as_if_ended(digests: Sequence[Digest], budget_seconds: float) -> Shortened:
    """The digests of runs as if each had ended at `budget_seconds`.

    Only trials that ended by then count. Traces of runs with a longer budget are read again: what a digest
    keeps is of the whole run. Runs with a shorter one are as they are; one that goes on with a longer budget
    may have come that far. References are as they are: scores are scaled by what they came to. Left out are
    runs whose method plans with its budget: it would have tried something else.
    """
    methods = [one for one in digests if not is_reference(one)]
    planned = [one for one in methods if _is_long(one, budget_seconds) and one.header.get("knows_budget")]
    gone = set(map(id, planned))
    left = [one for one in digests if id(one) not in gone]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(partial(_shorter, budget_seconds=budget_seconds), left))
    found = [answer for answer in answers if isinstance(answer, Digest)]
    n_shorter = sum(answer is not one for answer, one in zip(answers, left, strict=True))
    return Shortened(
        found,
        [answer for answer in answers if isinstance(answer, str)],
        [*_told(n_shorter, len(methods), budget_seconds), *_planned(planned, budget_seconds)],
    )


def _is_long(one: Digest, budget_seconds: float) -> bool:
    """Whether its trace may hold more than a run with this budget has."""
    return one.budget_seconds > budget_seconds or (one.goes_on and one.budget_seconds != budget_seconds)


def _shorter(one: Digest, budget_seconds: float) -> Digest | str | None:
    if is_reference(one) or not _is_long(one, budget_seconds):
        return one
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


def _told(n_shorter: int, n_runs: int, budget_seconds: float) -> list[str]:
    if not n_shorter:
        return []
    has = "had a longer budget and is" if n_shorter == 1 else "had longer budgets and are"
    they = "it" if n_shorter == 1 else "they"
    return [
        f"{n_shorter} of {plural(n_runs, 'run')} {has} read as if {they} had ended at {budget_seconds:g} s"
    ]


def _planned(planned: Sequence[Digest], budget_seconds: float) -> list[str]:
    if not planned:
        return []
    return [
        f"{plural(len(planned), 'run')} left out: the method plans with its budget, so a run of "
        f"{planned[0].budget_seconds:g} s is not one of {budget_seconds:g} s at its beginning: "
        f"{run_names(planned)}"
    ]
