"""Validation and test scores: what was optimised, and the score on rows that no method has seen."""

from __future__ import annotations

from cfo_bench.report.contents import CellValue, Place, Section, Table
from cfo_bench.report.numbers.learner_results import LearnerResults


def section(results: LearnerResults) -> Section | None:
    """None if no run has a test score: then validation was on the fold's held-out part."""
    rows: list[list[CellValue]] = []
    for task in results.scores:
        for method in results.methods:
            found = task.methods.get(method)
            if task.by_test and found is not None and found.validation_losses:
                test = task.estimate(found.test_losses).mean
                validation = task.estimate(found.validation_losses).mean
                n_folds = len(found.test_losses)
                rows.append(
                    [task.task, method, task.metric_name, test, validation, test - validation, n_folds]
                )
    if not rows:
        return None
    return Section(
        "holdout",
        "Validation and test",
        "A method sees the validation score only, and chooses its best trial by it. The test score is that "
        "of the chosen trial on rows that no method has seen; to compute it is not charged to anybody. "
        "Ranks, wins, curves and all other scores of this report are test scores. Validation scores stand "
        "only here.",
        tables=(
            Table(
                "validation-and-test",
                "Validation and test scores",
                "One row for each task and method, means over the folds on which it has a result, in the "
                "task's metric (AUC and r2: higher is better; log-loss: lower). Difference: test minus "
                "validation.",
                ("task", "method", "metric", "test_score", "validation_score", "difference", "folds"),
                rows,
            ),
        ),
        place=Place.SUPPORT,
    )
