"""What fits into a given time on one data set: learners and methods, how many folds, how long each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Folds to choose from: six or more can show a difference between two, fewer can't.
_ENOUGH_FOLDS, _FEW_FOLDS = (10, 8, 6), (5, 4, 3, 2)
# Seconds that every run takes besides its budget: to start, to build the model's data, to test.
_START_SECONDS = 1.5
# To read a file, and make the arrays of a fold: once for each fold.
_LOAD_SECONDS_A_MILLION_CELLS = 1.0
# The least budget of a run that is worth it, and what a million cells add to it.
_LEAST_SECONDS, _SECONDS_A_MILLION_CELLS = 3.0, 1.0
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
) -> ComparisonPlan:
    """The most that fits into `seconds`; learners and methods come in the order of preference.

    The reference forest is run on each fold, too. Many folds come before many methods: two methods on six
    folds can be told apart, six methods on two folds can't.
    """
    least = _LEAST_SECONDS + _SECONDS_A_MILLION_CELLS * cells / 1e6
    load = _LOAD_SECONDS_A_MILLION_CELLS * cells / 1e6
    overhead = _START_SECONDS + 0.3 * load

    def budget(n_learners: int, n_methods: int, folds: int) -> float:
        runs = n_learners * n_methods + 1
        return (seconds * cores / folds - load - overhead * (runs + 1)) / runs

    choices = [(2, 3)] if seconds >= _LONG_SECONDS else []
    choices += [(2, 2), (1, 2)]
    tried = [
        (*choice, folds)
        for choice in choices
        for folds in _ENOUGH_FOLDS
        if folds <= most_folds and _can_show(choice[0] * choice[1], folds)
    ]
    tried += [(1, 2, folds) for folds in _FEW_FOLDS if folds <= most_folds]
    found = next((one for one in tried if budget(*one) >= least), tried[-1])
    n_learners, n_methods, folds = found
    return ComparisonPlan(
        tuple(learners[:n_learners]), tuple(methods[:n_methods]), folds, _rounded(budget(*found))
    )


def trees_that_fit(budget_seconds: float, n_rows: int, n_features: int) -> int:
    """How many trees the reference forest gets, so that it is done in a run's budget."""
    seconds_a_tree = 0.004 + 4e-8 * n_rows * math.log2(n_rows + 1) * n_features**0.5
    # A fifth of the budget: the rest is for its tuning, and for a busy machine.
    return max(10, min(200, int(0.2 * budget_seconds / seconds_a_tree)))


def _can_show(candidates: int, folds: int) -> bool:
    """Whether the least p of the sign-flip test, corrected for all pairs of candidates, is below 0.05."""
    return math.comb(candidates, 2) * 2.0 ** (1 - folds) < 0.05


def _rounded(seconds: float) -> float:
    """Down to whole or half seconds, as a person would give it; at least half a second."""
    return float(int(seconds)) if seconds >= 10 else max(int(2 * seconds) / 2, 0.5)
