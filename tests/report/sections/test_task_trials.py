"""The trials that the page draws: which runs, which trials, and what is marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cfo_bench import Suite, run_suite
from cfo_bench.report.build import Request, build
from cfo_bench.report.rendering.trial_plots import MAX_TRIALS
from tests.conftest import WriteRun


def numbers(tmp_path: Path, index: int = 0, *, learner: str = "xgboost", **request: Any) -> dict[str, Any]:
    """The numbers of a task's plots, as the page loads them."""
    build(Request(tmp_path / "results", tmp_path / "out", formats=("html", "csv"), **request))
    script = (tmp_path / "out" / learner / "trials" / f"{index:03d}.js").read_text()
    file, task = json.loads("[" + script.strip().removeprefix("cfoNumbers(").removesuffix(");") + "]")
    assert file == f"{learner}/trials/{index:03d}.js"
    return dict(task)


def test_a_task_has_the_trials_of_the_first_fold_that_its_methods_share(
    write_run: WriteRun, tmp_path: Path
) -> None:
    trials = [(1.0, 0.45, 0.5), (3.0, 0.48, 1.0), (9.0, 0.2, 4.0), (12.0, None, 1.0)]
    for fold in (0, 1):
        write_run("car", "rs", fold, trials)
    write_run("car", "cfo", 1, trials)

    task = numbers(tmp_path)

    assert (task["name"], task["run"]) == ("car", "fold 1")
    methods = {method["name"]: method for method in task["methods"]}
    assert set(methods) == {"cfo", "rs"}
    # Number, loss, cost, whether it was an incumbent; the failed trial has no loss.
    assert [row[:4] for row in methods["cfo"]["trials"]] == [
        [0, 0.45, 0.5, 1],
        [1, 0.48, 1, 0],
        [2, 0.2, 4, 1],
    ]
    assert methods["cfo"]["all"] == 4


def test_hyperparameters_have_their_bounds_and_the_cost_related_ones_a_mark(
    tmp_path: Path,
) -> None:
    run_suite(
        Suite(
            learners=["synthetic"],
            tasks=["synthetic-1k"],
            methods=["rs"],
            folds="0",
            budget_seconds=20,
            max_trials=3,
            clock="virtual",
            results=tmp_path / "results",
        )
    )
    params = {param["name"]: param for param in numbers(tmp_path, learner="synthetic")["params"]}
    trees = params["n_estimators"]
    assert (trees["low"], trees["log"], trees["isCostRelated"]) == (4, True, True)
    assert not params["learning_rate"]["isCostRelated"]


def test_without_a_search_space_the_bounds_are_those_of_the_trials(
    write_run: WriteRun, tmp_path: Path
) -> None:
    write_run("car", "cfo", 0, [(1.0, 0.4, 0.5), (2.0, 0.3, 0.5)])
    trees, leaves = numbers(tmp_path)["params"]
    assert (trees["name"], trees["low"], trees["high"]) == ("n_estimators", 4, 8)
    assert trees["isCostRelated"] and leaves["isCostRelated"]


def test_of_many_trials_a_sample_and_every_incumbent_are_drawn(write_run: WriteRun, tmp_path: Path) -> None:
    n = MAX_TRIALS + 500
    incumbents = {0, 777, 1333, n - 2}
    losses = [0.4 - 0.01 * sum(at <= number for at in incumbents) for number in range(n)]
    trials = [(0.01 * (number + 1), loss, 0.005) for number, loss in enumerate(losses)]
    write_run("car", "cfo", 0, trials)

    [method] = numbers(tmp_path)["methods"]

    assert len(method["trials"]) <= MAX_TRIALS + len(incumbents)
    assert {row[0] for row in method["trials"] if row[3]} == incumbents
    assert method["all"] == n


def test_a_loss_above_the_constant_one_keeps_its_value_and_has_the_height_of_that(
    write_run: WriteRun, tmp_path: Path
) -> None:
    write_run("car", "cfo", 0, [(1.0, 7.5, 0.5), (2.0, 0.3, 0.5)], constant_loss=0.5)
    task = numbers(tmp_path)
    assert [row[1] for row in task["methods"][0]["trials"]] == [7.5, 0.3]
    assert (task["highest"], task["log"]) == (0.5, False)


def test_a_shorter_budget_leaves_the_later_trials_out(write_run: WriteRun, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        write_run("car", method, 0, [(1.0, 0.4, 0.5), (50.0, 0.3, 0.5)])
    task = numbers(tmp_path, budget_seconds=10.0)
    assert [[row[0] for row in method["trials"]] for method in task["methods"]] == [[0], [0]]


def test_a_task_without_any_loss_has_no_trial_to_draw(write_run: WriteRun, tmp_path: Path) -> None:
    write_run("car", "cfo", 0, [(1.0, 0.4, 0.5)])
    write_run("wine", "cfo", 0, [(1.0, None, 0.5)])
    assert [method["trials"] for method in numbers(tmp_path, 1)["methods"]] == [[]]
