"""Scores of every method on a task: who reaches the best score first, who ties, how far the others are off.

The score of people is the task's metric. To compare tasks, a loss L is also scaled as in the paper: to
(L_constant - L) / (L_constant - L_forest) on classification, so that 0 is the constant predictor and 1 the
tuned random forest, each the mean over the same folds; where the forest was not run, to
(L_constant - L) / L_constant. On regression the scaled score is r2 as it is.

Means are over folds, after a mean over the seeds of each fold, of the runs that all compared methods have.
With `validation: holdout`, the loss is that of the incumbent on the test part; else it is the validation
loss, by which the incumbent was also selected.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from cfo_bench.metrics import METRICS, Array
from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.curves import Curve, curve
from cfo_bench.report.numbers.estimates import Estimate, estimate
from cfo_bench.report.numbers.joint import keep_most
from cfo_bench.report.reading.digest import Digest, Steps
from cfo_bench.report.reading.load import CONSTANT, FOREST
from cfo_bench.results.best_so_far import reaching_loss

# These methods search nothing: the first two scale the scores, a study tries every value.
STUDY = "study"
NOT_COMPARED = (CONSTANT, FOREST, STUDY)

# Methods that reach the best score in up to this many times the least time tie; see `_leaders`.
TIE_FACTOR = 1.1

# A larger loss counts as this one: sums and squares of larger numbers overflow.
_LARGEST_LOSS = 1e100

# Metrics as people write them, the losses made of them, and the lowest and the highest score there can be.
METRIC_NAMES = {
    "auc": "AUC",
    "log_loss": "log-loss",
    "r2": "r2",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mse": "mean squared error",
}
LOSS_NAMES = {
    "auc": "1 − AUC",
    "log_loss": "log-loss",
    "r2": "1 − r2",
    "accuracy": "1 − accuracy",
    "balanced_accuracy": "1 − balanced accuracy",
    "mse": "mean squared error",
}
METRIC_BOUNDS = {
    "auc": (0.0, 1.0),
    "log_loss": (0.0, math.inf),
    "r2": (-math.inf, 1.0),
    "accuracy": (0.0, 1.0),
    "balanced_accuracy": (0.0, 1.0),
    "mse": (0.0, math.inf),
}

Run = tuple[int, int]  # fold and seed


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
    """A method on a task."""

    method: str
    folds: tuple[int, ...]  # those that it was run on
    curve: Curve | None  # None if no run that is compared has a result
    final_loss: float | None
    final_score: float | None  # scaled
    seconds_to_best: float | None  # to the task's best score; None if it does not end with it
    imputed: int = 0  # runs without a result, which count as the worse of constant and worst other method
    runs: int = 0  # its own
    is_compared: bool = True  # False: it has so few of the task's runs that it is left out there
    counted_score: float | None = None  # scaled; if no run has a result, what these are imputed with
    seconds_to_final: float | None = None  # to its own final score
    fold_losses: tuple[float, ...] = ()  # final losses, by fold, seeds averaged
    validation_losses: tuple[
        float, ...
    ] = ()  # the same on the validation part, if scores are on the test part

    @property
    def has_failed(self) -> bool:
        """It was to be compared, and no run has a result: it ranks last."""
        return self.is_compared and self.curve is None


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Every method on one task. The means are over the (fold, seed) in `shared`."""

    learner: str
    task: str
    problem: str
    metric: str
    budget_seconds: float
    scale: ScoreScale
    methods: Mapping[str, MethodScores]
    best_score: float | None  # scaled
    leaders: tuple[str, ...]  # the methods that reach the best score first; several if they tie
    shared: tuple[Run, ...] = ()
    constant_loss: float = math.nan  # mean over the folds
    clock: str = "wall"
    by_test: bool = False  # losses are on the test part, which no method has seen

    @property
    def compared(self) -> list[str]:
        """The methods that are compared, those without a result among them."""
        return [name for name, found in self.methods.items() if found.is_compared]

    @property
    def beats_constant(self) -> bool:
        """Whether any method has a lower loss than the constant predictor."""
        losses = [found.final_loss for found in self.methods.values() if found.final_loss is not None]
        return min(losses, default=math.inf) < self.constant_loss

    @property
    def winners(self) -> tuple[str, ...]:
        """The leaders, if they beat another method and the constant predictor."""
        return self.leaders if len(self.compared) > 1 and self.beats_constant else ()

    @property
    def best_seconds(self) -> float | None:
        """The least time to the best score."""
        times = [self.methods[name].seconds_to_best for name in self.leaders]
        return min((time for time in times if time is not None), default=None)

    @property
    def n_folds(self) -> int:
        return len({fold for fold, _ in self.shared})

    @property
    def over(self) -> str:
        """What the means are over, in words."""
        return over_folds(self.shared)

    @property
    def score_is(self) -> str:
        """What the losses and scores are measured on, in words."""
        return "test score" if self.by_test else "validation score (on which trials were selected)"

    @property
    def seconds_label(self) -> str:
        """What an axis of seconds is called."""
        return "virtual seconds" if self.clock == "virtual" else "wall-clock seconds"

    @property
    def metric_name(self) -> str:
        """The metric as people write it."""
        return METRIC_NAMES[self.metric]

    def native(self, loss: float) -> float:
        """A loss as the task's metric."""
        return METRICS[self.metric].to_score(loss)

    def estimate(self, losses: Sequence[float]) -> Estimate:
        """The mean over folds in the task's metric; `losses` has one a fold.

        Its interval ends where the metric does: there is no AUC above 1.
        """
        found = estimate([self.native(loss) for loss in losses])
        if found.low is None or found.high is None:
            return found
        least, most = METRIC_BOUNDS[self.metric]
        return replace(found, low=max(found.low, least), high=min(found.high, most))


