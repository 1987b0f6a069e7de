"""The results of many runs: one row for each learner, task and method."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from cfo_bench.metrics import METRICS
from cfo_bench.records import EndReason, Problem, RunLimits, method_label
from cfo_bench.results.best_so_far import best_by_fold, reached_at, reaching_loss
from cfo_bench.results.compared import NOT_COMPARED, stand_in
from cfo_bench.results.digest_in_trace import from_outline
from cfo_bench.results.limits import is_longer, limits_of
from cfo_bench.results.outline import Outline
from cfo_bench.results.shortening import shortened
from cfo_bench.results.trace import lines_of, outline_or_lines
from cfo_bench.results.trial_digest import Steps, TrialDigest, digest_of_trials, tested
from cfo_bench.results.validation import Lines

# --- round trips -----------------------------------------------------------------------------------
# What it costs that a method is a program of its own: the bare round trips, as its runs measured them.
#
# A trial takes two, one to ask and one to tell. They are part of the method's overhead.


PER_TRIAL = 2


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Those of one method's runs."""

    command: str
    seconds: float  # of one: the median over runs
    share: float | None  # of the time: the mean over runs; None on the virtual clock, where they take no time

    def in_words(self, method: str) -> str:
        trips = f"{PER_TRIAL} bare round trips a trial of {_milliseconds(self.seconds)} each"
        if self.share is None:
            return f"{method} is a program of its own: the virtual clock does not count its {trips}."
        return (
            f"{method} is a program of its own, and {trips} are part of its overhead: "
            f"{self.share:.2%} of the time."
        )


def round_trips(runs: Iterable[tuple[Mapping[str, Any], int, float]]) -> RoundTrips | None:
    """From the header, the trials and the seconds of each run; None if no run is of a program of its own."""
    found = [
        (header["program"], header["spec"].get("clock"), trials, seconds)
        for header, trials, seconds in runs
        if "round_trip_seconds" in header.get("program", {})
    ]
    if not found:
        return None
    shares = [
        min(PER_TRIAL * trials * program["round_trip_seconds"] / seconds, 1.0)
        for program, clock, trials, seconds in found
        if clock != "virtual" and seconds > 0
    ]
    return RoundTrips(
        command=str(found[0][0].get("command", "")),
        seconds=median(program["round_trip_seconds"] for program, *_ in found),
        share=fmean(shares) if shares else None,
    )


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.{0 if seconds >= 0.01 else 2}f} ms"


