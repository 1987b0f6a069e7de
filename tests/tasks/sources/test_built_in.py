"""The bundled data sets, and the synthetic tasks without data."""

from __future__ import annotations

import numpy as np
import pytest

from cfo_bench.errors import UserError
from cfo_bench.records import Problem
from cfo_bench.tasks import inspect, load_fold, resolve
from cfo_bench.tasks.sources import built_in


@pytest.mark.parametrize("name", built_in.SETS)
def test_a_bundled_set_is_what_the_table_says(name: str) -> None:
    expected = built_in.SETS[name]
    facts = inspect(resolve(name), n_folds=10)
    assert (facts.n_rows, facts.n_features, facts.problem) == (
        expected.rows,
        expected.features,
        expected.problem,
    )
    assert facts.source == "bundled"


@pytest.mark.parametrize("name", built_in.SETS)
def test_a_fold_of_a_bundled_set_is_ready_to_learn_from(name: str) -> None:
    fold, facts = load_fold(resolve(name), fold=3, n_folds=10, seed=7)
    assert fold.train_x.dtype == fold.valid_x.dtype == np.float32
    assert fold.train_x.shape == (len(fold.train_y), facts.n_features)
    assert len(fold.train_y) + len(fold.valid_y) == facts.n_rows
    assert np.isfinite(fold.train_x).all() and not any(fold.categorical)
    assert fold.constant_loss > 0.4


def test_the_hash_of_a_bundled_set_is_known() -> None:
    # The recipe is part of every trace: a change of it must be meant.
    digest = inspect(resolve("iris"), n_folds=10).sha256
    assert digest == "3edbbb8a0d217d97c8ce2e17b83bba5100bdf5eb945f9f36aeced360753455ab"


@pytest.mark.parametrize(("name", "n_rows"), built_in.ROWS.items())
def test_a_synthetic_fold_has_nine_tenths_of_the_rows(name: str, n_rows: int) -> None:
    fold, facts = load_fold(resolve(name), fold=9, n_folds=10, seed=0)
    assert fold.n_rows == n_rows * 9 // 10 and len(fold.valid_y) == n_rows // 10
    assert fold.train_x.shape == (fold.n_rows, 0)
    assert (facts.n_rows, facts.problem, facts.source) == (n_rows, Problem.REGRESSION, "synthetic")
    assert facts == inspect(resolve(name), n_folds=10)


def test_a_million_synthetic_rows_take_no_memory() -> None:
    fold, _ = load_fold(resolve("synthetic-1m"), fold=0, n_folds=10, seed=0)
    assert fold.train_x.nbytes == 0 and fold.train_y.strides == (0,)


def test_synthetic_tasks_differ_in_their_hash() -> None:
    assert len({inspect(resolve(name), n_folds=2).sha256 for name in built_in.ROWS}) == len(built_in.ROWS)


def test_a_fold_out_of_range_is_refused() -> None:
    with pytest.raises(UserError, match="no fold 10 among 10 folds: choose from 0 to 9"):
        load_fold(resolve("synthetic-1k"), fold=10, n_folds=10, seed=0)


def test_more_folds_than_rows_are_refused() -> None:
    with pytest.raises(UserError, match="1000 rows are too few for 600 folds"):
        load_fold(resolve("synthetic-1k"), fold=0, n_folds=600, seed=0)
