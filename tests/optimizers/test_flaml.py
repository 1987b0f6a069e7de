from __future__ import annotations

import pytest

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.optimizers.flaml import BlendSearch, FlamlCFO
from cfo_bench.records import Result
from cfo_bench.space import Float, Int, Space

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

    assert seen == {1, 2, 3}


@pytest.mark.parametrize("peer", [FlamlCFO, BlendSearch])
def test_flaml_is_told_of_the_cost_related_values_alone(peer: type[FlamlCFO]) -> None:
    method = peer(SPACE, START, cost_related=["trees"])

    assert method.ask().config == START
    assert method._searcher._ls.init_config == {"trees": 4}


def test_a_cost_related_name_that_is_not_in_the_space_is_refused() -> None:
    with pytest.raises(OptionError, match=r"cost_related \['leaves'\].*trees, share"):
        FlamlCFO(SPACE, START, cost_related=["leaves"])
