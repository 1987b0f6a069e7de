"""What fits on the machine, and whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.engines.capacity import Capacity, Queue, at_once, check_each_fits, needs, with_memory
from cfo_bench.errors import UserError
from cfo_bench.records import RunSpec

SPEC = RunSpec("xgboost", "iris", "cfo", 0, memory_mb=1000)
MACHINE = Capacity(cores=4, memory_mb=8000)


def queue_of(specs: Sequence[RunSpec], side_by_side: int = 99, have: Capacity | None = MACHINE) -> Queue:
    queue = Queue(specs, side_by_side, have)
    for index in range(len(specs)):
        queue.add(index)
    return queue


def taken(queue: Queue) -> list[int]:
    """All that may start now."""
    found = []
    while (index := queue.take()) is not None:
        found.append(index)
    return found


# --- what a run takes ---------------------------------------------------------------------------


def test_trials_at_once_take_threads_and_memory_each() -> None:
    assert needs(replace(SPEC, threads=2, parallel=3)) == Capacity(6, 3000)


def test_on_the_virtual_clock_trials_at_once_are_one_process() -> None:
    assert needs(replace(SPEC, parallel=8, clock="virtual")) == Capacity(1, 1000)


def test_a_run_without_memory_of_its_own_gets_an_equal_share_divided_among_its_trials() -> None:
    specs = [replace(SPEC, memory_mb=None), replace(SPEC, memory_mb=None, parallel=2), SPEC]

    assert [spec.memory_mb for spec in with_memory(specs, MACHINE, 4)] == [2000, 1000, 1000]


def test_as_many_fit_at_once_as_cores_and_memory_hold() -> None:
    assert at_once([SPEC] * 20, MACHINE) == 4
    assert at_once([replace(SPEC, memory_mb=3000)] * 20, MACHINE) == 2
    assert at_once([replace(SPEC, threads=3), SPEC, SPEC], MACHINE) == 2
    assert at_once([SPEC] * 3, MACHINE) == 3


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"threads": 5}, "--threads 5: this machine has 4 cores; give fewer, or --oversubscribe"),
        (
            {"threads": 2, "parallel": 3},
            "--threads 2 with --parallel 3: this machine has 4 cores; give fewer, or --oversubscribe",
        ),
        (
            {"memory_mb": 9000},
            "--memory 9000: this machine has 8000 MB for runs; give less, or --oversubscribe",
        ),
    ],
)
def test_a_run_that_never_fits_is_refused_in_one_line(changes: dict[str, int], line: str) -> None:
    with pytest.raises(UserError) as caught:
        check_each_fits([SPEC, replace(SPEC, **changes)], MACHINE)

    assert str(caught.value) == line


# --- whose turn it is ---------------------------------------------------------------------------


def test_the_longest_goes_first_and_the_order_is_kept_otherwise() -> None:
    budgets = (60, 3600, 60, 3600, 600)
    queue = queue_of([replace(SPEC, budget_seconds=budget) for budget in budgets], have=None)

    assert taken(queue) == [1, 3, 4, 0, 2]


def test_no_more_start_than_were_asked_for() -> None:
    queue = queue_of([SPEC] * 5, side_by_side=2)

    assert taken(queue) == [0, 1]
    queue.release(1)
    assert taken(queue) == [2]


def test_what_was_released_can_be_taken_again_and_once_only() -> None:
    queue = queue_of([replace(SPEC, threads=4), replace(SPEC, threads=4)])

    assert taken(queue) == [0]
    queue.release(0)
    queue.release(0)
    assert taken(queue) == [1]
    assert taken(queue) == []


def test_a_smaller_run_fills_the_gap_that_a_large_one_leaves() -> None:
    queue = queue_of([replace(SPEC, threads=3), replace(SPEC, threads=3), SPEC])

    assert taken(queue) == [0, 2]


def test_a_large_run_is_not_passed_over_for_ever() -> None:
    """Small runs come and go, one at a time, so that four cores are never free at once by themselves."""
    queue = queue_of([SPEC, replace(SPEC, threads=4), *[SPEC] * 50])
    running, started = taken(queue), []
    while 1 not in running:
        queue.release(running.pop(0))
        new = taken(queue)
        running += new
        started += new

    assert started[-1] == 1 and len(started) < 20


def test_a_run_that_comes_back_waits_in_its_old_place() -> None:
    queue = queue_of([SPEC, SPEC, SPEC], side_by_side=1)

    assert queue.take() == 0
    queue.release(0)
    queue.add(0)
    assert queue.take() == 0


@given(
    runs=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 8000), st.integers(1, 5)), min_size=1, max_size=40
    ),
    side_by_side=st.integers(1, 6),
    draw=st.randoms(use_true_random=False),
)
def test_every_run_gets_its_turn_and_the_machine_is_never_overfull(runs, side_by_side, draw) -> None:
    specs = [
        replace(SPEC, threads=threads, memory_mb=memory, budget_seconds=budget)
        for threads, memory, budget in runs
    ]
    queue = queue_of(specs, side_by_side)
    running: list[int] = []
    order: list[int] = []
    while len(order) < len(specs):
        new = taken(queue)
        order += new
        running += new
        assert running, "something fits on an empty machine"
        assert len(running) <= side_by_side
        assert sum(specs[index].threads for index in running) <= MACHINE.cores
        assert sum(specs[index].memory_mb for index in running) <= MACHINE.memory_mb
        queue.release(running.pop(draw.randrange(len(running))))
    assert sorted(order) == list(range(len(specs)))
