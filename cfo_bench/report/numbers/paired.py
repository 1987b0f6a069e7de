"""Each method against the baseline on one task, fold by fold.

Both are compared on all folds and seeds that the two have, also where other methods have fewer. Seeds of a
fold are averaged first. Differences are in the units of the metric; above 0 the method is better than the
baseline, also where a lower score is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.contents import plural
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import FoldSeed, TaskScores, over_folds
from cfo_bench.report.numbers.significance import LEVEL, estimate, holm, least_p
from cfo_bench.results.best_so_far import REACHES, reaching_loss
from cfo_bench.results.run import Run

# All ways to flip the signs of so many differences are tried: 65,536.
MOST_FOLDS = 16


@dataclass(frozen=True, slots=True)
class Paired:
    """A method against the baseline on one task."""

    task: str
    method: str
    metric: str
    folds: int
    over: str  # the folds and seeds in words
    difference: float  # mean over folds
    low: float | None  # of the 95 % interval, Student's t over folds; None with one fold
    high: float | None
    p: float  # of the sign-flip test
    p_holm: float  # corrected for the methods that are compared with the baseline on this task
    least_p_holm: float  # the least that the correction can leave with so many folds
    is_tie: bool  # the mean losses are equal, see REACHES
    by_fold: Mapping[int, float]  # the difference on each fold

    @property
    def verdict(self) -> str:
        if self.is_tie:
            return f"equal within {100 * (1 - REACHES):.2g} %"
        if self.least_p_holm >= LEVEL:
            return f"{plural(self.folds, 'fold')} can't show a difference"
        if self.p_holm >= LEVEL:
            return "not shown to differ"
        return "better" if self.difference > 0 else "worse"


def paired(results: LearnerResults, task: TaskScores) -> list[Paired]:
    """One for each other method that shares a run with the baseline, in the order of tables."""
    runs: dict[str, dict[FoldSeed, Run]] = {}
    for one in results.by_task[task.task]:
        if one.method in results.methods:
            runs.setdefault(one.method, {})[one.fold, one.seed] = one
    base = runs.pop(results.baseline, {})
    shared = {
        method: sorted(set(runs[method]) & set(base))
        for method in results.methods
        if method in runs and set(runs[method]) & set(base)
    }
    losses = {
        method: _losses(results, [(runs[method][run], base[run]) for run in both])
        for method, both in shared.items()
    }
    differences = {method: [other - one for one, other in own] for method, own in losses.items()}
    p = [sign_flip(own) for own in differences.values()]
    found = []
    for (method, own), plain, corrected in zip(differences.items(), p, holm(p), strict=True):
        mean = estimate(own)
        means = [fmean(column) for column in zip(*losses[method], strict=True)]
        found.append(
            Paired(
                task=task.task,
                method=method,
                metric=task.metric_name,
                folds=len(own),
                over=over_folds(shared[method]),
                difference=mean.mean,
                low=mean.low,
                high=mean.high,
                p=plain,
                p_holm=corrected,
                least_p_holm=least_p(len(own), len(p)),
                by_fold=dict(zip(sorted({fold for fold, _ in shared[method]}), own, strict=True)),
                is_tie=max(means) <= reaching_loss(min(means), task.scale.zero_loss),
            )
        )
    return found


def sign_flip(differences: Sequence[float]) -> float:
    """The exact p of a two-sided test that the mean difference is 0.

    If it were, each difference could as well have the other sign: p is the share of all ways to sign them
    whose sum is as far from 0 as that of the differences. Of more than MOST_FOLDS differences, 65,536 ways
    are drawn at random, with the same seed each time.
    """
    d = np.asarray(differences, dtype=float)
    sums = np.abs(_signs(len(d)) @ d)
    return float((sums >= abs(d.sum()) - 1e-12 * np.abs(d).sum()).mean())


@lru_cache(maxsize=1)  # the tasks of a report mostly have the same number of folds
def _signs(n: int) -> Array:
    """Ways to sign so many differences, one a row; the first leaves them as they are."""
    if n <= MOST_FOLDS:
        signs: Array = 1.0 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(n).choice((-1.0, 1.0), size=(2**MOST_FOLDS, n))
        signs[0] = 1
    return signs


def _losses(results: LearnerResults, pairs: Sequence[tuple[Run, Run]]) -> list[tuple[float, float]]:
    """The final losses of both by fold, the mean over seeds."""
    by_fold: dict[int, list[tuple[float, float]]] = {}
    for one, other in pairs:
        mine, theirs = (results.incumbents(run).losses[-1:] for run in (one, other))
        # A run without a result counts as the worse of the constant predictor and the other method.
        worst = max([one.constant_loss, *mine, *theirs])
        by_fold.setdefault(one.fold, []).append(((mine or [worst])[0], (theirs or [worst])[0]))
    return [
        (fmean(mine for mine, _ in by_fold[fold]), fmean(theirs for _, theirs in by_fold[fold]))
        for fold in sorted(by_fold)
    ]
