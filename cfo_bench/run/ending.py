"""The last line of a trace: why the run ended, and what it came to."""

from __future__ import annotations

from cfo_bench.machine import contention
from cfo_bench.records import EndReason, EndRecord, Pause, TrialRecord


def end_record(
    reason: EndReason,
    elapsed: float,
    trials: int,
    best: TrialRecord | None,
    error: str | None = None,
    cut_ask_seconds: float = 0.0,
    began: contention.Ticks | None = None,
    pauses: tuple[Pause, ...] = (),
) -> EndRecord:
    """`began` are the machine's ticks when the run started; without them the load is left out."""
    return EndRecord(
        reason=reason,
        elapsed=elapsed,
        trials=trials,
        best_loss=best.loss if best else None,
        best_score=best.score if best else None,
        best_number=best.number if best else None,
        error=error,
        cut_ask_seconds=cut_ask_seconds,
        load=contention.load() if began else None,
        steal_percent=contention.steal_percent(began),
        pauses=pauses,
    )
