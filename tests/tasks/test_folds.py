"""k folds by a seed, and data too small for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import DataError, UserError
from cfo_bench.records import Problem
from cfo_bench.tasks.data_set import DataSet, numbers
from cfo_bench.tasks.folds import by_seed, check


def regression(n_rows: int) -> DataSet:
    y = np.linspace(0, 1, n_rows)
    return DataSet.of([numbers("a", y), numbers("y", y)], "y", Problem.REGRESSION, "data.csv")


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
    st.integers(0, 2**32 - 1),
)
def test_the_folds_partition_the_rows(table: DataSet, n_folds: int, seed: int) -> None:
    splits = [by_seed(table, fold, n_folds, seed) for fold in range(n_folds)]
    validated = np.concatenate([split.valid for split in splits])
    assert sorted(validated) == list(range(len(table.y)))
    for split in splits:
        assert sorted([*split.train, *split.valid]) == list(range(len(table.y)))


def test_the_same_seed_makes_the_same_folds_and_another_makes_others() -> None:
    table = classes(40, 60)
    first, again, other = (by_seed(table, 2, 5, seed) for seed in (1, 1, 2))
    assert first.valid.tolist() == again.valid.tolist() and first.train.tolist() == again.train.tolist()
    assert first.valid.tolist() != other.valid.tolist()


def test_classes_keep_their_shares_in_every_fold() -> None:
    table = classes(10, 20, 70)
    for fold in range(10):
        assert np.bincount(table.y[by_seed(table, fold, 10, 0).valid]).tolist() == [1, 2, 7]


def test_a_split_says_where_it_comes_from() -> None:
    assert by_seed(classes(20, 20), 0, 10, 4).source == "stratified 10-fold by seed 4"
    assert by_seed(regression(20), 0, 5, 0).source == "plain 5-fold by seed 0"


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
        by_seed(regression(50), fold, 10, 0)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(UserError, match=f"the seed is {seed}"):
        by_seed(regression(50), 0, 10, seed)


def test_one_fold_is_no_split() -> None:
    with pytest.raises(UserError, match="1 folds: take 2 or more"):
        by_seed(regression(50), 0, 1, 0)
