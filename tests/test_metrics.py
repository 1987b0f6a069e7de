from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics
from sklearn.dummy import DummyClassifier, DummyRegressor

from cfo_bench.metrics import METRIC_OF, METRICS, auc, constant_loss, log_loss, r2
from cfo_bench.records import Problem

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=60, deadline=None)


def both_classes(rng: np.random.Generator, n: int) -> np.ndarray:
    truth = rng.integers(0, 2, n)
    truth[:2] = (0, 1)
    return truth


@FEW
@given(seed=SEEDS, n=st.integers(2, 300), levels=st.sampled_from([1, 2, 5, 50, 10**9]))
def test_auc_is_scikit_learns_whatever_the_number_of_ties(seed: int, n: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    truth = both_classes(rng, n)
    for dtype in (np.float32, np.float64):
        score = (rng.integers(0, levels, n) / levels - 0.5).astype(dtype)
        assert auc(truth, score) == pytest.approx(sklearn_metrics.roc_auc_score(truth, score), abs=1e-12)


def test_auc_of_scores_that_are_all_equal_is_a_half() -> None:
    assert auc(np.array([0, 1, 1, 0, 1]), np.full(5, 0.3)) == 0.5


def test_auc_counts_pairs_by_hand() -> None:
    # positives .8 and .4, negatives .4 and .1: three pairs right, one tied
    assert auc(np.array([1, 0, 1, 0]), np.array([0.8, 0.4, 0.4, 0.1])) == 3.5 / 4


@pytest.mark.parametrize("truth", [[0, 0, 0], [1, 1, 1]])
def test_auc_of_one_class_is_not_a_number(truth: list[int]) -> None:
    assert math.isnan(auc(np.array(truth), np.array([0.1, 0.2, 0.3])))


@pytest.mark.parametrize("where", [0, 1, 2, 3])
def test_auc_with_a_missing_score_is_not_a_number(where: int) -> None:
    score = np.array([0.1, 0.2, 0.3, 0.4])
    score[where] = np.nan
    assert math.isnan(auc(np.array([0, 1, 0, 1]), score))


@FEW
@given(seed=SEEDS, n=st.integers(1, 200), k=st.integers(2, 9), sharpness=st.sampled_from([0.1, 3.0, 300.0]))
def test_log_loss_is_scikit_learns_also_where_probabilities_are_0_or_1(
    seed: int, n: int, k: int, sharpness: float
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    logits = rng.normal(size=(n, k)) * sharpness
    probability = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability /= probability.sum(axis=1, keepdims=True)
    expected = sklearn_metrics.log_loss(truth, probability, labels=range(k))
    assert log_loss(truth, probability) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    # scikit-learn sums in the precision that it is given.
    single = probability.astype(np.float32)
    expected = sklearn_metrics.log_loss(truth, single, labels=range(k))
    assert log_loss(truth, single) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_log_loss_goes_over_all_classes_when_the_validation_part_lacks_one() -> None:
    truth = np.array([0, 0, 1])  # class 2 is not there
    probability = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    assert log_loss(truth, probability) == pytest.approx((math.log(2) + 2 * math.log(4)) / 3, abs=1e-15)


def test_log_loss_of_a_truth_of_one_class_is_its_cross_entropy() -> None:
    assert log_loss(np.array([1, 1]), np.array([[0.5, 0.5], [0.75, 0.25]])) == pytest.approx(
        1.5 * math.log(2)
    )


@FEW
@given(
    seed=SEEDS,
    n=st.integers(2, 300),
    shift=st.sampled_from([0.0, 1e3, -1e6]),
    levels=st.sampled_from([2, 10**9]),
)
def test_r2_is_scikit_learns(seed: int, n: int, shift: float, levels: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, levels, n) / levels + shift
    truth[:2] = (shift, shift + 1)
    prediction = (truth + rng.normal(size=n)).astype(np.float32)
    expected = sklearn_metrics.r2_score(truth, prediction.astype(np.float64))
    assert r2(truth, prediction) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_r2_of_the_mean_is_0_and_of_the_truth_is_1() -> None:
    truth = np.array([1.0, 2.0, 6.0])
    assert r2(truth, np.full(3, 3.0)) == 0.0
    assert r2(truth, truth) == 1.0


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e9 / 7])
def test_r2_of_a_constant_truth_is_1_when_hit_and_0_when_missed(value: float) -> None:
    truth = np.full(49, value)  # the mean of 49 such values is rounded
    assert r2(truth, truth.copy()) == 1.0
    assert r2(truth, truth + 1) == 0.0


def test_r2_takes_whole_numbers_and_does_not_change_its_arguments() -> None:
    truth, prediction = np.array([1, 2, 6]), np.array([1.0, 3.0, 5.0], dtype=np.float32)
    assert r2(truth, prediction) == pytest.approx(1 - 2 / 14)
    assert truth.tolist() == [1, 2, 6] and prediction.tolist() == [1.0, 3.0, 5.0]


def test_the_constant_loss_of_a_binary_problem_is_half_an_auc() -> None:
    assert constant_loss(Problem.BINARY, np.array([0, 1, 1]), np.array([1, 0]), 2) == 0.5


def test_the_constant_loss_of_classes_is_their_training_entropy_on_the_validation_part() -> None:
    train, valid = np.array([0, 0, 1, 2]), np.array([0, 1, 1])
    expected = (math.log(2) + 2 * math.log(4)) / 3
    assert constant_loss(Problem.MULTICLASS, train, valid, 3) == pytest.approx(expected, abs=1e-15)


def test_the_constant_loss_is_finite_for_a_class_that_training_lacks() -> None:
    loss = constant_loss(Problem.MULTICLASS, np.array([0, 1]), np.array([2]), 3)
    assert loss == pytest.approx(-math.log(np.finfo(np.float64).eps))


