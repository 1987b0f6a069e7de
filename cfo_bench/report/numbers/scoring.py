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

from collections.abc import Mapping, Sequence
from statistics import fmean

from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.curves import Curve, curve
from cfo_bench.report.numbers.joint import keep_most
from cfo_bench.report.numbers.run_losses import is_by_test, run_steps, validation_steps
from cfo_bench.report.numbers.scores import MethodScores, Run, ScoreScale, TaskScores
from cfo_bench.report.reading.digest import Digest, Steps
from cfo_bench.results.best_so_far import reaching_loss
from cfo_bench.results.compared import CONSTANT, FOREST, NOT_COMPARED, stand_in

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
