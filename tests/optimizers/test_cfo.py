"""Algorithms 2 and 3 step by step. Vectors are log2 of the values, so that 0 is 1 and 3 is 8."""

from __future__ import annotations

import gc
import itertools
import math
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.cfo import CFO
from cfo_bench.optimizers.flow2 import FLOW2
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Float, Int, Param, Space

LINE = Space([Float("a", 2.0**-10, 2.0**10)])
PLANE = Space([Float("a", 2.0**-10, 2.0**10), Float("b", 2.0**-10, 2.0**10)])
ORIGIN = {"a": 1.0, "b": 1.0}


def configurations(method: CFO, loss=lambda config: 0.0, n: int = 10_000) -> list[dict]:
    """Everything it asks until it is exhausted, n at the most."""
    asked = []
    try:
        for _ in range(n):
            trial = method.ask()
            asked.append(trial.config)
            method.tell(trial, Result.ok(loss(trial.config)))
    except Exhausted:
        pass
    return asked


def test_the_defaults_are_the_papers_text() -> None:
    paper: dict[str, object] = {"mode": "paper", "parallel": 1, "scale": "log2", "linear_span": 10.0}
    paper |= {"delta_init": None, "n_threshold": "2^(d-1)", "stall": "consecutive", "delta_lower": "alg3"}
    paper |= {"redraw": False}

    assert METHODS.options("cfo", {}) == paper
    assert METHODS.options("cfo-0", {}) == {**paper, "step": "rms"}


# --- the step, n, η and δ ---------------------------------------------------------------------


def test_the_first_step_is_the_root_of_d_and_n_counts_from_zero(play) -> None:
    run = play(CFO(PLANE, ORIGIN), [1, 1])

    run.tell(1.0)

    # x + √2·(1, 1)/√2 = (1, 1)
    assert run.config == pytest.approx({"a": 2.0, "b": 2.0})
    assert (run.thread.k, run.thread.k_best, run.thread.n, run.thread.r) == (0, 0, 0, 0)
    assert run.thread.delta == math.sqrt(2)


def test_an_improvement_on_either_side_ends_the_iteration_and_is_the_rounds_best(play) -> None:
    run = play(CFO(PLANE, ORIGIN, delta_init=5.0), [3, 4], [4, -3])

    run.tell(10.0, 9.0)  # iteration 0: plus accepted
    assert (run.thread.k, run.thread.k_best, run.thread.round_best_loss) == (1, 0, 9.0)

    run.tell(9.5)  # iteration 1: plus not lower, so minus = (3, 4) - (4, -3)
    assert run.thread.asking == "MINUS"
    assert run.config == pytest.approx({"a": 2.0**-1, "b": 2.0**7})

    run.tell(8.0)
    assert (run.thread.k, run.thread.k_best, run.thread.round_best_loss) == (2, 1, 8.0)
    assert run.thread.round_best is run.thread.x


def test_n_starts_again_after_an_improvement(play) -> None:
    run = play(
        CFO(PLANE, ORIGIN, delta_init=5.0), [3, 4], [4, -3], [4, 3], [-4, 3], [5, 12]
    )  # N = 2^(2-1) = 2

    run.tell(10.0, 11.0, 12.0)  # iteration 0: none lower, n = 1; f(x) = 10 < inf, k' = 0; k = 1
    assert (run.thread.n, run.thread.k_best, run.thread.k) == (1, 0, 1)
    run.tell(9.0)  # iteration 1: improved, n = 0, k' = 1, k = 2
    assert (run.thread.n, run.thread.k_best, run.thread.k) == (0, 1, 2)
    run.tell(11.0, 12.0)  # iteration 2: n = 1, k = 3
    assert (run.thread.n, run.thread.k, run.thread.delta) == (1, 3, 5.0)
    run.tell(11.0, 12.0)  # iteration 3: n = 2 = N, k = 4, η = 4/1, δ = 5/√4
    assert (run.thread.n, run.thread.k, run.thread.delta) == (0, 4, 2.5)


def test_n_starts_again_after_an_improvement_on_the_minus_side(play) -> None:
    run = play(CFO(PLANE, ORIGIN, delta_init=5.0, n_threshold=9), [3, 4], [4, -3], [4, 3])

    run.tell(10.0, 11.0, 12.0)
    assert run.thread.n == 1
    run.tell(11.0, 9.0)

    assert (run.thread.n, run.thread.k_best, run.thread.k) == (0, 1, 2)


