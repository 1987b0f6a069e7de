"""Metrics: their names, directions and bounds, and the one place where a metric becomes a loss.

The paper's three metrics are computed with numpy: scikit-learn's functions give the same numbers, but take
longer than a whole cheap trial. `learners/scoring.py` finds any other metric by its name.

A learner predicts, for two classes, the probability of class 1; for more classes, a row of probabilities; and
for regression, a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from cfo_bench.records import Problem
from cfo_bench.registry import is_python_file
from cfo_bench.values import Name

Array = np.ndarray[Any, Any]


def auc(truth: Array, score: Array, weight: Array | None = None) -> float:
    """Area under the ROC curve of a binary truth (0/1): the share of (positive, negative) pairs in the right
    order, where a tied pair counts half. NaN if a class or a score is missing.
    """
    if weight is not None:
        return _weighted_auc(truth, score, weight)
    is_positive = truth == 1
    positive, negative = np.sort(score[is_positive]), np.sort(score[~is_positive])
    # A NaN is sorted to the end.
    if not len(positive) or not len(negative) or np.isnan(positive[-1]) or np.isnan(negative[-1]):
        return float("nan")
    below = int(np.searchsorted(negative, positive, side="left").sum())
    not_above = int(np.searchsorted(negative, positive, side="right").sum())
    return (below + not_above) / (2 * len(positive) * len(negative))


def _weighted_auc(truth: Array, score: Array, weight: Array) -> float:
    """The same share of pairs, each weighted by the product of the weights of its two rows."""
    is_positive = truth == 1
    order = np.argsort(score[~is_positive])
    positive, negative = score[is_positive], score[~is_positive][order]
    # The weight of the first n negative rows, by n.
    below = np.concatenate([[0.0], np.cumsum(weight[~is_positive][order])])
    of_positive = weight[is_positive]
    total = float(of_positive.sum() * below[-1])
    if total == 0.0 or np.isnan(positive).any() or np.isnan(negative).any():
        return float("nan")
    left, right = (np.searchsorted(negative, positive, side=side) for side in ("left", "right"))
    return float(of_positive @ (below[left] + below[right])) / (2 * total)


def log_loss(truth: Array, probability: Array, weight: Array | None = None) -> float:
    """Mean cross-entropy of classes 0…k-1 under rows of k probabilities, clipped as scikit-learn does.

    For two classes, the probabilities of class 1 are enough.
    """
    if probability.ndim == 1:
        probability = np.column_stack((1 - probability, probability))
    chosen = probability[np.arange(len(truth)), truth].astype(np.float64)
    eps = np.finfo(probability.dtype).eps
    logarithms = np.log(np.clip(chosen, eps, 1 - eps))
    return float(-np.mean(logarithms) if weight is None else -np.average(logarithms, weights=weight))


def r2(truth: Array, prediction: Array, weight: Array | None = None) -> float:
    """Share of the variance explained; a constant truth gives 1 when hit exactly, else 0."""
    truth = truth.astype(np.float64)
    residual = truth - prediction
    # Relative to its first value, a constant truth has a variance of exactly 0, without rounding errors.
    centred = truth - truth[0]
    centred -= centred.mean() if weight is None else np.average(centred, weights=weight)
    if weight is not None:
        residual, centred = np.sqrt(weight) * residual, np.sqrt(weight) * centred
    residual_sum, total_sum = float(residual @ residual), float(centred @ centred)
    if total_sum == 0.0:
        return 1.0 if residual_sum == 0.0 else 0.0
    return 1.0 - residual_sum / total_sum


def accuracy(truth: Array, prediction: Array, weight: Array | None = None) -> float:
    """The share of rows with a correct prediction."""
    return float(np.average(prediction == truth, weights=weight))


def balanced_accuracy(truth: Array, prediction: Array, weight: Array | None = None) -> float:
    """The mean over classes of the share of their rows with a correct prediction."""
    of_rows = np.ones(len(truth)) if weight is None else weight
    all_rows, correct = (np.bincount(truth, shares) for shares in (of_rows, of_rows * (prediction == truth)))
    return float(np.mean(correct[all_rows > 0] / all_rows[all_rows > 0]))


def mse(truth: Array, prediction: Array, weight: Array | None = None) -> float:
    """The mean squared error."""
    return float(np.average(np.square(truth.astype(np.float64) - prediction), weights=weight))


def labels(prediction: Array) -> Array:
    """The most probable class of each row; of two that are equally probable, the first.

    A ValueError if the predictions are not probabilities, such as the values of a decision function.
    """
    if not np.all((prediction >= 0) & (prediction <= 1)):  # NaN is neither
        raise ValueError(
            f"the predictions are from {prediction.min():g} to {prediction.max():g}, and this metric needs "
            "probabilities"
        )
    classes: Array = (
        (prediction > 0.5).astype(np.int64) if prediction.ndim == 1 else prediction.argmax(axis=1)
    )
    return classes


def as_predicted(prediction: Array) -> Array:
    """The unchanged predictions of a learner, for a metric that needs no conversion."""
    return prediction


# --- metrics ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """What a reader of results needs to know about a metric: the header of a trace contains it."""

    title: Annotated[Name, Meta(description="The name of the metric in tables and figures.")]
    higher_is_better: Annotated[
        bool,
        Meta(description="Whether a higher score is better: the loss is 1 - score, else the score."),
    ]
    lowest: Annotated[float | None, Meta(description="The lowest possible score; null: no bound.")] = None
    highest: Annotated[float | None, Meta(description="The highest possible score; null: no bound.")] = None

    def to_loss(self, score: float) -> float:
        """The loss of a score."""
        return 1.0 - score if self.higher_is_better else score

    def to_score(self, loss: float) -> float:
        """The score of a loss."""
        return 1.0 - loss if self.higher_is_better else loss

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest possible score."""
        return (
            -math.inf if self.lowest is None else self.lowest,
            math.inf if self.highest is None else self.highest,
        )

    @property
    def loss_title(self) -> str:
        """The loss as people write it."""
        return f"1 − {self.title}" if self.higher_is_better else self.title

    def __str__(self) -> str:
        """The title with an arrow: up if a higher score is better."""
        return f"{self.title} {'↑' if self.higher_is_better else '↓'}"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: `score` is the number that people read, `loss` is what is minimised.

    Parameters
    ----------
    name : str
        The name of the metric in suites and traces.
    score : callable
        Takes the true targets and the result of `read`, and returns the score. If the rows have weights, they
        are the third argument.
    facts : MetricFacts
        Its title, direction and bounds.
    problems : tuple of Problem
        The problem types that it is for.
    read : callable
        Takes the predictions of a learner, and returns what `score` takes.
    """

    name: str
    score: Callable[..., float]
    facts: MetricFacts
    problems: tuple[Problem, ...] = tuple(Problem)
    read: Callable[[Array], Array] = as_predicted

    def loss(self, truth: Array, prediction: Array, weight: Array | None = None) -> float:
        """The loss of predictions; the rows may have weights."""
        taken = self.read(prediction)
        score = self.score(truth, taken) if weight is None else self.score(truth, taken, weight)
        return self.facts.to_loss(score)


CLASSES = (Problem.BINARY, Problem.MULTICLASS)
NUMBERS = (Problem.REGRESSION,)


def _up(title: str, lowest: float | None = 0.0) -> MetricFacts:
    return MetricFacts(title=title, higher_is_better=True, lowest=lowest, highest=1.0)


def _down(title: str) -> MetricFacts:
    return MetricFacts(title=title, higher_is_better=False, lowest=0.0)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("auc", auc, _up("AUC"), (Problem.BINARY,)),
        Metric("log_loss", log_loss, _down("log-loss"), CLASSES),
        Metric("r2", r2, _up("r2", None), NUMBERS),
        Metric("accuracy", accuracy, _up("accuracy"), CLASSES, labels),
        Metric("balanced_accuracy", balanced_accuracy, _up("balanced accuracy"), CLASSES, labels),
        Metric("mse", mse, _down("mean squared error"), NUMBERS),
    )
}
"""The metrics that are computed without scikit-learn, by name. Recordings use no others."""

# The metric of a task, unless the user names another.
METRIC_OF = {Problem.BINARY: "auc", Problem.MULTICLASS: "log_loss", Problem.REGRESSION: "r2"}

# scikit-learn's names of the same metrics.
_OTHER_NAMES = {"roc_auc": "auc", "neg_log_loss": "log_loss", "neg_mean_squared_error": "mse"}


def constant_loss(
    problem: Problem,
    train_y: Array,
    valid_y: Array,
    n_classes: int,
    metric: Metric | None = None,
    *,
    train_weight: Array | None = None,
    valid_weight: Array | None = None,
) -> float:
    """The loss of a predictor that ignores the features and predicts class priors or the mean target.

    For a metric of labels, it predicts the most frequent class. The default metric is that of the problem.
    """
    metric = metric or METRICS[METRIC_OF[problem]]
    if metric.name == "auc":
        return 0.5
    n_rows = len(valid_y)
    if problem is Problem.REGRESSION:
        if train_weight is None:
            mean = float(np.mean(train_y, dtype=np.float64))
        else:
            mean = float(np.average(train_y, weights=train_weight))
        prediction = np.full(n_rows, mean)
    else:
        counts = np.bincount(train_y, train_weight, n_classes)
        prior = counts / counts.sum()
        prediction = np.full(n_rows, prior[1]) if problem is Problem.BINARY else np.tile(prior, (n_rows, 1))
    return metric.loss(valid_y, prediction, valid_weight)


def canonical_name(name: str) -> str:
    """The name of a metric in a trace: `log-loss` becomes `log_loss`, and a local file loses its folder."""
    if is_python_file(name):
        return Path(name).name
    plain = name.casefold().replace("-", "_")
    return _OTHER_NAMES.get(plain, plain)
