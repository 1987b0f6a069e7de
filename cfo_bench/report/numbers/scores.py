"""The scores of every method on a task: the first to reach the best score, ties, and the gaps of the others.

The displayed score is the task's metric. To compare tasks, a loss L is also scaled as in the paper: to
(L_constant - L) / (L_constant - L_forest), so that 0 is the constant predictor and 1 the tuned random forest,
each the mean over the same folds; if the forest was not run, to (L_constant - L) / L_constant. r2 is its own
scaled score.

Means are over folds, after a mean over the seeds of each fold, of the runs that all compared methods have.
With `validation: holdout`, the loss is that of the incumbent on the test part; otherwise it is the validation
loss, by which the incumbent was also selected.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeVar, overload

import msgspec
import numpy as np

from cfo_bench.metrics import Array, MetricFacts
from cfo_bench.report.method_styles import in_order
from cfo_bench.report.numbers.significance import Estimate, estimate, student_t_bound
from cfo_bench.results.best_so_far import best_by_fold, imputed, reached_at, reaching_loss
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import CONSTANT, FOREST, LARGEST_LOSS, NOT_COMPARED, Run

# Methods that reach the best score within this factor of the least time tie; see `_leaders`.
TIE_FACTOR = 1.1

# A shorter time cannot be distinguished from 0, so no factor is computed from it.
LEAST_SECONDS = 1e-3

# A smaller loss of the constant predictor counts as 0, because shares of it would overflow.
_SMALLEST_LOSS = 1e-100

# Names are left out only if they share less than this part of the largest set of items.
_ENOUGH = 0.5

FoldSeed = tuple[int, int]
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Converts a loss to a score and back; `by` describes a score of 1."""

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
    folds: tuple[int, ...]  # the folds on which it was run
    curve: Curve | None  # None if no compared run has a result
    final_loss: float | None
    final_score: float | None  # scaled
    seconds_to_best: float | None  # until the task's best score; None if it does not end with this score
    imputed: int = 0  # runs without a result, which count as the worse of constant and worst other method
    runs: int = 0  # the number of runs of this method
    is_compared: bool = True  # False: it has so few of the task's runs that it is left out on the task
    counted_score: float | None = None  # scaled; if no run has a result, the score of the imputed losses
    seconds_to_final: float | None = None  # until its own final score
    fold_losses: tuple[float, ...] = ()  # final losses, by fold, seeds averaged
    # If scores are on the test part: final losses of the runs with a result on both parts, also by fold.
    validation_losses: tuple[float, ...] = ()
    test_losses: tuple[float, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether it is compared although no run has a result. Then it ranks last."""
        return self.is_compared and self.curve is None


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Every method on one task. The means are over the (fold, seed) pairs in `shared`."""

    learner: str
    task: str
    problem: str
    metric: str
    metric_facts: MetricFacts
    budget_seconds: float
    scale: ScoreScale
    methods: Mapping[str, MethodScores]
    best_score: float | None  # scaled
    leaders: tuple[str, ...]  # the methods that reach the best score first; several if they tie
    shared: tuple[FoldSeed, ...] = ()
    constant_loss: float = math.nan  # mean over the folds
    folds_of_data: int = 2  # the number of folds of the data, including those that were not run
    clock: str = "wall"
    by_test: bool = False  # losses are on the test part, which no method has seen

    @property
    def compared(self) -> list[str]:
        """The methods that are compared, including those without a result."""
        return [name for name, method in self.methods.items() if method.is_compared]

    @property
    def beats_constant(self) -> bool:
        """Whether any method has a lower loss than the constant predictor."""
        losses = [method.final_loss for method in self.methods.values() if method.final_loss is not None]
        return min(losses, default=math.inf) < self.constant_loss

    @property
    def part(self) -> str:
        """The rows that the scores are measured on."""
        return "test" if self.by_test else "validation"

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
        """The averaged folds and seeds, in words."""
        return over_folds(self.shared)

    @property
    def score_is(self) -> str:
        """The rows on which losses and scores are measured, in words."""
        return "test score" if self.by_test else "validation score (on which trials were selected)"

    @property
    def seconds_label(self) -> str:
        """The label of an axis of seconds."""
        return "virtual seconds" if self.clock == "virtual" else "wall-clock seconds"

    @property
    def metric_name(self) -> str:
        """The name of the metric in tables and figures."""
        return self.metric_facts.title

    def native(self, loss: float) -> float:
        """A loss as the task's metric."""
        return self.metric_facts.to_score(loss)

    def estimate(self, losses: Sequence[float], n_folds: int | None = None) -> Estimate:
        """The mean over folds in the task's metric; `losses` has one per fold.

        Its interval is limited to the bounds of the metric, such as 1 for AUC. With `n_folds`, it is
        corrected for the rows that folds share.
        """
        score = estimate([self.native(loss) for loss in losses], n_folds)
        if score.low is None or score.high is None:
            return score
        least, most = self.metric_facts.bounds
        return replace(score, low=max(score.low, least), high=min(score.high, most))

    def normalised(self, baseline: str) -> dict[str, float]:
        """100 × scaled score / the baseline's, for every method that is compared.

        Empty if the baseline's score is not above 0, because the ratio then has no meaning.
        """
        base = self.methods.get(baseline)
        if base is None or base.final_score is None or base.final_score <= 0:
            return {}
        return {
            name: 100 * method.counted_score / base.final_score
            for name, method in self.methods.items()
            if method.counted_score is not None
        }


def over_folds(runs: Sequence[FoldSeed]) -> str:
    """The number of folds in words, such as `3 folds (5 seeds averaged)`."""
    folds = [fold for fold, _ in runs]
    n_folds, n_seeds = len(set(folds)), max(map(folds.count, set(folds)), default=0)
    text = f"{n_folds} fold{'s' * (n_folds != 1)}"
    return f"{text} ({n_seeds} seeds averaged)" if n_seeds > 1 else text


# --- scoring --------------------------------------------------------------------------------------


def score_tasks(runs: Sequence[Run], full_rows_only: bool = False) -> list[TaskScores]:
    """The scores of one learner's runs on each task, sorted by the task's name."""
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    return [score_task(on_task, full_rows_only) for _, on_task in sorted(by_task.items())]


def score_task(runs: Sequence[Run], full_rows_only: bool = False) -> TaskScores:
    """The scores of all methods; the runs are of one learner and task."""
    # The references may have other budgets.
    first = next((run for run in runs if run.method not in NOT_COMPARED), runs[0])
    by_method: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.method, run.fold, run.seed)):
        by_method.setdefault(run.method, []).append(run)
    candidates = {method: of_method for method, of_method in by_method.items() if method not in NOT_COMPARED}
    kept, shared = keep_most(
        {method: {_place(run) for run in of_method} for method, of_method in candidates.items()}
    )
    by_test = is_by_test(runs, full_rows_only)
    measured = {
        method: {
            _place(run): counting_incumbents(run, full_rows_only, by_test)
            for run in candidates[method]
            if _place(run) in shared
        }
        for method in kept
    }
    counted, n_imputed = _with_imputed(measured, candidates)
    curves = {
        method: curve(list(counted[method].values()), [fold for fold, _ in counted[method]])
        for method in kept
        if any(incumbents.seconds for incumbents in measured[method].values())
    }
    references = _References(runs, by_method, {fold for fold, _ in shared}, full_rows_only, by_test)
    scale = references.scale(first.header.metric)
    losses = {method: float(method_curve.mean[-1]) for method, method_curve in curves.items() if method_curve}
    best_loss = min(losses.values(), default=None)
    methods = {}
    for method, of_method in candidates.items():
        method_curve, final = curves.get(method), losses.get(method)
        by_fold = _final_losses(counted[method]) if method in counted else ()
        methods[method] = MethodScores(
            method=method,
            folds=tuple(sorted({run.fold for run in of_method})),
            curve=method_curve,
            final_loss=final,
            final_score=None if final is None else scale.score(final),
            seconds_to_best=_seconds_to(method_curve, best_loss, scale),
            imputed=0 if method_curve is None else n_imputed.get(method, 0),
            runs=len(of_method),
            is_compared=method in kept,
            counted_score=scale.score(fmean(by_fold)) if by_fold else None,
            seconds_to_final=_seconds_to(method_curve, final, scale),
            fold_losses=() if method_curve is None else by_fold,
            **(_validation_and_test(of_method, shared, full_rows_only) if by_test else {}),
        )
    return TaskScores(
        learner=first.learner,
        task=first.task,
        problem=first.header.problem,
        metric=first.header.metric,
        metric_facts=first.header.metric_facts,
        budget_seconds=first.budget_seconds,
        scale=scale,
        methods=methods,
        best_score=None if best_loss is None else scale.score(best_loss),
        leaders=_leaders(methods, measured),
        shared=tuple(sorted(shared)),
        constant_loss=references.constant_loss,
        folds_of_data=max(first.spec.n_folds, len({fold for fold, _ in shared}), 2),
        clock=first.spec.clock,
        by_test=by_test,
    )


