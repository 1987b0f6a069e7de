"""scikit-learn's data sets as tasks."""

from __future__ import annotations

import numpy as np
import pytest

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
