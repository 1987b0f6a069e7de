"""The search with a model that chooses among its steps. Vectors are log2 of the values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.errors import Exhausted, OptionError, TraceError
from cfo_bench.learners.synthetic import BOOSTING, SyntheticObjective
from cfo_bench.learners.xgboost import XGBoost, boosting_space, boosting_start
from cfo_bench.optimizers.cfo import CFO
from cfo_bench.optimizers.cfo_tuned import CFOTuned, model_seconds
from cfo_bench.optimizers.geometry import LINEAR_SPAN, Geometry
from cfo_bench.optimizers.tuned_model import MOST_RESULTS, History
from cfo_bench.records import Optimizer, Result, RunSpec, Status
from cfo_bench.results.comparability import check_resumable
from cfo_bench.space import Categorical, Config, Float, Int, Space
from tests.helpers.traces import header_of

PLANE = Space([Float("a", 2.0**-10, 2.0**10), Float("b", 2.0**-10, 2.0**10)])
ORIGIN = {"a": 1.0, "b": 1.0}


def bowl(config: Config) -> float:
    return sum((math.log2(value) - 3) ** 2 for value in config.values())


def asked(method: CFOTuned, loss: Any, n: int, seconds: float = 1.0) -> list[str]:
    """What the search was asking with each of n trials: RANKED is the model's choice."""
    steps = []
    for _ in range(n):
        trial = method.ask()
        steps.append(method.threads[trial.thread].asking)
        method.tell(trial, Result.ok(loss(trial.config), seconds))
    return steps


# --- the first steps, by hand -----------------------------------------------------------------


def test_before_the_model_speaks_the_steps_are_cfos(play) -> None:
    run = play(CFOTuned(PLANE, ORIGIN), [1, 1], [3, 4], [-4, 3])  # no seconds are told: the model is silent

    run.tell(10.0)
    # √2 octaves along (1, 1)/√2
    assert run.config == pytest.approx({"a": 2.0, "b": 2.0})
    run.tell(9.0)
    # lower: from (1, 1) on, √2 along (3, 4)/5
    assert run.config == pytest.approx(
        {"a": 2 ** (1 + math.sqrt(2) * 0.6), "b": 2 ** (1 + math.sqrt(2) * 0.8)}
    )
    run.tell(9.0)
    # not lower: the opposite
    assert run.thread.asking == "MINUS"
    assert run.config == pytest.approx(
        {"a": 2 ** (1 - math.sqrt(2) * 0.6), "b": 2 ** (1 - math.sqrt(2) * 0.8)}
    )
    run.tell(9.5)
    assert (run.thread.n, run.thread.delta) == (1, 1.0)
    assert run.config == pytest.approx(
        {"a": 2 ** (1 - math.sqrt(2) * 0.8), "b": 2 ** (1 + math.sqrt(2) * 0.6)}
    )


def test_the_step_halves_after_two_d_iterations_without_improvement(play) -> None:
    run = play(CFOTuned(PLANE, ORIGIN), [1, 0])

    run.tell(1.0, *[2.0] * 2)
    # Iteration 1 failed on both sides. The same direction again is answered from memory: iterations 2 to 4
    # take no trial, and δ = 1/2 is the next that does.
    assert run.thread.delta == 0.5
    assert run.config == pytest.approx({"a": 2 ** (math.sqrt(2) / 2), "b": 1.0})


def test_a_round_that_ends_restarts_around_the_best_point(play) -> None:
    run = play(CFOTuned(PLANE, ORIGIN), [1, 0], [0, 1], *[[1, 1]] * 34, [0.5, -1.0], [1, 1])
    run.thread.delta = 0.002  # the next halving ends the round

    run.tell(1.0, *[2.0] * 4)  # both sides of [1, 0] and [0, 1]; then [1, 1] once more, and from memory
    run.tell(2.0, 2.0)

    while run.thread.asking != "RESET":
        run.tell(2.0)
    # A tenth of the range of 20 octaves times the draw, which is [1, 1] or [0.5, -1].
    move = [math.log2(value) for value in run.config.values()]
    assert move in ([pytest.approx(2.0)] * 2, [pytest.approx(1.0), pytest.approx(-2.0)])
    assert run.thread.delta == 1.0


# --- the climb, by hand -----------------------------------------------------------------------

