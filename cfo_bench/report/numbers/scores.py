"""The scores of every method on a task, as records: what tables and figures read."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeVar, overload

import numpy as np

from cfo_bench.metrics import METRIC_BOUNDS, METRIC_NAMES, METRICS, Array
from cfo_bench.report.method_styles import in_order
from cfo_bench.report.numbers.significance import Estimate, estimate, student_t_bound
from cfo_bench.report.reading.digest import LARGEST_LOSS, Digest, Steps
from cfo_bench.results.best_so_far import best_by_fold, reached_at, reaching_loss
from cfo_bench.results.compared import CONSTANT, FOREST, NOT_COMPARED, stand_in
from cfo_bench.results.trial_digest import tested

# --- joint -----------------------------------------------------------------------------------------
# Which methods are compared together, where not all of them were run on everything.


_Item = TypeVar("_Item")

# Names are left out only where they share less than this part of what one of them has.
_ENOUGH = 0.5


def keep_most(having: Mapping[str, Collection[_Item]]) -> tuple[set[str], set[_Item]]:
    """The names to compare, and the items that all of them have.

    Where the names share half of the items or more, all names are kept: one that lacks an item costs that
    item, and not its place. Where they share less, those are left out without which most is shared, as long
    as that keeps more (names × items) and two names are left. Names that are as much in the way as each other
    are left out together, so that their order decides nothing. If no two names can be compared, the one with
    most items is left alone.
    """
    names = set(having)
    kept, shared = names, _shared(having, names)
    while len(names) > 2 and len(_shared(having, names)) < _ENOUGH * max(len(having[name]) for name in names):
        in_the_way = {
            name: (len(_shared(having, names - {name})), -len(having[name])) for name in sorted(names)
        }
        most = max(in_the_way.values())
        names = {name for name, own in in_the_way.items() if own != most}
        if len(names) < 2:
            break
        fewer = _shared(having, names)
        if len(names) * len(fewer) > len(kept) * len(shared):
            kept, shared = names, fewer
    if not shared and kept:
        alone = max(sorted(having), key=lambda name: len(having[name]))
        return {alone}, set(having[alone])
    return kept, shared


def _shared(having: Mapping[str, Collection[_Item]], names: Collection[str]) -> set[_Item]:
    first, *others = sorted(names) or [""]
    return set(having.get(first, ())).intersection(*(having[name] for name in others))


# --- curves ----------------------------------------------------------------------------------------
# Mean best loss so far against seconds, with a 95 % confidence interval over folds (seeds averaged).


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A step function: from `seconds[i]` on, the mean over folds of the best loss so far is `mean[i]`.

    It starts when every fold has a first loss. The band is mean ± t·sd/√n; with one fold it is NaN.
    """

    seconds: Array
    mean: Array
    low: Array
    high: Array
    n_folds: int

    def over(self, seconds: Array) -> Array:
        """The mean at each moment; NaN before the curve starts."""
        index = np.searchsorted(self.seconds, seconds, side="right")
        found: Array = np.append(np.nan, self.mean)[index]
        return found

    def reached_at(self, loss: float) -> float | None:
        """The moment from which on the mean is `loss` or lower; None if it ends higher."""
        return reached_at(self.seconds, self.mean, loss)

    def thinned(self, columns: int = 400) -> Curve:
        """Fewer points, but the same to the eye: the last in each of `columns` strips of the log time axis.

        The first and the last point stay, so that start, end and final loss are exact.
        """
        if len(self.seconds) <= columns or self.seconds[0] <= 0:
            return self
        place = np.log(self.seconds / self.seconds[0]) / np.log(self.seconds[-1] / self.seconds[0])
        strip = np.floor(place * columns)
        keep = np.append(strip[1:] != strip[:-1], True)
        keep[0] = True
        return Curve(self.seconds[keep], self.mean[keep], self.low[keep], self.high[keep], self.n_folds)


def curve(runs: Sequence[Steps], folds: Sequence[int] | None = None) -> Curve | None:
    """The curve of a method on one task; None when a run has no loss at all.

    `folds` has the fold of each run. Runs of one fold, which differ in their seed, are averaged first: the
    interval is over folds. Without `folds` every run is a fold of its own.
    """
    if not runs or any(not steps.seconds for steps in runs):
        return None
    by_fold: dict[int, list[tuple[list[float], list[float]]]] = {}
    for fold, steps in zip(range(len(runs)) if folds is None else folds, runs, strict=True):
        by_fold.setdefault(fold, []).append((steps.seconds, steps.losses))
    moments, best = best_by_fold(by_fold)
    mean = best.mean(axis=0)
    n = len(by_fold)
    if n > 1:
        half = student_t_bound(n - 1) * best.std(axis=0, ddof=1) / np.sqrt(n)
    else:
        half = np.full(len(moments), np.nan)
    return Curve(moments, mean, mean - half, mean + half, n)


