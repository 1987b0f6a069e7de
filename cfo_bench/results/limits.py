"""The limits of a run, its budget and maximum number of trials, compared with those that a command asks for.

A run of 60 s is the beginning of a run of 600 s, unless its method knows its budget: it is resumed where the
old limits first affected it. And a run of 600 s contains the one of 60 s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from cfo_bench.errors import TraceError, UserError
from cfo_bench.records import EndReason, RunLimits, RunSpec, TrialStatus, method_label, run_id
from cfo_bench.results.run import Run, cached_run
from cfo_bench.results.schema import EndRecord, TrialRecord, with_limits
from cfo_bench.results.trace import path_of
from cfo_bench.values import duration


def is_done(run: Run, asked: RunLimits) -> bool:
    """Whether a trace contains everything that a run with these limits would have.

    Also False if only the trials can show it: the run is then resumed, and ends at once.
    """
    now, parallel, end = run.limits, run.spec.parallel, run.end
    if end is None or not run.is_finished:
        # With parallel trials, some of those with the first numbers may still be running.
        n_trials = run.n_trials if parallel == 1 or run.end is not None else 0
        return now != asked and (asked.budget_seconds <= run.reached or _is_met(asked, n_trials))
    match end.reason:
        case EndReason.BUDGET:
            # At the end of the budget, as many trials as were running are cut off.
            return asked.budget_seconds <= now.budget_seconds or _is_met(asked, end.trials - parallel)
        case EndReason.MAX_TRIALS:
            return asked.budget_seconds <= end.elapsed or _is_met(asked, end.trials)
        case EndReason.EXHAUSTED:
            return asked.budget_seconds <= now.budget_seconds
        case _:
            return True


def is_longer(run: Run, asked: RunLimits) -> bool:
    """Whether a run may contain more than a run with these limits.

    A run is stopped a little after its budget is over; this does not make it longer.
    """
    if run.limits == asked:
        return False
    if run.end is None:
        return True
    elapsed = min(run.end.elapsed, run.budget_seconds)
    return elapsed > asked.budget_seconds or (
        asked.max_trials is not None and run.end.trials > asked.max_trials
    )


def budget_left(run: Run, asked: RunLimits) -> float:
    """About how much of the budget a run with these limits still has to spend.

    It is not exact: the seconds of a trial that the old limits cut off become available again.
    """
    if is_done(run, asked) or _is_exhausted(run):
        return 0.0
    return max(asked.budget_seconds - run.reached, 0.0)


def _is_met(asked: RunLimits, n_trials: int) -> bool:
    return asked.max_trials is not None and asked.max_trials <= n_trials


def _is_exhausted(run: Run) -> bool:
    return run.end is not None and run.end.reason is EndReason.EXHAUSTED


def why_not_extended(run: Run, asked: RunLimits, replays: bool, knows_budget: bool) -> str | None:
    """Why the run of this trace can't be resumed with other limits; None if it can, or need not be.

    A method that `knows_budget` would have asked for other trials with another budget.
    """
    now = run.limits
    if now == asked:
        return None
    if knows_budget and asked.budget_seconds != now.budget_seconds:
        return (
            f"its method plans with its budget, so a run of {now.budget_seconds:g} s does not begin like one "
            f"of {asked.budget_seconds:g} s"
        )
    can_stay = replays or _is_exhausted(run)  # other limits do not change an exhausted run
    if not can_stay and run.end is not None and run.is_finished and not is_done(run, asked):
        return f"it ended at {run.end.elapsed:g} s, and its method can't be resumed"
    return None


def why_ended(run: Run) -> str:
    """Why the run of a trace had ended, for the record of its resumption."""
    match run.end.reason if run.end else None:
        case EndReason.BUDGET:
            return f"its budget of {run.budget_seconds:g} s was over"
        case EndReason.MAX_TRIALS:
            return f"its {run.spec.max_trials} trials were done"
        case EndReason.EXHAUSTED:
            return "its method had nothing new to propose"
        case _:
            return "it was interrupted"


# --- a longer run ---------------------------------------------------------------------------------


def resumed_with(past: Run, asked: RunLimits) -> Run:
    """The part of a run that it would also have with other limits; the trials after it are `superseded`.

    The old limits affected a trial that was cut off at the end of the budget, a trial whose tell was cut off
    then, and all trials whose results followed the method's last ask.
    """
    if past.limits == asked:
        return past
    count = _n_unaffected(past)
    part = past.with_trials(list(past.trials[:count]), None, past.header)
    # A pause after the moment from which the run continues is not a part of it.
    pauses = tuple(pause for pause in past.pauses if pause.at <= part.told_seconds)
    return replace(part, superseded=len(past.trials) - count, pauses=pauses)


def _n_unaffected(past: Run) -> int:
    """The number of trials, in the order of their tells, before the first one that the limits affected."""
    limits, timeout, parallel = past.limits, past.spec.trial_timeout_seconds, past.spec.parallel
    told_at = 0.0
    for count, trial in enumerate(past.trials):
        is_due_at_end = timeout is None or trial.started + timeout > limits.budget_seconds
        if trial.status is TrialStatus.TIMEOUT and is_due_at_end:
            return count
        is_tell_cut = past.end is not None and past.end.cut_tell_seconds > 0 and trial.tell_seconds is None
        if is_tell_cut and all(later.status is TrialStatus.TIMEOUT for later in past.trials[count + 1 :]):
            return count
        told_at = max(told_at, trial.told_at)
        asked = trial.asked or min(count + parallel, limits.max_trials or count + parallel)
        is_last_ask = told_at >= limits.budget_seconds or (
            limits.max_trials is not None and asked >= limits.max_trials
        )
        if is_last_ask:
            return count + 1
    return len(past.trials)


# --- a shorter run --------------------------------------------------------------------------------


def shortened(run: Run, seconds: float, max_trials: int | None = None) -> Run:
    """The run as it would have been with a budget of `seconds`, and at most `max_trials` trials.

    A trial that is running at the end of the budget is cut off and has no loss. The method's time counts up
    to then. A run that did not get that far has the new limits, and is otherwise unchanged.
    """
    if max_trials is not None:
        run = _with_first(run, max_trials)
    header = with_limits(run.header, RunLimits(seconds, run.spec.max_trials))
    trials = [_until(trial, seconds) for trial in run.trials if trial.started < seconds]
    return run.with_trials(trials, _shortened_end(run, trials, seconds), header)


def _with_first(run: Run, max_trials: int) -> Run:
    """The run with the `max_trials` trials that were asked for first."""
    header = with_limits(run.header, RunLimits(run.spec.budget_seconds, max_trials))
    trials = [trial for trial in run.trials if trial.number < max_trials]
    if len(run.trials) <= max_trials or len(trials) < max_trials:
        return run.with_trials(run.trials, run.end, header)
    elapsed = max(trial.told_at for trial in trials)
    return run.with_trials(trials, new_end(EndReason.MAX_TRIALS, elapsed, trials, run.end), header)


def _until(trial: TrialRecord, seconds: float) -> TrialRecord:
    tell_seconds = trial.tell_seconds or 0.0
    if trial.ended <= seconds:
        return _changed(trial, tell_seconds=min(tell_seconds, seconds - trial.ended))
    fit_seconds = min(trial.fit_seconds, seconds - trial.started)
    return _changed(
        trial,
        status=TrialStatus.TIMEOUT,
        **dict.fromkeys(("loss", "score", "test_score", "tell_seconds")),
        ended=seconds,
        fit_seconds=fit_seconds,
        validate_seconds=min(trial.validate_seconds, seconds - trial.started - fit_seconds),
    )


def _changed(trial: TrialRecord, **changes: Any) -> TrialRecord:
    return msgspec.structs.replace(trial, **changes)


def _shortened_end(run: Run, trials: Sequence[TrialRecord], seconds: float) -> EndRecord | None:
    """The end of the run; None if it was cut off before the new budget was over."""
    old = run.end
    reached = max((trial.ended for trial in run.trials), default=0.0)
    if max(old.elapsed if old else 0.0, reached) < seconds:
        return old
    # The method may have been in an ask: one that led to a later trial, or one that was cut off anyway.
    later = [trial for trial in run.trials if trial.started >= seconds]
    asks = [seconds - (trial.started - trial.ask_seconds) for trial in later]
    cut_ask, cut_tell = max([0.0, *asks]), 0.0
    if old and not later and len(trials) == len(run.trials):
        cut_ask = max(old.cut_ask_seconds - (old.elapsed - seconds), 0.0)
        cut_tell = max(old.cut_tell_seconds - (old.elapsed - seconds), 0.0)
    end = new_end(EndReason.BUDGET, seconds, trials, old)
    return msgspec.structs.replace(end, cut_ask_seconds=cut_ask, cut_tell_seconds=cut_tell)


def new_end(
    reason: EndReason, elapsed: float, trials: Sequence[TrialRecord], old: EndRecord | None = None
) -> EndRecord:
    """The end of a run with these trials. Facts that do not follow from them are those of the `old` end."""
    scored = [trial for trial in trials if trial.loss is not None]
    best = min(scored, key=lambda trial: trial.loss or 0.0, default=None)
    return EndRecord(
        reason=reason,
        elapsed=elapsed,
        trials=len(trials),
        best_loss=best.loss if best else None,
        best_score=best.score if best else None,
        best_number=best.number if best else None,
        load=old.load if old else None,
        steal_percent=old.steal_percent if old else None,
        pauses=tuple(pause for pause in (old.pauses if old else ()) if pause.at < elapsed),
    )


# --- the runs that a command asks for -------------------------------------------------------------


def past_run(path: Path) -> Run | None:
    """The run of a trace; None if it is missing or damaged: executing the run will report the damage."""
    try:
        return cached_run(path)
    except TraceError:
        return None


def refuse_other_limits(
    specs: Sequence[RunSpec],
    past: Sequence[Run | None],
    results: Path,
    not_resumable: Container[str],
    knows_budget: Container[str],
) -> None:
    """A UserError if a run exists with other limits, and can't be resumed with the requested ones."""
    refused = [
        (spec, why)
        for spec, run in zip(specs, past, strict=True)
        if run is not None
        and (
            why := why_not_extended(
                run,
                spec.limits,
                method_label(spec) not in not_resumable,
                method_label(spec) in knows_budget,
            )
        )
    ]
    if refused:
        spec, why = refused[0]
        more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
        raise UserError(
            f"{path_of(results, spec)} can't be resumed with other limits{more}: {why}; leave method "
            f"{method_label(spec)!r} out, use another --results, or --force to run it again"
        )


