"""What a batch of runs came to: one row for each learner, task and method."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cfo_bench import trace
from cfo_bench.records import EndReason
from cfo_bench.registry import label
from cfo_bench.trace import Trace


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Means over folds. `method_share` is ask and tell as a share of the time that passed."""

    learner: str
    task: str
    method: str
    folds: int
    unfinished: int
    metric: str
    score_mean: float | None
    score_sd: float | None
    test_score_mean: float | None
    seconds_to_best: float | None
    trials: float
    method_share: float | None


def summarise(paths: Iterable[Path]) -> list[SummaryRow]:
    groups: dict[tuple[str, str, str], list[Trace]] = {}
    for path in paths:
        found = trace.read(path)
        if found is not None:
            spec = found.header["spec"]
            groups.setdefault((spec["learner"], spec["task"], label(spec["method"])), []).append(found)
    return [_row(*names, traces) for names, traces in groups.items()]


def _row(learner: str, task: str, method: str, traces: list[Trace]) -> SummaryRow:
    best = [trial for found in traces if (trial := found.best) is not None]
    scores = [trial.score for trial in best if trial.score is not None]
    tests = [trial.test_score for trial in best if trial.test_score is not None]
    elapsed = sum(found.end.elapsed if found.end else found.elapsed for found in traces)
    method_seconds = sum(t.ask_seconds + (t.tell_seconds or 0.0) for found in traces for t in found.trials)
    method_seconds += sum(found.end.cut_ask_seconds for found in traces if found.end)
    return SummaryRow(
        learner=learner,
        task=task,
        method=method,
        folds=len(traces),
        unfinished=sum(not found.is_finished or _is_error(found) for found in traces),
        metric=str(traces[0].header["metric"]),
        score_mean=statistics.fmean(scores) if scores else None,
        score_sd=statistics.stdev(scores) if len(scores) > 1 else None,
        test_score_mean=statistics.fmean(tests) if tests else None,
        seconds_to_best=statistics.fmean(trial.ended for trial in best) if best else None,
        trials=statistics.fmean(len(found.trials) for found in traces),
        method_share=method_seconds / elapsed if elapsed else None,
    )


def _is_error(found: Trace) -> bool:
    return found.end is not None and found.end.reason is EndReason.ERROR