# Cheap at the low end, at the high end, and not related to the cost.
SLOPE = Space([Int("trees", 4, 1024), Float("weight", 1.0, 64.0), Float("rate", 0.01, 1.0)])
FOOT = {"trees": 4, "weight": 64.0, "rate": 0.1}


class Slope:
    """Told one result after another: (loss, seconds)."""

    def __init__(self, **options: Any) -> None:
        self.method = CFOTuned(SLOPE, FOOT, cost_related=["trees", "weight"], **options)

    def tell(self, *results: tuple[float, float]) -> None:
        for loss, seconds in results:
            self.method.tell(self.method.ask(), Result.ok(loss, seconds))

    def asks(self) -> tuple[str, Config]:
        trial = self.method.ask()
        return self.method.threads[0].asking, trial.config


def test_the_climb_doubles_all_that_is_cost_related_away_from_its_cheap_end() -> None:
    slope = Slope()

    slope.tell((1.0, 1.0))
    assert slope.asks() == ("CLIMB", {"trees": 8, "weight": pytest.approx(32.0), "rate": 0.1})
    # Costs are equal so far: the next is expected to take 1 s, half of the 2 s that were spent.
    slope.tell((0.8, 1.0))
    assert slope.asks() == ("CLIMB", {"trees": 16, "weight": pytest.approx(16.0), "rate": 0.1})


def test_a_climb_waits_until_it_is_short_against_the_time_so_far() -> None:
    slope = Slope()

    slope.tell((1.0, 1.0), (0.8, 4.0))  # the next is expected to take about 10 s, of 5 s that were spent
    assert slope.asks()[0] == "PLUS"

    while slope.asks()[0] != "CLIMB":
        config = slope.asks()[1]
        slope.tell((2.0, config["trees"] / 4 * 64 / config["weight"]))
        assert slope.method.threads[0].history.spent_seconds < 200
    assert slope.asks()[1] == {"trees": 16, "weight": pytest.approx(16.0), "rate": 0.1}
    # It takes 16 s. The prediction is lower, since a few results show the slopes of the cost only in part.
    assert slope.method.threads[0].history.spent_seconds > 10


@pytest.mark.parametrize(
    ("loss", "goes_on"), [(0.65, True), (0.75, False), (0.8, False), (0.9, False), (math.nan, False)]
)
def test_the_climb_ends_with_a_gain_that_is_less_than_half_of_the_largest(loss: float, goes_on: bool) -> None:
    slope = Slope()

    slope.tell((1.0, 1.0), (0.8, 1.0))
    trial = slope.method.ask()
    has_failed = math.isnan(loss)
    slope.method.tell(trial, Result(Status.FAILED, None, 1.0) if has_failed else Result.ok(loss, 1.0))

    assert (slope.asks()[0] == "CLIMB") == goes_on
    # A gain that is too small for the climb to go on is still a gain.
    assert slope.method.threads[0].loss == min(0.8, loss)


def test_the_climb_ends_at_the_far_end_of_all_ranges() -> None:
    slope = Slope()

    steps = []
    for n in range(12):
        steps.append(slope.asks()[0])
        slope.tell((1.0 - 0.1 * n, 1.0))

    assert steps[1:9] == ["CLIMB"] * 8  # from 4 to 1024 trees
    assert "CLIMB" not in steps[9:]


def test_without_cost_related_hyperparameters_there_is_no_climb() -> None:
    assert "CLIMB" not in asked(CFOTuned(SLOPE, FOOT), lambda config: 1 / config["trees"], 20)


def test_a_choice_without_an_order_is_not_climbed() -> None:
    space = Space([Categorical("kernel", "abc"), Int("trees", 4, 1024)])
    method = CFOTuned(space, {"kernel": "a", "trees": 4}, cost_related=["kernel", "trees"])

    method.tell(method.ask(), Result.ok(1.0, 1.0))

    assert method.ask().config == {"kernel": "a", "trees": 8}


def test_a_cost_related_name_that_is_not_in_the_space_is_refused() -> None:
    with pytest.raises(OptionError, match=r"cost_related \['leaves'\]: .* trees, weight, rate"):
        CFOTuned(SLOPE, FOOT, cost_related=["leaves"])


# --- when the model speaks --------------------------------------------------------------------