def test_cumulative_n_does_not_start_again(play) -> None:
    method = CFO(PLANE, ORIGIN, delta_init=5.0, stall="cumulative")
    run = play(method, [3, 4], [4, -3], [4, 3], [-4, 3])

    run.tell(10.0, 11.0, 12.0)  # iteration 0: n = 1
    run.tell(9.0)  # iteration 1: improved, n stays; k' = 1
    assert run.thread.n == 1
    run.tell(11.0, 12.0)  # iteration 2: n = 2 = N, k = 3, η = 3/1, δ = 5/√3
    assert run.thread.n == 0
    assert run.thread.delta == pytest.approx(5 / math.sqrt(3))


def test_eta_is_the_ratio_of_k_to_the_iteration_of_the_best(play) -> None:
    directions = [[1, 0], [0, 1], [3, 4], [4, 3], [5, 12], [12, 5], [8, 15]]
    run = play(CFO(PLANE, ORIGIN, delta_init=2.0), *directions)

    run.tell(10.0, 9.0, 8.0, 7.0)  # iterations 0, 1 and 2 improve: k' = 2
    run.tell(8.0, 8.0)  # iteration 3: n = 1
    run.tell(8.0, 8.0)  # iteration 4: n = 2 = N, k = 5, η = 5/2
    assert run.thread.delta == pytest.approx(2.0 / math.sqrt(5 / 2))
    run.tell(8.0, 8.0)  # iteration 5: n = 1
    run.tell(8.0, 8.0)  # iteration 6: k = 7, η = 7/2, on top of the last δ
    assert run.thread.delta == pytest.approx(2.0 / math.sqrt(5 / 2) / math.sqrt(7 / 2))


def test_eta_takes_an_iteration_of_the_best_of_zero_for_one(play) -> None:
    run = play(CFO(PLANE, ORIGIN, delta_init=2.0), [1, 0], [0, 1], [3, 4])

    run.tell(1.0, 2.0, 2.0, 2.0, 2.0)  # iterations 0 and 1 fail: k = 2, k' = 0, η = 2/max(0, 1)

    assert run.thread.delta == pytest.approx(2.0 / math.sqrt(2))


@pytest.mark.parametrize(("n_threshold", "n"), [("2^(d-1)", 4), ("d", 3), ("2d", 6), (1, 1), (17, 17)])
def test_the_threshold_n_is_a_rule_of_d_or_a_number(n_threshold: str | int, n: int) -> None:
    space = Space([Float(name, 1.0, 2.0) for name in "abc"])

    method = CFO(space, {"a": 1.0, "b": 1.0, "c": 1.0}, n_threshold=n_threshold)

    assert method.threads[0].settings.n_threshold == n


# --- δ_lower, Algorithm 3 ---------------------------------------------------------------------


def lower_bound(space: Space, start: dict, **options) -> float:
    method = CFO(space, start, **options)
    method.ask()  # the round's incumbent is its start
    return method.threads[0].delta_lower()


RULES = ("alg3", "with_floats", "unit_consistent")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("delta_init", [None, 5.0])
def test_without_discrete_dimensions_the_step_ends_at_a_hundredth(rule: str, delta_init: float) -> None:
    assert lower_bound(PLANE, ORIGIN, delta_lower=rule, delta_init=delta_init) == 0.01


def test_with_discrete_dimensions_the_step_ends_where_none_of_them_can_change() -> None:
    space = Space([Int("i", 1, 16), Int("j", 2, 200), Float("x", 0.5, 2.0)])

    # i = 4: log(1 + 1/4)/log(16/1) = 0.2231/2.7726 = 0.0805
    # j = 100: log(1 + 1/100)/log(200/2) = 0.00995/4.6052 = 0.00216, the smaller; times √3
    expected = math.log(1.01) / math.log(100) * math.sqrt(3)

    assert lower_bound(space, {"i": 4, "j": 100, "x": 1.0}) == pytest.approx(expected)
    assert lower_bound(space, {"i": 4, "j": 100, "x": 1.0}, scale="ln") == pytest.approx(expected)


def test_algorithm_3_takes_the_initial_step_that_is_given() -> None:
    # log(1 + 1/4)/log(16) · 0.5
    expected = math.log(1.25) / math.log(16) * 0.5

    assert lower_bound(Space([Int("i", 1, 16)]), {"i": 4}, delta_init=0.5) == pytest.approx(expected)


