"""Validation and test scores: what was optimised, and the score on rows that no method has seen."""

from __future__ import annotations

from cfo_bench.report.contents import CellValue, Place, Section, Table, some
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
    others = [task.task for task in results.scores if not task.by_test]
    where = "this report" if not others else "these tasks"
    return Section(
        "holdout",
        "Validation and test",
        "A method sees the validation score only, and chooses its best trial by it. The test score is that "
        "of the chosen trial on rows that no method has seen; to compute it is not charged to anybody. "
        f"Ranks, wins and curves of {where} are by test scores, and scores are test scores, but for the "
        "validation scores here and in the table of the best configurations."
        + (f" Without test scores, and compared by validation scores: {some(others)}." if others else ""),
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