def _place(run: Run) -> FoldSeed:
    return run.fold, run.seed


def _with_imputed(
    measured: Mapping[str, Mapping[FoldSeed, Incumbents]], candidates: Mapping[str, Sequence[Run]]
) -> tuple[dict[str, dict[FoldSeed, Incumbents]], dict[str, int]]:
    """The incumbents of all runs, imputed for runs without a result; and the number of these runs by
    method.
    """
    constants = {_place(run): run.constant_loss for runs in candidates.values() for run in runs}
    counted: dict[str, dict[FoldSeed, Incumbents]] = {}
    n_imputed: dict[str, int] = {}
    for method, runs in measured.items():
        counted[method] = dict(runs)
        for place, incumbents in runs.items():
            if not incumbents.seconds:
                others = [by_place[place] for other, by_place in measured.items() if other != method]
                counted[method][place] = imputed(others, constants[place])
                n_imputed[method] = n_imputed.get(method, 0) + 1
    return counted, n_imputed


def _seconds_to(method_curve: Curve | None, loss: float | None, scale: ScoreScale) -> float | None:
    """The time at which the curve reaches the score of a loss."""
    if method_curve is None or loss is None:
        return None
    return method_curve.reached_at(reaching_loss(loss, scale.zero_loss))


def mean_by_fold(losses: Mapping[FoldSeed, float]) -> dict[int, float]:
    """The loss of each fold in order, the mean over its seeds."""
    return {
        number: fmean(loss for (fold, _), loss in losses.items() if fold == number)
        for number in sorted({fold for fold, _ in losses})
    }


