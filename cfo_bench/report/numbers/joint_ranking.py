"""What is compared over tasks: methods that are all compared on all of these tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.joint import keep_most
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.scoring import TIE_FACTOR
from cfo_bench.report.numbers.significance import tied_ranks


@dataclass(frozen=True, slots=True)
class Joint:
    """What is compared over tasks: methods that all are compared on all these tasks."""

    methods: list[str]
    tasks: list[TaskScores]
    left_out: list[str]  # methods that are compared on too few tasks

    def scores(self) -> Array:
        """Final scaled scores, one row a task and one column a method; imputed where all runs failed."""
        return np.array(
            [[_number(task.methods[method].counted_score) for method in self.methods] for task in self.tasks]
        ).reshape(len(self.tasks), len(self.methods))

    def ranks_at(self, share: float) -> Array:
        """The ranks at a share of each task's budget, one row a task and one column a method."""
        found: Array = self.ranks_over(np.array([share]))[0]
        return found

    def ranks_over(self, shares: Array) -> Array:
        """The same for many shares, which are the first axis.

        A method that comes to the score of a better one within TIE_FACTOR of the time ties with it: which of
        two methods is there a little sooner is chance.
        """
        soon = np.minimum(TIE_FACTOR * shares, 1.0)
        return tied_ranks(self._scores_over(shares), self._scores_over(soon))

    def _scores_over(self, shares: Array) -> Array:
        """Scaled scores so far; NaN where a method has no result yet, or never."""
        found = np.full((len(shares), len(self.tasks), len(self.methods)), np.nan)
        for row, task in enumerate(self.tasks):
            for column, method in enumerate(self.methods):
                if (curve := task.methods[method].curve) is not None:
                    losses = curve.over(shares * task.budget_seconds)
                    found[:, row, column] = task.scale.score(losses)
        return found


def joint(scores: Sequence[TaskScores]) -> Joint:
    """The methods and tasks of a joint ranking: those that keep most, see `keep_most`."""
    having: dict[str, set[str]] = {method: set() for task in scores for method in task.methods}
    for task in scores:
        if len(task.compared) > 1:
            for method in task.compared:
                having[method].add(task.task)
    kept, shared = keep_most(having)
    if len(kept) < 2:
        return Joint([], [], in_order(having))
    return Joint(
        in_order(kept), [task for task in scores if task.task in shared], in_order(set(having) - kept)
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