def test_algorithm_3_takes_the_initial_step_and_not_the_present_one(play) -> None:
    run = play(CFO(Space([Int("i", 1, 1024)]), {"i": 4}, delta_init=2.0), [1])
    bound = 2.0 * math.log2(1.25) / 10
    run.tell(1.0)
    assert run.thread.delta_lower() == pytest.approx(bound)

    run.tell(2.0, 2.0)  # i = 16 and 1, and at iteration 1 the same two again: η = 2

    assert run.thread.delta == pytest.approx(2.0 / math.sqrt(2))
    assert run.thread.delta_lower() == pytest.approx(bound)


@pytest.mark.parametrize(("rule", "expected"), [("alg3", math.sqrt(2) / 2), ("with_floats", 0.01)])
def test_floats_bound_the_step_only_where_the_rule_says_so(rule: str, expected: float) -> None:
    space = Space([Int("i", 1, 4), Float("x", 0.5, 2.0)])

    # line 3: √2 · log(1 + 1/1)/log(4/1) = √2/2
    assert lower_bound(space, {"i": 1, "x": 1.0}, delta_lower=rule) == pytest.approx(expected)


def test_with_floats_keeps_a_bound_of_line_3_that_is_below_a_hundredth() -> None:
    space = Space([Int("i", 1, 1024), Float("x", 0.5, 2.0)])

    # √2 · log2(1 + 1/512)/10 = 0.0004
    for rule in ("alg3", "with_floats"):
        bound = lower_bound(space, {"i": 512, "x": 1.0}, delta_lower=rule)
        assert bound == pytest.approx(math.sqrt(2) * math.log2(1 + 1 / 512) / 10)


def test_unit_consistent_leaves_the_range_and_the_initial_step_out() -> None:
    space = Space([Int("i", 1, 16), Int("j", 2, 200)])

    # √2 · log2(1 + 1/100)
    bound = lower_bound(space, {"i": 4, "j": 100}, delta_lower="unit_consistent", delta_init=7.0)

    assert bound == pytest.approx(math.sqrt(2) * math.log2(1.01))


def test_a_linear_discrete_dimension_counts_one_over_its_range() -> None:
    # 1/(10 - 0) · √1, and 1/(5 - 1) · √1 for the indices 0…4 of five choices in order
    assert lower_bound(Space([Int("i", 0, 10)]), {"i": 7}) == pytest.approx(0.1)
    assert lower_bound(Space([Categorical("c", "vwxyz", ordered=True)]), {"c": "w"}) == pytest.approx(0.25)


def test_ordered_numbers_count_their_nearest_neighbour_on_their_own_scale() -> None:
    space = Space([Categorical("c", [1, 2, 8, 1024], ordered=True)])

    # From 8 the nearest other choice is 2, two octaves away, of ten.
    assert lower_bound(space, {"c": 8}) == pytest.approx(0.2)


@pytest.mark.parametrize("rule", RULES)
def test_choices_without_an_order_are_not_discrete_to_algorithm_3(rule: str) -> None:
    choices = Categorical("c", "vwxyz")

    # √2 times the bound without the dimension, where d is 1
    alone = lower_bound(Space([Int("j", 2, 200)]), {"j": 100}, delta_lower=rule)
    both = lower_bound(Space([choices, Int("j", 2, 200)]), {"c": "v", "j": 100}, delta_lower=rule)
    assert both == pytest.approx(math.sqrt(2) * alone)
    assert lower_bound(Space([choices]), {"c": "v"}, delta_lower=rule) == 0.01


TWO_VALUED = [Categorical("c", (True, False), ordered=True), Int("c", 1, 2), Int("c", 0, 1)]


@pytest.mark.parametrize("param", TWO_VALUED, ids=["two in order", "1 to 2", "0 to 1"])
def test_a_dimension_of_two_values_counts_by_the_papers_rule_alone(param: Param) -> None:
    value = param.choices[0] if isinstance(param, Categorical) else param.low

    # Its one step is its whole range: the bound is δ_init.
    assert lower_bound(Space([param]), {"c": value}, delta_init=3.0) == pytest.approx(3.0)
    for rule in ("with_floats", "unit_consistent"):
        assert lower_bound(Space([param]), {"c": value}, delta_lower=rule) == 0.01


