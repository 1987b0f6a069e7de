"""Paired comparisons: each method against the baseline on a task, and learners with each other.

A method and the baseline are compared fold by fold, on all folds and seeds that both have, even if other
methods have fewer. Two learners are compared task by task, where the same method tuned both under the same
conditions. Seeds of a fold are averaged first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb
from statistics import fmean

import numpy as np

from cfo_bench.metrics import Array, MetricFacts
from cfo_bench.report.method_styles import in_order
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import FoldSeed, TaskScores, keep_most, mean_by_fold, over_folds
from cfo_bench.report.numbers.significance import LEVEL, NOT_SIGNIFICANT, estimate, holm, least_p, too_few
from cfo_bench.results.best_so_far import REACHES, reaching_loss
from cfo_bench.results.comparability import comparison_aspects
from cfo_bench.results.run import Run

# Up to this number of differences, all ways to flip the signs are tried: 65,536.
MOST_FOLDS = 16

# Two learners may differ in these settings.
_SETTINGS_OF_A_LEARNER = ("threads", "parallel", "learner_options", "data.recording", "own_code.learner")


# --- a method and the baseline --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Paired:
    """A method against the baseline on one task.

    Differences are in the units of the metric; above 0 the method is better than the baseline, even if a
    lower score is better.
    """

    task: str
    method: str
    metric: str
    folds: int
    over: str  # the averaged folds and seeds, in words
    difference: float  # mean over folds
    low: float | None  # of the 95 % interval, Student's t over folds; None with one fold
    high: float | None
    p: float  # of the sign-flip test
    p_holm: float  # corrected for the methods that are compared with the baseline on this task
    least_p_holm: float  # the least possible value with this number of folds
    is_tie: bool  # the mean losses are equal, see REACHES
    by_fold: Mapping[int, float]  # the difference on each fold

    @property
    def verdict(self) -> str:
        if self.is_tie:
            return f"equal within {100 * (1 - REACHES):.2g} %"
        if self.least_p_holm >= LEVEL:
            return too_few(self.folds, "fold")
        if self.p_holm >= LEVEL:
            return NOT_SIGNIFICANT
        return "better" if self.difference > 0 else "worse"


def paired(results: LearnerResults, task: TaskScores) -> list[Paired]:
    """The comparison of each other method that shares a run with the baseline, in the order of tables."""
    runs: dict[str, dict[FoldSeed, Run]] = {}
    for run in results.by_task[task.task]:
        if run.method in results.methods:
            runs.setdefault(run.method, {})[run.fold, run.seed] = run
    base = runs.pop(results.baseline, {})
    shared = {
        method: sorted(set(runs[method]) & set(base))
        for method in results.methods
        if method in runs and set(runs[method]) & set(base)
    }
    losses = {
        method: _paired_losses(results, [(runs[method][place], base[place]) for place in places])
        for method, places in shared.items()
    }
    differences = {
        method: [baseline_loss - loss for loss, baseline_loss in pairs] for method, pairs in losses.items()
    }
    p = [sign_flip(values) for values in differences.values()]
    comparisons = []
    for (method, values), plain, corrected in zip(differences.items(), p, holm(p), strict=True):
        mean = estimate(values)
        mean_losses = [fmean(column) for column in zip(*losses[method], strict=True)]
        comparisons.append(
            Paired(
                task=task.task,
                method=method,
                metric=task.metric_name,
                folds=len(values),
                over=over_folds(shared[method]),
                difference=mean.mean,
                low=mean.low,
                high=mean.high,
                p=plain,
                p_holm=corrected,
                least_p_holm=least_p(len(values), len(p)),
                by_fold=dict(zip(sorted({fold for fold, _ in shared[method]}), values, strict=True)),
                is_tie=max(mean_losses) <= reaching_loss(min(mean_losses), task.scale.zero_loss),
            )
        )
    return comparisons


def sign_flip(differences: Sequence[float]) -> float:
    """The exact p of a two-sided test that the mean difference is 0.

    Under this hypothesis, each difference could have either sign: p is the share of all ways to sign them
    whose sum is at least as far from 0. For more than MOST_FOLDS differences, 65,536 ways are drawn at
    random, always with the same seed.
    """
    values = np.asarray(differences, dtype=float)
    sums = np.abs(_signs(len(values)) @ values)
    return float((sums >= abs(values.sum()) - 1e-12 * np.abs(values).sum()).mean())


@lru_cache(maxsize=1)  # the tasks of a report mostly have the same number of folds
def _signs(n: int) -> Array:
    """Ways to sign n differences, one per row; the first leaves them unchanged."""
    if n <= MOST_FOLDS:
        signs: Array = 1.0 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(n).choice((-1.0, 1.0), size=(2**MOST_FOLDS, n))
        signs[0] = 1
    return signs


def _paired_losses(results: LearnerResults, pairs: Sequence[tuple[Run, Run]]) -> list[tuple[float, float]]:
    """The final losses of a method and the baseline by fold, means over seeds."""
    by_fold: dict[int, list[tuple[float, float]]] = {}
    for run, base in pairs:
        loss, base_loss = (results.incumbents(each).losses[-1:] for each in (run, base))
        # A run without a result counts as the worse of the constant predictor and the other method.
        worst = max([run.constant_loss, *loss, *base_loss])
        by_fold.setdefault(run.fold, []).append(((loss or [worst])[0], (base_loss or [worst])[0]))
    return [
        (fmean(loss for loss, _ in by_fold[fold]), fmean(base_loss for _, base_loss in by_fold[fold]))
        for fold in sorted(by_fold)
    ]


# --- learners with each other ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskOfLearners:
    """A task and method with several learners, over the folds and seeds that all of them have."""

    task: str
    method: str
    metric: MetricFacts
    over: str  # the averaged folds and seeds, in words
    losses: Mapping[str, tuple[float, ...]]  # by learner: the final loss on each fold, seeds averaged
    runs: int
    failed: Mapping[str, int]  # by learner: runs without a result, which count as the worst
    constant_loss: float  # mean over the folds

    def scores(self, learner: str) -> list[float]:
        return [self.metric.to_score(loss) for loss in self.losses[learner]]

    @property
    def best(self) -> tuple[str, ...]:
        """The learners with the lowest mean loss: several if they are equal within 0.05 %."""
        means = {learner: fmean(losses) for learner, losses in self.losses.items()}
        limit = reaching_loss(min(means.values()), self.constant_loss)
        return tuple(learner for learner, mean in means.items() if mean <= limit)

    def compare(self, learner: str, other: str) -> int:
        """1 if the first learner is better, -1 if it is worse, 0 if they are equal."""
        loss, other_loss = fmean(self.losses[learner]), fmean(self.losses[other])
        if max(loss, other_loss) <= reaching_loss(min(loss, other_loss), self.constant_loss):
            return 0
        return 1 if loss < other_loss else -1


@dataclass(frozen=True, slots=True)
class LearnerPair:
    """Two learners with the same method over tasks: the numbers of tasks on which the first is better, worse
    or equal.
    """

    method: str
    learner: str
    other: str
    better: int
    worse: int
    equal: int
    p: float  # of the exact sign test, tasks on which they are equal left out
    p_holm: float  # corrected for the number of pairs
    least_p_holm: float  # its least possible value: one learner is better on every task

    @property
    def verdict(self) -> str:
        if self.least_p_holm >= LEVEL:
            return too_few(self.better + self.worse + self.equal, "task")
        if self.p_holm >= LEVEL:
            return NOT_SIGNIFICANT
        return f"{self.learner if self.better > self.worse else self.other} is better"


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The learners that can be compared, and the tasks and learners that cannot."""

    tasks: list[TaskOfLearners]
    differ: list[str]  # tasks on which the learners were run under different conditions
    short: list[str]  # learners that share too few runs with the others, in words


