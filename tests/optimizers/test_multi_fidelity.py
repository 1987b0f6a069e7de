"""dehb and smac-mf: the levels of rows, and the start on the lowest of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result, Status, Trial
from cfo_bench.space import Categorical, Float, Int, Space

SPACE = Space([Int("trees", 4, 4096, log=True), Float("share", 0.6, 1.0), Categorical("c", "abc")])
START = {"trees": 4, "share": 1.0, "c": "b"}
QUICK: dict[str, dict[str, Any]] = {
    "dehb": {},
    "smac-mf": {"challengers": 20, "local_search_iterations": 1, "n_trees": 2, "n_initial": 8},
}
BOTH = pytest.mark.parametrize("name", QUICK)


def loss(trial: Trial) -> float:
    return abs(trial.config["share"] - 0.8) + (0.0 if trial.rows is None else 1000 / trial.rows)


def trials(name: str, n: int, results: list[Result] | None = None, **options: Any) -> list[Trial]:
    pytest.importorskip(METHODS.row(name).needs[0])
    method = METHODS.load(name)(SPACE, START, 0, **{**QUICK[name], **options})
    asked = []
    for i in range(n):
        asked.append(method.ask())
        method.tell(asked[-1], results[i % len(results)] if results else Result.ok(loss(asked[-1]), 1.0))
    return asked


@BOTH
def test_the_start_is_the_first_on_the_lowest_level(name: str) -> None:
    first, *_ = trials(name, 2, n_rows=90_000)

    assert first == Trial(0, START, 10_000)


@BOTH
def test_the_first_bracket_is_nine_on_few_rows_three_on_more_and_one_on_all(name: str) -> None:
    asked = trials(name, 13, n_rows=90_000)

    assert [trial.rows for trial in asked] == [10_000] * 9 + [30_000] * 3 + [None]
    best = sorted(asked[:9], key=loss)
    assert {trial.config["share"] for trial in asked[9:12]} == {trial.config["share"] for trial in best[:3]}


@BOTH
@pytest.mark.parametrize("n_rows", [None, 150, 29_999])
def test_with_few_rows_the_only_level_is_all_of_them(name: str, n_rows: int | None) -> None:
    assert {trial.rows for trial in trials(name, 12, n_rows=n_rows)} == {None}


@BOTH
def test_eta_and_min_rows_make_the_levels(name: str) -> None:
    asked = trials(name, 7, n_rows=400, min_rows=100, eta=2)

    assert Counter(trial.rows for trial in asked) == {100: 4, 200: 2, None: 1}


@BOTH
def test_a_failed_trial_is_not_promoted(name: str) -> None:
    failures = [Result.ok(0.5), *[Result(Status.FAILED)] * 6, Result.ok(0.4), Result.ok(0.3)]

    asked = trials(name, 12, failures, n_rows=90_000)

    promoted = {trial.config["share"] for trial in asked[9:12]}
    assert promoted == {asked[i].config["share"] for i in (0, 7, 8)}


def test_dehb_evolves_a_population_of_the_given_size_on_a_single_level() -> None:
    asked = trials("dehb", 60, population_size=5)

    late = [abs(trial.config["share"] - 0.8) for trial in asked[40:]]
    early = [abs(trial.config["share"] - 0.8) for trial in asked[1:21]]
    assert sum(late) < sum(early)
