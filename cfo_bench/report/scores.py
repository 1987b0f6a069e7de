"""Scores as the paper means them: scaled losses, who reaches the best, when, and how far off the others are.

A loss L is scaled to (L_constant - L) / (L_constant - L_forest) on classification, so that 0 is the
constant predictor and 1 the tuned random forest, each the mean over the same folds; where the forest
was not run, to (L_constant - L) / L_constant. On regression the score is r2 as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from cfo_bench.report.curves import Curve, curve
from cfo_bench.report.digest import Digest

# Methods that scale the scores; they are not compared.
CONSTANT, FOREST = "constant", "tuned-rf"
REFERENCES = (CONSTANT, FOREST)

# "Reaches the best": at least this share of the highest score of all methods.
REACHES = 0.9995


@dataclass(frozen=True, slots=True)
class Scale:
    """From a loss to a score; `by` says what the 1 is."""

    by: str
    zero_loss: float
    one_loss: float

    def score(self, loss: float) -> float:
        return (self.zero_loss - loss) / (self.zero_loss - self.one_loss)

    def loss(self, score: float) -> float:
        return self.zero_loss - score * (self.zero_loss - self.one_loss)


@dataclass(frozen=True, slots=True)
class MethodScores:
    """A method on a task: `curve` is None when some fold has no result at all."""

    method: str
    folds: tuple[int, ...]
    curve: Curve | None
    final_loss: float | None
    final_score: float | None
    seconds_to_best: float | None


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Every method on one task; `best_method` is the soonest to reach the `best_score`."""

    learner: str
    task: str
    problem: str
    metric: str
    budget_seconds: float
    scale: Scale
    methods: Mapping[str, MethodScores]
    best_score: float | None
    best_method: str | None

    @property
    def best_seconds(self) -> float | None:
        return self.methods[self.best_method].seconds_to_best if self.best_method else None


def score_task(digests: Sequence[Digest], full_rows_only: bool = False) -> TaskScores:
    """The scores of all methods on the one (learner, task) that the digests are of."""
    first = digests[0]
    by_method: dict[str, list[Digest]] = {}
    for one in digests:
        by_method.setdefault(one.method, []).append(one)
    curves = {
        method: curve([one.full if full_rows_only else one.steps for one in runs])
        for method, runs in sorted(by_method.items())
    }
    scale = _scale(first, digests, by_method.get(FOREST, []))
    compared = {method: found for method, found in curves.items() if method not in REFERENCES}
    finals = {method: scale.score(float(found.mean[-1])) for method, found in compared.items() if found}
    best = max(finals.values(), default=None)
    threshold = None if best is None else scale.loss(best - (1 - REACHES) * abs(best))
    methods = {
        method: MethodScores(
            method=method,
            folds=tuple(sorted({one.fold for one in by_method[method]})),
            curve=found,
            final_loss=None if found is None else float(found.mean[-1]),
            final_score=finals.get(method),
            seconds_to_best=None
            if found is None or threshold is None
            else found.first_at_or_below(threshold),
        )
        for method, found in compared.items()
    }
    times = {name: m.seconds_to_best for name, m in methods.items() if m.seconds_to_best is not None}
    return TaskScores(
        learner=first.learner,
        task=first.task,
        problem=first.problem,
        metric=first.metric,
        budget_seconds=first.budget_seconds,
        scale=scale,
        methods=methods,
        best_score=best,
        best_method=min(times, key=lambda name: (times[name], name), default=None),
    )


def _scale(first: Digest, digests: Sequence[Digest], forest: Sequence[Digest]) -> Scale:
    if first.problem == "regression":
        return Scale("r2", 1.0, 0.0)
    folds = {one.fold: one.constant_loss for one in digests}
    forest_losses = {one.fold: one.steps.losses[-1] for one in forest if one.steps.losses}
    zero = fmean(folds.values())
    if set(forest_losses) >= set(folds):
        one = fmean(forest_losses[fold] for fold in folds)
        if one < zero:
            return Scale("tuned random forest", zero, one)
    return Scale("a loss of 0", zero, 0.0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the optimality table, as the paper prints it and as numbers."""

    task: str
    method: str
    outcome: str
    score: float | None
    seconds: float | None
    cost_ratio: float | None
    gap_percent: float | None

    @property
    def text(self) -> str:
        if self.outcome == "best":
            return f"**{self.score:.4f} ({self.seconds:.0f}s)**"
        if self.outcome == "slower":
            return f"×{self.cost_ratio:.1f}"
        return "no result" if self.outcome == "missing" else f"-{self.gap_percent:.1f}%"


def optimality(scores: TaskScores) -> list[Cell]:
    """best: reaches the best score soonest; slower: reaches it later; worse: does not reach it."""
    cells = []
    for method, found in scores.methods.items():
        cell = Cell(scores.task, method, "missing", found.final_score, found.seconds_to_best, None, None)
        if found.final_score is not None and scores.best_score is not None:
            if method == scores.best_method:
                cell = Cell(scores.task, method, "best", found.final_score, found.seconds_to_best, 1.0, 0.0)
            elif found.seconds_to_best is not None and scores.best_seconds is not None:
                ratio = found.seconds_to_best / scores.best_seconds
                cell = Cell(
                    scores.task, method, "slower", found.final_score, found.seconds_to_best, ratio, 0.0
                )
            else:
                gap = 100 * (scores.best_score - found.final_score) / abs(scores.best_score)
                cell = Cell(scores.task, method, "worse", found.final_score, None, None, gap)
        cells.append(cell)
    return cells


def normalised(scores: TaskScores, baseline: str) -> dict[str, float]:
    """100 × score / the baseline's score, for every method with a result; empty without the baseline's."""
    base = scores.methods.get(baseline)
    if base is None or not base.final_score:
        return {}
    return {
        method: 100 * found.final_score / base.final_score
        for method, found in scores.methods.items()
        if found.final_score is not None
    }
