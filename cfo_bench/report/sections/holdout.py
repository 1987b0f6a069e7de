"""Validation and test scores: what was optimised, and the score on rows that no method has seen."""

from __future__ import annotations

from statistics import fmean

from cfo_bench.metrics import METRICS
from cfo_bench.report.contents import CellValue, Section, Table
from cfo_bench.report.numbers.learner_results import LearnerResults


def section(results: LearnerResults) -> Section | None:
    """None if no run has a test score: then validation was on the fold's held-out part."""
    rows: list[list[CellValue]] = []
    for task in results.scores:
        metric = METRICS[task.metric]
        for method in results.methods:
            tested = [
                (metric.to_score(steps.losses[-1]), steps.test_scores[-1])
                for one in results.compared.get((task.task, method), [])
                if (steps := results.steps(one)).seconds and steps.test_scores[-1] is not None
            ]
            if tested:
                validation = fmean(score for score, _ in tested)
                test = fmean(score for _, score in tested if score is not None)
                rows.append(
                    [task.task, method, task.metric, validation, test, test - validation, len(tested)]
                )
    if not rows:
        return None
    return Section(
        "holdout",
        "Validation and test",
        "Methods saw the validation score only. The test score is that of the best configuration by "
        "validation, computed off the clock on the fold's held-out part.",
        tables=(
            Table(
                "validation-and-test",
                "Validation and test scores",
                "One row a task and method, means over runs, in the task's metric (auc and r2: higher is "
                "better; log_loss: lower).",
                ("task", "method", "metric", "validation_score", "test_score", "difference", "runs"),
                rows,
            ),
        ),
    )
