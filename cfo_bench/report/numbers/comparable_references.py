"""Which published scores can be compared with ours, and where they lie in the metric of our task."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cfo_bench.metrics import METRICS
from cfo_bench.report.numbers.paper_tables import key
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.reading.references import SCALED, Reference

# What a scaled score of 1 must be for the paper's scaled scores to mean the same as ours.
_FOREST_SCALE = "tuned random forest"

# Names of tasks that are so much alike (1: the same) may be one task with a mistake in its name.
_ALIKE = 0.85


@dataclass(frozen=True, slots=True)
class PlacedReference:
    """A reference beside a task of ours."""

    reference: Reference
    score: float | None  # in the metric of the task; None if it can't be compared
    note: str  # what it is the mean of, how it became that score, or why it can't be compared
    is_converted: bool = False  # from a scaled score, by our own constant predictor and forest

    @property
    def label(self) -> str:
        """What it is called in a figure; a converted score is only about right."""
        return f"{'≈ ' * self.is_converted}{self.reference.label}"


def placed(references: Sequence[Reference], task: TaskScores) -> list[PlacedReference]:
    """The references of a task, the best comparable one first, and before those that had to be converted.

    Different names of one task are the same, such as `bank` and `bank_marketing`. A reference of another
    learner is not taken.
    """
    found = [_placed(one, task) for one in references if _is_of(one, task)]
    to_loss = METRICS[task.metric].to_loss
    return sorted(
        found,
        key=lambda one: (
            *(one.score is None, one.is_converted, to_loss(one.score or 0.0), one.reference.label),
        ),
    )


def _is_of(one: Reference, task: TaskScores) -> bool:
    return key(one.task) == key(task.task) and one.learner in ("", task.learner)


def _placed(one: Reference, task: TaskScores) -> PlacedReference:
    score, note, is_converted = None, f"its metric is {one.metric}, ours {task.metric}", False
    if one.metric == task.metric:
        score, note = one.score, ""
    elif one.metric == SCALED and task.problem != "regression":
        is_converted = task.scale.by == _FOREST_SCALE
        score = METRICS[task.metric].to_score(task.scale.loss(one.score)) if is_converted else None
        note = (
            "converted from a scaled score by our own constant and forest"
            if is_converted
            else "a scaled score, and our tuned-rf has no result on all folds, or does not beat the constant "
            "predictor"
        )
    return PlacedReference(one, score, "; ".join(filter(None, (one.folds, note))), is_converted)


def misspelt(references: Sequence[Reference], tasks: Sequence[TaskScores]) -> list[tuple[str, str]]:
    """Tasks of references that are none of ours, each with that of ours that may be meant."""
    ours = {key(task.task): task.task for task in tasks}
    found = {}
    for name in dict.fromkeys(one.task for one in references):
        near = get_close_matches(key(name), ours, n=1, cutoff=_ALIKE) if key(name) not in ours else []
        # `house_8L` and `house_16H` are two tasks, and no mistake.
        if near and _digits(key(name)) == _digits(near[0]):
            found[name] = ours[near[0]]
    return list(found.items())


def _digits(name: str) -> list[str]:
    return re.findall(r"\d", name)
