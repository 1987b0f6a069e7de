"""Algorithm 1 step by step. Vectors are log2 of the values: (0, 0) is (1, 1) and (3, 4) is (8, 16)."""

from __future__ import annotations

import math

import pytest

from cfo_bench.errors import Exhausted
from cfo_bench.optimizers.flow2 import FLOW2
from cfo_bench.records import Result, Status, Trial
from cfo_bench.space import Float, Int, Space

PLANE = Space([Float("a", 2.0**-10, 2.0**10), Float("b", 2.0**-10, 2.0**10)])
ORIGIN = {"a": 1.0, "b": 1.0}


def at(a: float, b: float) -> dict[str, float]:
    return pytest.approx({"a": 2.0**a, "b": 2.0**b})


def test_the_first_trial_is_the_start(play) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4])

    assert run.config == ORIGIN
    assert run.thread.asking == "INIT"


def test_a_lower_loss_on_the_plus_side_moves_the_incumbent_there(play) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4], [4, -3])

    run.tell(1.0)
    # u = (3, 4)/5, x + 5u = (0, 0) + (3, 4)
    assert run.thread.asking == "PLUS"
    assert run.config == at(3, 4)

    run.tell(0.9)
    # accepted, and no minus side: u = (4, -3)/5 from (3, 4) to (7, 1)
    assert run.thread.asking == "PLUS"
    assert (run.thread.x.vector, run.thread.loss) == ([3.0, 4.0], 0.9)
    assert run.config == at(7, 1)


def test_the_minus_side_is_tried_from_the_same_x_along_the_same_u(play) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4], [4, -3])

    run.tell(1.0, 1.1)
    assert run.thread.asking == "MINUS"
    assert run.config == at(-3, -4)  # (0, 0) - (3, 4)

    run.tell(0.9)
    assert (run.thread.x.vector, run.thread.loss) == ([-3.0, -4.0], 0.9)
    assert run.config == at(1, -7)  # (-3, -4) + (4, -3)


def test_the_incumbent_stays_when_neither_side_is_lower(play) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4], [4, -3])

    run.tell(1.0, 1.1, 1.2)

    assert (run.thread.x.vector, run.thread.loss) == ([0.0, 0.0], 1.0)
    assert run.config == at(4, -3)


def test_an_equal_loss_is_no_improvement(play) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4], [4, -3])

    run.tell(1.0, 1.0, 1.0)

    assert run.thread.x.vector == [0.0, 0.0]


def test_the_step_stays_constant(play) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4], [4, -3], [0, 1], [1, 0], [4, 3])

    run.tell(*[1.0] * 9)

    assert run.thread.delta == 5.0


def test_the_step_is_the_root_of_d_unless_given() -> None:
    assert FLOW2(PLANE, ORIGIN).threads[0].delta == math.sqrt(2)


def test_a_step_past_a_bound_is_clipped_to_it_and_the_state_too(play) -> None:
    run = play(FLOW2(PLANE, {"a": 2.0**9, "b": 1.0}, step=5.0), [3, 4])

    run.tell(1.0)
    # (9, 0) + (3, 4) = (12, 4), and the bound of a is 2^10
    assert run.config == {"a": 2.0**10, "b": 16.0}

    run.tell(0.5)
    assert run.thread.x.vector == [10.0, 4.0]


@pytest.mark.parametrize("status", [Status.FAILED, Status.TIMEOUT, Status.MEMORY])
def test_a_trial_that_did_not_end_well_is_never_moved_to(play, status: Status) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4])
    run.tell(1.0)

    run.method.tell(run.method.ask(), Result(status))

    assert run.config == at(-3, -4)
    assert run.thread.x.vector == [0.0, 0.0]


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("make", [Result.ok, lambda loss: Result(Status.OK, loss)])
def test_from_a_start_without_a_loss_any_finite_one_is_an_improvement(play, make, loss: float) -> None:
    run = play(FLOW2(PLANE, ORIGIN, step=5.0), [3, 4])
    run.method.tell(run.method.ask(), make(loss))

    run.tell(1e300)

    assert (run.thread.x.vector, run.thread.loss) == ([3.0, 4.0], 1e300)


def test_where_every_step_rounds_back_the_search_says_that_it_is_exhausted() -> None:
    # d = 1: from 1, a step of 0.3 leads to 1.23 and to 0.81, both rounded to 1
    method = FLOW2(Space([Int("k", 1, 9)]), {"k": 1}, step=0.3)
    method.tell(method.ask(), Result.ok(1.0))

    for _ in range(2):
        with pytest.raises(Exhausted, match=r"within a step of 0\.3"):
            method.ask()


@pytest.mark.parametrize(("d", "n"), [(3, 4), (12, 1024)])
def test_it_gives_up_after_ten_times_n_repeats_in_a_row_with_n_at_most_1024(d: int, n: int) -> None:
    space = Space([Int(f"k{i}", 1, 9) for i in range(d)])
    method = FLOW2(space, {param.name: 1 for param in space}, step=0.1)  # every step is rounded to 1
    method.tell(method.ask(), Result.ok(1.0))

    with pytest.raises(Exhausted):
        method.ask()

    # n = 2^(d-1), and both sides of the last direction are tried
    assert method.threads[0].repeats == 10 * n


def test_a_new_configuration_begins_the_count_of_repeats_again(play) -> None:
    space = Space([Int("a", 1, 9), Int("b", 1, 9)])
    run = play(FLOW2(space, {"a": 1, "b": 1}, step=1.0), [1, 0], [0, 1])

    run.tell(1.0, 2.0)  # a = 2 is not lower; the other side is the start again, the one repeat

    assert (run.config, run.thread.repeats) == ({"a": 1, "b": 2}, 0)


def test_a_space_of_one_configuration_is_exhausted_after_the_start() -> None:
    method = FLOW2(Space([Int("k", 3, 3)]), {"k": 3})
    method.tell(method.ask(), Result.ok(1.0))

    with pytest.raises(Exhausted):
        method.ask()


@pytest.mark.parametrize(("start", "other"), [(1, 3), (3, 1)])
def test_one_exhausted_thread_does_not_end_the_others(start: int, other: int) -> None:
    # A thread at 1 is stuck at once (see above); from 3 on a step of 0.3 reaches the next number.
    space = Space([Int("k", 1, 64)])
    methods = (FLOW2(space, {"k": start}, seed, parallel=2, step=0.3) for seed in range(99))
    method = next(method for method in methods if method.threads[1].x.values[0] == other)
    stuck, free = sorted([method.ask(), method.ask()], key=lambda trial: trial.config["k"])
    method.tell(stuck, Result.ok(9.0))

    with pytest.raises(Exhausted):  # nothing to do before the other is told
        method.ask()
    method.tell(free, Result.ok(8.0))

    third = method.ask()
    assert (third.thread, third.number) == (free.thread, 2)


def test_a_result_that_nobody_waits_for_is_refused() -> None:
    method = FLOW2(PLANE, ORIGIN)
    trial = method.ask()

    with pytest.raises(ValueError, match="trial 7"):
        method.tell(Trial(7, trial.config), Result.ok(1.0))
    method.tell(trial, Result.ok(1.0))
    with pytest.raises(ValueError, match="trial 0"):
        method.tell(trial, Result.ok(1.0))
