"""The learner's arrays, and that validation rows have no say in how they are made."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.metrics import constant_loss
from cfo_bench.records import Problem
from cfo_bench.tasks.data_set import Column, DataSet, categories, encode, numbers
from cfo_bench.tasks.folds import Split, by_seed

LARGEST = np.finfo(np.float32).max


def texts(values: list[str | None]) -> Column:
    labels = list(dict.fromkeys(value for value in values if value is not None))
    return categories("c", np.array([-1 if v is None else labels.index(v) for v in values]), labels)


def table(*features: Column) -> DataSet:
    n_rows = len(features[0].values)
    renamed = [Column(f"{i}", f.kind, f.values, f.labels) for i, f in enumerate(features)]
    target = numbers("y", np.arange(n_rows) / 8)
    return DataSet.of([*renamed, target], "y", Problem.REGRESSION, "data.csv")


def split(train: list[int], valid: list[int]) -> Split:
    return Split(np.array(train), np.array(valid), "by hand")


def test_unseen_and_missing_categories_are_nan() -> None:
    fold = encode(table(texts(["d", "b", None, "c", "b", None, "d"])), split([0, 1, 2], [3, 4, 5, 6]))
    np.testing.assert_array_equal(fold.train_x[:, 0], [1, 0, math.nan])
    np.testing.assert_array_equal(fold.valid_x[:, 0], [math.nan, 0, math.nan, 1])
    assert fold.categorical == (True,)


def test_a_category_column_that_the_training_part_never_fills_is_all_nan() -> None:
    fold = encode(table(texts([None, None, "a", "b"])), split([0, 1], [2, 3]))
    assert np.isnan(fold.train_x).all() and np.isnan(fold.valid_x).all()


def test_codes_follow_the_numeric_order_of_labels() -> None:
    fold = encode(table(texts(["10", "9", "x", "1"])), split([0, 1, 2], [3]))
    assert fold.train_x[:, 0].tolist() == [1, 0, 2]


def test_numbers_become_float32_with_infinity_missing_and_giants_clipped() -> None:
    values = np.array([0.1, math.nan, math.inf, -math.inf, 1e300, -1e300, LARGEST, 1e-300])
    fold = encode(table(numbers("a", values)), split([0, 1, 2, 3, 4, 5, 6], [7]))
    expected = np.array([0.1, math.nan, math.nan, math.nan, LARGEST, -LARGEST, LARGEST], dtype=np.float32)
    np.testing.assert_array_equal(fold.train_x[:, 0], expected)
    assert fold.valid_x[0, 0] == 0 and fold.categorical == (False,)


def test_targets_are_split_with_their_rows() -> None:
    fold = encode(table(numbers("a", np.arange(4))), split([1, 3], [0, 2]))
    assert fold.train_y.tolist() == [1 / 8, 3 / 8] and fold.valid_y.tolist() == [0, 2 / 8]
    assert fold.train_y.dtype == np.float64
    assert fold.constant_loss == constant_loss(Problem.REGRESSION, fold.train_y, fold.valid_y, 0)


def test_the_matrices_lie_row_by_row() -> None:
    fold = encode(table(numbers("a", np.arange(6)), texts(list("abcabc"))), split([0, 1, 2, 3], [4, 5]))
    assert fold.train_x.flags.c_contiguous and fold.valid_x.flags.c_contiguous


LABELS = st.sampled_from([None, "a", "b", "1", "2", "10", "9", "nan", "", "é"])
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@given(st.data(), st.integers(8, 30), st.integers(2, 4), st.integers(0, 1000))
def test_the_features_of_validation_rows_never_change_the_training_arrays(
    data: st.DataObject, n_rows: int, n_folds: int, seed: int
) -> None:
    labels = data.draw(st.lists(LABELS, min_size=n_rows, max_size=n_rows))
    cells = data.draw(st.lists(NUMBERS, min_size=n_rows, max_size=n_rows))
    before = table(texts(labels), numbers("n", np.array(cells)))
    rows = by_seed(before, 0, n_folds, seed)
    for row in rows.valid:
        labels[row] = data.draw(LABELS)
        cells[row] = data.draw(NUMBERS)
    after = table(texts(labels), numbers("n", np.array(cells)))

    np.testing.assert_array_equal(by_seed(after, 0, n_folds, seed).train, rows.train)
    fold, changed = encode(before, rows), encode(after, rows)
    np.testing.assert_array_equal(changed.train_x, fold.train_x)
    assert changed.categorical == fold.categorical
    known = np.unique(fold.train_x[:, 0][~np.isnan(fold.train_x[:, 0])])
    valid_codes = changed.valid_x[:, 0]
    assert np.isin(valid_codes[~np.isnan(valid_codes)], known).all()
