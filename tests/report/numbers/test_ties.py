"""Methods that are as good and as fast as each other share the win, the rank and the sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import optimality, score_task
from cfo_bench.report.numbers.significance import pairwise, tied_ranks
from cfo_bench.report.sections import final_scores
from tests.helpers.traces import runs_of


def test_times_within_a_tenth_of_the_least_tie(write_run: Any) -> None:
    # A trial takes 0.5 s and 0.5 s of the method: after 40 s a tenth, 4 s, is more.
    found = score_task(
        runs_of(
            write_run("t", "flow2", 0, [(1, 0.4, 0.5), (40, 0.1, 0.5)]),
            write_run("t", "cfo", 0, [(1, 0.4, 0.5), (44, 0.1, 0.5)]),
            write_run("t", "rs", 0, [(1, 0.4, 0.5), (44.1, 0.1, 0.5)]),
        )
    )

    assert found.winners == ("cfo", "flow2")
    assert {cell.method: cell.text for cell in optimality(found)} == {
        "cfo": "**0.8000 (44s)**",
        "flow2": "**0.8000 (40s)**",
        "rs": "×1.1",
    }


def test_times_within_the_trial_that_reached_the_best_tie(write_run: Any) -> None:
    # The trial of the first took 5 s and 0.5 s of the method: it began at 4.5 s and ended at 10 s.
    found = score_task(
        runs_of(
            write_run("t", "rs", 0, [(1, 0.4, 0.5), (10, 0.1, 5)]),
            write_run("t", "bohb", 0, [(1, 0.4, 0.5), (15.5, 0.1, 5)]),
            write_run("t", "cfo", 0, [(1, 0.4, 0.5), (15.6, 0.1, 12)]),
        )
    )

    assert found.winners == ("rs", "bohb")


def test_the_alphabet_decides_nothing(write_run: Any) -> None:
    for names in (("alpha", "zeta"), ("zeta", "alpha")):
        runs = [
            write_run(task, name, fold, [(1, 0.4, 0.5), (10, 0.1, 0.5)])
            for task in ("t", "u", "v")
            for name in names
            for fold in (0, 1)
        ]

        found = LearnerResults("xgboost", runs_of(*runs), "alpha").overview

        assert [(one.wins, one.ties, one.mean_rank) for one in found.standings] == [(3, 3, 1.5)] * 2
        assert found.sentence == (
            "No method leads: alpha and zeta share the best mean rank (1.50 of 2 methods). At 1 % and 10 % "
            "of the budget all methods shared the best mean rank, too. alpha and zeta tie for the most "
            "wins: each reaches the best score first on 3 of 3 tasks, ties counted."
        )


def test_scores_that_differ_by_less_than_the_tolerance_share_a_rank() -> None:
    # 0.05 % of 0.8 is 0.0004; 0.7995 reaches 0.7999 but not 0.8, which leads its group.
    found = tied_ranks(np.array([[0.8, 0.7997, 0.7995, 0.7], [-0.8, -0.8003, -0.8005, np.nan]]))

    assert found.tolist() == [[1.5, 1.5, 3, 4], [1.5, 1.5, 3, 4]]


def test_a_pair_that_differs_by_less_than_the_tolerance_is_equal() -> None:
    scores = np.array([[0.8, 0.7997]] * 7)

    (pair,) = pairwise(scores, ["a", "b"])

    assert (pair.wins, pair.losses, pair.ties, pair.p) == (0, 0, 7, 1.0)
    assert pair.verdict == "not significant"


def test_all_that_equal_the_best_are_bold(write_run: Any) -> None:
    # AUC 0.9 and 0.9001 and 0.8: scores of 0.8, 0.8002 and 0.6 on the scale from 0.5 to 1.
    found = runs_of(
        write_run("t", "rs", 0, [(1, 0.1, 0.5)]),
        write_run("t", "bohb", 0, [(90, 0.0999, 0.5)]),
        write_run("t", "cfo", 0, [(1, 0.2, 0.5)]),
    )

    printed = final_scores.FinalScoresSection().build(LearnerResults("xgboost", found)).tables[0]

    assert printed.rows == [["t", "**0.9000**", "**0.9001**", "0.8000"]]


def test_the_best_cell_prints_the_best_score_also_where_a_slower_method_has_it(write_run: Any) -> None:
    results = LearnerResults(
        "xgboost",
        runs_of(
            write_run("t", "rs", 0, [(1, 0.1, 0.5)]),
            write_run("t", "bohb", 0, [(90, 0.0999, 0.5)]),
        ),
        baseline="rs",
    )
    [found] = results.scores

    # rs is the first to reach the best score, which is bohb's: (0.5 - 0.0999) / 0.5 = 0.8002.
    cells = {cell.method: cell.text for cell in optimality(found)}
    assert cells == {"rs": "**0.8002 (1s)**", "bohb": "×90.0"}
    assert found.methods["rs"].final_score == pytest.approx(0.8)
    seen = results.overview.sentence
    assert "rs reaches the best validation AUC first, 0.9001 after 1 s." in seen


def test_the_time_to_the_best_of_a_tie_is_the_least(write_run: Any) -> None:
    found = score_task(
        runs_of(
            write_run("t", "rs", 0, [(10, 0.1, 0.5)]),
            write_run("t", "cfo", 0, [(10.5, 0.1, 0.5)]),
            write_run("t", "bohb", 0, [(40, 0.1, 0.5)]),
        )
    )

    assert found.best_seconds == 10
    slow = next(cell for cell in optimality(found) if cell.method == "bohb")
    assert slow.cost_ratio == pytest.approx(4)
