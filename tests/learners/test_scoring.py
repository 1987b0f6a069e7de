"""A metric by its name: against scikit-learn's own scorers, and functions in a file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.naive_bayes import GaussianNB

from cfo_bench.errors import UserError
from cfo_bench.learners.scoring import check_metric, metric_named, with_metric
from cfo_bench.metrics import METRICS, Array, Metric, canonical_name
from cfo_bench.records import Problem
from cfo_bench.testing.learners import large_fold

FUNCTIONS = """
import numpy as np
from sklearn.metrics import make_scorer

def cost(truth, prediction, sample_weight=None):
    return float(np.average((truth != prediction) * (1 + 4 * truth), weights=sample_weight))

cost.higher_is_better = False

def undirected(truth, prediction):
    return 0.0

def by_probability(truth, probability):
    return float(probability[truth == 1].mean())

sharpness = make_scorer(by_probability, response_method="predict_proba")

def broken(truth, prediction):
    raise RuntimeError("no")

broken.higher_is_better = True
"""


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    return path


def fitted(problem: Problem) -> tuple[GaussianNB | LinearRegression, Array, Array]:
    if problem is Problem.REGRESSION:
        x, y = make_regression(60, 4, noise=1.0, random_state=0)
        y = np.exp(y / 200) + 1  # some deviances and logarithms take numbers above 0 only
        return LinearRegression().fit(x, y), x, y
    n_classes = 2 if problem is Problem.BINARY else 3
    x, y = make_classification(90, 6, n_informative=4, n_classes=n_classes, flip_y=0.3, random_state=0)
    return GaussianNB().fit(x, y), x, y


def predicted(model: GaussianNB | LinearRegression, x: Array, problem: Problem) -> Array:
    """As a learner predicts."""
    if problem is Problem.REGRESSION:
        return model.predict(x)
    probability: Array = model.predict_proba(x)
    return probability[:, 1] if problem is Problem.BINARY else probability


def usable(problem: Problem) -> dict[str, Metric]:
    metrics = {}
    for name in get_scorer_names():
        try:
            metrics[name] = metric_named(name, problem)
        except UserError:
            continue
    return metrics


@pytest.mark.parametrize("problem", Problem)
def test_every_scorer_of_scikit_learn_gives_the_score_of_scikit_learn(problem: Problem) -> None:
    model, x, y = fitted(problem)
    prediction = predicted(model, x, problem)
    metrics = usable(problem)

    for name, metric in metrics.items():
        theirs = float(get_scorer(name)(model, x, y))
        score = theirs if metric.facts.higher_is_better else -theirs
        low, high = metric.facts.bounds

        assert metric.loss(y, prediction) == pytest.approx(metric.facts.to_loss(score), abs=1e-9), name
        assert low <= score <= high, name
        # scikit-learn's names say the direction, and so do the arrows.
        assert metric.facts.higher_is_better != name.startswith("neg_"), name
    assert len(metrics) == {Problem.BINARY: 29, Problem.MULTICLASS: 25, Problem.REGRESSION: 13}[problem]


@pytest.mark.parametrize("problem", Problem)
def test_weights_of_rows_count_where_the_scorer_takes_them(problem: Problem) -> None:
    model, x, y = fitted(problem)
    prediction, weight = predicted(model, x, problem), np.arange(1.0, len(y) + 1)
    name = "neg_mean_absolute_error" if problem is Problem.REGRESSION else "f1_macro"
    metric = metric_named(name, problem)

    score = abs(get_scorer(name)(model, x, y, sample_weight=weight))

    assert metric.loss(y, prediction, weight) == pytest.approx(metric.facts.to_loss(score))
    if problem is Problem.REGRESSION:  # a maximum has no weights
        largest = metric_named("neg_max_error", problem)
        assert largest.loss(y, prediction, weight) == largest.loss(y, prediction)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("log-loss", "log_loss"),
        ("neg_log_loss", "log_loss"),
        ("AUC", "auc"),
        ("roc_auc", "auc"),
        ("neg_mean_squared_error", "mse"),
        ("F1-macro", "f1_macro"),
        ("some/folder/mine.py:cost", "mine.py:cost"),
    ],
)
def test_a_metric_has_one_name_in_traces(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


@pytest.mark.parametrize(
    ("name", "problem", "reason"),
    [
        ("f1", Problem.MULTICLASS, "f1 is not for a multiclass task"),
        ("f1", Problem.REGRESSION, "f1 is not for a regression task"),
        ("r2", Problem.BINARY, "r2 is not for a binary task"),
        ("neg_mean_absolute_error", Problem.BINARY, "is not for a binary task"),
        ("auc", Problem.MULTICLASS, "leave --metric out for log_loss"),
        ("top_k_accuracy", Problem.BINARY, "is not for a binary task"),
        ("rand_score", Problem.BINARY, "compares clusterings"),
        ("mean_absolute_error", Problem.REGRESSION, "did you mean 'neg_mean_absolute_error'?"),
    ],
)
def test_a_metric_that_does_not_fit_is_refused_in_one_line(name: str, problem: Problem, reason: str) -> None:
    with pytest.raises(UserError) as error:
        metric_named(name, problem)

    assert reason in str(error.value) and "\n" not in str(error.value)


def test_a_metric_of_labels_refuses_what_are_no_probabilities() -> None:
    truth = np.array([0, 1, 1])

    for metric in (metric_named("f1", Problem.BINARY), METRICS["accuracy"]):
        with pytest.raises(ValueError, match="needs probabilities"):
            metric.loss(truth, np.array([-3.0, 0.5, 2.0]))
        with pytest.raises(ValueError, match="needs probabilities"):
            metric.loss(truth, np.array([0.1, np.nan, 0.9]))


def test_a_function_in_a_file_gets_labels_and_weights_and_says_its_direction(functions: Path) -> None:
    metric = metric_named(f"{functions}:cost", Problem.BINARY)
    truth, probability = np.array([0, 1, 1, 0]), np.array([0.6, 0.4, 0.9, 0.1])

    assert (metric.name, str(metric.facts)) == ("mine.py:cost", "cost ↓")
    assert metric.facts.bounds == (-math.inf, math.inf)
    assert metric.loss(truth, probability) == 6 / 4
    assert metric.loss(truth, probability, np.array([1.0, 0.0, 1.0, 0.0])) == 0.5


def test_a_scorer_in_a_file_gets_what_it_asks_for(functions: Path) -> None:
    metric = metric_named(f"{functions}:sharpness", Problem.BINARY)

    assert metric.loss(np.array([0, 1, 1]), np.array([0.9, 0.7, 0.9])) == pytest.approx(1 - 0.8)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mine.py:undirected", "undirected.higher_is_better = True"),
        ("mine.py:absent", "has no function 'absent'"),
        ("nowhere.py:cost", "no file"),
    ],
)
def test_what_is_wrong_with_a_function_is_said_in_one_line(functions: Path, name: str, reason: str) -> None:
    with pytest.raises(UserError) as error:
        check_metric(str(functions.parent / name))

    assert reason in str(error.value) and "\n" not in str(error.value)


def test_the_constant_predictor_of_a_metric_of_labels_predicts_the_most_frequent_class() -> None:
    fold = large_fold(Problem.BINARY)
    positive = np.mean(fold.valid_y == 1)
    most = int(np.mean(fold.train_y) > 0.5)

    changed = with_metric(fold, "accuracy")

    assert changed.metric == "accuracy"
    assert changed.constant_loss == pytest.approx(1 - positive if most else positive)


def test_a_metric_that_the_constant_predictor_has_no_score_of_is_refused(functions: Path) -> None:
    with pytest.raises(UserError, match=r"constant prediction is not defined \(RuntimeError: no\)"):
        with_metric(large_fold(Problem.BINARY), f"{functions}:broken")
