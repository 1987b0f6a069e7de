"""A digest of a trace: small enough to keep thousands in memory, enough for every table and figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.records import EndReason
from cfo_bench.registry import label
from cfo_bench.results.trace import lines_of
from cfo_bench.results.validation import Lines

# The cost of trials over time is kept in bins of the elapsed share of the budget: ten for each power of ten.
COST_BIN_EDGES = np.concatenate(([0.0], np.logspace(-4, 0, 41)))


class State(StrEnum):
    """Whether a run ended well, and if not, how."""

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Steps:
    """The incumbents of a run, one after the other: each has a lower loss than the one before."""

    seconds: list[float]  # when each was found
    losses: list[float]
    test_scores: list[float | None]
    costs: list[float]  # seconds to fit and validate it
    overheads: list[float]  # seconds of the method to ask for it and be told
    best_config: dict[str, Any]  # the configuration of the last one


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


def digest(path: Path) -> Digest | None:
    """The digest of a trace; None for a file without a whole header (a run that never began)."""
    found = lines_of(path)
    if found is None:
        return None
    header, end = found.header, found.end
    trials = _trials(found)
    spec = header["spec"]
    steps = _steps(trials, found)
    on_all_rows = ~(trials.rows < header["data"]["train_rows"])
    elapsed = float(end["elapsed"]) if end else float(trials.ended.max(initial=0.0))
    budget = float(spec["budget_seconds"])
    return Digest(
        path=str(path),
        learner=spec["learner"],
        task=spec["task"],
        method=label(spec["method"]),
        fold=spec["fold"],
        seed=spec["seed"],
        state=_state(end),
        end_reason=end["reason"] if end else None,
        error=end.get("error") if end else None,
        budget_seconds=budget,
        elapsed=elapsed,
        problem=header["problem"],
        metric=header["metric"],
        constant_loss=header["constant_loss"],
        trials=len(trials.ended),
        statuses=dict(sorted(Counter(found.columns["status"]).items())),
        steps=steps,
        full=steps if on_all_rows.all() else _steps(trials, found, on_all_rows),
        cost_related=list(header.get("cost_related", [])),
        spent=_spent(trials, (end or {}).get("cut_ask_seconds", 0.0), elapsed * spec.get("parallel", 1)),
        dearer_share=_dearer_share(trials.cost, steps, elapsed * spec.get("parallel", 1)),
        cost_bins=_cost_bins(trials, budget),
        nodes=_nodes(found),
        load=(end or {}).get("load"),
        steal_percent=(end or {}).get("steal_percent"),
        paused_seconds=float(sum(one["seconds"] for one in (end or {}).get("pauses", ()))),
        header={key: value for key, value in header.items() if key not in ("space", "start")},
    )


def _nodes(found: Lines) -> list[str]:
    names = [found.header.get("machine", {}).get("node"), *(row.get("node") for row in found.resumes)]
    return list(dict.fromkeys(name for name in names if name))


def _state(end: Mapping[str, Any] | None) -> State:
    if end is None:
        return State.UNFINISHED
    by_reason = {EndReason.ERROR: State.FAILED, EndReason.INTERRUPTED: State.INTERRUPTED}
    return by_reason.get(EndReason(end["reason"]), State.DONE)


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """The trials of a run as arrays, in the order in which they ended; a missing number is NaN."""

    line: Array  # which trial of the trace it is
    is_ok: Array
    rows: Array
    loss: Array
    test_score: Array
    ended: Array
    overhead: Array
    fit: Array
    validate: Array

    @property
    def cost(self) -> Array:
        return self.fit + self.validate


def _trials(found: Lines) -> _Trials:
    ended = np.array(found.columns["ended"], dtype=float)
    line = np.argsort(ended, kind="stable")

    def column(name: str) -> Array:
        return np.array(found.columns[name], dtype=float)[line]

    def seconds(name: str) -> Array:
        return np.nan_to_num(column(name))

    return _Trials(
        line=line,
        is_ok=np.array(found.columns["status"], dtype=str)[line] == "ok",
        rows=column("rows"),
        loss=column("loss"),
        test_score=column("test_score"),
        ended=ended[line],
        overhead=seconds("ask_seconds") + seconds("tell_seconds"),
        fit=seconds("fit_seconds"),
        validate=seconds("validate_seconds"),
    )


def _steps(trials: _Trials, found: Lines, wanted: Array | None = None) -> Steps:
    scored = np.flatnonzero(trials.is_ok if wanted is None else trials.is_ok & wanted)
    if not len(scored):
        return Steps([], [], [], [], [], {})
    losses = trials.loss[scored]
    before = np.append(np.inf, np.minimum.accumulate(losses)[:-1])
    better = scored[losses < before]
    return Steps(
        trials.ended[better].tolist(),
        trials.loss[better].tolist(),
        [None if math.isnan(score) else score for score in trials.test_score[better].tolist()],
        trials.cost[better].tolist(),
        trials.overhead[better].tolist(),
        found.columns["config"][trials.line[better[-1]]],
    )


def _spent(trials: _Trials, cut_ask: float, available: float) -> dict[str, float]:
    """Seconds by what they were spent on; `available` are those of all trials at once, `idle` is the rest."""
    spent = {
        "method": float(trials.overhead.sum()) + cut_ask,
        "fit": float(trials.fit.sum()),
        "validate": float(trials.validate.sum()),
    }
    return {**spent, "idle": max(available - sum(spent.values()), 0.0)}


def _dearer_share(cost: Array, steps: Steps, available: float) -> float:
    """The share of the available seconds in trials that cost more than the final incumbent."""
    if not steps.costs or not available:
        return 0.0
    return min(float(cost[cost > steps.costs[-1]].sum()) / available, 1.0)


def _cost_bins(trials: _Trials, budget: float) -> list[float | None]:
    """Mean seconds of the trials that ended in each bin of the budget; None where none did."""
    share = trials.ended / budget
    bins = np.clip(np.searchsorted(COST_BIN_EDGES, share, side="left") - 1, 0, len(COST_BIN_EDGES) - 2)
    sums = np.bincount(bins, weights=trials.cost, minlength=len(COST_BIN_EDGES) - 1)
    counts = np.bincount(bins, minlength=len(COST_BIN_EDGES) - 1)
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]
