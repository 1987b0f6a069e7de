"""The order in which a trial on fewer rows takes the training rows."""

from __future__ import annotations

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem


def shuffled_order(fold: Fold, seed: int) -> Array:
    """Indices of all training rows, the same for the same fold and seed.

    The first r rows, for any r, hold each class in its share of the whole, give or take a few rows.
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
