"""What the report keeps of a trace: small enough to hold thousands, enough for every table and figure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl

from cfo_bench.errors import TraceError
from cfo_bench.records import EndReason
from cfo_bench.registry import label
from cfo_bench.trace import SCHEMA_VERSION, split_torn

# What is read of a trial's line; the rest, the configuration above all, only of the best one.
_COLUMNS = {
    "kind": pl.String,
    "number": pl.Int64,
    "rows": pl.Int64,
    "status": pl.String,
    "loss": pl.Float64,
    "test_score": pl.Float64,
    "started": pl.Float64,
    "ended": pl.Float64,
    "ask_seconds": pl.Float64,
    "fit_seconds": pl.Float64,
    "validate_seconds": pl.Float64,
    "tell_seconds": pl.Float64,
}

# The cost of trials over time is kept in bins of the elapsed share of the budget, ten a decade.
COST_BIN_EDGES = np.concatenate(([0.0], np.logspace(-4, 0, 41)))


class State(StrEnum):
    """How far a run has come."""

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Steps:
    """The incumbents of a run: when each was found, its loss, its test score, its own cost."""

    seconds: list[float]
    losses: list[float]
    test_scores: list[float | None]
    costs: list[float]


@dataclass(frozen=True, slots=True)
class Digest:
    """One run. `full` is `steps` over trials on all rows only; `spent` sums the seconds by kind."""

    path: str
    learner: str
    task: str
    method: str
    fold: int
    seed: int
    state: State
    error: str | None
    budget_seconds: float
    elapsed: float
    problem: str
    metric: str
    constant_loss: float
    trials: int
    statuses: dict[str, int]
    steps: Steps
    full: Steps
    best_config: dict[str, Any]
    cost_related: list[str]
    spent: dict[str, float]
    dearer_share: float
    cost_bins: list[float | None]
    header: dict[str, Any]


def digest(path: Path) -> Digest | None:
    """The digest of a trace; None for a file without a whole header (a run that never began)."""
    whole, _ = split_torn(path.read_bytes())
    first, _, rest = whole.partition(b"\n")
    if not first.strip(b"\0 "):
        return None
    header = _header(path, first)
    try:
        rows = pl.read_ndjson(rest, schema=_COLUMNS) if rest.strip() else pl.DataFrame(schema=_COLUMNS)
    except pl.exceptions.PolarsError:
        raise TraceError(
            f"{path} has a line that is no record: move it away, or run it again with --force"
        ) from None
    trials = rows.filter(pl.col("kind") == "trial").sort("ended", maintain_order=True)
    end = _last_end(rest, rows)
    spec = header["spec"]
    steps = _steps(trials)
    full_rows = trials.filter(pl.col("rows").is_null() | (pl.col("rows") >= header["data"]["train_rows"]))
    elapsed = float(end["elapsed"]) if end else float(trials["ended"].max() or 0.0)  # type: ignore[arg-type]
    cost = _cost(trials)
    budget = float(spec["budget_seconds"])
    return Digest(
        path=str(path),
        learner=spec["learner"],
        task=spec["task"],
        method=label(spec["method"]),
        fold=spec["fold"],
        seed=spec["seed"],
        state=_state(end),
        error=end["error"] if end else None,
        budget_seconds=budget,
        elapsed=elapsed,
        problem=header["problem"],
        metric=header["metric"],
        constant_loss=header["constant_loss"],
        trials=trials.height,
        statuses=dict(trials["status"].value_counts().sort("status").iter_rows()),
        steps=steps,
        full=_steps(full_rows),
        best_config=_config_of_best(rest, trials),
        cost_related=list(header.get("cost_related", [])),
        spent=_spent(trials, elapsed * spec.get("workers", 1)),
        dearer_share=_dearer_share(cost, steps, elapsed * spec.get("workers", 1)),
        cost_bins=_cost_bins(trials, cost, budget),
        header={key: value for key, value in header.items() if key not in ("space", "start")},
    )


def _header(path: Path, line: bytes) -> dict[str, Any]:
    try:
        header: dict[str, Any] = orjson.loads(line)
        if header["kind"] != "run":
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise TraceError(f"{path} is not a trace: its first line is no header; move it away") from None
    if header["schema"] != SCHEMA_VERSION:
        raise TraceError(
            f"{path} has trace version {header['schema']}, and version {SCHEMA_VERSION} can be read"
        )
    return header


def _last_end(lines: bytes, rows: pl.DataFrame) -> Mapping[str, Any] | None:
    """The end line, if it is the run's last word and no resume came after it."""
    if not rows.height or rows["kind"][-1] != "end":
        return None
    last: Mapping[str, Any] = orjson.loads(lines.rstrip().rpartition(b"\n")[2])
    return last


def _state(end: Mapping[str, Any] | None) -> State:
    if end is None:
        return State.UNFINISHED
    by_reason = {EndReason.ERROR: State.FAILED, EndReason.INTERRUPTED: State.INTERRUPTED}
    return by_reason.get(EndReason(end["reason"]), State.DONE)


def _cost(trials: pl.DataFrame) -> pl.Series:
    return trials["fit_seconds"].fill_null(0.0) + trials["validate_seconds"].fill_null(0.0)


def _steps(trials: pl.DataFrame) -> Steps:
    scored = trials.filter((pl.col("status") == "ok") & pl.col("loss").is_not_null())
    if not scored.height:
        return Steps([], [], [], [])
    before = scored["loss"].cum_min().shift(1).fill_null(math.inf)
    better = scored.filter(scored["loss"] < before)
    return Steps(
        better["ended"].to_list(),
        better["loss"].to_list(),
        better["test_score"].to_list(),
        _cost(better).to_list(),
    )


def _config_of_best(lines: bytes, trials: pl.DataFrame) -> dict[str, Any]:
    scored = trials.filter(pl.col("status") == "ok").sort("loss", maintain_order=True)
    if not scored.height:
        return {}
    mark = b'"number":%d,' % scored["number"][0]
    at = lines.index(mark)
    line = lines[lines.rfind(b"\n", 0, at) + 1 : lines.find(b"\n", at) if b"\n" in lines[at:] else None]
    config: dict[str, Any] = orjson.loads(line)["config"]
    return config


def _spent(trials: pl.DataFrame, available: float) -> dict[str, float]:
    """Seconds of the run's workers by what they went into; `idle` is what is left, the harness's own."""
    spent = {
        "method": float(trials["ask_seconds"].sum()) + float(trials["tell_seconds"].sum()),
        "fit": float(trials["fit_seconds"].sum()),
        "validate": float(trials["validate_seconds"].sum()),
    }
    return {**spent, "idle": max(available - sum(spent.values()), 0.0)}


def _dearer_share(cost: pl.Series, steps: Steps, available: float) -> float:
    """The share of the workers' seconds that went into trials dearer than the final incumbent."""
    if not steps.costs or not available:
        return 0.0
    return min(float(cost.filter(cost > steps.costs[-1]).sum()) / available, 1.0)


def _cost_bins(trials: pl.DataFrame, cost: pl.Series, budget: float) -> list[float | None]:
    """Mean seconds of the trials that ended in each bin of the budget; None where none did."""
    share = (trials["ended"] / budget).to_numpy()
    bins = np.clip(np.searchsorted(COST_BIN_EDGES, share, side="left") - 1, 0, len(COST_BIN_EDGES) - 2)
    sums = np.bincount(bins, weights=cost.to_numpy(), minlength=len(COST_BIN_EDGES) - 1)
    counts = np.bincount(bins, minlength=len(COST_BIN_EDGES) - 1)
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]
