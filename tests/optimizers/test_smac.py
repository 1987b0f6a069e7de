from __future__ import annotations

import pytest

from cfo_bench.optimizers.smac import SMAC
from cfo_bench.records import Result, Status
from cfo_bench.space import Float, Int, Space

pytest.importorskip("smac")

SPACE = Space(
    [Int("trees", 4, 4096, log=True), Float("rate", 0.001, 1.0, log=True), Float("share", 0.6, 1.0)]
)
START = {"trees": 4, "rate": 0.5, "share": 1.0}
QUICK = {"n_initial": 3, "retrain_after": 2, "challengers": 20, "local_search_iterations": 1, "n_trees": 2}


def history(method: SMAC) -> list[tuple[str, float]]:
    return [(value.status.name, value.cost) for value in method._facade.runhistory.values()]


def test_it_draws_on_the_scale_that_is_declared() -> None:
    space = SMAC(SPACE, START, **QUICK)._space

    assert {name: parameter.log for name, parameter in space.items()} == {
        "trees": True,
        "rate": True,
        "share": False,
    }


def test_the_start_is_told_and_sobol_points_follow() -> None:
    method = SMAC(SPACE, START, **QUICK)

    trials = []
    for loss in (0.5, 0.4, 0.3, 0.2, 0.1):
        trials.append(method.ask())
        method.tell(trials[-1], Result.ok(loss))

    configs = method._facade.runhistory.get_configs()
    assert dict(configs[0]) == START
    origins = [config.origin for config in configs[1:]]
    assert all("Sobol" in origin for origin in origins[:3])
    assert "Acquisition" in origins[3] or "Random" in origins[3]


def test_a_failed_trial_is_a_crash_as_bad_as_the_worst() -> None:
    method = SMAC(SPACE, START, **QUICK)

    for result in (Result.ok(0.5), Result(Status.TIMEOUT, None, 3.0), Result(Status.MEMORY), Result.ok(0.7)):
        method.tell(method.ask(), result)

    assert history(method) == [("SUCCESS", 0.5), ("CRASHED", 0.5), ("MEMORYOUT", 0.5), ("SUCCESS", 0.7)]


def test_the_forest_takes_one_thread_and_sets_no_memory_aside() -> None:
    method = SMAC(SPACE, START, **QUICK)

    for i in range(8):
        method.tell(method.ask(), Result.ok(1 / (i + 1)))

    forest = method._model._rf
    assert forest.n_jobs == 1
    assert forest.max_leaf_nodes < 10  # scikit-learn sets memory for as many aside; smac's default is 2**20


def test_the_bound_on_leaves_changes_no_suggestion() -> None:
    class WithSmacsBound(SMAC):
        def most_leaves(self) -> int:
            return 2**20

    methods = [kind(SPACE, START, 1, **QUICK) for kind in (SMAC, WithSmacsBound)]

    for _ in range(8):
        ours, theirs = (method.ask() for method in methods)
        assert ours.config == theirs.config
        for method in methods:
            method.tell(ours, Result.ok(abs(ours.config["share"] - 0.8)))

    leaves = [method._model._rf.max_leaf_nodes for method in methods]
    assert leaves[0] <= 8 and leaves[1] == 2**20
