from __future__ import annotations

import numpy as np
import pytest

from cfo_bench.learners.rows import shuffled_order
from cfo_bench.records import Fold, Problem

EMPTY = np.empty((0, 0), dtype=np.float32)


def fold_of(labels: np.ndarray, problem: Problem = Problem.MULTICLASS) -> Fold:
    return Fold(problem, "log_loss", 4, (), EMPTY, labels, EMPTY, labels[:0], 1.0)


@pytest.fixture
def labels() -> np.ndarray:
    sizes = (700, 250, 49, 1)
    return np.random.default_rng(5).permutation(np.repeat(np.arange(4), sizes))


@pytest.mark.parametrize("problem", Problem)
def test_the_order_holds_every_row_once(labels: np.ndarray, problem: Problem) -> None:
    order = shuffled_order(fold_of(labels, problem), seed=0)
    assert sorted(order) == list(range(len(labels)))


@pytest.mark.parametrize("seed", range(5))
def test_every_prefix_holds_each_class_in_its_share_give_or_take_a_few_rows(
    labels: np.ndarray, seed: int
) -> None:
    ordered = labels[shuffled_order(fold_of(labels), seed)]
    share_of_row = np.arange(1, len(labels) + 1) / len(labels)
    for label in range(4):
        counts = np.cumsum(ordered == label)
        expected = share_of_row * counts[-1]
        # Each of the four classes may be a row off its place, and this one feels it by its share.
        assert np.abs(counts - expected).max() <= 1 + 4 * counts[-1] / len(labels)


def test_rows_of_one_class_come_in_random_order(labels: np.ndarray) -> None:
    order = shuffled_order(fold_of(labels), seed=0)
    of_class_0 = order[labels[order] == 0]
    assert abs(np.corrcoef(of_class_0, np.arange(len(of_class_0)))[0, 1]) < 0.15


@pytest.mark.parametrize("problem", [Problem.MULTICLASS, Problem.REGRESSION])
def test_the_order_depends_on_the_seed_and_on_nothing_else(labels: np.ndarray, problem: Problem) -> None:
    fold = fold_of(labels, problem)
    assert np.array_equal(shuffled_order(fold, 3), shuffled_order(fold, 3))
    assert not np.array_equal(shuffled_order(fold, 3), shuffled_order(fold, 4))
