"""A metric by its name: one of METRICS, a scorer of scikit-learn, or a function in a local file.

Only a run looks a metric up. Readers of results take its facts from the header of a trace, so that data never
causes code to be run.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import UnknownNameError, UserError, describe
from cfo_bench.metrics import (
    CLASSES,
    METRIC_OF,
    METRICS,
    NUMBERS,
    Array,
    Metric,
    MetricFacts,
    canonical_name,
    constant_loss,
    labels,
)
from cfo_bench.records import Fold, Problem
from cfo_bench.registry import is_python_file, module_of_file


def metric_of(fold: Fold) -> Metric:
    """The metric that a learner is evaluated with on a fold.

    Parameters
    ----------
    fold : Fold
        The data, with the name of the metric.

    Returns
    -------
    Metric
        The metric, whose `loss` is minimised.
    """
    return metric_named(fold.metric, fold.problem)


def with_metric(fold: Fold, name: str) -> Fold:
    """The same fold with another metric; a UserError if the metric has no value for the constant
    predictor.
    """
    metric = metric_named(name, fold.problem)
    try:
        loss = constant_loss(
            fold.problem,
            fold.train_y,
            fold.valid_y,
            fold.n_classes,
            metric,
            train_weight=fold.train_weight,
            valid_weight=fold.valid_weight,
        )
        reason = f"is {loss}"
    except Exception as error:  # a user's function may raise anything
        loss, reason = math.nan, f"is not defined ({describe(error)})"
    if not math.isfinite(loss):
        raise UserError(
            f"--metric {name}: the loss of a constant prediction {reason}, so that no score can be scaled: "
            "choose another --metric"
        )
    return replace(fold, metric=name, constant_loss=loss)


@cache
def metric_named(name: str, problem: Problem) -> Metric:
    """The metric with this name: from METRICS, a scorer of scikit-learn, or `path/to/metric.py:function`.

    A local file is imported. A UserError if the metric does not exist, or is not for this problem type.
    """
    canonical = canonical_name(name)
    if is_python_file(name):
        return _from_scorer(canonical, _scorer_in_file(name), problem)
    if canonical not in METRICS:
        return _of_scikit_learn(canonical, problem)
    if problem not in METRICS[canonical].problems:
        raise _unfit(name, problem)
    return METRICS[canonical]


def check_metric(name: str) -> None:
    """A UserError if there is no metric of that name, or the local file has no such function."""
    if is_python_file(name):
        _scorer_in_file(name)
        return
    if name.endswith(".py"):
        raise UserError(f"--metric {name} names no function: write {name}:function")
    canonical = canonical_name(name)
    if canonical not in METRICS and canonical not in _kinds_of_scorers():
        from sklearn.metrics import get_scorer_names

        if canonical in get_scorer_names():
            raise UserError(
                f"--metric {name} compares clusterings, or has no value for a constant prediction: choose "
                "another"
            )
        raise UnknownNameError("metric", name, {*METRICS, *_kinds_of_scorers()})


def _unfit(name: str, problem: Problem, reason: str = "") -> UserError:
    return UserError(
        f"--metric {name} is not for a {problem} task{reason}: choose another, or leave --metric out for "
        f"{METRIC_OF[problem]}"
    )


# --- scorers of scikit-learn ------------------------------------------------------------------------


_KIND_OF_MODULE = {"_classification": CLASSES, "_ranking": CLASSES, "_regression": NUMBERS}

# One prediction for each problem type, to check whether a scorer accepts it.
_EXAMPLES = {
    Problem.BINARY: (np.array([0, 1, 0, 1]), np.array([0.2, 0.7, 0.6, 0.9])),
    Problem.MULTICLASS: (
        np.array([0, 1, 2, 0, 1, 2]),
        np.array([[5, 3, 2], [2, 6, 2], [1, 2, 7], [2, 5, 3], [3, 4, 3], [1, 1, 8]]) / 10,
    ),
    Problem.REGRESSION: (np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 2.0, 2.5, 4.5])),
}


def _function_and_sign(scorer: Any) -> tuple[Callable[..., float], int]:
    """The function of a scorer, and -1 if the scorer negates it, else 1. Both are private in scikit-learn."""
    return scorer._score_func, scorer._sign


@cache
def _kinds_of_scorers() -> dict[str, tuple[Problem, ...]]:
    """The problem types of each scorer of scikit-learn, except those that compare clusterings."""
    from sklearn.metrics import get_scorer, get_scorer_names

    modules = {name: _function_and_sign(get_scorer(name))[0].__module__ for name in get_scorer_names()}
    kinds = {name: _KIND_OF_MODULE.get(module.rpartition(".")[2]) for name, module in modules.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _of_scikit_learn(name: str, problem: Problem) -> Metric:
    from sklearn.exceptions import UndefinedMetricWarning
    from sklearn.metrics import get_scorer

    check_metric(name)
    if problem not in _kinds_of_scorers()[name]:
        raise _unfit(name, problem)
    scorer = get_scorer(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UndefinedMetricWarning)
        truth, prediction = _EXAMPLES[problem]
        try:
            scorer(_predicted(prediction, problem), None, truth)
        except (ValueError, UndefinedMetricWarning) as error:
            raise _unfit(name, problem, f" ({describe(error)})") from None
    return _from_scorer(name, scorer, problem)


def _from_scorer(name: str, scorer: Any, problem: Problem) -> Metric:
    """A metric that applies a scorer to predictions, as if an estimator had made them."""
    from sklearn.exceptions import UndefinedMetricWarning

    function, sign = _function_and_sign(scorer)
    takes_weight = "sample_weight" in inspect.signature(function).parameters

    def score(truth: Array, prediction: Array, weight: Array | None = None) -> float:
        options = {} if weight is None or not takes_weight else {"sample_weight": weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return sign * float(scorer(_predicted(prediction, problem), None, truth, **options))

    return Metric(name, score, _facts(name, sign), (problem,))


def _facts(name: str, sign: int) -> MetricFacts:
    """The title, direction and bounds of a scorer; the bounds of a user's scorer are unknown."""
    title = name.rpartition(":")[2].removeprefix("neg_").replace("_", " ")
    lowest: float | None = 0.0
    highest: float | None = 1.0
    if is_python_file(name):
        lowest = highest = None
    elif sign < 0:
        highest = None
    elif name == "matthews_corrcoef":
        lowest = -1.0
    elif name.startswith("d2_") or _kinds_of_scorers()[name] == NUMBERS:
        lowest = None
    return MetricFacts(title=title, higher_is_better=sign > 0, lowest=lowest, highest=highest)