def _final_losses(runs: Mapping[FoldSeed, Incumbents]) -> tuple[float, ...]:
    final = {place: incumbents.losses[-1] for place, incumbents in runs.items()}
    return tuple(mean_by_fold(final).values())


def _validation_and_test(
    runs: Sequence[Run], shared: set[FoldSeed], full_rows_only: bool
) -> dict[str, tuple[float, ...]]:
    """The final losses of the same incumbents on both parts, by fold, if the comparison is by test scores.

    Runs without a result are left out of both.
    """
    parts = {"validation_losses": validation_incumbents, "test_losses": counting_incumbents}
    return {
        part: _final_losses(
            {
                _place(run): incumbents
                for run in runs
                if _place(run) in shared and (incumbents := incumbents_of(run, full_rows_only, True)).seconds
            }
        )
        for part, incumbents_of in parts.items()
    }


def _leaders(
    methods: Mapping[str, MethodScores], measured: Mapping[str, Mapping[FoldSeed, Incumbents]]
) -> tuple[str, ...]:
    """The methods that reach the best score first. Methods tie if their time is close to the least time.

    Close means within TIE_FACTOR of it, or within the duration of the trial that reached the score, because
    smaller differences are chance.
    """
    times = {
        name: method.seconds_to_best for name, method in methods.items() if method.seconds_to_best is not None
    }
    if not times:
        return ()
    least = min(times.values())
    trial_seconds = max(
        (
            incumbents.costs[at] + incumbents.overheads[at]
            for name, time in times.items()
            if time == least
            for incumbents in measured[name].values()
            for at, second in enumerate(incumbents.seconds)
            if second == least
        ),
        default=0.0,
    )
    latest = max(TIE_FACTOR * least, least + trial_seconds)
    return tuple(in_order(name for name, time in times.items() if time <= latest))


