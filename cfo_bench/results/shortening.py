"""What a run would have had with a shorter budget, or fewer trials: a part of what it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cfo_bench.records import EndReason, Status
from cfo_bench.results.line_types import LineRow
from cfo_bench.results.validation import Lines


def shortened(found: Lines, seconds: float, max_trials: int | None = None) -> Lines:
    """The lines that the run would have with a budget of so many seconds, and no more than so many trials.

    A trial under way at the end of the budget is cut off and has no loss. What the method was doing is
    counted up to then. A run that has not come so far has the new limits, and is otherwise as it was.
    """
    if max_trials is not None:
        found = _with_first(found, max_trials)
    header = _with(found.header, budget_seconds=seconds)
    trials = [_until(row, seconds) for row in found.trials if row["started"] < seconds]
    end = _end(found, trials, seconds)
    return _lines(found, header, trials, end)


def _with_first(found: Lines, max_trials: int) -> Lines:
    """With so many of the trials that were asked for first."""
    header = _with(found.header, max_trials=max_trials)
    trials = [row for row in found.trials if row["number"] < max_trials]
    if len(found.trials) <= max_trials or len(trials) < max_trials:
        return _lines(found, header, found.trials, found.end)
    elapsed = max(row["ended"] + (row.get("tell_seconds") or 0.0) for row in trials)
    end = _ended(found.end, EndReason.MAX_TRIALS, elapsed, trials)
    return _lines(found, header, trials, end)


def _with(header: LineRow, **limits: Any) -> LineRow:
    return {**header, "spec": {**header["spec"], **limits}}


def _lines(found: Lines, header: LineRow, trials: list[LineRow], end: LineRow | None) -> Lines:
    columns: dict[str, Sequence[Any]] = {name: [row.get(name) for row in trials] for name in found.columns}
    last = end or (trials[-1] if trials else header)
    return replace(found, header=header, trials=trials, columns=columns, last=last)


def _until(row: LineRow, seconds: float) -> LineRow:
    tell_seconds = row.get("tell_seconds") or 0.0
    if row["ended"] <= seconds:
        return {**row, "tell_seconds": min(tell_seconds, seconds - row["ended"])}
    fit_seconds = min(row["fit_seconds"], seconds - row["started"])
    return {
        **row,
        "status": str(Status.TIMEOUT),
        **dict.fromkeys(("loss", "score", "test_score", "tell_seconds")),
        "ended": seconds,
        "fit_seconds": fit_seconds,
        "validate_seconds": min(row["validate_seconds"], seconds - row["started"] - fit_seconds),
    }


def _end(found: Lines, trials: list[LineRow], seconds: float) -> dict[str, Any] | None:
    """The end, or None where the run was cut off before the new budget was over."""
    old = found.end
    reached = max((row["ended"] for row in found.trials), default=0.0)
    if max(old["elapsed"] if old else 0.0, reached) < seconds:
        return old
    # The method may have been at an ask: one that led to a later trial, or one that was cut off anyway.
    later = [row for row in found.trials if row["started"] >= seconds]
    asks = [seconds - (row["started"] - row["ask_seconds"]) for row in later]
    cut_ask, cut_tell = max([0.0, *asks]), 0.0
    if old and not later and len(trials) == len(found.trials):
        cut_ask = max(old.get("cut_ask_seconds", 0.0) - (old["elapsed"] - seconds), 0.0)
        cut_tell = max(old.get("cut_tell_seconds", 0.0) - (old["elapsed"] - seconds), 0.0)
    end = _ended(old, EndReason.BUDGET, seconds, trials)
    return {**end, "cut_ask_seconds": cut_ask, "cut_tell_seconds": cut_tell}


def _ended(old: LineRow | None, reason: EndReason, elapsed: float, trials: Sequence[LineRow]) -> LineRow:
    best = min((row for row in trials if row["loss"] is not None), key=lambda row: row["loss"], default={})
    return {
        **(old or {"kind": "end"}),
        "error": None,
        "reason": str(reason),
        "elapsed": elapsed,
        "trials": len(trials),
        **{f"best_{key}": best.get(key) for key in ("loss", "score", "number")},
        "cut_ask_seconds": 0.0,
        "cut_tell_seconds": 0.0,
        "pauses": [one for one in (old or {}).get("pauses", ()) if one["at"] < elapsed],
    }