# --- summary ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Means over folds of the best trials; None where no fold has one. Seeds of a fold are averaged first.

    A run that ended without a result counts as in the report: see `stand_in`.
    """

    learner: str
    task: str
    method: str
    folds: int
    runs: int  # folds times seeds
    unfinished: int  # runs that were interrupted or failed
    without_result: int  # runs that failed, or in which no trial has a loss
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

    method: str
    fold: int
    seed: int
    metric: str
    constant_loss: float
    zero_loss: float  # what a score of 0 is
    steps: Steps  # of all its trials; none if it failed
    trials: int
    available: float  # seconds of all trials at once
    method_seconds: float
    is_unfinished: bool
    has_no_result: bool  # it was not stopped, and yet has none
    header: Mapping[str, Any]  # of the trace


def summarise(paths: Iterable[Path], limits: RunLimits | None = None) -> list[SummaryRow]:
    """A run that went on for longer than the `limits` is read as if it had ended there."""
    groups: dict[tuple[str, str], list[_Run]] = {}
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
        groups.setdefault((spec["learner"], spec["task"]), []).append(_run(found, trials))
    return [
        _row(*names, method, runs)
        for names, runs in groups.items()
        for method in dict.fromkeys(run.method for run in runs)
    ]


def _is_longer(found: Outline | Lines, limits: RunLimits) -> bool:
    return limits_of(found.header["spec"]) != limits and (found.end is None or is_longer(found.end, limits))


def _run(found: Outline | Lines, trials: TrialDigest) -> _Run:
    header, end = found.header, found.end
    spec, reason = header["spec"], end["reason"] if end else None
    steps = Steps([], [], [], [], [], {}) if reason == EndReason.ERROR else trials.steps
    return _Run(
        method=method_label(spec),
        fold=spec["fold"],
        seed=spec["seed"],
        metric=header["metric"],
        constant_loss=header["constant_loss"],
        # As in the scores of a report: r2 is measured from 0, whatever the constant predictor has.
        zero_loss=1.0 if header["problem"] == Problem.REGRESSION else header["constant_loss"],
        steps=steps,
        is_unfinished=reason in (None, EndReason.INTERRUPTED, EndReason.ERROR),
        has_no_result=reason not in (None, EndReason.INTERRUPTED) and not steps.losses,
        trials=trials.trials,
        available=_elapsed(found) * spec.get("parallel", 1),
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


def _row(learner: str, task: str, method: str, everyone: Sequence[_Run]) -> SummaryRow:
    """The row of a method; `everyone` are the runs of all methods on the task."""
    runs = [run for run in everyone if run.method == method]
    others = [run for run in everyone if run.method not in (method, *NOT_COMPARED) and not run.is_unfinished]
    scored = [run for run in runs if run.steps.losses]
    validated = _counted(runs, others, by_test=False) if scored else {}
    is_tested = any(tested(run.steps).seconds for run in scored)
    on_test = _counted(runs, others, by_test=True) if is_tested else {}
    score_mean, score_sd = _over_folds(validated, runs[0].metric)
    test_mean, test_sd = _over_folds(on_test, runs[0].metric)
    available = sum(run.available for run in runs)
    trips = round_trips((run.header, run.trials, run.available) for run in runs)
    return SummaryRow(
        learner=learner,
        task=task,
        method=method,
        folds=len({run.fold for run in runs}),
        runs=len(runs),
        unfinished=sum(run.is_unfinished for run in runs),
        without_result=sum(run.has_no_result for run in runs),
        metric=runs[0].metric,
        score_mean=score_mean,
        score_sd=score_sd,
        test_score_mean=test_mean,
        test_score_sd=test_sd,
        seconds_to_best=_seconds_to_best(on_test or validated, runs) if scored else None,
        trials=statistics.fmean(run.trials for run in runs),
        method_share=sum(run.method_seconds for run in runs) / available if available else None,
        round_trip_seconds=trips.seconds if trips else None,
        round_trip_share=trips.share if trips else None,
    )


def _counted(runs: Sequence[_Run], others: Sequence[_Run], by_test: bool) -> dict[int, list[Steps]]:
    """What counts of each run, by fold: its incumbents, or what stands in for a run without a result."""
    found: dict[int, list[Steps]] = {}
    for run in runs:
        own = _steps(run, by_test)
        if own.losses:
            found.setdefault(run.fold, []).append(own)
        elif run.has_no_result or run.steps.losses:
            same = [one for one in others if (one.fold, one.seed) == (run.fold, run.seed)]
            beside = [_steps(one, by_test) for one in same]
            found.setdefault(run.fold, []).append(stand_in(beside, run.constant_loss))
    return found


def _steps(run: _Run, by_test: bool) -> Steps:
    """The incumbents of a run; if `by_test`, those with a test score, and their losses on the test part."""
    if not by_test:
        return run.steps
    to_loss, steps = METRICS[run.metric].to_loss, tested(run.steps)
    return replace(steps, losses=[to_loss(score) for score in steps.test_scores if score is not None])


def _over_folds(folds: Mapping[int, Sequence[Steps]], metric: str) -> tuple[float | None, float | None]:
    """Mean and standard deviation over folds of the mean final score over the seeds of each fold."""
    to_score = METRICS[metric].to_score
    means = [statistics.fmean(to_score(steps.losses[-1]) for steps in own) for own in folds.values()]
    return (
        statistics.fmean(means) if means else None,
        statistics.stdev(means) if len(means) > 1 else None,
    )


def _seconds_to_best(folds: Mapping[int, Sequence[Steps]], runs: Sequence[_Run]) -> float | None:
    """When the mean over folds comes to stay within 0.05 % of where it ends, as the report has it."""
    zeros = {run.fold: run.zero_loss for run in runs if run.fold in folds}
    moments, best = best_by_fold(
        {fold: [(steps.seconds, steps.losses) for steps in own] for fold, own in folds.items()}
    )
    means = best.mean(axis=0)
    target = reaching_loss(float(means[-1]), statistics.fmean(zeros.values()))
    return reached_at(moments, means, target)
