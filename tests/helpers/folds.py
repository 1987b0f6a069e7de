"""Folds of random data, for tests of learners."""

from __future__ import annotations

import numpy as np

from cfo_bench.metrics import METRIC_OF, constant_loss
from cfo_bench.records import Fold, Problem

N_CLASSES = {Problem.BINARY: 2, Problem.MULTICLASS: 4, Problem.REGRESSION: 0}


def make_fold(
    problem: Problem,
    n_train: int = 400,
    n_valid: int = 150,
    n_test: int = 0,
    *,
    numbers: int = 4,
    categories: int = 2,
    constants: int = 0,
    empty: int = 0,
    missing: float = 0.1,
    noise: float = 1.0,
    seed: int = 11,
) -> Fold:
    """Columns of numbers, of category codes, of one and the same number, and without any value.

    The target depends on the first and the last number and on the first category. Classes are of about
    the same size. `missing` is the share of values that are missing.
    """
    rng = np.random.default_rng(seed)
    n, known = n_train + n_valid + n_test, numbers + categories
    x = rng.normal(size=(n, known + constants + empty)).astype(np.float32)
    x[:, numbers:known] = rng.integers(0, 7, size=(n, categories))
    signal = x[:, 0] + x[:, numbers - 1] ** 2 + noise * rng.normal(size=n)
    if categories:
        signal += np.isin(x[:, numbers], (1, 4, 5))
    x[rng.random(x.shape) < missing] = np.nan
    x[:, known : known + constants] = 7.0
    x[:, known + constants :] = np.nan
    n_classes = N_CLASSES[problem]
    cuts = np.quantile(signal, np.arange(1, n_classes) / n_classes) if n_classes else []
    y = np.digitize(signal, cuts) if n_classes else signal
    train, valid, test = np.split(np.arange(n), [n_train, n_train + n_valid])
    return Fold(
        problem=problem,
        metric=METRIC_OF[problem],
        n_classes=n_classes,
        categorical=tuple(numbers <= column < known for column in range(x.shape[1])),
        train_x=x[train],
        train_y=y[train],
        valid_x=x[valid],
        valid_y=y[valid],
        constant_loss=constant_loss(problem, y[train], y[valid], n_classes),
        test_x=x[test] if n_test else None,
        test_y=y[test] if n_test else None,
    )
