"""Wins, ties and ratings, worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfo_bench.report.numbers.elo import bradley_terry, ratings, win_rates, wins_by_task
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.load import load
from cfo_bench.results.run import Run


def test_a_lower_loss_wins_and_a_tie_is_half_a_win_for_both(by_hand: list[Run]) -> None:
    results = LearnerResults("xgboost", by_hand)

    # Final means: alpha cfo 0.125 = rs 0.125 < bohb 0.25; beta rs 0.375 < cfo 0.5 < bohb 0.875;
    # gamma cfo 0.375 < rs 0.5 < bohb (0.25 + 1) / 2.
    wins = wins_by_task(results.scores, ["cfo", "rs", "bohb"])

    assert wins[0].tolist() == [[0.5, 0.5, 1], [0.5, 0.5, 1], [0, 0, 0.5]]
    assert wins[1].tolist() == [[0.5, 0, 1], [1, 0.5, 1], [0, 0, 0.5]]
    assert win_rates(wins)[0].tolist() == pytest.approx([0.5, (0.5 + 0 + 1) / 3, 1.0])


def test_scores_within_a_two_thousandth_of_each_other_are_a_tie(write_run: Any, tmp_path: Path) -> None:
    # Scores 1 - 2 · loss: 0.6, and 0.05 % of it is 0.0003, a loss of 0.00015.
    for method, loss in (("a", 0.2), ("b", 0.20014), ("c", 0.20016), ("d", None)):
        write_run("t", method, 0, [(1, loss, 1)])
    write_run("u", "a", 0, [(1, 0.2, 1)])
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)

    wins = wins_by_task(results.scores, ["a", "b", "c", "d"])

    assert wins[0, 0].tolist() == [0.5, 0.5, 1.0, 1.0]
    assert wins[0, 3].tolist() == [0.0, 0.0, 0.0, 0.5]  # without a result
    assert np.isnan(wins[1, 0, 1])  # b was not run on u
    assert win_rates(wins)[0].tolist() == [0.5, 0.5, 1.0, 1.0]


def test_the_rating_of_two_methods_has_a_closed_form() -> None:
    # Three wins and one defeat, and the tie that is added: 3.5 to 1.5.
    wins = np.array([[[0.5, won], [1 - won, 0.5]] for won in (1, 1, 1, 0)])

    first, second = ratings(wins, ["a", "b"], "b")

    assert (first.method, second.method, second.elo) == ("a", "b", 1000.0)
    assert first.elo == pytest.approx(1000 + 400 * math.log10(3.5 / 1.5), abs=0.01)
    assert first.low is first.high is None  # four tasks


def test_strengths_make_the_expected_wins_equal_to_the_wins() -> None:
    wins = np.array([[0, 5, 9], [3, 0, 6], [1, 2, 0]], dtype=float)

    found = bradley_terry(wins)

    # The maximum of the likelihood: for each method, its wins are what the model expects.
    games = (wins + wins.T + 1) * (1 - np.eye(3))
    expected = (games * found[:, None] / (found[:, None] + found[None, :])).sum(axis=1)
    assert expected.tolist() == pytest.approx((wins.sum(axis=1) + 1).tolist(), rel=1e-4)


def test_an_interval_takes_six_tasks_and_the_anchor_has_none() -> None:
    wins = np.array([[[0.5, won], [1 - won, 0.5]] for won in (1, 1, 1, 0, 0, 0)])

    found = {one.method: one for one in ratings(wins, ["a", "b"], "b")}

    # As for the regret, the bounds are one win of six and five of six, with half a win added to each side.
    assert found["a"].elo == pytest.approx(1000)
    assert found["a"].low == pytest.approx(1000 + 400 * math.log10(1.5 / 5.5), abs=0.01)
    assert found["a"].high == pytest.approx(1000 + 400 * math.log10(5.5 / 1.5), abs=0.01)
    assert found["b"].low is None and found["b"].elo == 1000


def test_without_the_baseline_the_mean_rating_is_the_anchor() -> None:
    found = ratings(np.array([[[0.5, 1], [0, 0.5]]]), ["a", "b"], "cfo")

    assert sum(one.elo for one in found) == pytest.approx(2000)


def test_a_method_on_few_of_the_tasks_has_no_interval() -> None:
    # a beats b on five of eight tasks; c is compared on two of them.
    wins = np.full((8, 3, 3), np.nan)
    for task in range(8):
        wins[task, :2, :2] = [[0.5, 1], [0, 0.5]] if task < 5 else [[0.5, 0], [1, 0.5]]
    wins[:2] = [[0.5, 1, 1], [0, 0.5, 1], [0, 0, 0.5]]

    found = {one.method: one for one in ratings(wins, ["a", "b", "c"], "b")}

    assert {method: one.tasks for method, one in found.items()} == {"a": 8, "b": 8, "c": 2}
    assert found["a"].low is not None and found["c"].low is None and found["c"].high is None