def over_folds(runs: Sequence[Run]) -> str:
    """Such as `3 folds (5 seeds averaged)`."""
    folds = len({fold for fold, _ in runs})
    seeds = max((sum(fold == one for one, _ in runs) for fold, _ in runs), default=0)
    text = f"{folds} fold{'s' * (folds != 1)}"
    return f"{text} ({seeds} seeds averaged)" if seeds > 1 else text


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
    candidates = {method: runs for method, runs in by_method.items() if method not in NOT_COMPARED}
    kept, shared = keep_most({method: {_run(one) for one in runs} for method, runs in candidates.items()})
    by_test = has_test_scores(digests, full_rows_only)
    found = {
        method: {
            _run(one): run_steps(one, full_rows_only, by_test)
            for one in candidates[method]
            if _run(one) in shared
        }
        for method in kept
    }
    constants = {_run(one): one.constant_loss for runs in candidates.values() for one in runs}
    imputed = {
        (method, run): stand_in([found[other][run] for other in kept if other != method], constants[run])
        for method in kept
        for run in shared
        if not found[method][run].seconds
    }
    curves: dict[str, Curve | None] = dict.fromkeys(candidates)
    whole: dict[str, dict[Run, Steps]] = {}
    for method in kept:
        whole[method] = {
            run: steps if steps.seconds else imputed[method, run] for run, steps in found[method].items()
        }
        if any(steps.seconds for steps in found[method].values()):
            curves[method] = curve(list(whole[method].values()), [fold for fold, _ in whole[method]])
    scale = _scale(first, digests, by_method, {fold for fold, _ in shared}, full_rows_only, by_test)
    constant = _constant_loss(digests, by_method, {fold for fold, _ in shared}, full_rows_only, by_test)
    losses = {method: float(one.mean[-1]) for method, one in curves.items() if one}
    target = min(losses.values(), default=None)
    threshold = None if target is None else reaching_loss(target, scale.zero_loss)
    methods = {}
    for method, runs in candidates.items():
        own = curves[method]
        final = losses.get(method)
        by_fold = _by_fold(whole[method]) if method in whole else ()
        counted = fmean(by_fold) if by_fold else None
        methods[method] = MethodScores(
            method=method,
            folds=tuple(sorted({one.fold for one in runs})),
            curve=own,
            final_loss=final,
            final_score=None if final is None else scale.score(final),
            seconds_to_best=None if own is None or threshold is None else own.reached_at(threshold),
            imputed=0 if own is None else sum((method, run) in imputed for run in shared),
            runs=len(runs),
            is_compared=method in kept,
            counted_score=None if counted is None else scale.score(counted),
            seconds_to_final=None
            if own is None or final is None
            else own.reached_at(reaching_loss(final, scale.zero_loss)),
            fold_losses=() if own is None else by_fold,
            validation_losses=_validation_losses(runs, shared, full_rows_only) if by_test and own else (),
        )
    return TaskScores(
        learner=first.learner,
        task=first.task,
        problem=first.problem,
        metric=first.metric,
        budget_seconds=first.budget_seconds,
        scale=scale,
        methods=methods,
        best_score=None if target is None else scale.score(target),
        leaders=_leaders(methods, found),
        shared=tuple(sorted(shared)),
        constant_loss=constant,
        clock=first.header["spec"].get("clock", "wall"),
        by_test=by_test,
    )


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

    def scores_at(self, share: float) -> Array:
        """The same at a share of each task's budget; NaN where a method has no result yet, or never."""
        return np.array(
            [[_score_at(task, method, share) for method in self.methods] for task in self.tasks]
        ).reshape(len(self.tasks), len(self.methods))


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


