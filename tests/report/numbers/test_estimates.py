"""Means with their standard deviations and intervals, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.significance import estimate
from cfo_bench.results.run import Run, read_run


def test_an_interval_is_student_s_t_over_folds() -> None:
    found = estimate([0.8, 0.9, 1.0])

    # sd 0.1, and the quantile of t with 2 degrees of freedom at 97.5 % is 4.30265.
    assert (found.mean, found.sd, found.folds) == (pytest.approx(0.9), pytest.approx(0.1), 3)
    half = 4.30265 * 0.1 / 3**0.5
    assert [found.low, found.high] == pytest.approx([0.9 - half, 0.9 + half], abs=1e-5)


def test_one_fold_has_no_interval() -> None:
    found = estimate([0.8])

    assert (found.mean, found.sd, found.low, found.high) == (0.8, None, None, None)


def test_scores_are_in_the_metric_that_people_read(by_hand: list[Run]) -> None:
    alpha, beta, gamma = LearnerResults("xgboost", by_hand).scores

    assert alpha.estimate(alpha.methods["cfo"].fold_losses).mean == pytest.approx(1 - 0.125)  # AUC
    assert beta.estimate(beta.methods["rs"].fold_losses).mean == pytest.approx(1 - 0.375)  # r2
    assert gamma.estimate(gamma.methods["cfo"].fold_losses).mean == pytest.approx(
        (0.25 + 0.5) / 2
    )  # log-loss


def test_an_interval_ends_where_the_metric_does(write_run: Any) -> None:
    # Losses 0, 0.3: Student's t with one degree of freedom gives an interval of more than 1 on both sides.
    paths = [write_run("t", "cfo", fold, [(5, loss, 1)]) for fold, loss in enumerate((0.0, 0.3))]
    (task,) = LearnerResults("xgboost", [one for path in paths if (one := read_run(path))]).scores

    found = task.estimate(task.methods["cfo"].fold_losses)

    assert (found.mean, found.low, found.high) == (pytest.approx(0.85), 0.0, 1.0)
