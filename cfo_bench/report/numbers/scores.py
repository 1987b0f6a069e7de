"""Scores as in the paper: scaled losses, who reaches the best score and when, how far the others are from it.

A loss L is scaled to (L_constant - L) / (L_constant - L_forest) on classification, so that 0 is the
constant predictor and 1 the tuned random forest, each the mean over the same folds; where the forest
was not run, to (L_constant - L) / L_constant. On regression the score is r2 as it is.
Means are over the runs (fold and seed) that all methods of a task have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from cfo_bench.report.numbers.curves import Curve, curve
from cfo_bench.report.reading.digest import Digest, Steps

# These methods search nothing: the first two scale the scores, a study tries every value.
FOREST, STUDY = "tuned-rf", "study"
NOT_COMPARED = ("constant", FOREST, STUDY)

# "Reaches the best": at least this share of the highest score of all methods.
REACHES = 0.9995


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Turns a loss into a score and back; `by` says what a score of 1 is."""

    by: str
    zero_loss: float
    one_loss: float

    def score(self, loss: float) -> float:
        return (self.zero_loss - loss) / (self.zero_loss - self.one_loss)

    def loss(self, score: float) -> float:
        return self.zero_loss - score * (self.zero_loss - self.one_loss)


@dataclass(frozen=True, slots=True)
class MethodScores:
    """A method on a task. `curve` is None if none of the shared runs has a result.

    A run without a successful trial counts as the constant predictor: `imputed` is the number of these.
    """

    method: str
    folds: tuple[int, ...]
    curve: Curve | None
    final_loss: float | None
    final_score: float | None
    seconds_to_best: float | None
    imputed: int = 0


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Every method on one task. `best_method` is the first to reach the `best_score`.

    The means are over the (fold, seed) in `shared`.
    """

    learner: str
    task: str
    problem: str
    metric: str
    budget_seconds: float
    scale: ScoreScale
    methods: Mapping[str, MethodScores]
    best_score: float | None
    best_method: str | None
    shared: tuple[tuple[int, int], ...] = ()

    @property
    def best_seconds(self) -> float | None:
        return self.methods[self.best_method].seconds_to_best if self.best_method else None


def score_tasks(digests: Sequence[Digest], full_rows_only: bool = False) -> list[TaskScores]:
    """The scores of one learner's runs, one for each task, by the task's name."""
    by_task: dict[str, list[Digest]] = {}
    for one in digests:
        by_task.setdefault(one.task, []).append(one)
    return [score_task(runs, full_rows_only) for _, runs in sorted(by_task.items())]


def score_task(digests: Sequence[Digest], full_rows_only: bool = False) -> TaskScores:
    """The scores of all methods on the one (learner, task) that the digests are of."""
    first = digests[0]
    by_method: dict[str, list[Digest]] = {}
    for one in sorted(digests, key=lambda one: (one.method, one.fold, one.seed)):
        by_method.setdefault(one.method, []).append(one)
    compared = {method: runs for method, runs in by_method.items() if method not in NOT_COMPARED}
    shared = shared_runs(compared)
    imputed = dict.fromkeys(compared, 0)
    curves: dict[str, Curve | None] = {}
    for method, runs in compared.items():
        found = [(one, run_steps(one, full_rows_only)) for one in runs if (one.fold, one.seed) in shared]
        if any(steps.seconds for _, steps in found):
            imputed[method] = sum(not steps.seconds for _, steps in found)
            curves[method] = curve([steps if steps.seconds else _constant(one) for one, steps in found])
        else:
            curves[method] = None
    scale = _scale(first, digests, by_method.get(FOREST, []), {fold for fold, _ in shared})
    losses = {method: float(found.mean[-1]) for method, found in curves.items() if found}
    finals = {method: scale.score(loss) for method, loss in losses.items()}
    best = max(finals.values(), default=None)
    # Rounding must not put the threshold below the best loss itself.
    threshold = (
        None if best is None else max(scale.loss(best - (1 - REACHES) * abs(best)), min(losses.values()))
    )
    methods = {
        method: MethodScores(
            method=method,
            folds=tuple(sorted({one.fold for one in compared[method]})),
            curve=found,
            final_loss=losses.get(method),
            final_score=finals.get(method),
            seconds_to_best=None
            if found is None or threshold is None
            else found.first_at_or_below(threshold),
            imputed=imputed[method],
        )
        for method, found in curves.items()
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
        shared=tuple(sorted(shared)),
    )


def run_steps(one: Digest, full_rows_only: bool) -> Steps:
    return one.full if full_rows_only else one.steps


def shared_runs(by_method: Mapping[str, Sequence[Digest]]) -> set[tuple[int, int]]:
    """The (fold, seed) that all methods have. A method that has none of them is not counted."""
    shared: set[tuple[int, int]] = set()
    for _, runs in sorted(by_method.items(), key=lambda item: (-len(item[1]), item[0])):
        own = {(one.fold, one.seed) for one in runs}
        shared = shared & own or shared or own
    return shared


def _constant(one: Digest) -> Steps:
    """A run without a result counts as the constant predictor from the start."""
    return Steps([0.0], [one.constant_loss], [None], [0.0], [0.0], {})


def _scale(
    first: Digest, digests: Sequence[Digest], forest: Sequence[Digest], shared: set[int]
) -> ScoreScale:
    if first.problem == "regression":
        return ScoreScale("r2", 1.0, 0.0)
    folds = {one.fold: one.constant_loss for one in digests if one.fold in shared or not shared}
    forest_losses = {one.fold: one.steps.losses[-1] for one in forest if one.steps.losses}
    zero = fmean(folds.values())
    if set(forest_losses) >= set(folds):
        one = fmean(forest_losses[fold] for fold in folds)
        if one < zero:
            return ScoreScale("tuned random forest", zero, one)
    return ScoreScale("a loss of 0", zero, 0.0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the optimality table, as numbers and as the paper prints it.

    `gap_percent` is None if the best score is 0, `cost_ratio` if the best time is 0.
    """

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
            return f"**{self.score:.4f} ({_seconds(self.seconds or 0.0)}s)**"
        if self.outcome == "slower":
            return "slower" if self.cost_ratio is None else f"×{self.cost_ratio:.1f}"
        if self.outcome == "missing":
            return "no result"
        return "worse" if self.gap_percent is None else f"-{self.gap_percent:.1f}%"


