"""The results of many runs: one row for each learner, task and method."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cfo_bench.errors import CfoBenchError
from cfo_bench.metrics import MetricFacts
from cfo_bench.records import RunLimits, RunStatus
from cfo_bench.results.best_so_far import best_by_fold, imputed, reached_at, reaching_loss
from cfo_bench.results.comparability import comparable
from cfo_bench.results.digest import NO_INCUMBENTS, Incumbents
from cfo_bench.results.folder import run_files
from cfo_bench.results.limits import is_done, is_longer, shortened
from cfo_bench.results.run import NOT_COMPARED, Run, cached_run, read_run

# A trial of a method that is a separate program takes two round trips: one to ask and one to tell.
ROUND_TRIPS_PER_TRIAL = 2


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Means over folds of the best trials; None if no fold has one. Seeds of a fold are averaged first.

    A run that ended without a result counts as in the report: see `imputed`.
    """

    learner: str
    task: str
    method: str
    folds: int
    runs: int  # folds times seeds
    unfinished: int  # runs that were interrupted or failed
    without_result: int  # runs that failed, or have no trial with a loss
    metric: str
    metric_facts: MetricFacts
    score_mean: float | None  # the validation score, by which the best trial was also selected
    score_sd: float | None  # None also for a single fold
    test_score_mean: float | None  # with `validation: holdout` only, like the next field
    test_score_sd: float | None
    seconds_to_best: float | None  # until the mean over folds (test scores, if any) keeps its final value
    trials: float
    method_share: float | None  # share of the elapsed time in which trials waited for the method
    # Of a method that is a separate program: the time of an empty round trip, and the share of all round
    # trips.
    round_trip_seconds: float | None = None
    round_trip_share: float | None = None


@dataclass(frozen=True, slots=True)
class _Scored:
    """A run with the incumbents that count."""

    run: Run
    incumbents: Incumbents  # none if it failed

    @property
    def is_unfinished(self) -> bool:
        return self.run.status is not RunStatus.DONE

    @property
    def has_no_result(self) -> bool:
        """Whether it has finished without a result."""
        return self.run.is_finished and not self.incumbents.losses

    @property
    def available_seconds(self) -> float:
        """The seconds of all parallel evaluators."""
        return self.run.elapsed * self.run.spec.parallel

    def counting(self, by_test: bool) -> Incumbents:
        """The incumbents; if `by_test`, those with a test score, and their losses on the test part."""
        if not by_test:
            return self.incumbents
        tested = self.incumbents.tested
        to_loss = self.run.header.metric_facts.to_loss
        losses = [to_loss(score) for score in tested.test_scores if score is not None]
        return msgspec.structs.replace(tested, losses=losses)


def comparable_traces(results: Path, traces: Sequence[Path], limits: RunLimits) -> list[Path]:
    """Traces of other methods on the folds and seeds of these `traces`, under the same conditions.

    Only runs that contain everything that a run with these limits would have.
    """
    if not traces:  # no run was executed; the results folder may not exist
        return []
    requested = {_place(path): path for path in traces}
    by_fold = {(learner, task, run): path for (learner, task, _, run), path in requested.items()}
    accepted = []
    for path in run_files(results).traces:
        if len(path.relative_to(results).parts) != 4 or _place(path) in requested:
            continue
        learner, task, _, run_name = _place(path)
        twin = by_fold.get((learner, task, run_name))
        if twin is None:
            continue
        try:
            run, other = cached_run(twin), cached_run(path)
        except CfoBenchError:  # a report prints the error
            continue
        if run and other and is_done(other, limits) and not comparable(run, other, ("budget_seconds",)):
            accepted.append(path)
    return accepted


def _place(path: Path) -> tuple[str, str, str, str]:
    learner, task, method, run_name = path.parts[-4:]
    return learner, task, method, run_name


def summarise(paths: Iterable[Path], limits: RunLimits | None = None) -> list[SummaryRow]:
    """The rows of all methods. A run that is longer than the `limits` is read as if it had ended there."""
    groups: dict[tuple[str, str], list[_Scored]] = {}
    for path in paths:
        run = read_run(path)
        if run is None:
            continue
        if limits is not None and is_longer(run, limits):
            run = shortened(run, limits.budget_seconds, limits.max_trials)
        has_failed = run.status is RunStatus.FAILED
        scored = _Scored(run, NO_INCUMBENTS if has_failed else run.incumbents)
        groups.setdefault((run.learner, run.task), []).append(scored)
    return [
        _row(*names, method, runs)
        for names, runs in groups.items()
        for method in dict.fromkeys(scored.run.method for scored in runs)
    ]