@pytest.mark.parametrize("rule", ["with_floats", "unit_consistent"])
def test_a_small_integer_does_not_keep_floats_coarse_by_the_other_rules(rule: str) -> None:
    space = Space([Int("i", 1, 4), Float("x", 0.5, 2.0)])

    assert lower_bound(space, {"i": 1, "x": 1.0}, delta_lower=rule) == 0.01


def test_by_the_papers_rule_a_small_integer_ends_a_round_sooner() -> None:
    """Restarts within 3,000 trials."""
    space = Space([Int("i", 1, 4), Float("x", 2.0**-5, 2.0**5), Float("y", 2.0**-5, 2.0**5)])

    def restarts(rule: str) -> int:
        method = CFO(space, {"i": 1, "x": 1.0, "y": 1.0}, 0, delta_lower=rule)
        configurations(method, lambda c: math.log2(c["x"]) ** 2 + math.log2(c["y"]) ** 2 + c["i"], 3000)
        return method.threads[0].r

    assert restarts("alg3") > 3 * restarts("with_floats")


SMALL = {
    "a category of two": Categorical("k", ("yes", "no")),
    "a category of four": Categorical("k", ("a", "b", "c", "d")),
    "1 to 2": Int("k", 1, 2),
    "1 to 3": Int("k", 1, 3),
    "1 to 10": Int("k", 1, 10),
}


@pytest.mark.parametrize("name", SMALL)
def test_floats_are_refined_beside_a_small_dimension_if_they_bound_the_step(name: str) -> None:
    """Once every shrink of δ was a restart: the losses here were 1e-6 to 6e-4 after as many trials."""
    param = SMALL[name]
    values = param.choices if isinstance(param, Categorical) else range(param.low, param.high + 1)
    space = Space([Float("a", 1e-3, 1e3), Float("b", 1e-3, 1e3), param])

    def loss(config: dict) -> float:
        away = math.log2(config["a"] / 7.3) ** 2 + math.log2(config["b"] / 0.2) ** 2
        return away / 100 + 0.1 * (config["k"] != values[1])

    losses = []
    for seed in range(3):
        search = CFO(space, {"a": 1e-3, "b": 1e-3, "k": values[0]}, seed, delta_lower="with_floats")
        for _ in range(1500):
            trial = search.ask()
            search.tell(trial, Result.ok(loss(trial.config)))
        losses.append(search.best[1])
    assert sorted(losses)[1] < 1e-6


@pytest.mark.parametrize(("method", "most"), [(CFO, 0.001), (FLOW2, 0.05)])  # FLOW²'s step stays at √2 of 10
@pytest.mark.parametrize("low", [0.0, -500.0])
def test_a_range_that_touches_zero_is_searched_as_well_as_one_above_it(
    method: type[CFO] | type[FLOW2], most: float, low: float
) -> None:
    """In raw units a step of 1 would be a thousandth of the range: 0.19 after 300 trials."""
    losses = []
    for seed in range(3):
        search = method(Space([Float("x", low, 1000.0), Float("y", low, 1000.0)]), {"x": low, "y": low}, seed)
        for _ in range(300):
            trial = search.ask()
            away = math.hypot(trial.config["x"] - 637.1, trial.config["y"] - 213.7)
            search.tell(trial, Result.ok((away / 1000) ** 2))
        losses.append(search.best[1])
    assert max(losses) < most


def test_algorithm_3_looks_at_the_rounds_incumbent(play) -> None:
    run = play(CFO(Space([Int("i", 1, 64)]), {"i": 2}, delta_init=3.0), [1])

    run.tell(1.0, 0.5)  # from 2 to 2·2^3 = 16

    assert run.thread.delta_lower() == pytest.approx(math.log2(1 + 1 / 16) / 6 * 3)


# --- restart ----------------------------------------------------------------------------------


def test_a_restart_begins_a_round_from_a_point_around_the_start(play) -> None:
    # δ = 0.01 does not exceed δ_lower when iteration 0 has failed (N = 1, k = 1, k' = 0, η = 1).
    run = play(CFO(LINE, {"a": 2.0}, delta_init=0.01), [1], [2], [-1])
    run.tell(1.0, 1.1, 1.2)

    assert run.thread.asking == "RESET"
    assert run.config == {"a": 8.0}  # log2: x0 + z = 1 + 2
    assert run.thread.r == 1
    assert run.thread.delta == 1 + 0.01  # r + δ_init
    assert (run.thread.k, run.thread.k_best, run.thread.n) == (0, 0, 0)
    assert run.thread.round_best_loss == math.inf
    assert run.thread.round_best is run.thread.x  # where δ_lower is computed if all of the round fails