def learners_by_task(everyone: Sequence[LearnerResults]) -> SideBySide:
    """The tasks and methods with at least two learners."""
    runs: dict[tuple[str, str], dict[str, dict[FoldSeed, Run]]] = {}
    for results in everyone if len(everyone) > 1 else ():
        for run in results.runs:
            if run.method in results.methods:
                by_learner = runs.setdefault((run.task, run.method), {})
                by_learner.setdefault(results.learner, {})[run.fold, run.seed] = run
    results_of = {results.learner: results for results in everyone}
    order = {method: at for at, method in enumerate(in_order({method for _, method in runs}))}
    tasks, differ, short = [], [], []
    for (task, method), by_learner in sorted(runs.items(), key=lambda item: (item[0][0], order[item[0][1]])):
        if len(by_learner) < 2:
            continue
        if _differ([run for runs_of_learner in by_learner.values() for run in runs_of_learner.values()]):
            differ.append(task)
            continue
        kept, places = keep_most(
            {learner: set(runs_of_learner) for learner, runs_of_learner in by_learner.items()}
        )
        most = max(map(len, by_learner.values()))
        short += [
            f"{learner} with {method} on {task} ({len(runs_of_learner)} of {most})"
            for learner, runs_of_learner in by_learner.items()
            if learner not in kept
        ]
        if len(kept) < 2:
            continue
        shared = sorted(places)
        kept_runs = {
            learner: runs_of_learner for learner, runs_of_learner in by_learner.items() if learner in kept
        }
        losses = {
            learner: _final_losses(results_of[learner], runs_of_learner, shared)
            for learner, runs_of_learner in kept_runs.items()
        }
        if any(loss is not None for by_place in losses.values() for loss in by_place.values()):
            tasks.append(_task_of_learners(task, method, kept_runs, losses, shared))
    return SideBySide(tasks, sorted(set(differ)), short)