def test_with_trials_of_seconds_the_model_chooses_from_the_fifth_trial_on() -> None:
    steps = asked(CFOTuned(PLANE, ORIGIN), bowl, 30)

    assert "RANKED" not in steps[:4]
    assert steps.count("RANKED") >= 24  # an iteration that was begun is ended first


def test_the_seconds_of_validation_count_like_those_of_training() -> None:
    method = CFOTuned(PLANE, ORIGIN)
    for _ in range(4):
        trial = method.ask()
        method.tell(trial, Result.ok(bowl(trial.config), 0.0, 1.0))

    method.ask()
    assert method.threads[0].asking == "RANKED"


def test_with_trials_of_a_millisecond_the_model_is_silent() -> None:
    steps = asked(CFOTuned(PLANE, ORIGIN), bowl, 30, seconds=1e-3)

    assert "RANKED" not in steps


def test_the_model_takes_no_more_than_its_share_of_the_trials_seconds() -> None:
    method = CFOTuned(PLANE, ORIGIN, overhead=0.1)

    steps = asked(method, bowl, 300, seconds=5e-3)

    price = sum(model_seconds(n, 2) for n, what in enumerate(steps) if what == "RANKED")
    assert 0.05 * 300 * 5e-3 < price <= 0.1 * 300 * 5e-3


def test_without_a_limit_the_model_speaks_though_no_seconds_are_told() -> None:
    assert "RANKED" in asked(CFOTuned(PLANE, ORIGIN, overhead=None), bowl, 30, seconds=0.0)


# --- what it finds ----------------------------------------------------------------------------


def synthetic(method: type[CFO] | type[CFOTuned], seed: int, budget: float = 300.0) -> tuple[float, float]:
    """The regret on the nine-dimensional formula, and the seconds of the most expensive trial."""
    space, start, clock = boosting_space(30_000), boosting_start(), VirtualClock()
    objective = SyntheticObjective(BOOSTING, space, start, 30_000, seed)
    related = {"cost_related": list(XGBoost.cost_related)} if method is CFOTuned else {}
    search: Optimizer = method(space, start, seed, **related)
    losses, most_expensive = [], 0.0
    while clock.now() < budget:
        trial = search.ask()
        result = objective.evaluate(trial, Deadline(clock, budget))
        clock.account(result.fit_seconds + result.validate_seconds)
        most_expensive = max(most_expensive, result.fit_seconds + result.validate_seconds)
        losses.append(result.value)
        search.tell(trial, result)
    return min(losses) - objective.best_loss, most_expensive


def test_it_ends_nearer_to_the_optimum_than_cfo() -> None:
    for seed in (0, 1):
        assert synthetic(CFOTuned, seed)[0] < 0.5 * synthetic(CFO, seed)[0]


def test_it_finds_the_bottom_of_a_bowl_in_few_trials() -> None:
    method = CFOTuned(PLANE, {"a": 2.0**-8, "b": 2.0**-8})

    asked(method, bowl, 60)

    assert method.best is not None
    assert method.best[1] < 0.05


def test_it_finds_the_one_good_choice_of_many() -> None:
    space = Space([Float("x", 0.01, 100.0), Categorical("c", "abcdefgh"), Categorical("d", (True, None))])

    def loss(config: Config) -> float:
        return abs(math.log2(config["x"])) + 3 * (config["c"] != "g") + (config["d"] is not None)

    method = CFOTuned(space, {"x": 50.0, "c": "a", "d": True})
    asked(method, loss, 120)

    assert method.best is not None
    assert method.best[0]["c"] == "g"
    assert method.best[0]["d"] is None


def test_a_hyperparameter_that_is_off_by_a_choice_does_no_harm() -> None:
    space = Space([Categorical("kind", ("tree", "line")), Int("leaves", 2, 200), Float("slope", 0.01, 100.0)])

    def loss(config: Config) -> float:
        if config["kind"] == "tree":
            return 1 + abs(math.log2(config["leaves"] / 20))
        return abs(math.log2(config["slope"]))

    method = CFOTuned(space, {"kind": "tree", "leaves": 2, "slope": 50.0})
    asked(method, loss, 100)

    assert method.best is not None
    assert method.best[1] < 0.1


