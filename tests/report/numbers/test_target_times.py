"""When runs reach their targets, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.target_times import (
    GAPS,
    TargetFold,
    TargetFolds,
    Track,
    gaps_at,
    profiles,
    ratios,
    reached,
    regret,
    target_folds,
    times_to,
)
from cfo_bench.report.reading.load import load
from cfo_bench.results.digest import without_configs
from cfo_bench.results.run import Run


def run(*points: tuple[float, float]) -> Track:
    return Track.of(without_configs([at for at, _ in points], [loss for _, loss in points]))


def part(task: str = "t", fold: int = 0, **runs: Sequence[Track]) -> TargetFold:
    """A budget of 100 s, losses from 0.5 to 0.1: one of 0.3 has a gap of one half."""
    return TargetFold(task, fold, 100.0, 0.5, 0.1, runs)


FAST, SLOW, NEVER = run((1, 0.3), (10, 0.1)), run((20, 0.14)), run()


def test_there_are_51_targets_from_the_constant_s_loss_to_a_gap_of_a_thousandth() -> None:
    assert len(GAPS) == 51 and GAPS[0] == 1.0 and GAPS[-1] == pytest.approx(0.001)
    assert part().loss_at(np.array([1.0, 0.5, 0.0])).tolist() == pytest.approx([0.5, 0.3, 0.1])


def test_a_target_is_reached_when_a_run_first_has_its_loss() -> None:
    gaps = np.array([1.0, 0.51, 0.49, 0.0])

    assert times_to(part(), FAST, gaps).tolist() == [0.01, 0.01, 0.1, 0.1]
    assert times_to(part(), SLOW, gaps).tolist() == [0.2, 0.2, 0.2, np.inf]
    assert times_to(part(), NEVER, gaps).tolist() == [np.inf] * 4


def test_a_loss_that_rises_again_has_reached_its_target() -> None:
    assert times_to(part(), run((1, 0.1), (2, 0.4)), np.array([0.6, 0.0])).tolist() == [0.01, 0.01]


def test_the_share_of_targets_counts_those_at_or_above_the_gap() -> None:
    found = TargetFolds([part(cfo=[FAST], rs=[SLOW])], [])
    moments = np.array([0.005, 0.01, 0.1, 0.2])

    # The k-th gap is 10 ** (-3 k / 50): six are at least 0.5, 17 at least 0.1.
    assert reached(found, "cfo", moments).tolist() == pytest.approx([0, 6 / 51, 1, 1])
    assert reached(found, "rs", moments).tolist() == pytest.approx([0, 0, 0, 17 / 51])


def test_every_task_counts_the_same_however_many_folds_and_seeds_it_has() -> None:
    one = [part("t", rs=[SLOW])]
    other = [part("u", fold, rs=[NEVER, NEVER]) for fold in range(3)]

    assert reached(TargetFolds(one + other, []), "rs", np.array([1.0])).tolist() == pytest.approx(
        [17 / 51 / 2]
    )


def test_regret_is_one_until_the_first_loss_and_never_more() -> None:
    moments = np.array([0.005, 0.01, 0.1])

    assert gaps_at(part(), FAST, moments).tolist() == pytest.approx([1.0, 0.5, 0.0])
    assert gaps_at(part(), run((0.5, 0.9)), moments).tolist() == [1.0, 1.0, 1.0]
    assert gaps_at(part(), run((0.5, 1e308)), moments).tolist() == [1.0, 1.0, 1.0]
    assert gaps_at(part(), NEVER, moments).tolist() == [1.0, 1.0, 1.0]


def test_regret_averages_seeds_then_folds_then_tasks() -> None:
    found = TargetFolds([part("t", 0, a=[FAST, NEVER]), part("t", 1, a=[NEVER]), part("u", 0, a=[FAST])], [])

    # Fold 0 of t: (0 + 1) / 2; fold 1: 1; so t has 0.75, u has 0.
    assert regret(found, "a", np.array([1.0])).mean.tolist() == [0.375]


def test_an_interval_of_the_regret_takes_six_tasks() -> None:
    def over(n: int) -> TargetFolds:
        # One half of the tasks ends at a gap of 0, the other at 0.5.
        return TargetFolds([part(f"t{at}", a=[FAST if at % 2 else run((1, 0.3))]) for at in range(n)], [])

    assert regret(over(5), "a", np.array([1.0])).low is None
    found = regret(over(6), "a", np.array([1.0]))
    assert found.low is not None and found.high is not None
    # Of six draws k are at 0.5. P(k = 0) is 1.6 %, P(k ≤ 1) 10.9 %: the bounds are k = 1 and k = 5.
    assert [found.low[0], found.mean[0], found.high[0]] == pytest.approx([1 / 12, 3 / 12, 5 / 12])


def test_a_profile_compares_times_with_the_fastest() -> None:
    both = part(cfo=[FAST], rs=[SLOW], bohb=[NEVER])

    assert ratios(both, 0.5) == pytest.approx({"cfo": 1.0, "rs": 20.0, "bohb": np.inf})
    assert ratios(both, 0.1) == pytest.approx({"cfo": 1.0, "rs": 2.0, "bohb": np.inf})
    assert ratios(both, 0.01) == pytest.approx({"cfo": 1.0, "rs": np.inf, "bohb": np.inf})


def test_a_seed_that_never_gets_there_is_charged_its_budget() -> None:
    # (10 + 100) / 1 against (55 + 55) / 2 seconds.
    found = part(a=[run((10, 0.1)), NEVER], b=[run((55, 0.1)), run((55, 0.1))])

    assert ratios(found, 0.01) == pytest.approx({"a": 2.0, "b": 1.0})


def test_close_times_and_very_short_ones_are_ties() -> None:
    assert ratios(part(a=[run((10, 0.1))], b=[run((10.9, 0.1))]), 0.01) == {"a": 1.0, "b": 1.0}
    assert ratios(part(a=[run((0, 0.1))], b=[run((0.09, 0.1))]), 0.01) == {"a": 1.0, "b": 1.0}
    # 0 s counts as a thousandth of 100 s.
    assert ratios(part(a=[run((0, 0.1))], b=[run((0.5, 0.1))]), 0.01) == pytest.approx({"a": 1.0, "b": 5.0})


def test_a_profile_rises_from_ties_at_one_to_all_that_get_there() -> None:
    found = TargetFolds([part("t", 0, a=[FAST], b=[SLOW]), part("t", 1, a=[NEVER], b=[FAST])], [])

    factors, shares = profiles(found, 0.1)

    assert factors[0] == 1.0 and factors[-1] == pytest.approx(2.4)
    assert shares["a"][0] == shares["a"][-1] == 0.5
    assert shares["b"][0] == 0.5 and shares["b"][-1] == 1.0


def test_targets_lie_between_the_loss_of_the_constant_and_the_best_on_the_fold(
    by_hand: list[Run],
) -> None:
    found = target_folds(LearnerResults("xgboost", by_hand))

    ends = {(one.task, one.fold): (one.constant_loss, one.best_loss) for one in found.folds}
    assert ends == {
        ("alpha", 0): (0.5, 0.0625),
        ("alpha", 1): (0.5, 0.125),
        ("beta", 0): (1.0, 0.375),
        ("beta", 1): (1.0, 0.375),
        ("gamma", 0): (1.0, 0.25),
        ("gamma", 1): (1.0, 0.5),
    }
    assert found.tasks == ["alpha", "beta", "gamma"] and found.common_budget == 100.0
    assert found.useless == []


def test_a_method_that_is_left_out_on_a_task_does_not_drop_the_task(write_run: Any, tmp_path: Path) -> None:
    for task in ("t", "u", "v"):
        for method in ("cfo", "rs", "bohb"):
            for fold in range(3 if (task, method) != ("t", "bohb") else 1):
                write_run(task, method, fold, [(1, 0.3, 1)])
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)
    assert [name for name, one in results.scores[0].methods.items() if not one.is_compared] == ["bohb"]

    found = target_folds(results)

    assert found.tasks == [task.task for task in results.ranking.tasks]
    assert all(list(fold.runs) == results.ranking.methods for fold in found.folds)


def test_tasks_without_two_methods_or_a_useful_loss_are_left_out(write_run: Any, tmp_path: Path) -> None:
    for task, method, fold, loss in (
        ("good", "cfo", 0, 0.3),
        ("good", "rs", 0, 0.4),
        ("apart", "cfo", 0, 0.3),
        ("bad", "cfo", 0, 0.5),
        ("bad", "rs", 0, 0.7),
    ):
        write_run(task, method, fold, [(1, loss, 1)])

    found = target_folds(LearnerResults("xgboost", load(tmp_path / "results").runs))

    assert found.tasks == ["good"] and found.useless == ["bad"]


def test_regret_is_true_where_a_recording_knows_the_least_loss(write_run: Any, tmp_path: Path) -> None:
    for task, method, loss in (("t", "cfo", 0.3), ("t", "rs", 0.4), ("bad", "cfo", 0.5), ("bad", "rs", 0.7)):
        write_run(task, method, 0, [(1, loss, 1)])
    runs = [
        replace(run, header=msgspec.structs.replace(run.header, optimum=0.1))
        for run in load(tmp_path / "results").runs
    ]

    found = target_folds(LearnerResults("hpobench-mlp", runs))

    assert found.is_true and found.useless == ["bad"]  # the optimum alone makes no method useful
    assert [(fold.best_loss, fold.is_optimum) for fold in found.folds] == [(0.1, True)]
    assert regret(found, "cfo", np.array([1.0])).mean.tolist() == pytest.approx([0.5])
    assert not target_folds(LearnerResults("xgboost", load(tmp_path / "results").runs)).is_true