def _differ(runs: Sequence[Run]) -> bool:
    """Whether runs of several learners differ in a setting that must be equal for a comparison."""
    return any(
        aspect.differs(run.header for run in runs)
        for aspect in comparison_aspects(type(runs[0].spec))
        if aspect.name not in _SETTINGS_OF_A_LEARNER
    )


def _final_losses(
    results: LearnerResults, runs: Mapping[FoldSeed, Run], shared: Sequence[FoldSeed]
) -> dict[FoldSeed, float | None]:
    """The final loss of each run; None if it has no result."""
    return {place: next(iter(results.incumbents(runs[place]).losses[-1:]), None) for place in shared}


def _task_of_learners(
    task: str,
    method: str,
    runs: Mapping[str, Mapping[FoldSeed, Run]],
    losses: Mapping[str, Mapping[FoldSeed, float | None]],
    shared: Sequence[FoldSeed],
) -> TaskOfLearners:
    first = next(iter(runs.values()))
    # A run without a result counts as the worse of the constant predictor and the worst other learner.
    worst = {
        place: max(
            [
                first[place].constant_loss,
                *(loss for by_place in losses.values() if (loss := by_place[place]) is not None),
            ]
        )
        for place in shared
    }
    header = first[shared[0]].header
    zero_losses = {fold: first[fold, seed].header.zero_loss for fold, seed in shared}
    return TaskOfLearners(
        task=task,
        method=method,
        metric=header.metric_facts,
        over=over_folds(shared),
        losses={
            learner: tuple(
                mean_by_fold(
                    {place: worst[place] if loss is None else loss for place, loss in by_place.items()}
                ).values()
            )
            for learner, by_place in losses.items()
        },
        runs=len(shared),
        failed={
            learner: sum(loss is None for loss in by_place.values()) for learner, by_place in losses.items()
        },
        constant_loss=fmean(zero_losses.values()),
    )


def learner_pairs(tasks: Sequence[TaskOfLearners]) -> list[LearnerPair]:
    """Every pair of learners with every method."""
    pairs = []
    for method in in_order({task.method for task in tasks}):
        of_method = [task for task in tasks if task.method == method]
        learners = sorted({learner for task in of_method for learner in task.losses})
        for one, other in combinations(learners, 2):
            signs = [task.compare(one, other) for task in of_method if {one, other} <= set(task.losses)]
            if signs:
                better, worse = signs.count(1), signs.count(-1)
                p = _sign_test(better, worse)
                pairs.append(LearnerPair(method, one, other, better, worse, signs.count(0), p, p, p))
    corrected = holm([pair.p for pair in pairs])
    return [
        replace(pair, p_holm=p, least_p_holm=least_p(pair.better + pair.worse + pair.equal, len(pairs)))
        for pair, p in zip(pairs, corrected, strict=True)
    ]


def _sign_test(better: int, worse: int) -> float:
    """The exact two-sided p of the hypothesis that better and worse are equally likely."""
    n = better + worse
    tail = sum(comb(n, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2.0 * tail / 2.0**n)