# --- run losses ------------------------------------------------------------------------------------
# The losses of a run that count in a comparison.


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


# --- scores ----------------------------------------------------------------------------------------


Run = tuple[int, int]  # fold and seed

# A shorter time can't be told from 0, so no factor is made of it.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Turns a loss into a score and back; `by` says what a score of 1 is."""

    by: str
    zero_loss: float
    one_loss: float

    @overload
    def score(self, loss: float) -> float: ...
    @overload
    def score(self, loss: Array) -> Array: ...
    def score(self, loss: float | Array) -> float | Array:
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
    # If scores are on the test part: final losses of the runs with a result on both parts, also by fold.
    validation_losses: tuple[float, ...] = ()
    test_losses: tuple[float, ...] = ()

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


# --- scoring ---------------------------------------------------------------------------------------
# Scores of every method on a task: who reaches the best score first, who ties, how far the others are off.
#
# The score of people is the task's metric. To compare tasks, a loss L is also scaled as in the paper: to
# (L_constant - L) / (L_constant - L_forest) on classification, so that 0 is the constant predictor and 1 the
# tuned random forest, each the mean over the same folds; where the forest was not run, to
# (L_constant - L) / L_constant. On regression the scaled score is r2 as it is.
#
# Means are over folds, after a mean over the seeds of each fold, of the runs that all compared methods have.
# With `validation: holdout`, the loss is that of the incumbent on the test part; else it is the validation
# loss, by which the incumbent was also selected.


# Methods that reach the best score in up to this many times the least time tie; see `_leaders`.
TIE_FACTOR = 1.1

# A smaller loss of the constant predictor counts as 0: shares of it would overflow.
_SMALLEST_LOSS = 1e-100


def score_tasks(digests: Sequence[Digest], full_rows_only: bool = False) -> list[TaskScores]:
    """The scores of one learner's runs, one for each task, by the task's name."""
    by_task: dict[str, list[Digest]] = {}
    for one in digests:
        by_task.setdefault(one.task, []).append(one)
    return [score_task(runs, full_rows_only) for _, runs in sorted(by_task.items())]


def score_task(digests: Sequence[Digest], full_rows_only: bool = False) -> TaskScores:
    """The scores of all methods on the one (learner, task) that the digests are of."""
    # The references may have had another budget.
    first = next((one for one in digests if one.method not in NOT_COMPARED), digests[0])
    by_method: dict[str, list[Digest]] = {}
    for one in sorted(digests, key=lambda one: (one.method, one.fold, one.seed)):
        by_method.setdefault(one.method, []).append(one)
    candidates = {method: runs for method, runs in by_method.items() if method not in NOT_COMPARED}
    kept, shared = keep_most({method: {_run(one) for one in runs} for method, runs in candidates.items()})
    by_test = is_by_test(digests, full_rows_only)
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
            **(_validation_and_test(runs, shared, full_rows_only) if by_test else {}),
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


def _run(one: Digest) -> Run:
    return one.fold, one.seed


def _by_fold(runs: Mapping[Run, Steps]) -> tuple[float, ...]:
    """The final loss of each fold, the mean over its seeds."""
    return tuple(
        fmean(steps.losses[-1] for (fold, _), steps in runs.items() if fold == one)
        for one in sorted({fold for fold, _ in runs})
    )


def _validation_and_test(
    runs: Sequence[Digest], shared: set[Run], full_rows_only: bool
) -> dict[str, tuple[float, ...]]:
    """The final losses of the same incumbents on both parts, by fold, where the comparison is by test scores.

    Runs without a result are left out of both.
    """
    parts = {"validation_losses": validation_steps, "test_losses": run_steps}
    return {
        part: _by_fold(
            {
                _run(one): steps
                for one in runs
                if _run(one) in shared and (steps := steps_of(one, full_rows_only, True)).seconds
            }
        )
        for part, steps_of in parts.items()
    }


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
    if zero > _SMALLEST_LOSS:
        return ScoreScale("a loss of 0", zero, 0.0)
    # No loss is below that of the constant predictor.
    if zero - 1.0 < zero:
        return ScoreScale("1 below the constant's loss", zero, zero - 1.0)
    return ScoreScale("twice the constant's loss", zero, 2.0 * zero)


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
        if steps.losses:
            found.setdefault(one.fold, []).append(steps.losses[-1])
    return {fold: fmean(losses) for fold, losses in found.items()}