@dataclass(frozen=True)
class _References:
    """The constant predictor and the tuned forest of a task, by which scores are scaled."""

    runs: Sequence[Run]
    by_method: Mapping[str, Sequence[Run]]
    shared_folds: set[int]
    full_rows_only: bool
    by_test: bool

    @property
    def constant_loss(self) -> float:
        """The mean loss of the constant predictor over the folds.

        On the test part, it is the loss of the method `constant`, if it was run on all folds, because the
        loss in a trace's header is on the validation part.
        """
        folds = self._constant_by_fold()
        if self.by_test:
            tested = self._final_by_fold(CONSTANT)
            if set(tested) >= set(folds):
                return fmean(tested[fold] for fold in folds)
        return fmean(folds.values())

    def scale(self, metric: str) -> ScoreScale:
        if metric == "r2":
            return ScoreScale("r2", 1.0, 0.0)
        zero = self.constant_loss
        folds = set(self._constant_by_fold())
        forest = self._final_by_fold(FOREST)
        if set(forest) >= folds:
            forest_loss = fmean(forest[fold] for fold in folds)
            if forest_loss < zero:
                return ScoreScale("tuned random forest", zero, forest_loss)
        if zero > _SMALLEST_LOSS:
            return ScoreScale("a loss of 0", zero, 0.0)
        # No loss is below that of the constant predictor.
        if zero - 1.0 < zero:
            return ScoreScale("1 below the constant's loss", zero, zero - 1.0)
        return ScoreScale("twice the constant's loss", zero, 2.0 * zero)

    def _constant_by_fold(self) -> dict[int, float]:
        shared = self.shared_folds
        return {run.fold: run.constant_loss for run in self.runs if run.fold in shared or not shared}

    def _final_by_fold(self, method: str) -> dict[int, float]:
        incumbents = {
            _place(run): counting_incumbents(run, self.full_rows_only, self.by_test)
            for run in self.by_method.get(method, ())
        }
        return mean_by_fold({place: found.losses[-1] for place, found in incumbents.items() if found.losses})


# --- the incumbents that count --------------------------------------------------------------------


def all_incumbents(run: Run, full_rows_only: bool) -> Incumbents:
    """All incumbents of a run, with their losses on the validation part."""
    return run.digest.full_incumbents if full_rows_only else run.incumbents


def validation_incumbents(run: Run, full_rows_only: bool, by_test: bool) -> Incumbents:
    """The incumbents that count, with their losses on the validation part.

    With `by_test`, those with a test score count.
    """
    incumbents = all_incumbents(run, full_rows_only)
    return _bounded(incumbents.tested if by_test else incumbents)


def counting_incumbents(run: Run, full_rows_only: bool, by_test: bool = False) -> Incumbents:
    """The incumbents that count; with `by_test`, their losses are those on the test part."""
    incumbents = validation_incumbents(run, full_rows_only, by_test)
    if not by_test:
        return incumbents
    to_loss = run.header.metric_facts.to_loss
    losses = [to_loss(score) for score in incumbents.test_scores if score is not None]
    return _bounded(msgspec.structs.replace(incumbents, losses=losses))


def _bounded(incumbents: Incumbents) -> Incumbents:
    if max(incumbents.losses, default=0.0) <= LARGEST_LOSS:
        return incumbents
    losses = [min(loss, LARGEST_LOSS) for loss in incumbents.losses]
    return msgspec.structs.replace(incumbents, losses=losses)


def is_by_test(runs: Sequence[Run], full_rows_only: bool) -> bool:
    """Whether the runs of a task are compared by test scores: they are if they have a holdout.

    If no incumbent has a test score, validation scores are compared instead.
    """
    if not any(run.spec.validation == "holdout" for run in runs):
        return False
    scores = [
        score
        for run in runs
        if run.method not in NOT_COMPARED
        for score in all_incumbents(run, full_rows_only).test_scores
    ]
    return not scores or any(score is not None for score in scores)


# --- curves ---------------------------------------------------------------------------------------


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
        """The mean at each of these times; NaN before the curve starts."""
        index = np.searchsorted(self.seconds, seconds, side="right")
        means: Array = np.append(np.nan, self.mean)[index]
        return means

    def reached_at(self, loss: float) -> float | None:
        """The time from which on the mean is `loss` or lower; None if it ends higher."""
        return reached_at(self.seconds, self.mean, loss)

    def thinned(self, columns: int = 400) -> Curve:
        """A curve with fewer points that looks the same: the last point in each of `columns` strips of the
        log time axis.

        The first and the last point are kept, so that start, end and final loss are exact.
        """
        if len(self.seconds) <= columns or self.seconds[0] <= 0:
            return self
        place = np.log(self.seconds / self.seconds[0]) / np.log(self.seconds[-1] / self.seconds[0])
        strip = np.floor(place * columns)
        keep = np.append(strip[1:] != strip[:-1], True)
        keep[0] = True
        return Curve(self.seconds[keep], self.mean[keep], self.low[keep], self.high[keep], self.n_folds)