def test_the_restart_point_replaces_f_of_x_even_when_it_is_worse(play) -> None:
    run = play(CFO(LINE, {"a": 2.0}, delta_init=0.01), [1], [2], [-1])
    run.tell(1.0, 1.1, 1.2)

    run.tell(50.0)

    assert (run.thread.x.vector, run.thread.loss) == ([3.0], 50.0)
    assert run.config == pytest.approx({"a": 2.0 ** (3 - 1.01)})
    assert run.method.best == ({"a": 2.0}, 1.0)  # kept apart

    run.tell(40.0)
    assert run.thread.loss == 40.0  # an improvement of this round
    assert (run.thread.k, run.thread.k_best, run.thread.round_best_loss) == (1, 0, 40.0)


def test_the_second_round_starts_with_a_longer_step_than_the_first(play) -> None:
    run = play(CFO(LINE, {"a": 1.0}, delta_init=0.01), [1], [1])
    run.thread.r = 6

    run.tell(1.0, 1.1, 1.2)

    assert (run.thread.r, run.thread.delta) == (7, 7.01)


def test_a_step_that_is_still_long_enough_does_not_restart(play) -> None:
    run = play(CFO(LINE, {"a": 1.0}, delta_init=0.0101), [1], [1])

    run.tell(1.0, 1.1, 1.2)

    # iteration 0: η = 1. iteration 1 meets the same two points: η = 2, δ = 0.0101/√2 < 0.01
    assert run.thread.r == 1
    run = play(CFO(LINE, {"a": 1.0}, delta_init=0.0142), [1], [1], [3])
    run.tell(1.0, 1.1, 1.2)
    # iteration 1: δ = 0.0142/√2 = 0.01004: two new points
    assert run.thread.r == 0
    assert run.thread.delta == pytest.approx(0.0142 / math.sqrt(2))


def test_a_restart_forgets_the_last_rounds_best_even_when_everything_fails(play) -> None:
    # A stale k' above k would make η < 1 and the step grow.
    directions = [[1, 0], [0, 1], [3, 4], [4, 3], [5, 12], [12, 5]]
    restart_and_on = [[1, 1], [1, 0], [0, 1], [3, 4]]
    run = play(CFO(PLANE, ORIGIN, delta_init=0.011), *directions, *restart_and_on)
    run.tell(10.0, 9.0, 8.0, 7.0, 6.0)  # iterations 0 to 3 improve: k' = 3
    run.tell(9.0, 9.0, 9.0, 9.0)  # iterations 4 and 5: η = 6/3, δ = 0.0078: restart
    assert (run.thread.asking, run.thread.delta) == ("RESET", 1.011)

    run.tell(math.inf, *[math.inf] * 4)  # the restart point and two iterations: η = 2/max(0, 1)

    assert run.thread.delta == pytest.approx(1.011 / math.sqrt(2))


def test_a_restart_keeps_a_choice_of_the_start_whose_index_stays(play) -> None:
    run = play(
        CFO(Space([Categorical("c", "abcd")]), {"c": "a"}, delta_init=2.0), [1], [0.2], integers=[2, 1]
    )
    run.tell(1.0, 0.5)  # to index 2, which stands for d
    run.thread.rng.normals = [[0.2]]

    # Index 0 of the start is kept by 0.2, from wherever the search was; no choice is drawn.
    assert run.thread.around_x0().values == ("a",)


def test_redraw_takes_another_restart_point_for_one_that_was_evaluated(play) -> None:
    for redraw, asked in ((False, {"a": 2.0 ** (1 + 1.01)}), (True, {"a": 16.0})):
        # The restart draws z = 0, the start itself, then z = 3.
        run = play(CFO(LINE, {"a": 2.0}, delta_init=0.01, redraw=redraw), [1], [0], [3])
        run.tell(1.0, 1.1, 1.2)

        assert run.config == pytest.approx(asked)


# --- integers, repeats, exhaustion ------------------------------------------------------------


def test_integers_are_rounded_and_the_state_snaps_to_them(play) -> None:
    run = play(CFO(Space([Int("k", 1, 100)]), {"k": 10}, delta_init=0.5), [1])

    run.tell(1.0)
    assert run.config == {"k": 14}  # 10·√2 = 14.14
    run.tell(0.5)
    assert run.thread.x.vector == [math.log2(14)]
    assert run.config == {"k": 20}  # 14·√2 = 19.8


