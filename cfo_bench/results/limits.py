"""The limits of a run, its budget and its most trials, against those that a command asks for.

A method does not know them, so a run of 60 s is the beginning of the run of 600 s: it is taken up where the
old limits first had a part in it. And a run of 600 s holds the one of 60 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from cfo_bench.records import EndReason, RunLimits, RunSpec, Status
from cfo_bench.results.other_lines import split_lines
from cfo_bench.results.trace import Trace, whole_lines
from cfo_bench.results.validation import Lines, check


def limits_of(spec: RunSpec | Mapping[str, Any]) -> RunLimits:
    """Of a run, or of the `spec` in the header of its trace."""
    if isinstance(spec, RunSpec):
        return RunLimits(spec.budget_seconds, spec.max_trials)
    return RunLimits(spec["budget_seconds"], spec.get("max_trials"))


def has_final_end(last: Mapping[str, Any]) -> bool:
    """Whether the last line of a trace says that the run is over."""
    return bool(last["kind"] == "end" and last["reason"] != EndReason.INTERRUPTED)


def is_done(header: Mapping[str, Any], last: Mapping[str, Any], asked: RunLimits) -> bool:
    """Whether a trace, by its first and its last line, holds all that a run with these limits would have.

    Where that takes a look at the trials, it is False: then the run is taken up, and ends at once.
    """
    spec = header["spec"]
    now, at_once = limits_of(spec), spec.get("parallel", 1)
    if not has_final_end(last):
        is_trial = last["kind"] == "trial"
        trials = (last["number"] + 1 if at_once == 1 else 0) if is_trial else last.get("trials", 0)
        return now != asked and (asked.budget_seconds <= reached(last) or _is_met(asked, trials))
    match EndReason(last["reason"]):
        case EndReason.BUDGET:
            # At the end of the budget, up to so many trials as were under way are cut off.
            return asked.budget_seconds <= now.budget_seconds or _is_met(asked, last["trials"] - at_once)
        case EndReason.MAX_TRIALS:
            return asked.budget_seconds <= last["elapsed"] or _is_met(asked, last["trials"])
        case EndReason.EXHAUSTED:
            return asked.budget_seconds <= now.budget_seconds
        case _:
            return True


def reached(last: Mapping[str, Any]) -> float:
    """Where the run's clock stood at the last line of its trace."""
    return float(last["ended"] if last["kind"] == "trial" else last.get("elapsed", 0.0))


def budget_left(header: Mapping[str, Any], last: Mapping[str, Any], asked: RunLimits) -> float:
    """How much of the budget a run with these limits still has to spend.

    It is about that: a trial that the old limits cut off gets its seconds back.
    """
    if is_done(header, last, asked) or last.get("reason") == EndReason.EXHAUSTED:
        return 0.0
    return max(asked.budget_seconds - reached(last), 0.0)


def finished_before(path: Path) -> Lines | None:
    """The run of a trace as it had ended, if it goes on with other limits since then and is not done."""
    texts = split_lines(whole_lines(path) or b"")
    for count in range(len(texts), 0, -1):
        text = texts[count - 1]
        if text.startswith(b'{"kind":"end"') and has_final_end(orjson.loads(text)):
            return check(path, b"\n".join(texts[:count])) if count < len(texts) else None
    return None


def is_longer(end: Mapping[str, Any], asked: RunLimits) -> bool:
    """Whether a run with this end went on for longer than the limits allow."""
    return end["elapsed"] > asked.budget_seconds or (
        asked.max_trials is not None and end["trials"] > asked.max_trials
    )


def _is_met(asked: RunLimits, trials: int) -> bool:
    return asked.max_trials is not None and asked.max_trials <= trials


def why_not(
    header: Mapping[str, Any], last: Mapping[str, Any], asked: RunLimits, replays: bool, knows_budget: bool
) -> str | None:
    """Why the run of this trace can't be brought to other limits; None where it can, or need not be.

    A method that `knows_budget` would have asked for other trials with another budget.
    """
    now = limits_of(header["spec"])
    if now == asked:
        return None
    if knows_budget and asked.budget_seconds != now.budget_seconds:
        return (
            f"its method plans with its budget, so a run of {now.budget_seconds:g} s is no part of one of "
            f"{asked.budget_seconds:g} s"
        )
    is_exhausted = last.get("reason") == EndReason.EXHAUSTED  # it is as it would be
    if not (replays or is_exhausted) and has_final_end(last) and not is_done(header, last, asked):
        return f"it ended at {last['elapsed']:g} s, and its method says that it can't be resumed"
    return None


def as_taken_up(past: Trace, asked: RunLimits) -> Trace:
    """The part of a run that it would also have with other limits; the trials after it are `superseded`.

    The old limits had a part in a trial that was cut off at the end of the budget, in one that the method
    was being told of then, and in all that were told after the method was not asked any more.
    """
    if limits_of(past.header["spec"]) == asked:
        return past
    count = _unaffected(past)
    kept = past.trials[:count]
    taken = replace(past, trials=kept, end=None, superseded=len(past.trials) - count)
    # A pause after the moment from which the run goes on is not a part of it.
    return replace(taken, pauses=tuple(one for one in past.pauses if one.at <= taken.elapsed))


def _unaffected(past: Trace) -> int:
    """How many trials, in the order in which they were told, the limits had no part in."""
    spec = past.header["spec"]
    now, timeout = limits_of(spec), spec.get("trial_timeout_seconds")
    at_once = spec.get("parallel", 1)
    told_at = 0.0
    for count, trial in enumerate(past.trials):
        is_due_at_end = timeout is None or trial.started + timeout > now.budget_seconds
        if trial.status is Status.TIMEOUT and is_due_at_end:
            return count
        is_tell_cut = past.end is not None and past.end.cut_tell_seconds > 0 and trial.tell_seconds is None
        if is_tell_cut and all(one.status is Status.TIMEOUT for one in past.trials[count + 1 :]):
            return count
        told_at = max(told_at, trial.ended + (trial.tell_seconds or 0.0))
        asked = trial.asked or min(count + at_once, now.max_trials or count + at_once)
        is_last_ask = told_at >= now.budget_seconds or (
            now.max_trials is not None and asked >= now.max_trials
        )
        if is_last_ask:
            return count + 1
    return len(past.trials)


def why_ended(header: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """What had ended the run of a trace with these lines, for the line that says that it was resumed."""
    limits = limits_of(header["spec"])
    match last.get("reason"):
        case EndReason.BUDGET:
            return f"its budget of {limits.budget_seconds:g} s was over"
        case EndReason.MAX_TRIALS:
            return f"its {limits.max_trials} trials were done"
        case EndReason.EXHAUSTED:
            return "it had nothing new to ask for"
        case _:
            return "it was interrupted"
