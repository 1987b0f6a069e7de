"""The small Gaussian process against scikit-learn's, and where numbers get difficult."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from cfo_bench.optimizers.tuned_model import (
    NOISE,
    Lengths,
    SmallProcess,
    log_expected_improvement,
    standardised,
)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "d"), [(4, 1), (30, 5), (120, 9)])
def test_it_predicts_what_scikit_learns_process_predicts(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, new = rng.random((n, d)), rng.random((20, d))
    losses = standardised((points**2).sum(axis=1) + 0.1 * rng.standard_normal(n))
    lengths = np.exp(rng.uniform(math.log(0.1), math.log(4.0), size=d))

    process = SmallProcess(points, losses, np.arange(d), lengths)
    mean, deviation = process.predict(new)

    kernel = ConstantKernel(process.variance, "fixed") * Matern(lengths, "fixed", nu=2.5)
    theirs = GaussianProcessRegressor(kernel, alpha=NOISE * process.variance, optimizer=None)
    theirs.fit(points, losses)
    expected_mean, expected_deviation = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-6)
    np.testing.assert_allclose(deviation, expected_deviation, atol=1e-6)
    without_constant = process.log_likelihood - 0.5 * n * math.log(2 * math.pi)
    assert without_constant == pytest.approx(theirs.log_marginal_likelihood(), abs=1e-6)


def test_its_variance_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(0)
    points, losses, lengths = rng.random((20, 2)), rng.standard_normal(20), np.array([0.5, 0.5])

    process = SmallProcess(points, losses, np.arange(2), lengths)

    for factor in (0.9, 1.1):
        kernel = ConstantKernel(factor * process.variance, "fixed") * Matern(lengths, "fixed", nu=2.5)
        other = GaussianProcessRegressor(kernel, alpha=NOISE * factor * process.variance, optimizer=None)
        other.fit(points, losses)
        assert other.log_marginal_likelihood() + 10 * math.log(2 * math.pi) < process.log_likelihood


def test_columns_of_one_group_share_their_length() -> None:
    rng = np.random.default_rng(1)
    points, losses, groups = rng.random((15, 3)), rng.standard_normal(15), np.array([0, 1, 1])

    together = SmallProcess(points, losses, groups, np.array([0.3, 2.0])).predict(points[:5] + 0.1)
    other = SmallProcess(points, losses, np.arange(3), np.array([0.3, 2.0, 2.0])).predict(points[:5] + 0.1)

    np.testing.assert_array_equal(together, other)


@pytest.mark.parametrize("losses", [[0.0] * 30, [1.0, 2.0] * 15, list(range(30))])
def test_equal_points_and_equal_losses_give_finite_predictions(losses: list[float]) -> None:
    points = np.repeat(np.random.default_rng(0).random((3, 4)), 10, axis=0)

    process = SmallProcess(points, standardised(losses), np.arange(4), np.full(4, 8.0))
    mean, deviation = process.predict(np.concatenate([points, points + 0.2]))

    assert np.isfinite(mean).all()
    assert (deviation > 0).all()
    assert np.isfinite(log_expected_improvement(mean, deviation, 0.0)).all()


def test_a_dimension_without_influence_gets_a_longer_length_than_one_with() -> None:
    rng = np.random.default_rng(2)
    points = rng.random((60, 2))
    losses = standardised(np.sin(8 * points[:, 0]).tolist())
    lengths = Lengths(2, rng)

    for _ in range(6):
        lengths.refit(points, losses, np.arange(2))

    assert lengths.values[0] < 0.6 < lengths.values[1]


def test_few_results_share_the_most_likely_of_some_lengths() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((12, 2))
    wiggly, smooth = np.sin(40 * points[:, 0]), points.sum(axis=1)

    short, long = (
        Lengths(2, rng).share_one(points, standardised(losses.tolist()), np.arange(2))
        for losses in (wiggly, smooth)
    )

    at = np.array([[0.5, 0.5]])
    assert short.predict(at)[1][0] > long.predict(at)[1][0]


# --- losses -----------------------------------------------------------------------------------


def test_losses_far_above_the_median_are_cut() -> None:
    # The median is 2 and the least 1: what is above 2 + 2·(2 − 1) is cut to 4. So the two last are equal.
    scaled = standardised([1.0, 1.5, 2.0, 4.0, 1000.0])

    assert scaled[3] == scaled[4]
    assert scaled.mean() == pytest.approx(0.0)
    assert scaled.std() == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e90])
def test_the_unit_of_a_loss_does_not_matter(scale: float) -> None:
    losses = [0.3, 0.1, 0.7, 0.2]

    np.testing.assert_allclose(standardised([scale * loss for loss in losses]), standardised(losses))


@pytest.mark.parametrize("losses", [[1e300, -1e300, 0.0], [1e300, 0.1, 0.2, 0.3], [0.5] * 4, [0.0, 0.0]])
def test_enormous_and_equal_losses_stay_finite(losses: list[float]) -> None:
    assert np.isfinite(standardised(losses)).all()


# --- expected improvement ---------------------------------------------------------------------


def test_expected_improvement_is_that_of_the_formula() -> None:
    mean, deviation = np.linspace(-3, 3, 25), np.linspace(0.2, 2.0, 25)
    z = (0.3 - mean) / deviation

    expected = deviation * (norm.pdf(z) + z * norm.cdf(z))

    np.testing.assert_allclose(np.exp(log_expected_improvement(mean, deviation, 0.3)), expected, rtol=1e-9)


def test_expected_improvement_still_ranks_what_promises_next_to_nothing() -> None:
    mean = np.array([5.0, 10.0, 30.0, 100.0, 900.0])

    improvements = log_expected_improvement(mean, np.ones(5), 0.0)

    assert (np.diff(improvements) < 0).all()
    # log φ(z) − 2·log|z| far below
    assert improvements[3] == pytest.approx(norm.logpdf(100.0) - 2 * math.log(100.0), rel=1e-3)