def test_integers_stop_at_both_bounds(play) -> None:
    run = play(CFO(Space([Int("k", 3, 20)]), {"k": 10}, delta_init=4.0), [1])

    run.tell(1.0)
    assert run.config == {"k": 20}  # 10·16
    run.tell(2.0)
    assert run.config == {"k": 3}  # 10/16
    run.tell(0.5)
    assert run.thread.x.vector == [math.log2(3)]


def test_a_configuration_met_again_is_answered_from_the_cache_and_counts_as_an_iteration(play) -> None:
    # d = 1, N = 1: iteration 1 has the same u and δ (η = 1) and meets 16 and 1/16 again.
    run = play(CFO(LINE, {"a": 1.0}, delta_init=4.0), [1])

    run.tell(1.0, 1.1, 1.2)

    assert run.trials == 4
    assert run.thread.k == 2
    # η = 2/max(0, 1), so that iteration 2 takes δ = 4/√2
    assert run.config == pytest.approx({"a": 2 ** (4 / math.sqrt(2))})


def test_a_failed_configuration_that_is_met_again_is_still_a_failure(play) -> None:
    run = play(CFO(LINE, {"a": 1.0}, delta_init=4.0, n_threshold=9), [1], [1], [0.5], [-2])

    run.tell(math.inf, math.inf, math.inf)  # iterations 1 to 3 meet the same two points again
    assert run.thread.x.vector == [0.0]


def test_ten_times_n_repeats_in_a_row_restart_the_search(play) -> None:
    # N = 2. From 1 the step of 1000 meets 3 and 1 only, and is far from δ_lower = log2(1 + 1/1) for long:
    # 1 repeat in iteration 0, two in each after it, 21 ≥ 20 at the end of iteration 10.
    method = CFO(
        Space([Int("k", 1, 3)]), {"k": 1}, delta_init=1000.0, n_threshold=2, delta_lower="unit_consistent"
    )
    run = play(method, *[[9]] * 11, [0.9], [9])  # 11 directions, then z: 2^0.9 = 1.87, rounded to 2

    run.tell(1.0, 2.0)

    assert (run.thread.asking, run.config, run.trials) == ("RESET", {"k": 2}, 3)
    assert (run.thread.r, run.thread.delta, run.thread.n) == (1, 1001.0, 0)


def test_ten_times_n_repeats_restart_the_search_even_when_delta_shrinks_at_the_same_time(play) -> None:
    # N = 1: δ shrinks in each iteration. 1 repeat in iteration 0, two in each after it: 11 ≥ 10 after five,
    # with δ = 1000/√6!, far above δ_lower.
    run = play(CFO(Space([Int("k", 1, 3)]), {"k": 1}, delta_init=1000.0), *[[9]] * 6, [0.9], [9])
    run.thread.settings = replace(run.thread.settings, delta_lower="unit_consistent")

    run.tell(1.0, 2.0)

    assert (run.thread.asking, run.config, run.trials, run.thread.r) == ("RESET", {"k": 2}, 3, 1)


TINY = [
    Space([Int("k", 1, 3)]),
    Space([Int("k", 0, 2)]),
    Space([Int("k", 1, 2), Int("m", 1, 2)]),
    Space([Categorical("c", ["x", "y"]), Int("k", 1, 2)]),
]


@pytest.mark.parametrize("space", TINY, ids=str)
def test_a_tiny_space_is_evaluated_once_each_and_then_exhausted(space: Space) -> None:
    values = [list(p.choices) if isinstance(p, Categorical) else range(p.low, p.high + 1) for p in space]
    everything = [dict(zip([p.name for p in space], row, strict=True)) for row in itertools.product(*values)]
    for seed in range(10):
        method = CFO(space, everything[0], seed, redraw=True)

        asked = configurations(method, lambda config: -everything.index(config))

        assert len(asked) == len(everything)
        assert all(config in asked for config in everything)
        with pytest.raises(Exhausted, match="three restarts"):
            method.ask()


def test_three_restarts_without_a_new_configuration_are_the_end() -> None:
    method = CFO(Space([Int("k", 1, 2)]), {"k": 1})

    assert configurations(method) == [{"k": 1}, {"k": 2}]  # both in the first round

    assert method.threads[0].r == 3