def _score_at(task: TaskScores, method: str, share: float) -> float:
    found = task.methods[method].curve
    return math.nan if found is None else task.scale.score(found.at(share * task.budget_seconds))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


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


def _run(one: Digest) -> Run:
    return one.fold, one.seed


def _by_fold(runs: Mapping[Run, Steps]) -> tuple[float, ...]:
    """The final loss of each fold, the mean over its seeds."""
    return tuple(
        fmean(steps.losses[-1] for (fold, _), steps in runs.items() if fold == one)
        for one in sorted({fold for fold, _ in runs})
    )


def _validation_losses(runs: Sequence[Digest], shared: set[Run], full_rows_only: bool) -> tuple[float, ...]:
    """The final validation losses by fold, where the comparison is by test scores."""
    found = {_run(one): run_steps(one, full_rows_only) for one in runs if _run(one) in shared}
    return _by_fold({run: steps for run, steps in found.items() if steps.seconds})


def _leaders(
    methods: Mapping[str, MethodScores], found: Mapping[str, Mapping[Run, Steps]]
) -> tuple[str, ...]:
    """The methods that reach the best score first. Those tie whose time to it is close to the least.

    Close is within TIE_FACTOR of it, or within the duration of the trial by which it was reached: which of
    two methods ends a trial sooner within that time is chance.
    """
    times = {name: one.seconds_to_best for name, one in methods.items() if one.seconds_to_best is not None}
    if not times:
        return ()
    least = min(times.values())
    trial = max(
        (
            steps.costs[at] + steps.overheads[at]
            for name, time in times.items()
            if time == least
            for steps in found[name].values()
            for at, second in enumerate(steps.seconds)
            if second == least
        ),
        default=0.0,
    )
    latest = max(TIE_FACTOR * least, least + trial)
    return tuple(in_order(name for name, time in times.items() if time <= latest))


def _scale(
    first: Digest,
    digests: Sequence[Digest],
    by_method: Mapping[str, Sequence[Digest]],
    shared: set[int],
    full_rows_only: bool,
    by_test: bool,
) -> ScoreScale:
    if first.metric == "r2":
        return ScoreScale("r2", 1.0, 0.0)
    zero = _constant_loss(digests, by_method, shared, full_rows_only, by_test)
    folds = {one.fold for one in digests if one.fold in shared or not shared}
    forest = _final_by_fold(by_method.get(FOREST, ()), full_rows_only, by_test)
    if set(forest) >= folds:
        one = fmean(forest[fold] for fold in folds)
        if one < zero:
            return ScoreScale("tuned random forest", zero, one)
    if zero <= 0:  # no loss is below that of the constant predictor
        return ScoreScale("1 below the constant's loss", zero, zero - 1.0)
    return ScoreScale("a loss of 0", zero, 0.0)