def _row(learner: str, task: str, method: str, everyone: Sequence[_Scored]) -> SummaryRow:
    """The row of a method; `everyone` are the runs of all methods on the task."""
    runs = [scored for scored in everyone if scored.run.method == method]
    others = [
        scored
        for scored in everyone
        if scored.run.method not in (method, *NOT_COMPARED) and not scored.is_unfinished
    ]
    has_result = any(scored.incumbents.losses for scored in runs)
    validated = _counted(runs, others, by_test=False) if has_result else {}
    is_tested = any(scored.incumbents.tested.seconds for scored in runs)
    on_test = _counted(runs, others, by_test=True) if is_tested else {}
    header = runs[0].run.header
    score_mean, score_sd = _over_folds(validated, header.metric_facts)
    test_mean, test_sd = _over_folds(on_test, header.metric_facts)
    available = sum(scored.available_seconds for scored in runs)
    trips = round_trips([scored.run for scored in runs])
    return SummaryRow(
        learner=learner,
        task=task,
        method=method,
        folds=len({scored.run.fold for scored in runs}),
        runs=len(runs),
        unfinished=sum(scored.is_unfinished for scored in runs),
        without_result=sum(scored.has_no_result for scored in runs),
        metric=header.metric,
        metric_facts=header.metric_facts,
        score_mean=score_mean,
        score_sd=score_sd,
        test_score_mean=test_mean,
        test_score_sd=test_sd,
        seconds_to_best=_seconds_to_best(on_test or validated, runs) if has_result else None,
        trials=statistics.fmean(scored.run.n_trials for scored in runs),
        method_share=(
            sum(scored.run.digest.method_seconds for scored in runs) / available if available else None
        ),
        round_trip_seconds=trips.seconds if trips else None,
        round_trip_share=trips.share if trips else None,
    )


def _counted(
    runs: Sequence[_Scored], others: Sequence[_Scored], by_test: bool
) -> dict[int, list[Incumbents]]:
    """The incumbents of each run by fold; for a run without a result, the imputed ones."""
    counted: dict[int, list[Incumbents]] = {}
    for scored in runs:
        run, incumbents = scored.run, scored.counting(by_test)
        if not incumbents.losses and (scored.has_no_result or scored.incumbents.losses):
            same_fold = [
                other for other in others if (other.run.fold, other.run.seed) == (run.fold, run.seed)
            ]
            beside = [other.counting(by_test) for other in same_fold]
            incumbents = imputed(beside, run.header.constant_loss)
        if incumbents.losses:
            counted.setdefault(run.fold, []).append(incumbents)
    return counted


def _over_folds(
    folds: Mapping[int, Sequence[Incumbents]], metric: MetricFacts
) -> tuple[float | None, float | None]:
    """Mean and standard deviation over folds of the mean final score over the seeds of each fold."""
    means = [
        statistics.fmean(metric.to_score(incumbents.losses[-1]) for incumbents in seeds)
        for seeds in folds.values()
    ]
    return (
        statistics.fmean(means) if means else None,
        statistics.stdev(means) if len(means) > 1 else None,
    )


def _seconds_to_best(folds: Mapping[int, Sequence[Incumbents]], runs: Sequence[_Scored]) -> float | None:
    """The time from which on the mean over folds stays within 0.05 % of its final value, as in the report."""
    zeros = {scored.run.fold: scored.run.header.zero_loss for scored in runs if scored.run.fold in folds}
    moments, best = best_by_fold(
        {fold: [(run.seconds, run.losses) for run in seeds] for fold, seeds in folds.items()}
    )
    means = best.mean(axis=0)
    target = reaching_loss(float(means[-1]), statistics.fmean(zeros.values()))
    return reached_at(moments, means, target)


# --- methods that are separate programs -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """The empty round trips of a method that is a separate program. They are part of its overhead."""

    command: str
    seconds: float  # of one: the median over runs
    share: float | None  # of the time: the mean over runs; None on the virtual clock, where they take no time

    def in_words(self, method: str) -> str:
        trips = f"{ROUND_TRIPS_PER_TRIAL} bare round trips per trial of {_milliseconds(self.seconds)} each"
        if self.share is None:
            return f"{method} is a separate program: the virtual clock does not count its {trips}."
        return (
            f"{method} is a separate program, and {trips} are part of its overhead: "
            f"{self.share:.2%} of the time."
        )


def round_trips(runs: Iterable[Run]) -> RoundTrips | None:
    """The round trips of a method's runs; None if it is not a separate program."""
    measured = [
        (run, run.header.program, run.header.program.round_trip_seconds)
        for run in runs
        if run.header.program is not None and run.header.program.round_trip_seconds is not None
    ]
    if not measured:
        return None
    shares = [
        min(ROUND_TRIPS_PER_TRIAL * run.n_trials * seconds / available, 1.0)
        for run, _, seconds in measured
        if run.spec.clock != "virtual" and (available := run.elapsed * run.spec.parallel) > 0
    ]
    return RoundTrips(
        command=measured[0][1].command,
        seconds=statistics.median(seconds for _, _, seconds in measured),
        share=statistics.fmean(shares) if shares else None,
    )


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.{0 if seconds >= 0.01 else 2}f} ms"
