"""The results of many runs: one row for each learner, task and method."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.records import EndReason, TrialRecord
from cfo_bench.registry import label
from cfo_bench.results import trace
from cfo_bench.results.trace import Trace


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Means over folds of the best trials; None where no fold has one."""

    learner: str
    task: str
    method: str
    folds: int
    unfinished: int  # folds whose run was interrupted or failed
    metric: str
    score_mean: float | None
    score_sd: float | None  # None also for a single fold
    test_score_mean: float | None  # with `validation: holdout` only
    seconds_to_best: float | None
    trials: float
    method_share: float | None  # of the elapsed time: what the method took to ask and to be told


@dataclass(frozen=True, slots=True)
class _Run:
    """What a row needs of one trace. Not the trace itself: thousands would not fit into memory."""

    metric: str
    best: TrialRecord | None
    trials: int
    elapsed: float
    method_seconds: float
    is_unfinished: bool


def summarise(paths: Iterable[Path]) -> list[SummaryRow]:
    groups: dict[tuple[str, str, str], list[_Run]] = {}
    for path in paths:
        found = trace.read(path)
        if found is not None:
            spec = found.header["spec"]
            names = spec["learner"], spec["task"], label(spec["method"])
            groups.setdefault(names, []).append(_run(found))
    return [_row(*names, runs) for names, runs in groups.items()]


def _run(found: Trace) -> _Run:
    method_seconds = sum(trial.ask_seconds + (trial.tell_seconds or 0.0) for trial in found.trials)
    return _Run(
        metric=str(found.header["metric"]),
        is_unfinished=found.end is None or found.end.reason in (EndReason.INTERRUPTED, EndReason.ERROR),
        best=found.best,
        trials=len(found.trials),
        elapsed=found.end.elapsed if found.end else found.elapsed,
        method_seconds=method_seconds + (found.end.cut_ask_seconds if found.end else 0.0),
    )


def _row(learner: str, task: str, method: str, runs: list[_Run]) -> SummaryRow:
    best = [run.best for run in runs if run.best is not None]
    scores = [trial.score for trial in best if trial.score is not None]
    tests = [trial.test_score for trial in best if trial.test_score is not None]
    elapsed = sum(run.elapsed for run in runs)
    return SummaryRow(
        learner=learner,
        task=task,
        method=method,
        folds=len(runs),
        unfinished=sum(run.is_unfinished for run in runs),
        metric=runs[0].metric,
        score_mean=statistics.fmean(scores) if scores else None,
        score_sd=statistics.stdev(scores) if len(scores) > 1 else None,
        test_score_mean=statistics.fmean(tests) if tests else None,
        seconds_to_best=statistics.fmean(trial.ended for trial in best) if best else None,
        trials=statistics.fmean(run.trials for run in runs),
        method_share=sum(run.method_seconds for run in runs) / elapsed if elapsed else None,
    )
