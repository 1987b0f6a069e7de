"""The plan of a comparison: the learners, methods, folds and budgets that fit into a given time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cfo_bench.files.writing import read_regular, write_whole
from cfo_bench.report.numbers.significance import LEVEL, least_p

# In the results folder. It does not have the suffix of a trace, since every file with that is read as one.
FILE_NAME = "compare.plan"

# Numbers of folds to choose from. With six or more, the difference between two candidates can be significant.
_ENOUGH_FOLDS, _FEW_FOLDS = (10, 8, 6), (5, 4, 3, 2)
# Seconds that every run takes besides its budget: to start, to build the model's data, to test.
_START_SECONDS = 0.6
# To read a file, and make the arrays of a fold: once for each fold.
_LOAD_SECONDS_PER_MILLION_CELLS = 1.0
# The least budget of a run that is worth it, and what a million cells add to it.
_LEAST_SECONDS, _SECONDS_PER_MILLION_CELLS = 3.0, 1.0
# From here on a third method is compared.
_LONG_SECONDS = 1200.0


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    learners: tuple[str, ...]
    methods: tuple[str, ...]
    folds: int  # to run, of those that the data is split into
    budget_seconds: float  # of each run


def planned(
    seconds: float,
    cores: int,
    cells: int,
    most_folds: int,
    learners: Sequence[str],
    methods: Sequence[str],
    slowness: float = 1.0,
) -> ComparisonPlan:
    """The most that fits into `seconds`; learners and methods come in the order of preference.

    With a `slowness` of 2, what is not in a budget takes twice as long as on an idle machine.
    The reference forest is run on each fold, too. Many folds come before many methods: the difference between
    two methods on six folds can be significant, those among six methods on two folds can't.
    """
    least = _LEAST_SECONDS + _SECONDS_PER_MILLION_CELLS * cells / 1e6
    load = slowness * _LOAD_SECONDS_PER_MILLION_CELLS * cells / 1e6
    overhead = slowness * _START_SECONDS + 0.3 * load

    def budget(n_learners: int, n_methods: int, folds: int) -> float:
        runs = n_learners * n_methods + 1
        return (seconds * cores / folds - load - overhead * (runs + 1)) / runs

    sizes = [(2, 3)] if seconds >= _LONG_SECONDS else []
    sizes += [(2, 2), (1, 2)]
    choices = [
        (*size, folds)
        for size in sizes
        for folds in _ENOUGH_FOLDS
        if folds <= most_folds and least_p(folds, math.comb(size[0] * size[1], 2)) < LEVEL
    ]
    choices += [(1, 2, folds) for folds in _FEW_FOLDS if folds <= most_folds]
    chosen = next((choice for choice in choices if budget(*choice) >= least), choices[-1])
    n_learners, n_methods, folds = chosen
    return ComparisonPlan(
        tuple(learners[:n_learners]), tuple(methods[:n_methods]), folds, _rounded(budget(*chosen))
    )


def keep(results: Path, question: Mapping[str, Any], plan: ComparisonPlan) -> None:
    """Writes the plan to the results folder, so that the same command plans the same runs again."""
    with suppress(OSError):  # the first run reports a folder that can't be written to
        results.mkdir(parents=True, exist_ok=True)
        write_whole(results / FILE_NAME, json.dumps({"asked": question, "plan": asdict(plan)}).encode())


def recall(results: Path, question: Mapping[str, Any]) -> ComparisonPlan | None:
    """The plan that was kept for the same question; None if there is none."""
    try:
        kept = json.loads(read_regular(results / FILE_NAME))
        if kept["asked"] != json.loads(json.dumps(question)):
            return None
        plan = kept["plan"]
        learners, methods = (tuple(map(str, plan[key])) for key in ("learners", "methods"))
        return ComparisonPlan(learners, methods, int(plan["folds"]), float(plan["budget_seconds"]))
    except (OSError, ValueError, KeyError, TypeError):  # it does not exist, or is not one of ours
        return None


def _rounded(seconds: float) -> float:
    """Down to whole or half seconds, as a person would give it; at least half a second."""
    return float(int(seconds)) if seconds >= 10 else max(int(2 * seconds) / 2, 0.5)
