"""Which published scores can be compared with ours, and where they lie in the metric of our task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfo_bench.metrics import METRICS
from cfo_bench.report.numbers.paper_tables import key
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.reading.references import SCALED, Reference

# What a scaled score of 1 must be for the paper's scaled scores to mean the same as ours.
_FOREST_SCALE = "tuned random forest"


@dataclass(frozen=True, slots=True)
class PlacedReference:
    """A reference beside a task of ours."""

    reference: Reference
    score: float | None  # in the metric of the task; None if it can't be compared
    note: str  # how it became that score, or why it can't be compared


def placed(references: Sequence[Reference], task: TaskScores) -> list[PlacedReference]:
    """The references of a task, the best comparable one first.

    Different names of one task are the same, such as `bank` and `bank_marketing`. A reference of another
    learner is not taken.
    """
    found = [
        _placed(one, task)
        for one in references
        if key(one.task) == key(task.task) and one.learner in ("", task.learner)
    ]
    to_loss = METRICS[task.metric].to_loss
    return sorted(found, key=lambda one: (one.score is None, to_loss(one.score or 0.0), one.reference.label))


def _placed(one: Reference, task: TaskScores) -> PlacedReference:
    if one.metric == task.metric:
        return PlacedReference(one, one.score, "")
    if one.metric == SCALED and task.problem != "regression":
        if task.scale.by == _FOREST_SCALE:
            score = METRICS[task.metric].to_score(task.scale.loss(one.score))
            return PlacedReference(one, score, "a scaled score, by our constant and tuned forest")
        return PlacedReference(one, None, "a scaled score, and tuned-rf was not run on all folds")
    return PlacedReference(one, None, f"its metric is {one.metric}, ours {task.metric}")
