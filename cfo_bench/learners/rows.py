"""Trials on fewer rows: which training rows they get, and the data that a learner builds from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem

# Numbers of rows whose data is kept; Hyperband and BOHB have about this many levels at the most.
KEPT_LEVELS = 8

Data = TypeVar("Data")


class RowLevels(Generic[Data]):
    """A learner's training data for any number of rows, built once for each of the last few numbers.

    `build` gets the indices of the rows to take, or None for all of them. The data of all rows is built
    here and now, before the first trial, and kept for good.
    """

    def __init__(self, fold: Fold, seed: int, build: Callable[[Array | None], Data]) -> None:
        order = shuffled_order(fold, seed)
        self._n_rows, self._on_all = fold.n_rows, build(None)
        self._on_first = lru_cache(maxsize=KEPT_LEVELS)(lambda rows: build(order[:rows]))

    def on(self, rows: int | None) -> Data:
        """The data of that many rows, the first ones of the shuffled order; None is all rows."""
        if rows is None or rows >= self._n_rows:
            return self._on_all
        return self._on_first(rows)


def shuffled_order(fold: Fold, seed: int) -> Array:
    """Indices of all training rows, the same for the same fold and seed.

    For any r, the first r rows have each class in about the share that it has of all rows.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(fold.n_rows)
    if fold.problem is Problem.REGRESSION:
        return shuffled
    # Each class is spread evenly over [0, 1), from an offset of its own so that the classes interleave.
    place = np.empty(fold.n_rows)
    labels = fold.train_y[shuffled]
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        place[members] = (np.arange(len(members)) + rng.uniform()) / len(members)
    return shuffled[np.argsort(place, kind="stable")]


def training_part(fold: Fold, rows: Array | None) -> tuple[Array, Array]:
    """Features and targets of those training rows; of all of them, not copied, for None."""
    if rows is None:
        return fold.train_x, fold.train_y
    return fold.train_x[rows], fold.train_y[rows]
