"""k folds by a seed, holdouts, and data that is too small for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import DataError, UserError
from cfo_bench.metrics import constant_loss
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks import load_fold
from cfo_bench.tasks.columns import Column, categories, numbers
from cfo_bench.tasks.data_set import DataSet, encode
from cfo_bench.tasks.folds import check, hold_out, split_rows
from cfo_bench.values import MAX_SEED

SEEDS = st.integers(0, MAX_SEED)


def regression(n_rows: int, *features: Column) -> DataSet:
    y = np.linspace(0, 1, n_rows)
    return DataSet.of([*features, numbers("a", y), numbers("y", y)], "y", Problem.REGRESSION, "data.csv")


def classes(*rows_of_class: int) -> DataSet:
    y = np.repeat(np.arange(len(rows_of_class)), rows_of_class)
    problem = Problem.BINARY if len(rows_of_class) == 2 else Problem.MULTICLASS
    return DataSet.of([numbers("a", y), numbers("y", y)], "y", problem, "data.csv")


@given(
    st.one_of(
        st.integers(20, 60).map(regression),
        st.lists(st.integers(10, 30), min_size=2, max_size=4).map(lambda rows: classes(*rows)),
    ),
    st.integers(2, 10),
    SEEDS,
)
def test_the_folds_partition_the_rows(table: DataSet, n_folds: int, seed: int) -> None:
    splits = [split_rows(table, fold, n_folds, seed) for fold in range(n_folds)]
    validated = np.concatenate([split.valid for split in splits])
    assert sorted(validated) == list(range(len(table.y)))
    for split in splits:
        assert sorted([*split.train, *split.valid]) == list(range(len(table.y)))


def test_the_same_seed_makes_the_same_folds_and_another_makes_others() -> None:
    table = classes(40, 60)
    first, again, other = (split_rows(table, 2, 5, seed) for seed in (1, 1, 2))
    assert first.valid.tolist() == again.valid.tolist() and first.train.tolist() == again.train.tolist()
    assert first.valid.tolist() != other.valid.tolist()


def test_classes_keep_their_shares_in_every_fold() -> None:
    table = classes(10, 20, 70)
    for fold in range(10):
        assert np.bincount(table.y[split_rows(table, fold, 10, 0).valid]).tolist() == [1, 2, 7]


def test_a_split_says_where_it_comes_from() -> None:
    assert split_rows(classes(20, 20), 0, 10, 4).source == "stratified 10-fold by seed 4"
    assert split_rows(regression(20), 0, 5, 0).source == "plain 5-fold by seed 0"


def test_a_class_with_fewer_rows_than_folds_is_refused_with_the_remedy() -> None:
    with pytest.raises(DataError) as caught:
        check(classes(50, 7, 30), n_folds=10)
    message = str(caught.value)
    assert "class '1' of target 'y' has 7 rows" in message and "10 folds" in message
    assert "at most 7 folds with --n-folds" in message
    check(classes(50, 7, 30), n_folds=7)


def test_a_class_of_one_row_can_only_be_dropped() -> None:
    with pytest.raises(DataError, match=r"has 1 row, fewer than the 10 folds: drop its rows$"):
        check(classes(50, 1), n_folds=10)


def test_fewer_rows_than_two_a_fold_are_refused() -> None:
    with pytest.raises(DataError, match=r"data\.csv: 19 rows are too few for 10 folds.*at most 9"):
        check(regression(19), n_folds=10)
    check(regression(20), n_folds=10)


@pytest.mark.parametrize("fold", [-1, 10])
def test_a_fold_out_of_range_is_refused(fold: int) -> None:
    with pytest.raises(UserError, match=f"no fold {fold} among 10 folds: choose from 0 to 9"):
        split_rows(regression(50), fold, 10, 0)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(UserError, match=f"the seed is {seed}"):
        split_rows(regression(50), 0, 10, seed)


def test_one_fold_is_no_split() -> None:
    with pytest.raises(UserError, match="1 folds: take 2 or more"):
        split_rows(regression(50), 0, 1, 0)


# --- holdouts ---------------------------------------------------------------------------------------


@given(
    st.one_of(
        st.integers(20, 80).map(regression),
        st.lists(st.integers(10, 40), min_size=2, max_size=4).map(lambda rows: classes(*rows)),
    ),
    st.floats(0.2, 0.95),
    SEEDS,
)
def test_the_three_parts_are_all_rows_each_once_and_the_test_part_is_the_folds(
    table: DataSet, share: float, seed: int
) -> None:
    fold = split_rows(table, 0, 5, seed)
    split = hold_out(table, fold, share, seed)
    assert split.test is not None
    np.testing.assert_array_equal(split.test, fold.valid)
    assert sorted([*split.train, *split.valid]) == fold.train.tolist()
    assert (np.diff(split.train) > 0).all() and (np.diff(split.valid) > 0).all()
    assert split.source == fold.source


@given(st.lists(st.integers(10, 60), min_size=2, max_size=4), st.floats(0.1, 0.95), SEEDS)
def test_of_each_class_its_share_is_held_out_but_never_its_last_row(
    rows_of_class: list[int], share: float, seed: int
) -> None:
    table = classes(*rows_of_class)
    fold = split_rows(table, 0, 5, 0)
    split = hold_out(table, fold, share, seed)
    members = np.bincount(table.y[fold.train])
    expected = [min(round(share * n), n - 1) for n in members]
    assert np.bincount(table.y[split.valid], minlength=len(members)).tolist() == expected
    assert (np.bincount(table.y[split.train], minlength=len(members)) >= 1).all()


@pytest.mark.parametrize(("share", "n_valid"), [(0.1, 9), (0.2, 18), (0.5, 45), (0.99, 89)])
def test_of_a_regression_the_share_of_all_rows_is_held_out(share: float, n_valid: int) -> None:
    table = regression(100)
    split = hold_out(table, split_rows(table, 0, 10, 0), share, 0)
    assert (len(split.valid), len(split.train)) == (n_valid, 90 - n_valid)


def test_the_same_seed_holds_out_the_same_rows_and_another_holds_out_others() -> None:
    table = classes(60, 90)
    fold = split_rows(table, 0, 5, 0)
    first, again, other = (hold_out(table, fold, 0.2, seed) for seed in (1, 1, 2))
    assert first.valid.tolist() == again.valid.tolist() != other.valid.tolist()


def test_a_share_of_less_than_two_rows_is_refused() -> None:
    table = regression(20)
    with pytest.raises(
        DataError, match=r"data\.csv: 0\.05 of 16 training rows is less than 2 rows: take more"
    ):
        hold_out(table, split_rows(table, 0, 5, 0), 0.05, 0)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, math.nan])
def test_a_share_that_is_no_part_is_refused(share: float) -> None:
    table = regression(50)
    with pytest.raises(UserError, match=r"--holdout-share .*: give a share of the training rows"):
        hold_out(table, split_rows(table, 0, 5, 0), share, 0)


def texts(values: list[str]) -> Column:
    labels = sorted(set(values))
    return categories("c", np.array([labels.index(value) for value in values]), labels)


@given(st.data(), SEEDS)
def test_neither_validation_nor_test_rows_have_a_say_in_the_training_arrays(
    data: st.DataObject, seed: int
) -> None:
    cells = [data.draw(st.sampled_from("abcdef")) for _ in range(30)]
    before = regression(30, texts(cells))
    split = hold_out(before, split_rows(before, 1, 5, seed), 0.3, seed)
    assert split.test is not None
    for row in [*split.valid, *split.test]:
        cells[row] = data.draw(st.sampled_from(["a", "f", "0", "z"]))
    after = regression(30, texts(cells))
    np.testing.assert_array_equal(encode(after, split).train_x, encode(before, split).train_x)


def test_a_category_that_only_held_out_rows_have_is_missing_there() -> None:
    table = regression(40)
    split = hold_out(table, split_rows(table, 0, 5, 0), 0.25, 0)
    assert split.test is not None
    cells = ["b"] * 40
    cells[split.valid[0]], cells[split.test[0]] = "a", "c"
    fold = encode(regression(40, texts(cells)), split)
    assert fold.test_x is not None
    assert np.isnan(fold.valid_x[0, 0]) and np.isnan(fold.test_x[0, 0])
    assert (fold.train_x[:, 0] == 0).all() and (fold.valid_x[1:, 0] == 0).all()


def test_a_fold_loaded_with_a_holdout_has_its_three_parts_and_the_constant_of_the_validation_part() -> None:
    ref = DataRef("wine", "bundled", problem=Problem.MULTICLASS)
    plain, _ = load_fold(ref, 2, 10, 7)
    fold, _ = load_fold(ref, 2, 10, 7, 0.25)
    assert plain.test_x is None and fold.test_x is not None and fold.test_y is not None
    np.testing.assert_array_equal(fold.test_x, plain.valid_x)
    np.testing.assert_array_equal(fold.test_y, plain.valid_y)
    assert len(fold.train_y) + len(fold.valid_y) == len(plain.train_y)
    assert fold.constant_loss == constant_loss(fold.problem, fold.train_y, fold.valid_y, fold.n_classes)