def test_only_restarts_in_a_row_without_a_new_configuration_are_the_end() -> None:
    interrupted = 0
    for seed in range(20):
        method, rounds = CFO(Space([Int("k", 1, 40)]), {"k": 1}, seed), [0]
        while trials := configurations(method, lambda config: config["k"], n=1):
            rounds += [method.threads[0].r] * len(trials)
        barren = [later - earlier - 1 for earlier, later in itertools.pairwise(rounds) if later > earlier]
        assert all(n_rounds < 3 for n_rounds in barren)
        assert method.threads[0].r - rounds[-1] == 3
        interrupted += sum(barren) > 0
    assert interrupted > 0  # else the test could not fail


@pytest.mark.parametrize("seed", range(5))
def test_no_configuration_is_ever_evaluated_twice(seed: int) -> None:
    space = Space([Int("i", 1, 12), Int("j", 0, 12), Categorical("c", "xyz")])

    asked = configurations(CFO(space, {"i": 1, "j": 0, "c": "x"}, seed), lambda c: (c["i"] - 5) ** 2 + c["j"])

    assert len(asked) > 100
    assert len({tuple(config.values()) for config in asked}) == len(asked)


def test_with_every_dimension_fixed_only_the_start_is_evaluated() -> None:
    space = Space([Int("k", 3, 3), Float("x", 0.5, 0.5), Categorical("c", ["only"])])
    start = {"k": 3, "x": 0.5, "c": "only"}
    method = CFO(space, start)

    assert configurations(method) == [start]
    for _ in range(2):
        with pytest.raises(Exhausted, match="single value"):
            method.ask()


def test_a_fixed_dimension_is_left_out_of_d_and_kept_in_place(play) -> None:
    space = Space([Float("a", 2.0**-10, 2.0**10), Int("fixed", 7, 7), Float("b", 2.0**-10, 2.0**10)])
    run = play(CFO(space, {"a": 1.0, "fixed": 7, "b": 1.0}), [1, 1])

    run.tell(1.0)

    assert list(run.config.items()) == [("a", pytest.approx(2.0)), ("fixed", 7), ("b", pytest.approx(2.0))]
    assert run.thread.delta == math.sqrt(2)


# --- linear and categorical dimensions --------------------------------------------------------


def test_without_a_linear_span_a_range_that_touches_zero_is_searched_as_it_is(play) -> None:
    space = Space([Float("a", 0.0, 100.0), Float("b", -50.0, -1.0)])
    run = play(CFO(space, {"a": 10.0, "b": -20.0}, delta_init=5.0, linear_span=None), [3, 4])

    run.tell(1.0)

    assert run.config == pytest.approx({"a": 13.0, "b": -16.0})


def test_a_linear_range_has_the_length_10(play) -> None:
    # 100 in the length 10: a unit of the vector is worth 10. The logarithmic dimension is as ever.
    space = Space([Float("a", 0.0, 100.0), Float("b", 1.0, 1024.0)])
    run = play(CFO(space, {"a": 50.0, "b": 1.0}, delta_init=5.0), [3, 4])

    run.tell(1.0)

    assert run.config == pytest.approx({"a": 80.0, "b": 16.0})


def test_a_choice_is_drawn_among_the_others_when_its_index_moves(play) -> None:
    # From index 0, u = 1 and δ = 2: index 2. Of the others, b c d, number 2 is drawn: d.
    run = play(CFO(Space([Categorical("c", "abcd")]), {"c": "a"}, delta_init=2.0), [1], integers=[2, 1])

    run.tell(1.0)
    assert run.config == {"c": "d"}

    run.tell(0.5)
    # Index 2 stands for d now. Plus is index 4, clipped to 3; of the others, a b c, number 1 is drawn: b.
    assert (run.thread.x.vector, run.thread.x.values) == ([2.0], ("d",))
    assert run.config == {"c": "b"}


def test_ordered_choices_keep_their_order(play) -> None:
    space = Space([Categorical("c", ["s", "m", "l", "xl"], ordered=True)])
    run = play(CFO(space, {"c": "s"}, delta_init=2.0), [1])

    run.tell(1.0)

    assert run.config == {"c": "l"}


# --- several threads --------------------------------------------------------------------------


