"""The results of many runs: one row for each learner, task and method."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfo_bench.metrics import METRICS
from cfo_bench.records import EndReason, Problem, RunLimits
from cfo_bench.results.best_so_far import best_by_fold, reached_at, reaching_loss
from cfo_bench.results.digest_in_trace import from_outline
from cfo_bench.results.limits import is_longer, limits_of
from cfo_bench.results.outline import Outline
from cfo_bench.results.round_trips import round_trips
from cfo_bench.results.shortening import shortened
from cfo_bench.results.trace import lines_of, outline_or_lines
from cfo_bench.results.trial_digest import Steps, TrialDigest, digest_of_trials, tested
from cfo_bench.results.validation import Lines
from cfo_bench.run_id import method_label


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Means over folds of the best trials; None where no fold has one. Seeds of a fold are averaged first."""

    learner: str
    task: str
    method: str
    folds: int
    runs: int  # folds times seeds
    unfinished: int  # runs that were interrupted or failed
    metric: str
    score_mean: float | None  # the validation score, by which the best trial was also selected
    score_sd: float | None  # None also for a single fold
    test_score_mean: float | None  # with `validation: holdout` only, as the next
    test_score_sd: float | None
    seconds_to_best: float | None  # until the mean over folds, of the test score if there is one, stays there
    trials: float
    method_share: float | None  # of the elapsed time: what trials waited for the method to ask and be told
    # Of a method that is a program of its own: what a bare round trip takes, and what all take of the time.
    round_trip_seconds: float | None = None
    round_trip_share: float | None = None


@dataclass(frozen=True, slots=True)
class _Run:
    """What a row needs of one trace. Not the trace itself: thousands would not fit into memory."""

    fold: int
    metric: str
    constant_loss: float
    steps: Steps  # of all its trials
    trials: int
    available: float  # seconds of all trials at once
    method_seconds: float
    is_unfinished: bool
    header: Mapping[str, Any]  # of the trace


def summarise(paths: Iterable[Path], limits: RunLimits | None = None) -> list[SummaryRow]:
    """A run that went on for longer than the `limits` is read as if it had ended there."""
    groups: dict[tuple[str, str, str], list[_Run]] = {}
    for path in paths:
        found = outline_or_lines(path)
        if found is not None and limits is not None and _is_longer(found, limits):
            lines = lines_of(path)
            found = lines and shortened(lines, limits.budget_seconds, limits.max_trials)
        trials = from_outline(found) if isinstance(found, Outline) else None
        if isinstance(found, Outline) and trials is None:
            found = lines_of(path)
        if found is None:
            continue
        if isinstance(found, Lines):
            trials = digest_of_trials(found)
        assert trials is not None
        spec = found.header["spec"]
        names = spec["learner"], spec["task"], method_label(spec)
        groups.setdefault(names, []).append(_run(found, trials))
    return [_row(*names, runs) for names, runs in groups.items()]


def _is_longer(found: Outline | Lines, limits: RunLimits) -> bool:
    return limits_of(found.header["spec"]) != limits and (found.end is None or is_longer(found.end, limits))


def _run(found: Outline | Lines, trials: TrialDigest) -> _Run:
    header, end = found.header, found.end
    return _Run(
        fold=header["spec"]["fold"],
        metric=header["metric"],
        # As in the scores of a report: r2 is measured from 0, whatever the constant predictor has.
        constant_loss=1.0 if header["problem"] == Problem.REGRESSION else header["constant_loss"],
        steps=trials.steps,
        is_unfinished=end is None or end["reason"] in (EndReason.INTERRUPTED, EndReason.ERROR),
        trials=trials.trials,
        available=_elapsed(found) * header["spec"].get("parallel", 1),
        method_seconds=trials.method_seconds,
        header={key: header[key] for key in ("spec", "program") if key in header},
    )


def _elapsed(found: Outline | Lines) -> float:
    """Where the run's clock stood at the end or, without one, when the method had been told the last time."""
    if isinstance(found, Outline) or found.end is not None:
        assert found.end is not None
        return float(found.end["elapsed"])
    told = zip(found.columns["ended"], found.columns["tell_seconds"], strict=True)
    return float(max((ended + (seconds or 0.0) for ended, seconds in told), default=0.0))


def _row(learner: str, task: str, method: str, runs: list[_Run]) -> SummaryRow:
    to_score = METRICS[runs[0].metric].to_score
    scored = [run for run in runs if run.steps.losses]
    tests = [(run, tested(run.steps)) for run in scored]
    is_tested = bool(scored) and all(steps.seconds for _, steps in tests)
    score_mean, score_sd = _over_folds([(run.fold, to_score(run.steps.losses[-1])) for run in scored])
    test_mean, test_sd = _over_folds(
        [(run.fold, steps.test_scores[-1]) for run, steps in tests] if is_tested else []
    )
    available = sum(run.available for run in runs)
    trips = round_trips((run.header, run.trials, run.available) for run in runs)
    return SummaryRow(
        learner=learner,
        task=task,
        method=method,
        folds=len({run.fold for run in runs}),
        runs=len(runs),
        unfinished=sum(run.is_unfinished for run in runs),
        metric=runs[0].metric,
        score_mean=score_mean,
        score_sd=score_sd,
        test_score_mean=test_mean,
        test_score_sd=test_sd,
        seconds_to_best=_seconds_to_best(scored, is_tested) if scored else None,
        trials=statistics.fmean(run.trials for run in runs),
        method_share=sum(run.method_seconds for run in runs) / available if available else None,
        round_trip_seconds=trips.seconds if trips else None,
        round_trip_share=trips.share if trips else None,
    )


def _over_folds(scores: Sequence[tuple[int, float | None]]) -> tuple[float | None, float | None]:
    """Mean and standard deviation over folds of the mean over the seeds of each fold."""
    by_fold: dict[int, list[float]] = {}
    for fold, score in scores:
        if score is not None:
            by_fold.setdefault(fold, []).append(score)
    means = [statistics.fmean(own) for own in by_fold.values()]
    return (
        statistics.fmean(means) if means else None,
        statistics.stdev(means) if len(means) > 1 else None,
    )


def _seconds_to_best(runs: Sequence[_Run], is_tested: bool) -> float | None:
    """When the mean over folds comes to stay within 0.05 % of where it ends, as the report has it."""
    to_loss = METRICS[runs[0].metric].to_loss
    folds: dict[int, list[tuple[list[float], list[float]]]] = {}
    for run in runs:
        steps = tested(run.steps) if is_tested else run.steps
        test_losses = [to_loss(score) for score in steps.test_scores if score is not None]
        folds.setdefault(run.fold, []).append((steps.seconds, test_losses if is_tested else steps.losses))
    constants = {run.fold: run.constant_loss for run in runs}
    moments, best = best_by_fold(folds)
    means = best.mean(axis=0)
    target = reaching_loss(float(means[-1]), statistics.fmean(constants.values()))
    return reached_at(moments, means, target)