def _constant_loss(
    digests: Sequence[Digest],
    by_method: Mapping[str, Sequence[Digest]],
    shared: set[int],
    full_rows_only: bool,
    by_test: bool,
) -> float:
    """The mean loss of the constant predictor over the folds.

    On the test part it is that of the method `constant`, if that was run on all folds: the loss in a trace's
    header is on the validation part.
    """
    folds = {one.fold: one.constant_loss for one in digests if one.fold in shared or not shared}
    if by_test:
        tested = _final_by_fold(by_method.get(CONSTANT, ()), full_rows_only, by_test)
        if set(tested) >= set(folds):
            return fmean(tested[fold] for fold in folds)
    return fmean(folds.values())


def _final_by_fold(runs: Sequence[Digest], full_rows_only: bool, by_test: bool) -> dict[int, float]:
    found: dict[int, list[float]] = {}
    for one in runs:
        steps = run_steps(one, full_rows_only, by_test)
        if steps.losses and len(steps.losses) == len(steps.seconds):
            found.setdefault(one.fold, []).append(steps.losses[-1])
    return {fold: fmean(losses) for fold, losses in found.items()}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the optimality table, as numbers and as the paper prints it."""

    task: str
    method: str
    outcome: str  # best, slower, worse, missing (no result) or left out
    score: float | None  # scaled; of the best, the task's best score, which a method that ties may miss a bit
    seconds: float | None
    cost_ratio: float | None  # its time to the best score over the least; None if that is 0
    gap_percent: float | None  # how far it ends below the best score; None if that is 0

    @property
    def text(self) -> str:
        if self.outcome == "best":
            return f"**{self.score:.4f} ({_seconds(self.seconds or 0.0)}s)**"
        if self.outcome == "slower":
            return "slower" if self.cost_ratio is None else f"×{self.cost_ratio:.1f}"
        if self.outcome == "missing":
            return "no result"
        if self.outcome == "left out":
            return "left out"
        return "worse" if self.gap_percent is None else f"-{self.gap_percent:.1f}%"


def _seconds(value: float) -> str:
    """Whole seconds, as in the paper; two digits for less than ten seconds."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def optimality(scores: TaskScores) -> list[Cell]:
    """best: reaches the best score first, or ties; slower: reaches it later; worse: does not reach it."""
    return [_cell(scores, found) for found in scores.methods.values()]


def _cell(scores: TaskScores, found: MethodScores) -> Cell:
    seconds, least = found.seconds_to_best, scores.best_seconds
    outcome, ratio, gap = "worse", None, None
    if not found.is_compared:
        outcome = "left out"
    elif found.method in scores.leaders:
        outcome, ratio, gap = "best", 1.0, 0.0
    elif seconds is not None:
        outcome, ratio, gap = "slower", seconds / least if least else None, 0.0
    else:
        outcome = "missing" if found.final_score is None else "worse"
        if found.counted_score is not None and scores.best_score:
            gap = 100 * (scores.best_score - found.counted_score) / abs(scores.best_score)
    score = scores.best_score if outcome == "best" else found.final_score
    return Cell(scores.task, found.method, outcome, score, seconds, ratio, gap)


def normalised(scores: TaskScores, baseline: str) -> dict[str, float]:
    """100 × scaled score / the baseline's, for every method that is compared.

    Empty if the baseline's score is not above 0: then the ratio means nothing.
    """
    base = scores.methods.get(baseline)
    if base is None or base.final_score is None or base.final_score <= 0:
        return {}
    return {
        method: 100 * found.counted_score / base.final_score
        for method, found in scores.methods.items()
        if found.counted_score is not None
    }