def test_the_constant_loss_of_a_regression_is_one_minus_the_r2_of_the_training_mean() -> None:
    # mean 2; validation 1, 3 around it: r2 0. Validation 3, 5: residuals 1 + 9, variance 2.
    train = np.array([1.0, 3.0])
    assert constant_loss(Problem.REGRESSION, train, np.array([1.0, 3.0]), 0) == 1.0
    assert constant_loss(Problem.REGRESSION, train, np.array([3.0, 5.0]), 0) == 5.0


@FEW
@given(seed=SEEDS, problem=st.sampled_from(Problem), n=st.integers(10, 100))
def test_the_constant_loss_is_that_of_scikit_learns_dummy(seed: int, problem: Problem, n: int) -> None:
    rng = np.random.default_rng(seed)
    k = {Problem.BINARY: 2, Problem.MULTICLASS: 4, Problem.REGRESSION: 0}[problem]
    train, valid = (rng.integers(0, k, n) if k else rng.normal(size=n) for _ in range(2))
    train[:k], valid[:2] = range(k), (0, 1)
    nothing = np.empty((n, 0))
    if k:
        prior = DummyClassifier(strategy="prior").fit(nothing, train).predict_proba(nothing)
        expected = (
            1 - sklearn_metrics.roc_auc_score(valid, prior[:, 1])
            if k == 2
            else sklearn_metrics.log_loss(valid, prior, labels=range(k))
        )
    else:
        expected = 1 - sklearn_metrics.r2_score(valid, DummyRegressor().fit(nothing, train).predict(nothing))
    assert constant_loss(problem, train, valid, k) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("problem", "score", "loss"),
    [("binary", 0.75, 0.25), ("multiclass", 0.75, 0.75), ("regression", -1.0, 2.0)],
)
def test_a_score_becomes_a_loss_and_back(problem: str, score: float, loss: float) -> None:
    metric = METRICS[METRIC_OF[Problem(problem)]]
    assert metric.facts.to_loss(score) == loss
    assert metric.facts.to_score(loss) == score


def test_the_loss_of_a_metric_is_its_score_converted() -> None:
    truth, score = np.array([1, 0, 1, 0]), np.array([0.8, 0.4, 0.4, 0.1])
    assert METRICS["auc"].loss(truth, score) == 1 - 3.5 / 4
    assert type(METRICS["auc"].loss(truth, score)) is float


@FEW
@given(seed=SEEDS, n=st.integers(2, 200))
def test_the_metrics_of_recordings_are_scikit_learns(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    truth, guess = rng.integers(0, 4, n), rng.integers(0, 4, n)
    truth[:2] = (0, 1)
    guess[~np.isin(guess, truth)] = truth[0]  # scikit-learn warns of a class without rows
    for name, theirs in (
        ("accuracy", sklearn_metrics.accuracy_score),
        ("balanced_accuracy", sklearn_metrics.balanced_accuracy_score),
        ("mse", sklearn_metrics.mean_squared_error),
    ):
        assert METRICS[name].score(truth, guess) == pytest.approx(theirs(truth, guess), abs=1e-12)


# --- weights --------------------------------------------------------------------------------------


@FEW
@given(seed=SEEDS, n=st.integers(4, 200), levels=st.sampled_from([1, 3, 10**9]))
def test_weighted_metrics_are_scikit_learns(seed: int, n: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random(n) < 0.2, 0.0, rng.exponential(size=n))
    weight[:4] = 1.0
    truth, score = both_classes(rng, n), (rng.integers(0, levels, n) / levels).astype(np.float32)
    assert auc(truth, score, weight) == pytest.approx(
        sklearn_metrics.roc_auc_score(truth, score, sample_weight=weight), abs=1e-12
    )
    probability = rng.dirichlet([1.0, 1.0, 1.0], n)
    classes = rng.integers(0, 3, n)
    assert log_loss(classes, probability, weight) == pytest.approx(
        sklearn_metrics.log_loss(classes, probability, labels=[0, 1, 2], sample_weight=weight)
    )
    numbers = rng.normal(size=n)
    assert r2(numbers, numbers + score, weight) == pytest.approx(
        sklearn_metrics.r2_score(numbers, numbers + score, sample_weight=weight)
    )


@pytest.mark.parametrize("name", ["auc", "log_loss", "r2"])
def test_equal_weights_change_no_loss_and_a_weight_of_two_is_a_row_given_twice(name: str) -> None:
    rng = np.random.default_rng(3)
    truth, metric = both_classes(rng, 40), METRICS[name]
    prediction = rng.dirichlet([1.0, 1.0], 40) if name == "log_loss" else rng.random(40)
    weight = 1.0 + (np.arange(40) % 2)
    twice = np.repeat(np.arange(40), weight.astype(int))
    assert metric.loss(truth, prediction, np.full(40, 0.5)) == pytest.approx(metric.loss(truth, prediction))
    assert metric.loss(truth, prediction, weight) == pytest.approx(
        metric.loss(truth[twice], prediction[twice])
    )


@pytest.mark.parametrize("problem", [Problem.MULTICLASS, Problem.REGRESSION])
def test_the_constant_predictor_is_weighted_in_training_and_validation(problem: Problem) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60) if problem is Problem.MULTICLASS else rng.normal(size=60)
    weight = 1.0 + (np.arange(60) % 3)
    rows, others = np.arange(40), np.arange(40, 60)
    again, again_others = (np.repeat(part, weight[part].astype(int)) for part in (rows, others))
    weighted = constant_loss(
        problem, y[rows], y[others], 3, train_weight=weight[rows], valid_weight=weight[others]
    )
    assert weighted == pytest.approx(constant_loss(problem, y[again], y[again_others], 3))
