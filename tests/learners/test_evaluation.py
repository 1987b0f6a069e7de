from __future__ import annotations

import numpy as np
import pytest

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.learners.evaluation import (
    KEPT_LEVELS,
    OutOfTime,
    RowLevels,
    attempt,
    check_deadline,
    shuffled_order,
)
from cfo_bench.records import Fold, Problem, Result, Status


def outcome(error: Exception | None) -> Result:
    clock = VirtualClock()

    def train() -> Result:
        clock.account(2.0)
        if error is not None:
            raise error
        return Result.ok(0.5, 2.0)

    return attempt(train, Deadline(clock))


def test_a_training_that_ends_well_is_its_own_result() -> None:
    assert outcome(None) == Result(Status.OK, 0.5, 2.0)


def test_a_passed_deadline_is_a_timeout_with_the_seconds_it_took() -> None:
    with pytest.raises(OutOfTime):
        check_deadline(Deadline(VirtualClock(1.0), at=1.0))
    check_deadline(Deadline(VirtualClock(0.9), at=1.0))
    assert outcome(OutOfTime()) == Result(Status.TIMEOUT, fit_seconds=2.0)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("std::bad_alloc"),
        RuntimeError("[12:00:00] /src/a.cc:7: bad_malloc: Failed to allocate 8 bytes"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:1] . DefaultCPUAllocator: can't allocate memory: 8 bytes"
        ),
    ],
)
def test_every_librarys_want_of_memory_is_seen(error: Exception) -> None:
    assert outcome(error).status is Status.MEMORY


def test_a_failure_is_told_in_one_line_without_the_librarys_source_file() -> None:
    failed = outcome(ValueError("\n[12:00:00] /src/a.cc:7: Check failed: x > 0\nStack trace:\n  ..."))
    assert failed == Result(Status.FAILED, fit_seconds=2.0, error="ValueError: Check failed: x > 0")
    assert outcome(KeyError()).error == "KeyError"


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


def test_the_data_of_a_number_of_rows_is_built_once_and_that_of_all_rows_before_the_first_trial(
    labels: np.ndarray,
) -> None:
    built: list[int | None] = []

    def build(rows: np.ndarray | None) -> list[int] | None:
        built.append(None if rows is None else len(rows))
        return None if rows is None else rows.tolist()

    levels = RowLevels(fold_of(labels), 3, build)
    assert built == [None]
    for rows in (100, 200, 100, 200, None, len(labels), len(labels) + 1):
        levels.on(rows)
    assert built == [None, 100, 200]
    assert levels.on(200) == shuffled_order(fold_of(labels), 3)[:200].tolist()
    assert levels.on(None) is None


def test_many_levels_push_out_the_oldest_but_never_all_rows(labels: np.ndarray) -> None:
    levels = RowLevels(fold_of(labels), 3, lambda rows: object())
    whole, oldest = levels.on(None), levels.on(1)
    for rows in range(2, KEPT_LEVELS + 2):
        levels.on(rows)
    assert levels.on(None) is whole and levels.on(1) is not oldest
