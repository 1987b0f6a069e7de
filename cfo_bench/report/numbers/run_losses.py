"""The losses of a run that count in a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cfo_bench.metrics import METRICS
from cfo_bench.report.reading.digest import LARGEST_LOSS, Digest, Steps
from cfo_bench.results.compared import NOT_COMPARED
from cfo_bench.results.trial_digest import tested


def incumbents(one: Digest, full_rows_only: bool) -> Steps:
    """All incumbents of a run, with their losses on the validation part."""
    return one.full if full_rows_only else one.steps


def validation_steps(one: Digest, full_rows_only: bool, by_test: bool) -> Steps:
    """The incumbents that count, with their losses on the validation part.

    With `by_test`, those with a test score do.
    """
    steps = incumbents(one, full_rows_only)
    return _bounded(tested(steps) if by_test else steps)


def run_steps(one: Digest, full_rows_only: bool, by_test: bool = False) -> Steps:
    """The incumbents that count; with `by_test`, their losses are those on the test part."""
    steps = validation_steps(one, full_rows_only, by_test)
    if not by_test:
        return steps
    to_loss = METRICS[one.metric].to_loss
    losses = [to_loss(score) for score in steps.test_scores if score is not None]
    return _bounded(replace(steps, losses=losses))


def _bounded(steps: Steps) -> Steps:
    if max(steps.losses, default=0.0) <= LARGEST_LOSS:
        return steps
    return replace(steps, losses=[min(loss, LARGEST_LOSS) for loss in steps.losses])


def is_by_test(digests: Sequence[Digest], full_rows_only: bool) -> bool:
    """Whether the runs of a task are compared by test scores: they are if they have a holdout.

    Only if no incumbent at all has a test score, validation scores are compared.
    """
    if not any(one.header["spec"].get("validation") == "holdout" for one in digests):
        return False
    runs = [incumbents(one, full_rows_only) for one in digests if one.method not in NOT_COMPARED]
    scores = [score for steps in runs for score in steps.test_scores]
    return not scores or any(score is not None for score in scores)
