"""The last line of a trace: why the run ended, and what it came to."""

from __future__ import annotations

from cfo_bench.machine import contention
from cfo_bench.records import EndReason, EndRecord, Pause, TrialRecord
from cfo_bench.run.live_page import MethodCall


def end_record(
    reason: EndReason,
    elapsed: float,
    trials: int,
    best: TrialRecord | None,
    error: str | None = None,
    cut_off: MethodCall | None = None,
    began: contention.Ticks | None = None,
    pauses: tuple[Pause, ...] = (),
) -> EndRecord:
    """`cut_off` is what the method was doing when the run ended.

    `began` are the machine's ticks when the run started; without them the load is left out.
    """
    cut_ask_seconds, cut_tell_seconds = cut_off.cut_off_at(elapsed) if cut_off else (0.0, 0.0)
    return EndRecord(
        reason=reason,
        elapsed=elapsed,
        trials=trials,
        best_loss=best.loss if best else None,
        best_score=best.score if best else None,
        best_number=best.number if best else None,
        error=error,
        cut_ask_seconds=cut_ask_seconds,
        cut_tell_seconds=cut_tell_seconds,
        load=contention.load() if began else None,
        steal_percent=contention.steal_percent(began),
        pauses=pauses,
    )
