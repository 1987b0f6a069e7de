from __future__ import annotations

import math
from typing import Any

import pytest

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.learners.xgboost import COST_RELATED, boosting_space, boosting_start
from cfo_bench.optimizers.flaml import BlendSearch, FlamlCFO
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Config, Float, Int, Space

pytest.importorskip("flaml")

SPACE = Space([Int("trees", 4, 4096, log=True), Float("share", 0.6, 1.0)])
START = {"trees": 4, "share": 1.0}


@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_the_start_begins_a_local_search(peer: type[FlamlCFO]) -> None:
    method = peer(SPACE, START)

    method.tell(method.ask(), Result.ok(0.7, 0.5))

    [local] = [thread for number, thread in method._searcher._search_thread_pool.items() if number]
    assert (local.obj_best1, local.cost_best) == (0.7, 0.5)
    assert local._search_alg.best_config == START


@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_it_searches_from_the_start_on(peer: type[FlamlCFO]) -> None:
    method = peer(SPACE, START, 1)
    best = 1.0
    for _ in range(60):
        trial = method.ask()
        loss = abs(trial.config["share"] - 0.8) + abs(trial.config["trees"] / 64 - 1) / 100
        best = min(best, loss)
        method.tell(trial, Result.ok(loss, trial.config["trees"] / 1000))

    assert best < 0.05


@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_the_upper_bound_of_an_integer_can_be_chosen(peer: type[FlamlCFO]) -> None:
    """FLAML's own ranges of integers end before their upper bound."""
    method, most = peer(SPACE, START), 0
    for _ in range(60):
        trial = method.ask()
        most = max(most, trial.config["trees"])
        method.tell(trial, Result.ok(-math.log(trial.config["trees"])))

    assert most == 4096


@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_a_space_with_nothing_new_left_is_exhausted(peer: type[FlamlCFO]) -> None:
    method = peer(Space([Int("k", 1, 3)]), {"k": 1})
    seen = set()

    def exhaust() -> None:
        for _ in range(50):
            trial = method.ask()
            seen.add(trial.config["k"])
            method.tell(trial, Result.ok(1 / trial.config["k"], 0.01))

    with pytest.raises(Exhausted, match="nothing new 100 times"):
        exhaust()

    assert {1, 2} <= seen <= {1, 2, 3}  # FLAML may give up before it has tried all


@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_flaml_is_told_of_the_cost_related_values_alone(peer: type[FlamlCFO]) -> None:
    method = peer(SPACE, START, cost_related=["trees"])

    assert method.ask().config == START
    assert method._searcher._ls.init_config == {"trees": 4}


def test_a_cost_related_name_that_is_not_in_the_space_is_refused() -> None:
    with pytest.raises(OptionError, match=r"cost_related \['leaves'\].*trees, share"):
        FlamlCFO(SPACE, START, cost_related=["leaves"])


# --- as FLAML's users run it ----------------------------------------------------------------------

MIXED = Space(
    [
        Int("trees", 4, 4096, log=True),
        Float("rate", 0.01, 1.0, log=True),
        Float("share", 0.1, 1.0),
        Categorical("kind", ("a", "b", "c")),
        Categorical("size", (1, 2, 8, 32), ordered=True),
    ]
)
MIXED_START = {"trees": 4, "rate": 0.1, "share": 1.0, "kind": "a", "size": 1}


def rugged_loss(config: Config) -> float:
    """It has many valleys, so that two searches that differ once part for good."""
    numbers = [math.log(v + 1) if isinstance(v, int | float) else ord(v) for v in config.values()]
    return sum(math.sin(3 * x) / 4 + (x - 2) ** 2 / 50 for x in numbers)


def seconds_of(config: Config, cost_related: list[str]) -> float:
    return math.prod(1 + config[name] / 10 for name in cost_related) / 1000


def by_tune_run(
    searcher: str, space: Space, start: Config, cost_related: list[str], seed: int, **options: Any
) -> list[Config]:
    """The configurations of 120 trials of FLAML itself. It gets choices as indices, and their order."""
    from flaml import tune
    from flaml.tune.searcher import blendsearch

    choices = {param.name: param.choices for param in space if isinstance(param, Categorical)}
    domains = {}
    for param in space:
        if isinstance(param, Categorical):
            domains[param.name] = tune.choice(range(len(param.choices)))
            domains[param.name].ordered = param.ordered
        elif isinstance(param, Int):
            domains[param.name] = tune.lograndint(param.low, param.high + 1)
        else:
            domains[param.name] = (tune.loguniform if param.log else tune.uniform)(param.low, param.high)
    first = {name: choices[name].index(v) if name in choices else v for name, v in start.items()}
    evaluated: list[Config] = []

    def evaluate(values: Config) -> dict[str, float]:
        config = {name: choices[name][v] if name in choices else v for name, v in values.items()}
        evaluated.append({name: config[name] for name in start})
        return {"loss": rugged_loss(config), "seconds": seconds_of(config, cost_related)}

    search = getattr(blendsearch, searcher)(
        metric="loss",
        mode="min",
        space=domains,
        points_to_evaluate=[first],
        low_cost_partial_config={name: first[name] for name in cost_related},
        seed=seed,
        cost_attr="seconds",
        **options,
    )
    tune.run(evaluate, search_alg=search, num_samples=120, verbose=0)
    return evaluated


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("costs", [None, {"kind": [1, 5, 2]}], ids=["", "with costs of choices"])
@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_on_a_mixed_space_it_evaluates_what_flaml_does(peer: type[FlamlCFO], costs: dict | None) -> None:
    assert_same_as_tune_run(peer, MIXED, MIXED_START, ["trees", "size"], 1, cat_hp_cost=costs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_on_the_space_of_xgboost_it_evaluates_what_flaml_does(peer: type[FlamlCFO]) -> None:
    assert_same_as_tune_run(peer, boosting_space(5000), boosting_start(), [*COST_RELATED], 0)


def assert_same_as_tune_run(
    peer: type[FlamlCFO], space: Space, start: Config, cost_related: list[str], seed: int, **options: Any
) -> None:
    method, asked = peer(space, start, seed, cost_related=cost_related, **options), []
    for _ in range(120):
        trial = method.ask()
        asked.append(trial.config)
        method.tell(trial, Result.ok(rugged_loss(trial.config), seconds_of(trial.config, cost_related)))

    assert asked == by_tune_run(peer.searcher, space, start, cost_related, seed, **options)


def test_costs_of_choices_are_checked() -> None:
    for costs in ({"trees": [1, 2]}, {"kind": [1, 2]}, {"kind": [1, 2, -1]}, {"kind": 3}):
        with pytest.raises(OptionError, match=r"cat_hp_cost .*above 0 for each choice .*\(kind, size\)"):
            FlamlCFO(MIXED, MIXED_START, cat_hp_cost=costs)
