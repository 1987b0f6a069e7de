from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cfo_bench.learners.dense import FURTHEST, MOST_COLUMNS, MOST_COLUMNS_IN_ALL, Encoder, dense_levels
from cfo_bench.learners.evaluation import shuffled_order
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem

NAN = np.nan


def column(*values: float) -> Array:
    return np.array(values, dtype=np.float32)[:, None]


def encoder(x: Array, categorical: bool = False) -> Encoder:
    return Encoder.fit(x, (categorical,) * x.shape[1])


def test_a_number_has_mean_zero_and_deviation_one_on_the_training_rows() -> None:
    x = np.random.default_rng(0).normal([5, -1e6], [0.1, 1e4], size=(500, 2)).astype(np.float32)
    dense = encoder(x).transform(x)
    assert dense.dtype == np.float32 and dense.shape == (500, 2)
    assert dense.mean(axis=0) == pytest.approx(0, abs=1e-5) and dense.std(axis=0) == pytest.approx(
        1, abs=1e-5
    )


def test_other_rows_are_shifted_and_scaled_as_the_training_rows_were() -> None:
    fitted = encoder(column(0, 10))  # mean 5, deviation 5
    assert fitted.transform(column(5, 20)).ravel().tolist() == [0, 3]


def test_a_missing_number_is_the_median_of_the_training_rows() -> None:
    fitted = encoder(column(0, 0, NAN, 8))
    median, zero = fitted.transform(column(NAN, 0)).ravel()
    assert median == zero < 0  # the mean is 8/3, the median 0


def test_a_stray_value_is_drawn_in() -> None:
    largest = float(np.finfo(np.float32).max)
    dense = encoder(column(0, 1)).transform(column(largest, -largest))
    assert dense.ravel().tolist() == [FURTHEST, -FURTHEST]


def test_the_largest_numbers_stay_finite() -> None:
    largest = float(np.finfo(np.float32).max)
    x = column(largest, -largest, 0)
    assert encoder(x).transform(x).ravel() == pytest.approx([1.2247449, -1.2247449, 0])


def test_columns_that_never_change_are_left_out() -> None:
    x = np.hstack([column(7, 7, 7), column(NAN, NAN, NAN), column(1, 2, 3), column(4, NAN, 4)])
    fitted = encoder(x)
    assert fitted.width == 1
    assert fitted.transform(x).ravel() == pytest.approx([-1.2247449, 0, 1.2247449])


@pytest.mark.parametrize("categorical", [False, True])
def test_without_a_column_that_changes_there_is_one_of_zeros(categorical: bool) -> None:
    x = np.hstack([column(3, 3), column(NAN, NAN)])
    assert encoder(x, categorical).transform(x).tolist() == [[0], [0]]


def test_a_category_has_a_column_for_each_of_its_values() -> None:
    x = column(2, 0, 2, 5)
    assert encoder(x, categorical=True).transform(x).tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_a_missing_category_and_one_that_is_new_are_zeros() -> None:
    fitted = encoder(column(0, 2, NAN), categorical=True)
    assert fitted.transform(column(NAN, 1, 99)).tolist() == [[0, 0]] * 3


def test_of_30000_categories_the_frequent_ones_have_a_column_each_and_the_others_share_some() -> None:
    rng = np.random.default_rng(0)
    frequent = np.repeat(np.arange(100, 120), 50)
    x = rng.permutation(np.concatenate([np.arange(30_000), frequent])).astype(np.float32)[:, None]
    fitted = encoder(x, categorical=True)
    assert fitted.width == MOST_COLUMNS
    dense = fitted.transform(x)
    assert (dense.sum(axis=1) == 1).all()
    columns = fitted.transform(np.arange(100, 120, dtype=np.float32)[:, None]).argmax(axis=1)
    assert len(set(columns.tolist())) == 20
    rows_of = dense.sum(axis=0)
    assert rows_of[columns] == pytest.approx(51)  # nobody shares a frequent one's column
    shared = rows_of[MOST_COLUMNS // 2 :]
    assert shared.min() > 0.8 * shared.mean()  # the others are spread evenly


def test_many_columns_of_categories_stay_in_bounds_together() -> None:
    x = np.random.default_rng(0).integers(0, 50, size=(300, 500)).astype(np.float32)
    fitted = encoder(x, categorical=True)
    assert fitted.width <= MOST_COLUMNS_IN_ALL
    assert (fitted.transform(x).sum(axis=1) == 500).all()


def test_5000_features_are_encoded_as_each_would_be_alone() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 5000)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = NAN
    dense = encoder(x).transform(x)
    assert dense.shape == (40, 5000) and np.isfinite(dense).all()
    for i in (0, 63, 64, 4999):
        alone = x[:, i : i + 1]
        assert np.array_equal(dense[:, i : i + 1], encoder(alone).transform(alone))


# --- a fold, and fewer of its rows ------------------------------------------------------------


@pytest.fixture
def fold() -> Fold:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 3)).astype(np.float32)
    x[:, 2] = rng.integers(0, 4, 50)
    y = rng.normal(size=50)
    return Fold(Problem.REGRESSION, "r2", 0, (False, False, True), x[:40], y[:40], x[40:], y[40:], 1.0)


def test_a_fold_is_encoded_by_its_training_rows_alone(fold: Fold) -> None:
    rows = dense_levels(fold, seed=1).on(None)
    order = shuffled_order(fold, 1)
    fitted = Encoder.fit(fold.train_x, fold.categorical)
    assert np.array_equal(rows.train_y, fold.train_y[order])
    np.testing.assert_allclose(rows.train_x, fitted.transform(fold.train_x[order]), atol=1e-6)
    np.testing.assert_allclose(rows.valid_x, fitted.transform(fold.valid_x), atol=1e-6)


def test_fewer_rows_are_encoded_by_themselves(fold: Fold) -> None:
    order = shuffled_order(fold, 1)
    changed = fold.train_x.copy()
    changed[order[20:]] = 3
    first, second = (dense_levels(data, 1).on(20) for data in (fold, replace(fold, train_x=changed)))
    assert len(first.train_y) == 20
    assert np.array_equal(first.train_x, second.train_x) and np.array_equal(first.valid_x, second.valid_x)


def test_a_level_of_rows_is_encoded_once(fold: Fold) -> None:
    dense = dense_levels(fold, 1)
    assert dense.on(20) is dense.on(20)
    assert dense.on(None) is dense.on(40) is dense.on(41)
