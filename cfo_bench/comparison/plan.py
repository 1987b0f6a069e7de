"""How many learners, methods and folds fit into the time of a comparison, and for how long each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cfo_bench.results.comparison_record import ComparisonPlan

# Numbers of learners and methods to choose from, in the order of preference, and numbers of folds.
_SIZES, _LONG_SIZES = ((2, 2), (1, 2)), ((2, 3),)
_FOLDS = (10, 8, 6, 5, 4, 3, 2)
# From this many seconds on, a third method is compared.
_LONG_SECONDS = 1200.0
# The least budget of a run, and the largest as long as folds can be added instead; a million cells of data
# add to both.
_LEAST_SECONDS, _COMFORTABLE_SECONDS = 3.0, 30.0
_LEAST_PER_MILLION_CELLS, _COMFORTABLE_PER_MILLION_CELLS = 1.0, 10.0
_SHORTEST_SECONDS = 0.5
# More than the fewest learners and methods are compared only on the most folds, and only if each run has this
# many times the least budget.
_MORE_CANDIDATES = 1.5
# The first folds are planned for this share of the time, since they may take longer than planned, and with
# this many times the measured overhead, since runs side by side slow each other down.
_PLANNED_SHARE, _SIDE_BY_SIDE = 0.95, 1.3
# Further repetitions of the folds would not make a difference significant, since they share all their rows.
MOST_REPETITIONS = 10


@dataclass(frozen=True, slots=True)
class Workload:
    """The runs, the machine and the data that a comparison is planned for.

    Attributes
    ----------
    at_once
        The number of runs side by side.
    overhead_seconds
        The wall time of a single run besides its budget, as measured.
    cells
        The number of cells of the data.
    most_folds
        The most folds of all splits.
    """

    at_once: int
    overhead_seconds: float
    cells: int
    most_folds: int

    def budget(self, seconds: float, n_candidates: int, folds: int) -> float:
        """The budget of a run if all runs take `seconds`; the constant predictor takes only the overhead."""
        overhead = _SIDE_BY_SIDE * self.overhead_seconds * (1 + 1 / (n_candidates + 1))
        waves = math.ceil(folds * (n_candidates + 1) / self.at_once)  # + 1: the forest
        return seconds / waves - overhead


def planned(
    seconds: float,
    workload: Workload,
    learners: Sequence[str],
    methods: Sequence[str],
    *,
    all_learners: bool = False,
    all_methods: bool = False,
) -> ComparisonPlan:
    """The largest comparison that fits into `seconds`; learners and methods come in the order of preference.

    Many folds come before many methods: the difference between two methods on six folds can be significant,
    those among six methods on two folds can't.
    """
    seconds *= _PLANNED_SHARE
    million_cells = workload.cells / 1e6
    least = _LEAST_SECONDS + _LEAST_PER_MILLION_CELLS * million_cells
    comfortable = _COMFORTABLE_SECONDS + _COMFORTABLE_PER_MILLION_CELLS * million_cells
    sizes = [
        (
            len(learners) if all_learners else min(n_learners, len(learners)),
            len(methods) if all_methods else min(n_methods, len(methods)),
        )
        for n_learners, n_methods in (*(_LONG_SIZES if seconds >= _LONG_SECONDS else ()), *_SIZES)
    ]
    folds_to_try = list(dict.fromkeys(min(folds, workload.most_folds) for folds in _FOLDS))
    choices = [
        *((*size, folds_to_try[0], _MORE_CANDIDATES * least) for size in sizes[:-1]),
        *((*sizes[-1], folds, least) for folds in folds_to_try),
    ]

    def budget(n_learners: int, n_methods: int, folds: int) -> float:
        return workload.budget(seconds, n_learners * n_methods, folds)

    n_learners, n_methods, folds, _ = next(
        (choice for choice in choices if budget(*choice[:3]) >= choice[3]), choices[-1]
    )
    longest = max(comfortable, budget(n_learners, n_methods, workload.most_folds))
    return ComparisonPlan(
        tuple(learners[:n_learners]),
        tuple(methods[:n_methods]),
        folds,
        _rounded(min(budget(n_learners, n_methods, folds), longest)),
    )


def further_folds(seconds: float, at_once: int, n_candidates: int, wave_seconds: float) -> int:
    """How many folds fit into `seconds`, if `at_once` runs side by side take `wave_seconds` as before.

    Cores that idle beside the last runs are not counted: a fold that does not fit after all costs only time
    that is left.
    """
    waves = seconds / wave_seconds
    return int(waves * at_once / (n_candidates + 1)) if waves >= 1 else 0


def _rounded(seconds: float) -> float:
    """Rounded down to a tenth of a second, but not below the shortest budget."""
    return max(math.floor(10 * seconds) / 10, _SHORTEST_SECONDS)