def curve(runs: Sequence[Incumbents], folds: Sequence[int] | None = None) -> Curve | None:
    """The curve of a method on one task; None when a run has no loss at all.

    `folds` contains the fold of each run. Runs of the same fold, with different seeds, are averaged first,
    and the interval is over folds. Without `folds`, every run is a separate fold.
    """
    if not runs or any(not incumbents.seconds for incumbents in runs):
        return None
    by_fold: dict[int, list[tuple[list[float], list[float]]]] = {}
    for fold, incumbents in zip(range(len(runs)) if folds is None else folds, runs, strict=True):
        by_fold.setdefault(fold, []).append((incumbents.seconds, incumbents.losses))
    moments, best = best_by_fold(by_fold)
    mean = best.mean(axis=0)
    n = len(by_fold)
    if n > 1:
        half = student_t_bound(n - 1) * best.std(axis=0, ddof=1) / np.sqrt(n)
    else:
        half = np.full(len(moments), np.nan)
    return Curve(moments, mean, mean - half, mean + half, n)


# --- the cells of the optimality table ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the optimality table, as numbers and as the paper prints it."""

    task: str
    method: str
    outcome: str  # best, slower, worse, missing (no result) or left out
    score: float | None  # scaled; of a best cell, the task's best score, which a tied method may miss
    seconds: float | None
    cost_ratio: float | None  # its time to the best score over the least time; None if that is too short
    gap_percent: float | None  # the distance of its final score below the best score; None if the latter is 0

    @property
    def text(self) -> str:
        if self.outcome == "best":
            seconds = self.seconds or 0.0  # whole seconds, as in the paper, from ten seconds on
            return f"**{self.score:.4f} ({f'{seconds:.0f}' if seconds >= 10 else f'{seconds:.2g}'}s)**"
        if self.outcome == "slower":
            return "slower" if self.cost_ratio is None else f"×{self.cost_ratio:.1f}"
        if self.outcome == "missing":
            return "no result"
        if self.outcome == "left out":
            return "left out"
        return "worse" if self.gap_percent is None else f"-{self.gap_percent:.1f}%"


def optimality(scores: TaskScores) -> list[Cell]:
    """best: the first to reach the best score, or tied; slower: reaches it later; worse: never reaches it."""
    return [_cell(scores, method) for method in scores.methods.values()]


def _cell(scores: TaskScores, method: MethodScores) -> Cell:
    seconds, least = method.seconds_to_best, scores.best_seconds
    outcome, ratio, gap = "worse", None, None
    if not method.is_compared:
        outcome = "left out"
    elif method.method in scores.leaders:
        outcome, ratio, gap = "best", 1.0, 0.0
    elif seconds is not None:
        outcome, gap = "slower", 0.0
        ratio = seconds / least if least and least >= LEAST_SECONDS else None
    else:
        outcome = "missing" if method.final_score is None else "worse"
        if method.counted_score is not None and scores.best_score:
            gap = 100 * (scores.best_score - method.counted_score) / abs(scores.best_score)
    score = scores.best_score if outcome == "best" else method.final_score
    return Cell(scores.task, method.method, outcome, score, seconds, ratio, gap)


# --- the selection of runs to compare if not all methods have all runs ----------------------------


def keep_most(having: Mapping[str, Collection[_Item]]) -> tuple[set[str], set[_Item]]:
    """The names to compare, and the items that all of them have.

    If the names share half of the items or more, all names are kept, and items that one of them lacks are
    left out. Otherwise the names that reduce the shared items most are left out, as long as this keeps more
    (names × items) and at least two names. Names that reduce them equally are left out together, so that
    their order has no influence. If no two names can be compared, only the name with the most items is kept.
    """
    names = set(having)
    kept, shared = names, _shared(having, names)
    while len(names) > 2 and len(_shared(having, names)) < _ENOUGH * max(len(having[name]) for name in names):
        shared_without = {
            name: (len(_shared(having, names - {name})), -len(having[name])) for name in sorted(names)
        }
        most = max(shared_without.values())
        names = {name for name, n_shared in shared_without.items() if n_shared != most}
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
