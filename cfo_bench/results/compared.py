"""Which methods are compared, and what a run without a result counts as.

The table that `cfo-bench run` prints and the report both use this, so that they agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from cfo_bench.results.trial_digest import Steps

# These methods search nothing: the first two scale the scores, a study tries every value.
CONSTANT, FOREST, STUDY = "constant", "tuned-rf", "study"
NOT_COMPARED = (CONSTANT, FOREST, STUDY)


def stand_in(others: Sequence[Steps], constant_loss: float) -> Steps:
    """What a run without a result counts as: the worse of the constant and the worst other method.

    It is so from the moment on when all others have a result: a method never ends better by failing.
    """
    there = [steps for steps in others if steps.seconds]
    begin = max((steps.seconds[0] for steps in there), default=0.0)
    moments = sorted({begin, *(second for steps in there for second in steps.seconds if second > begin)})
    losses = [
        max([constant_loss, *(steps.losses[bisect_right(steps.seconds, moment) - 1] for steps in there)])
        for moment in moments
    ]
    n = len(moments)
    return Steps(moments, losses, [None] * n, [0.0] * n, [0.0] * n, {})