_NEW = "to be started"
_DONE = "done"
_LONGER = "done with a longer budget or more trials, of which only a part is read"
_EXHAUSTED = "had nothing new to propose, which more time does not change"
_EXTENDED = "to be resumed with new limits"
_RESUMED = "to be resumed"
_PLANS = (_DONE, _LONGER, _EXHAUSTED, _EXTENDED, _RESUMED, _NEW)


def in_words(specs: Sequence[RunSpec], past: Sequence[Run | None]) -> str:
    """How many runs are done, resumed or new; "" if none had other limits."""
    plans = Counter(_plan(run, spec) for spec, run in zip(specs, past, strict=True))
    if not any(plans[plan] for plan in (_LONGER, _EXHAUSTED, _EXTENDED)):
        return ""
    left = sum(spec.budget_seconds for spec in specs) - sum(spent_seconds(specs, past).values())
    budgets = f"; {duration(left)} of budget left" if left > 0 else ""
    return f"of these runs: {', '.join(f'{plans[plan]} {plan}' for plan in _PLANS if plans[plan])}{budgets}"


def spent_seconds(specs: Sequence[RunSpec], past: Sequence[Run | None]) -> dict[str, float]:
    """The spent part of the budgets of runs that have started, by run id: all of it if the run is done."""
    return {
        run_id(spec): spec.budget_seconds - budget_left(run, spec.limits)
        for spec, run in zip(specs, past, strict=True)
        if run is not None
    }


def _plan(run: Run | None, spec: RunSpec) -> str:
    if run is None:
        return _NEW
    asked = spec.limits
    if is_done(run, asked):
        is_whole = run.is_finished and not is_longer(run, asked)
        return _DONE if is_whole else _LONGER
    if not run.is_finished:
        return _RESUMED
    return _EXHAUSTED if _is_exhausted(run) else _EXTENDED
