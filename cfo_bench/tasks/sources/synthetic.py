"""Tasks without data, only a number of rows: for the learners whose loss is a formula."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from cfo_bench.records import Fold, Problem, TaskFacts

if TYPE_CHECKING:
    from cfo_bench.metrics import Array

ROWS = {"synthetic-1k": 1_000, "synthetic-30k": 30_000, "synthetic-1m": 1_000_000}


def facts(name: str) -> TaskFacts:
    from cfo_bench.metrics import METRIC_OF

    return TaskFacts(
        name=name,
        problem=Problem.REGRESSION,
        metric=METRIC_OF[Problem.REGRESSION],
        n_rows=ROWS[name],
        n_features=0,
        n_classes=0,
        source="synthetic",
        sha256=hashlib.sha256(name.encode()).hexdigest(),
        folds_source="synthetic: no rows, all folds alike",
    )


def load(name: str, n_folds: int) -> Fold:
    """A fold with the right numbers of rows that takes no memory; its constant predictor has r2 = 0."""
    n_valid = ROWS[name] // n_folds
    train_x, train_y = _nothing(ROWS[name] - n_valid)
    valid_x, valid_y = _nothing(n_valid)
    about = facts(name)
    return Fold(
        problem=about.problem,
        metric=about.metric,
        n_classes=about.n_classes,
        categorical=(),
        train_x=train_x,
        train_y=train_y,
        valid_x=valid_x,
        valid_y=valid_y,
        constant_loss=1.0,
    )


def _nothing(n_rows: int) -> tuple[Array, Array]:
    import numpy as np

    return np.empty((n_rows, 0), dtype=np.float32), np.broadcast_to(np.float64(0.0), (n_rows,))
