"""The loss that a user of scikit-learn would compute, to hold ours against."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import metrics

from cfo_bench.records import Fold, Problem


def sklearn_loss(fold: Fold, model: Any, valid_x: Any = None) -> float:
    """Of a fitted scikit-learn model on the validation part; `valid_x` is the part as the model takes it."""
    x, y = fold.valid_x if valid_x is None else valid_x, fold.valid_y
    if fold.problem is Problem.REGRESSION:
        return 1 - float(metrics.r2_score(y, model.predict(x).astype(np.float64)))
    probability = model.predict_proba(x)
    if fold.problem is Problem.BINARY:
        return 1 - float(metrics.roc_auc_score(y, probability[:, 1]))
    return float(metrics.log_loss(y, probability, labels=range(fold.n_classes)))
