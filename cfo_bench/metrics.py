"""Metrics, their names, and the one place where a metric becomes a loss.

They are computed with numpy: scikit-learn's give the same numbers, but take longer than a whole cheap trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfo_bench.records import Problem

Array = np.ndarray[Any, Any]


def auc(truth: Array, score: Array) -> float:
    """Area under the ROC curve of a binary truth (0/1): the share of (positive, negative) pairs in
    the right order, tied pairs a half. NaN when a class or a score is missing.
    """
    is_positive = truth == 1
    positive, negative = np.sort(score[is_positive]), np.sort(score[~is_positive])
    # A NaN is sorted to the end.
    if not len(positive) or not len(negative) or np.isnan(positive[-1]) or np.isnan(negative[-1]):
        return float("nan")
    below = int(np.searchsorted(negative, positive, side="left").sum())
    not_above = int(np.searchsorted(negative, positive, side="right").sum())
    return (below + not_above) / (2 * len(positive) * len(negative))


def log_loss(truth: Array, probability: Array) -> float:
    """Mean cross-entropy of classes 0…k-1 under rows of k probabilities, clipped as scikit-learn does."""
    chosen = probability[np.arange(len(truth)), truth].astype(np.float64)
    eps = np.finfo(probability.dtype).eps
    return float(-np.mean(np.log(np.clip(chosen, eps, 1 - eps))))


def r2(truth: Array, prediction: Array) -> float:
    """Share of the variance explained; a constant truth gives 1 when hit exactly, else 0."""
    truth = truth.astype(np.float64)
    residual = truth - prediction
    # Relative to the first value a constant truth has a variance of exactly 0, without rounding errors.
    centred = truth - truth[0]
    centred -= centred.mean()
    residual_sum, total_sum = float(residual @ residual), float(centred @ centred)
    if total_sum == 0.0:
        return 1.0 if residual_sum == 0.0 else 0.0
    return 1.0 - residual_sum / total_sum


def accuracy(truth: Array, prediction: Array) -> float:
    """The share of rows with a correct prediction."""
    return float(np.mean(prediction == truth))


def balanced_accuracy(truth: Array, prediction: Array) -> float:
    """The mean over classes of the share of their rows with a correct prediction."""
    classes, n_rows = np.unique(truth, return_counts=True)
    n_correct = np.array([np.count_nonzero(prediction[truth == label] == label) for label in classes])
    return float(np.mean(n_correct / n_rows))


def mse(truth: Array, prediction: Array) -> float:
    """The mean squared error."""
    return float(np.mean(np.square(truth.astype(np.float64) - prediction)))


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: `score` is the number that people read, `loss` is what is minimised.

    Parameters
    ----------
    name : str
        The name of the metric in suites and traces.
    score : callable
        Takes the true targets and the predictions, and returns the score.
    higher_is_better : bool
        Whether a higher score is better. The loss is then 1 − score.
    bounds : tuple of two floats
        The lowest and the highest possible score.
    """

    name: str
    score: Callable[[Array, Array], float]
    higher_is_better: bool
    bounds: tuple[float, float]

    def to_loss(self, score: float) -> float:
        """The loss of a score."""
        return 1.0 - score if self.higher_is_better else score

    def to_score(self, loss: float) -> float:
        """The score of a loss."""
        return 1.0 - loss if self.higher_is_better else loss

    def loss(self, truth: Array, prediction: Array) -> float:
        """The loss of predictions."""
        return self.to_loss(self.score(truth, prediction))


METRICS = {
    "auc": Metric("auc", auc, higher_is_better=True, bounds=(0.0, 1.0)),
    "log_loss": Metric("log_loss", log_loss, higher_is_better=False, bounds=(0.0, math.inf)),
    "r2": Metric("r2", r2, higher_is_better=True, bounds=(-math.inf, 1.0)),
    # Only recordings use these.
    "accuracy": Metric("accuracy", accuracy, higher_is_better=True, bounds=(0.0, 1.0)),
    "balanced_accuracy": Metric(
        "balanced_accuracy", balanced_accuracy, higher_is_better=True, bounds=(0.0, 1.0)
    ),
    "mse": Metric("mse", mse, higher_is_better=False, bounds=(0.0, math.inf)),
}

METRIC_OF = {Problem.BINARY: "auc", Problem.MULTICLASS: "log_loss", Problem.REGRESSION: "r2"}


def constant_loss(problem: Problem, train_y: Array, valid_y: Array, n_classes: int) -> float:
    """The loss of a predictor that ignores the features and predicts class priors or the mean target."""
    metric = METRICS[METRIC_OF[problem]]
    if problem is Problem.BINARY:
        return 0.5
    if problem is Problem.MULTICLASS:
        prior = np.bincount(train_y, minlength=n_classes) / len(train_y)
        return metric.loss(valid_y, np.tile(prior, (len(valid_y), 1)))
    return metric.loss(valid_y, np.full(len(valid_y), float(np.mean(train_y, dtype=np.float64))))


# The metrics as people write them, and the losses.
METRIC_NAMES = {
    "auc": "AUC",
    "log_loss": "log-loss",
    "r2": "r2",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mse": "mean squared error",
}
LOSS_NAMES = {
    name: f"1 − {text}" if METRICS[name].higher_is_better else text for name, text in METRIC_NAMES.items()
}
METRIC_BOUNDS = {name: metric.bounds for name, metric in METRICS.items()}
