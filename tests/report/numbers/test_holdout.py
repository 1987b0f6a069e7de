"""With a holdout, methods are compared by the test score of what they selected on validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.overview import overview
from cfo_bench.report.reading.digest import Digest
from cfo_bench.report.reading.load import load
from cfo_bench.report.sections import holdout, performance


@pytest.fixture
def held_out(write_run: Any, tmp_path: Path) -> list[Digest]:
    """cfo has the better validation scores, rs the better test scores.

    cfo's second incumbent has a lower test score than its first.
    """
    tests = {"cfo": [0.85, 0.8], "rs": [0.7, 0.9]}
    for task in ("t", "u", "v"):
        for fold in (0, 1):
            for method, losses in (("cfo", (0.2, 0.05)), ("rs", (0.3, 0.15))):
                write_run(
                    task,
                    method,
                    fold,
                    [(5, losses[0], 0.5), (20, losses[1], 0.5)],
                    validation="holdout",
                    test_scores=tests[method],
                )
    return load(tmp_path / "results").digests


def test_ranks_wins_and_headline_are_by_the_test_score(held_out: list[Digest]) -> None:
    results = LearnerResults("xgboost", held_out)

    found = overview("xgboost", results.scores, "cfo")

    assert [(one.method, one.wins, one.mean_rank) for one in found.standings] == [("rs", 3, 1), ("cfo", 0, 2)]
    assert found.sentence.startswith("rs reaches the best score first on 3 of 3 tasks.")
    assert found.sentence.endswith("Compared by the test score of what each method selected on validation.")
    assert "by the test score" in found.table().note


def test_a_test_score_that_falls_again_is_not_kept(held_out: list[Digest]) -> None:
    task = LearnerResults("xgboost", held_out).scores[0]

    # cfo ends with 0.8, though it had 0.85 before: what was selected last counts.
    assert task.methods["cfo"].final_loss == pytest.approx(0.2)
    assert task.methods["cfo"].fold_losses == pytest.approx((0.2, 0.2))
    assert task.methods["cfo"].validation_losses == pytest.approx((0.05, 0.05))


def test_the_validation_score_stands_beside_it(held_out: list[Digest]) -> None:
    found = holdout.section(LearnerResults("xgboost", held_out))

    assert found is not None and "are test scores" in found.intro
    row = next(row for row in found.tables[0].records() if (row["task"], row["method"]) == ("t", "cfo"))
    assert (row["test_score"], row["validation_score"]) == pytest.approx((0.8, 0.95))


def test_figures_say_that_the_loss_is_on_the_test_part(held_out: list[Digest]) -> None:
    figure = performance.section(LearnerResults("xgboost", held_out)).figures[0]

    titles = [axes.get_title() for axes in figure.draw().axes]
    assert titles == [f"{task}, test loss = 1 − AUC" for task in ("t", "u", "v")]


def test_without_test_scores_there_is_no_such_section(by_hand: list[Digest]) -> None:
    assert holdout.section(LearnerResults("xgboost", by_hand)) is None
    assert not LearnerResults("xgboost", by_hand).scores[0].by_test
