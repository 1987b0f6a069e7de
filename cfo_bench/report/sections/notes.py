"""What several sections say, in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.report.contents import some
from cfo_bench.report.numbers.scores import TaskScores

STAR = (
    "A star: some of its runs have no result; they get the score of the constant predictor or of the worst "
    "other method, whichever is worse."
)

_TEST = "rows that no method has seen"
_VALIDATION = "the best trial was chosen by them, so they are somewhat too good"


def part(task: TaskScores) -> str:
    """The rows that a task's scores are measured on."""
    return "test" if task.by_test else "validation"


def measured_on(scores: Sequence[TaskScores]) -> str:
    """A sentence on whether scores are of the test or of the validation part."""
    tested = [task.task for task in scores if task.by_test]
    if not tested:
        return f"Scores are validation scores: {_VALIDATION}."
    if len(tested) == len(scores):
        return f"Scores are test scores: on {_TEST}."
    return (
        f"Scores are test scores, on {_TEST}, for {some(tested)}. For the other tasks they are validation "
        f"scores: {_VALIDATION}."
    )