def test_asked_again_before_a_tell_it_gives_the_same_trial() -> None:
    method = CFO(PLANE, ORIGIN)

    for _ in range(5):
        trial = method.ask()
        assert method.ask() is trial
        method.tell(trial, Result.ok(1.0))


def test_every_worker_has_a_trial_of_its_own_from_another_start() -> None:
    method = CFO(PLANE, ORIGIN, seed=3, parallel=4)

    trials = [method.ask() for _ in range(4)]

    assert trials[0].config == ORIGIN
    assert [trial.thread for trial in trials] == [0, 1, 2, 3]
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert len({tuple(trial.config.values()) for trial in trials}) == 4


def test_every_worker_draws_from_a_generator_of_its_own() -> None:
    threads = CFO(PLANE, ORIGIN, seed=3, parallel=3).threads

    for i in (1, 2):
        drawn = np.random.default_rng([3, i]).standard_normal(2).tolist()
        assert threads[i].x.vector == pytest.approx(drawn)


def test_the_best_is_the_first_of_equals(play) -> None:
    run = play(CFO(PLANE, ORIGIN, delta_init=5.0), [3, 4])

    run.tell(1.0, 1.0, 1.0)

    assert run.method.best == (ORIGIN, 1.0)


def test_the_starts_differ_even_where_rounding_makes_them_few() -> None:
    for seed in range(20):
        method = CFO(Space([Int("k", 1, 3)]), {"k": 1}, seed, parallel=3)

        assert sorted(method.ask().config["k"] for _ in range(3)) == [1, 2, 3]


def test_a_told_worker_is_the_next_to_be_asked() -> None:
    method = CFO(PLANE, ORIGIN, parallel=3)
    trials = [method.ask() for _ in range(3)]

    method.tell(trials[1], Result.ok(1.0))

    assert (method.ask().thread, method.ask().number) == (1, 0)


def test_the_first_thread_asks_what_a_lone_search_would() -> None:
    def loss(config: dict) -> float:
        return abs(math.log2(config["a"]) - 2) + abs(math.log2(config["b"]) + 3)

    alone = configurations(CFO(PLANE, ORIGIN, seed=5), loss, n=100)
    method = CFO(PLANE, ORIGIN, seed=5, parallel=3)
    first_thread = []
    while len(first_thread) < 100:
        for trial in [method.ask() for _ in range(3)]:
            if trial.thread == 0:
                first_thread.append(trial.config)
            method.tell(trial, Result.ok(loss(trial.config)))

    assert first_thread == alone


# --- the mode, and the best -------------------------------------------------------------------


def test_the_tuned_mode_is_a_method_of_its_own() -> None:
    with pytest.raises(OptionError, match="cfo-tuned"):
        CFO(PLANE, ORIGIN, mode="tuned")


def test_cfo_finds_the_bottom_of_a_bowl() -> None:
    method = CFO(PLANE, {"a": 2.0**-8, "b": 2.0**-8}, seed=1)

    configurations(method, lambda c: (math.log2(c["a"]) - 3) ** 2 + (math.log2(c["b"]) + 1) ** 2, n=300)

    config, loss = method.best
    assert loss < 0.01
    assert config == pytest.approx({"a": 8.0, "b": 0.5}, rel=0.1)


# --- what it costs ----------------------------------------------------------------------------


def quickest_block(method: CFO, blocks: int) -> float:
    """Seconds of the quickest 200 trials out of so many blocks: what the machine's neighbours leave alone."""
    seconds = []
    for _ in range(blocks):
        began = time.process_time()
        configurations(method, lambda c: c["a"] + c["b"], n=200)
        seconds.append(time.process_time() - began)
    return min(seconds)


def test_the_twenty_thousandth_trial_costs_what_the_first_did() -> None:
    method = CFO(PLANE, ORIGIN)

    early = quickest_block(method, 10)
    configurations(method, lambda c: c["a"] + c["b"], n=16_000)
    late = quickest_block(method, 10)

    assert late < 3 * early


def test_nothing_grows_with_the_trials_but_the_cache() -> None:
    method = CFO(PLANE, ORIGIN)

    def held_after(trials: int) -> int:
        for _ in range(trials // 1000):
            configurations(method, lambda c: c["a"] + c["b"], n=1000)
        method.threads[0].cache.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = held_after(1000)  # what Python itself sets up once is in here
        grown = held_after(4000) - before
    finally:
        tracemalloc.stop()

    assert grown / 4000 < 10  # bytes a trial
