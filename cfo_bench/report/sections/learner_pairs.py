"""Comparison of learners: which model is better if the same method tunes it on the same task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import fmean, stdev

from cfo_bench.report.contents import CellValue, Section, SectionContent, Table, some
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paired import SideBySide, TaskOfLearners, learner_pairs, learners_by_task
from cfo_bench.report.sections.final_scores import measured_on


class LearnersSection(Section):
    """The same for all learners. Absent if no two were tuned by the same method on the same task under the
    same conditions.
    """

    name = "learners"
    title = "Comparison of learners"
    least_methods = 0

    def __init__(self, everyone: Sequence[LearnerResults]) -> None:
        self._everyone = everyone

    def build(self, results: LearnerResults) -> SectionContent | None:
        return self._content

    @cached_property
    def _content(self) -> SectionContent | None:
        comparison = learners_by_task(self._everyone)
        comparisons = comparison.tasks
        if not comparisons and not comparison.short:
            return None
        tasks = [task for results in self._everyone for task in results.scores]
        learners = sorted({learner for task in comparisons for learner in task.losses})
        scores: list[list[CellValue]] = [
            [
                *(task.task, task.method, str(task.metric), task.over),
                *(_cell(task, learner) for learner in learners),
            ]
            for task in comparisons
        ]
        pairs = learner_pairs(comparisons)
        tables = (
            Table(
                "learners",
                "Final scores of learners",
                "One row for each task and method, in the task's metric (↑: higher is better; "
                "↓: lower): mean ± standard deviation over the folds that all these learners have. "
                f"Bold: the best, and scores within 0.05 % of it. {measured_on(tasks)}",
                ("task", "method", "metric", "over", *learners),
                scores,
                verbatim=tuple(learners),
            ),
            Table.of(
                "learner-pairs",
                "Every pair of learners",
                "One row for each method and pair of learners: on how many tasks the first is better, worse, "
                "equal; p of the exact sign test over tasks; p after Holm's correction, since the "
                f"table has {len(pairs)} rows; and the least p that is possible with this number of "
                "tasks.",
                pairs,
                {
                    "method": lambda pair: pair.method,
                    "learner": lambda pair: pair.learner,
                    "other": lambda pair: pair.other,
                    "better": lambda pair: pair.better,
                    "worse": lambda pair: pair.worse,
                    "equal": lambda pair: pair.equal,
                    "p": lambda pair: pair.p,
                    "p_holm": lambda pair: pair.p_holm,
                    "least_p_holm": lambda pair: pair.least_p_holm,
                    "verdict": lambda pair: pair.verdict,
                },
            ),
        )
        return SectionContent(
            "The same task, folds, budget and method, tuning different learners.",
            tables=tuple(table for table in tables if table.rows),
            warnings=tuple(_warnings(comparison)),
        )


def _warnings(comparison: SideBySide) -> list[str]:
    failed = [
        f"{learner} with {task.method} on {task.task} ({n} of {task.runs})"
        for task in comparison.tasks
        for learner, n in task.failed.items()
        if n
    ]
    lines = []
    if failed:
        lines.append(
            "runs without a result count as the constant predictor or the worst other learner, whichever is "
            "worse: " + some(failed)
        )
    if comparison.short:
        lines.append(f"left out, since they share too few runs with other learners: {some(comparison.short)}")
    if comparison.differ:
        lines.append(f"not compared, since budget, data, folds or clock differ: {some(comparison.differ)}")
    return lines


def _cell(task: TaskOfLearners, learner: str) -> str | None:
    if learner not in task.losses:
        return None
    scores = task.scores(learner)
    text = f"{fmean(scores):.4f}"
    if len(scores) > 1:
        text += f" ± {stdev(scores):.4f}"
    return f"**{text}**" if learner in task.best else text