def _predicted(prediction: Array, problem: Problem) -> Any:
    """A fitted scikit-learn estimator that returns the predictions of a learner."""
    classifier, regressor = _estimators()
    return (regressor if problem is Problem.REGRESSION else classifier)(prediction)


@cache
def _estimators() -> tuple[type[Any], type[Any]]:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def __init__(self, prediction: Array) -> None:
            self.prediction = prediction
            self.classes_ = np.arange(2 if prediction.ndim == 1 else prediction.shape[1])

        def predict_proba(self, x: None) -> Array:
            if self.prediction.ndim == 1:
                return np.column_stack((1 - self.prediction, self.prediction))
            return self.prediction

        def predict(self, x: None) -> Array:
            return labels(self.prediction)

    class Regressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
        def __init__(self, prediction: Array) -> None:
            self.prediction = prediction

        def predict(self, x: None) -> Array:
            return self.prediction

    return Classifier, Regressor


# --- metrics of users -------------------------------------------------------------------------------


def _scorer_in_file(name: str) -> Any:
    """The scorer `path/to/metric.py:function`, or a scorer made from the function."""
    path, _, attribute = name.rpartition(":")
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"--metric {name}: no file {path!r}: give the path of a Python file and a function")
    try:
        module = module_of_file(file)
    except Exception as error:
        raise UserError(f"--metric {name} can't be imported: correct {path} ({describe(error)})") from error
    function = getattr(module, attribute, None)
    if not callable(function):
        raise UserError(f"--metric {name}: {path} has no function {attribute!r}: name one that it has")
    if hasattr(function, "_score_func"):  # it is a scorer
        return function
    higher_is_better = getattr(function, "higher_is_better", None)
    if not isinstance(higher_is_better, bool):
        raise UserError(
            f"--metric {name} does not state its direction: add the line `{attribute}.higher_is_better = "
            "True` or `= False` below the function"
        )
    from sklearn.metrics import make_scorer

    return make_scorer(function, greater_is_better=higher_is_better)
