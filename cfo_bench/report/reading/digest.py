"""A digest of a run: small enough to keep thousands in memory, enough for every table and figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from cfo_bench.records import EndReason, method_label
from cfo_bench.report.contents import MOST_NAMES, some
from cfo_bench.results.digest_in_trace import from_outline
from cfo_bench.results.late_trials import late_in_lines, late_in_outline
from cfo_bench.results.limits import finished_before, has_final_end
from cfo_bench.results.outline import Outline
from cfo_bench.results.trace import lines_of, outline_or_lines
from cfo_bench.results.trial_digest import COST_BIN_EDGES as COST_BIN_EDGES
from cfo_bench.results.trial_digest import Configs as Configs
from cfo_bench.results.trial_digest import Steps as Steps
from cfo_bench.results.trial_digest import TrialDigest, digest_of_trials
from cfo_bench.results.validation import Lines

# --- digest ----------------------------------------------------------------------------------------


# A larger loss counts as this one: sums and squares of larger numbers overflow.
LARGEST_LOSS = 1e100


class State(StrEnum):
    """Whether a run ended well, and if not, how."""

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Digest:
    """One run."""

    path: str
    learner: str
    task: str
    method: str
    fold: int
    seed: int
    state: State
    end_reason: str | None
    error: str | None
    budget_seconds: float
    elapsed: float
    problem: str
    metric: str
    constant_loss: float
    trials: int
    statuses: dict[str, int]
    late: int  # trials that are `ok` in the trace, and `timeout` here, since they ended past the budget
    steps: Steps
    full: Steps  # the same, of trials on all rows only
    cost_related: list[str]
    spent: dict[str, float]  # seconds by what they were spent on
    dearer_share: float  # the share of the time in trials that cost more than the best one
    cost_bins: list[float | None]  # mean cost of a trial in each of COST_BIN_EDGES
    nodes: list[str]  # the machines that it ran on
    load: float | None  # of the machine, at the run's end
    steal_percent: float | None  # time lost to other virtual machines, at the run's end
    paused_seconds: float  # how long it was stopped; not on its clock
    header: dict[str, Any]  # the trace's first line, without space and start
    goes_on: bool = False  # it has been given other limits since it ended, and is not done with these


def digest(path: Path) -> Digest | None:
    """The digest of a trace; None for a file without a whole header (a run that never began).

    A run that ended, and is not done with the longer budget that it was given since, is as it had ended.
    The trials are not parsed if the trace has their digest, and its checksums are right.
    """
    found = outline_or_lines(path)
    if isinstance(found, Outline):
        trials = from_outline(found)
        late = None if trials is None else late_in_outline(found, trials.last_ended)
        if trials is not None and late is not None:
            return _digest(path, found.header, found.resumes, found.end, trials, late)
        found = lines_of(path)
    if found is None:
        return None
    if not has_final_end(found.last) and (before := finished_before(path)):
        return replace(digest_of(path, before), goes_on=True)
    return digest_of(path, found)


def digest_of(path: Path, found: Lines) -> Digest:
    """The digest of the lines of a trace."""
    trials, late = digest_of_trials(found), late_in_lines(found)
    return _digest(path, found.header, found.resumes, found.end, trials, late)


def _digest(
    path: Path,
    header: Mapping[str, Any],
    resumes: Sequence[Mapping[str, Any]],
    end: Mapping[str, Any] | None,
    trials: TrialDigest,
    late: int,
) -> Digest:
    spec = header["spec"]
    elapsed = float(end["elapsed"]) if end else trials.last_ended
    available = elapsed * spec.get("parallel", 1)
    return Digest(
        path=str(path),
        learner=spec["learner"],
        task=spec["task"],
        method=method_label(spec),
        fold=spec["fold"],
        seed=spec["seed"],
        state=_state(end),
        end_reason=end["reason"] if end else None,
        error=end.get("error") if end else None,
        budget_seconds=float(spec["budget_seconds"]),
        elapsed=elapsed,
        problem=header["problem"],
        metric=header["metric"],
        constant_loss=min(max(header["constant_loss"], -LARGEST_LOSS), LARGEST_LOSS),
        trials=trials.trials,
        statuses=trials.statuses,
        late=late,
        steps=trials.steps,
        full=trials.full,
        cost_related=list(header.get("cost_related", [])),
        spent=_spent(trials, header, end, elapsed),
        dearer_share=min(trials.dearer_seconds / available, 1.0) if available else 0.0,
        cost_bins=trials.cost_bins,
        nodes=_nodes(header, resumes),
        load=(end or {}).get("load"),
        steal_percent=(end or {}).get("steal_percent"),
        paused_seconds=float(sum(one["seconds"] for one in (end or {}).get("pauses", ()))),
        header={key: value for key, value in header.items() if key not in ("space", "start")},
    )


def _nodes(header: Mapping[str, Any], resumes: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [header.get("machine", {}).get("node"), *(row.get("node") for row in resumes)]
    return list(dict.fromkeys(name for name in names if name))


def _state(end: Mapping[str, Any] | None) -> State:
    if end is None:
        return State.UNFINISHED
    by_reason = {EndReason.ERROR: State.FAILED, EndReason.INTERRUPTED: State.INTERRUPTED}
    return by_reason.get(EndReason(end["reason"]), State.DONE)


def _spent(
    trials: TrialDigest, header: Mapping[str, Any], end: Mapping[str, Any] | None, elapsed: float
) -> dict[str, float]:
    """Seconds by what they were spent on; with several trials at once, those of each evaluator.

    One trial at a time, whatever is neither the method's nor training is cfo-bench's own work (`harness`),
    up to the last trial: it checks what it was given, writes the trace, and starts processes again. Seconds
    after it are nobody's (`idle`). With several at once an evaluator may have no trial, and in a run that was
    imported the method may have been at work: there all that is left is nobody's.
    """
    parallel = header["spec"].get("parallel", 1)
    spent = {
        "method": trials.method_seconds,
        "fit": trials.fit_seconds,
        "validate": trials.validate_seconds,
    }
    left = max(elapsed * parallel - sum(spent.values()), 0.0)
    if parallel > 1 or "imported" in header:
        return {**spent, "harness": 0.0, "idle": left}
    cut = sum((end or {}).get(name, 0.0) for name in ("cut_ask_seconds", "cut_tell_seconds"))
    idle = min(left, max(elapsed - trials.last_ended - cut, 0.0))
    return {**spent, "harness": left - idle, "idle": idle}


# --- run names -------------------------------------------------------------------------------------
# Runs by name, in the lines that tell of them.


def run_names(runs: Sequence[Digest]) -> str:
    """Such as `iris cfo fold 0, 1; iris rs fold 1; and 3 more`."""
    folds: dict[tuple[str, str], list[str]] = {}
    for one in runs:
        folds.setdefault((one.task, one.method), []).append(str(one.fold))
    names = [
        f"{task} {method} fold {some(list(dict.fromkeys(own)))}" for (task, method), own in folds.items()
    ]
    more = sum(len(own) for own in list(folds.values())[MOST_NAMES:])
    return "; ".join(names[:MOST_NAMES]) + (f"; and {more} more" if more else "")
