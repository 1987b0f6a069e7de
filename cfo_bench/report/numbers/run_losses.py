"""The losses of a run that count in a comparison, and what a run without a result counts as."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from cfo_bench.metrics import METRICS
from cfo_bench.report.reading.digest import Digest, Steps
from cfo_bench.report.reading.load import CONSTANT, FOREST

# These methods search nothing: the first two scale the scores, a study tries every value.
STUDY = "study"
NOT_COMPARED = (CONSTANT, FOREST, STUDY)

# A larger loss counts as this one: sums and squares of larger numbers overflow.
_LARGEST_LOSS = 1e100


def run_steps(one: Digest, full_rows_only: bool, by_test: bool = False) -> Steps:
    """The incumbents of a run; with `by_test`, their losses are those on the test part."""
    steps = one.full if full_rows_only else one.steps
    losses = steps.losses
    if by_test:
        to_loss = METRICS[one.metric].to_loss
        losses = [to_loss(score) for score in steps.test_scores if score is not None]
    if max(losses, default=0.0) > _LARGEST_LOSS:
        losses = [min(loss, _LARGEST_LOSS) for loss in losses]
    return steps if losses is steps.losses else replace(steps, losses=losses)


def has_test_scores(digests: Sequence[Digest], full_rows_only: bool) -> bool:
    """Whether every incumbent of a task's runs has a test score (`validation: holdout`)."""
    steps = [run_steps(one, full_rows_only) for one in digests if one.method not in NOT_COMPARED]
    scores = [score for one in steps for score in one.test_scores]
    return bool(scores) and None not in scores


def stand_in(others: Sequence[Steps], constant_loss: float) -> Steps:
    """What a run without a result counts as: the worse of the constant and the worst other method.

    It is so at every moment, so that a method never gains by failing.
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
