"""What a results folder has of the runs that a command asks for, before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfo_bench.errors import TraceError, UserError
from cfo_bench.records import EndReason, RunSpec, method_label, run_id
from cfo_bench.results import trace
from cfo_bench.results.limits import budget_left, has_final_end, is_done, is_longer, limits_of, why_not
from cfo_bench.values import duration


@dataclass(frozen=True, slots=True)
class PastRun:
    """The first and the last line of a run's trace."""

    header: Mapping[str, Any]
    last: Mapping[str, Any]

    @property
    def data(self) -> Mapping[str, Any]:
        return dict(self.header.get("data", {}))


def found_at(path: Path) -> PastRun | None:
    """None where there is no trace, or a damaged one: its run will tell."""
    try:
        lines = trace.ends(path)
    except TraceError:
        return None
    return None if lines is None else PastRun(*lines)


def refuse_other_limits(
    specs: Sequence[RunSpec],
    found: Sequence[PastRun | None],
    results: Path,
    not_resumable: Container[str],
    knows_budget: Container[str],
) -> None:
    """A UserError where a run is there with other limits, and can't be brought to these."""
    refused = [
        (spec, why)
        for spec, one in zip(specs, found, strict=True)
        if one is not None
        and (
            why := why_not(
                one.header,
                one.last,
                limits_of(spec),
                method_label(spec) not in not_resumable,
                method_label(spec) in knows_budget,
            )
        )
    ]
    if refused:
        spec, why = refused[0]
        more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
        raise UserError(
            f"{trace.path_of(results, spec)} can't go on with other limits{more}: {why}; leave method "
            f"{method_label(spec)!r} out, use another --results, or --force to run it again"
        )


def in_words(specs: Sequence[RunSpec], found: Sequence[PastRun | None]) -> str:
    """How many runs are done, go on or are new; "" where none has had other limits."""
    kinds = Counter(_kind(one, spec) for spec, one in zip(specs, found, strict=True))
    told = [f"{kinds[kind]} {kind}" for kind in _KINDS if kinds[kind]]
    has_others = any(kinds[kind] for kind in (_LONGER, _EXHAUSTED, _GROWN))
    if not has_others:
        return ""
    left = sum(spec.budget_seconds for spec in specs) - sum(spent_seconds(specs, found).values())
    budgets = f"; {duration(left)} of budget left" if left > 0 else ""
    return f"of these runs: {', '.join(told)}{budgets}"


def spent_seconds(specs: Sequence[RunSpec], found: Sequence[PastRun | None]) -> dict[str, float]:
    """What is spent of the budgets of runs that have begun, by their ids: all of it of one that is done."""
    return {
        run_id(spec): spec.budget_seconds - budget_left(one.header, one.last, limits_of(spec))
        for spec, one in zip(specs, found, strict=True)
        if one is not None
    }


_NEW = "to be started"
_DONE = "done"
_LONGER = "done with a longer budget or more trials, of which only a part is read"
_EXHAUSTED = "had nothing new to ask for, which more time won't change"
_GROWN = "go on from where their limits ended them"
_RESUMED = "to be resumed"
_KINDS = (_DONE, _LONGER, _EXHAUSTED, _GROWN, _RESUMED, _NEW)


def _kind(one: PastRun | None, spec: RunSpec) -> str:
    if one is None:
        return _NEW
    asked = limits_of(spec)
    if is_done(one.header, one.last, asked):
        is_whole = has_final_end(one.last) and not is_longer(one.last, asked)
        return _DONE if is_whole else _LONGER
    if not has_final_end(one.last):
        return _RESUMED
    return _EXHAUSTED if one.last["reason"] == EndReason.EXHAUSTED else _GROWN
