"""Time and memory of CFO's ask and tell, and the time of FLAML's CFO and of random search, with nine
hyperparameters.

Blocks of trials of the methods take turns, so that a busy neighbour slows all of them alike and
the ratio stands. Needs the extra `baselines` for FLAML; without it, the other rows are printed.
"""

from __future__ import annotations

import gc
import importlib.util
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.figures import figure
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.optimizers.baselines import RandomSearch
from cfo_bench.optimizers.cfo import CFO
from cfo_bench.records import Optimizer, Result
from cfo_bench.space import Categorical, Config, Int

SPACE, START = boosting_space(50_000), boosting_start()
BLOCK, FLAML_BLOCK = 500, 100
LARGEST_MICROSECONDS, SMALLEST_RATIO = 40.0, 5.0

Block = Callable[[], float]


def loss(config: Config) -> float:
    """Cheap, and different for different configurations."""
    return abs(math.log2(config["learning_rate"]) + 3) + abs(math.log2(config["n_estimators"]) - 6)


def ours(method: Optimizer, n: int = BLOCK) -> Block:
    """Microseconds per ask + tell over the next n trials; the loss is worked out beside the clock."""

    def block() -> float:
        spent = 0.0
        for _ in range(n):
            began = time.perf_counter()
            trial = method.ask()
            asked = time.perf_counter()
            result = Result.ok(loss(trial.config))
            telling = time.perf_counter()
            method.tell(trial, result)
            spent += asked - began + time.perf_counter() - telling
        return spent / n * 1e6

    return block


def flamls() -> Block:
    """The same loop over FLAML's CFO, told the time as it wants to be."""
    import flaml
    from flaml import tune

    space = {}
    for param in SPACE:
        assert not isinstance(param, Categorical)
        if isinstance(param, Int):
            space[param.name] = tune.lograndint(param.low, param.high + 1)
        else:
            space[param.name] = (tune.loguniform if param.log else tune.uniform)(param.low, param.high)
    searcher = flaml.CFO(
        metric="loss",
        mode="min",
        space=space,
        points_to_evaluate=[START],
        low_cost_partial_config={"n_estimators": START["n_estimators"], "max_leaves": START["max_leaves"]},
        seed=0,
    )
    searcher.set_search_properties(config={"time_budget_s": 1e9})
    asked = 0

    def block() -> float:
        nonlocal asked
        spent, told = 0.0, 0
        while told < FLAML_BLOCK:
            began = time.perf_counter()
            config = searcher.suggest(str(asked))
            spent += time.perf_counter() - began
            asked += 1
            if config is None:  # a duplicate: ask again
                continue
            result = {"loss": loss(config), "time_total_s": 0.01, "config": config}
            began = time.perf_counter()
            searcher.on_trial_complete(str(asked - 1), result)
            spent += time.perf_counter() - began
            told += 1
        return spent / told * 1e6

    return block


def compare() -> dict[str, float]:
    """The median of each method's blocks, taken in turns."""
    blocks = {"cfo": ours(CFO(SPACE, START)), "rs": ours(RandomSearch(SPACE, START))}
    if importlib.util.find_spec("flaml"):
        blocks["flaml's cfo"] = flamls()
    times: dict[str, list[float]] = {name: [] for name in blocks}
    for _ in range(20):
        for name, block in blocks.items():
            times[name].append(block())
    return {name: statistics.median(values) for name, values in times.items()}


def growth() -> dict[int, float]:
    """Microseconds per ask + tell of one search after so many trials: flat, or something grows with them."""
    method = CFO(SPACE, START)
    found, done = {}, 0
    for trials in (1_000, 10_000, 100_000):
        ours(method, trials - done)()
        done = trials
        grown = ours(method)
        found[trials] = statistics.median(grown() for _ in range(15))
        done += 15 * BLOCK
    return found


def memory() -> tuple[float, float]:
    """Bytes that a trial leaves behind: all of them, and without the entries of the cache."""
    method = CFO(SPACE, START)
    ours(method, 2_000)()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    ours(method, 10_000)()
    gc.collect()
    whole = tracemalloc.get_traced_memory()[0] - before
    method.threads[0].cache.clear()
    gc.collect()
    rest = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return whole / 10_000, rest / 10_000


def per_call(call: Callable[[], object], n: int = 2_000) -> float:
    def once() -> float:
        began = time.perf_counter()
        for _ in range(n):
            call()
        return (time.perf_counter() - began) / n * 1e6

    return statistics.median(once() for _ in range(7))


def main() -> int:
    medians = compare()
    for name, microseconds in medians.items():
        figure(f"ask + tell of {name}", microseconds, "µs")
    good = True
    if "flaml's cfo" in medians:
        good = figure(
            "time of flaml's cfo / time of cfo",
            medians["flaml's cfo"] / medians["cfo"],
            at_least=SMALLEST_RATIO,
        )
    for trials, microseconds in growth().items():
        name = f"ask + tell of cfo after {trials:,} trials"
        good &= figure(name, microseconds, "µs", at_most=LARGEST_MICROSECONDS)

    whole, rest = memory()
    figure("memory of cfo per 10,000 trials", whole * 10_000 / 2**20, "MB")
    figure("memory of cfo per 10,000 trials, without its cache", rest * 10_000 / 2**20, "MB")

    rng = np.random.default_rng(0)
    config = SPACE.sample(rng)
    figure("Space.check", per_call(lambda: SPACE.check(config)), "µs")
    figure("Space.sample", per_call(lambda: SPACE.sample(rng)), "µs")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