def test_it_leaves_a_region_where_trials_fail() -> None:
    method = CFOTuned(PLANE, ORIGIN)
    for _ in range(80):
        trial = method.ask()
        has_failed = trial.config["a"] > 12.0
        result = Result(Status.FAILED, None, 1.0) if has_failed else Result.ok(bowl(trial.config), 1.0)
        method.tell(trial, result)

    assert method.best is not None
    assert method.best[1] < 0.3


# --- numbers that are difficult ---------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 50])
@pytest.mark.parametrize("is_constant", [False, True])
def test_any_number_of_dimensions(d: int, is_constant: bool) -> None:
    space = Space([Float(f"x{i}", 0.1, 10.0) for i in range(d)])
    method = CFOTuned(space, {f"x{i}": 1.0 for i in range(d)}, overhead=None)

    losses = lambda config: 0.5 if is_constant else bowl(config)  # noqa: E731
    steps = asked(method, losses, 2 * d + 20)

    assert "RANKED" in steps


def test_a_small_space_is_searched_to_its_end() -> None:
    space = Space([Categorical("c", "abc"), Categorical("o", (1, 2, 4), ordered=True), Int("i", 1, 3)])
    method = CFOTuned(space, {"c": "a", "o": 1, "i": 1}, overhead=None)
    trials = 0

    while trials < 28:
        try:
            trial = method.ask()
        except Exhausted:
            break
        method.tell(trial, Result.ok(0.5, 1.0))
        trials += 1

    assert 20 <= trials <= 27  # none twice


def test_ten_thousand_trials_are_remembered_and_few_of_them_modelled() -> None:
    method = CFOTuned(PLANE, ORIGIN)

    asked(method, bowl, 10_000, seconds=1e-3)

    history = method.threads[0].history
    assert len(history) == 10_000
    rows, losses = history.modelled()
    assert len(rows) == len(losses) == MOST_RESULTS
    assert method.best is not None
    assert min(losses) == method.best[1]


def test_the_predicted_seconds_are_those_of_a_product_of_powers() -> None:
    space, start = boosting_space(30_000), boosting_start()
    geometry = Geometry(space, "log2", LINEAR_SPAN)
    history, rng = History(geometry), np.random.default_rng(0)

    def seconds(config: Config) -> float:
        return 0.01 * (config["n_estimators"] / 4) * (config["max_leaves"] / 4) ** 0.5

    for config in [start, *(space.sample(rng) for _ in range(60))]:
        history.add(geometry.encode(config), 0.5, seconds(config))
    new = [space.sample(rng) for _ in range(20)]
    vectors = np.array([history.cube.vector(geometry.encode(config)) for config in new])

    predicted = history.seconds_at(history.cube.rows(vectors))

    np.testing.assert_allclose(predicted, [seconds(config) for config in new], rtol=0.15)


def test_a_trial_takes_a_small_part_of_the_time_so_far_or_a_few_times_the_incumbents() -> None:
    for seed in (0, 1):
        assert synthetic(CFOTuned, seed)[1] < 0.25 * 300.0


# --- several at once, and older runs ----------------------------------------------------------


def test_threads_learn_from_each_other_and_don_t_ask_the_same_at_once() -> None:
    method = CFOTuned(PLANE, {"a": 2.0**-8, "b": 2.0**-8}, parallel=3)
    for _ in range(15):
        trials = [method.ask() for _ in range(3)]
        assert len({tuple(trial.config.values()) for trial in trials}) == 3
        for trial in trials:
            method.tell(trial, Result.ok(bowl(trial.config), 1.0))

    assert len(method.threads[1].history) == 45
    assert method.threads[0].history is method.threads[2].history
    assert method.best is not None
    assert method.best[1] < 1.0


def test_a_trace_of_the_earlier_cfo_tuned_is_not_resumed_by_this_one() -> None:
    spec = {"learner": "xgboost", "task": "adult", "method": "cfo-tuned", "fold": 0}
    earlier = {"mode": "tuned", "n_threshold": "2d", "delta_lower": "unit_consistent", "redraw": True}

    with pytest.raises(TraceError, match=r"belongs to another run .*n_threshold '2d' there.*--force"):
        check_resumable(
            Path("old.jsonl"),
            header_of(RunSpec(**spec, options={**earlier, "parallel": 1})),
            RunSpec(**spec, options={"parallel": 1, "overhead": 0.03}),
        )