def _seconds(value: float) -> str:
    """Whole seconds, as in the paper; two digits for less than ten seconds."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def optimality(scores: TaskScores) -> list[Cell]:
    """best: reaches the best score soonest; slower: reaches it later; worse: does not reach it."""
    cells = []
    for method, found in scores.methods.items():
        cell = Cell(scores.task, method, "missing", found.final_score, found.seconds_to_best, None, None)
        if found.final_score is not None and scores.best_score is not None:
            if method == scores.best_method:
                cell = Cell(scores.task, method, "best", found.final_score, found.seconds_to_best, 1.0, 0.0)
            elif found.seconds_to_best is not None and scores.best_seconds is not None:
                ratio = found.seconds_to_best / scores.best_seconds if scores.best_seconds else None
                cell = Cell(
                    scores.task, method, "slower", found.final_score, found.seconds_to_best, ratio, 0.0
                )
            else:
                short = scores.best_score - found.final_score
                gap = 100 * short / abs(scores.best_score) if scores.best_score else None
                cell = Cell(scores.task, method, "worse", found.final_score, None, None, gap)
        cells.append(cell)
    return cells


def normalised(scores: TaskScores, baseline: str) -> dict[str, float]:
    """100 × score / the baseline's score, for every method with a result.

    Empty if the baseline's score is not above 0: then the ratio means nothing.
    """
    base = scores.methods.get(baseline)
    if base is None or base.final_score is None or base.final_score <= 0:
        return {}
    return {
        method: 100 * found.final_score / base.final_score
        for method, found in scores.methods.items()
        if found.final_score is not None
    }
