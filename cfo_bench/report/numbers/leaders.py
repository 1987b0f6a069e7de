"""The methods that a figure with many lines shows in colour: the best few, and the baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.joint_ranking import joint
from cfo_bench.report.numbers.scores import TaskScores

# So many of the best are shown in colour, with their confidence intervals.
MOST_LEADERS = 4
# Up to so many methods all lines are in colour, and only the intervals are for the leaders.
MOST_COLOURED = 8


def best_first(scores: Sequence[TaskScores]) -> list[str]:
    """All methods by mean rank, as in the overview; those without a rank last."""
    both = joint(scores)
    means = both.ranks_at(1.0).mean(axis=0) if both.tasks else ()
    ranks = dict(zip(both.methods, means, strict=True))
    methods = in_order({method for task in scores for method in task.methods})
    return sorted(methods, key=lambda method: (ranks.get(method, math.inf), -wins(scores, method)))


def leaders(scores: Sequence[TaskScores], baseline: str) -> tuple[str, ...]:
    """The first methods of the overview; and the baseline if it has runs."""
    methods = best_first(scores)
    return tuple(in_order({*methods[:MOST_LEADERS], *({baseline} & set(methods))}))


def wins(scores: Sequence[TaskScores], method: str) -> int:
    """The tasks on which the method reaches the best score first, alone or tied."""
    return sum(method in task.winners for task in scores)
