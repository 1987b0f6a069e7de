"""A run of SMAC 2: `runhistory.json`, with `configspace.json` and `scenario.json` beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cfo_bench.errors import SpaceError, UserError
from cfo_bench.exchange.imported_trace import SourceClock, SourceRun, SourceTrial, read_text
from cfo_bench.records import Status
from cfo_bench.space import Categorical, Float, Int, Param, Space

HISTORY, SPACE, SCENARIO = "runhistory.json", "configspace.json", "scenario.json"

# SMAC's numbers of statuses; 0 is a running trial.
_STATUS = {1: Status.OK, 2: Status.FAILED, 3: Status.TIMEOUT, 4: Status.MEMORY}
# The order of a trial's values in the lists that SMAC before 2.2 wrote.
_OLD = (
    *("config_id", "instance", "seed", "budget", "cost", "time"),
    *("status", "starttime", "endtime", "additional_info"),
)
_OLD_WITH_CPU = (*_OLD[:6], "cpu_time", *_OLD[6:])


def files_of(source: Path) -> list[Path]:
    """The files of a run, given by its folder or its history file: the history, then the other existing
    files.
    """
    folder = source if source.is_dir() else source.parent
    history = folder / HISTORY if source.is_dir() else source
    if not history.is_file():
        raise UserError(f"no {HISTORY} in {str(folder)!r}: give the folder of a SMAC run, name/seed")
    return [history, *(folder / name for name in (SPACE, SCENARIO) if (folder / name).is_file())]


def read_smac(source: Path) -> SourceRun:
    """The run in a folder, or in a history file."""
    history, *others = files_of(source)
    by_name = {file.name: _json(file) for file in others}
    rows = _rows(history, _json(history))
    scenario = by_name.get(SCENARIO, {})
    starts = [row["starttime"] for row in rows]
    has_times = bool(rows) and all(row["endtime"] > 0 for row in rows)
    zero = min(starts, default=0.0)
    whole = max((row["budget"] for row in rows if row["budget"] is not None), default=None)
    limit, seed = scenario.get("walltime_limit"), scenario.get("seed")
    return SourceRun(
        trials=[_trial(row, zero if has_times else None, whole) for row in rows],
        part=str(scenario.get("name") or "") or None,
        clock=SourceClock.WALL if has_times else SourceClock.DURATIONS,
        names={"method": "smac", **({"seed": seed} if isinstance(seed, int) and seed >= 0 else {})},
        budget_seconds=limit if isinstance(limit, int | float) and math.isfinite(limit) else None,
        max_trials=scenario.get("n_trials"),
        train_rows=int(whole) if whole is not None and _is_count(whole) else None,
        space=_space(by_name.get(SPACE)),
        utc=_utc(zero) if has_times else None,
        remarks=_remarks(rows, whole),
    )


def _json(file: Path) -> Any:
    try:
        return json.loads(read_text(file))
    except (ValueError, RecursionError):
        raise UserError(
            f"{str(file)!r} is not JSON: give the folder of a SMAC run, as SMAC wrote it"
        ) from None


def _rows(file: Path, history: Any) -> list[dict[str, Any]]:
    """The trials that have ended, each with its configuration, in the order of their ends."""
    try:
        configs = history["configs"]
        rows = [
            {**_named(row), "config": dict(configs[str(_named(row)["config_id"])])} for row in history["data"]
        ]
        rows = [row for row in rows if row["status"] != 0]
        for row in rows:
            if isinstance(row["cost"], list):
                raise UserError(f"{str(file)!r} has several objectives, and a trace has one")
            row["cost"] = float(row["cost"])
            row["starttime"], row["endtime"] = float(row["starttime"]), float(row["endtime"])
            _STATUS[row["status"]]
        return sorted(rows, key=lambda row: row["endtime"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{str(file)!r} is not a run history of SMAC 2 ({type(error).__name__}: {error}): give the "
            "folder of a SMAC run"
        ) from None


def _named(row: Any) -> dict[str, Any]:
    if isinstance(row, dict):
        return row
    return dict(zip(_OLD if len(row) == len(_OLD) else _OLD_WITH_CPU, row, strict=True))


def _trial(row: Mapping[str, Any], zero: float | None, whole: float | None) -> SourceTrial:
    status = _STATUS[row["status"]]
    info = row.get("additional_info")
    error = info.get("error") if isinstance(info, dict) else None
    is_part = row["budget"] is not None and row["budget"] != whole and _is_count(row["budget"])
    return SourceTrial(
        config=row["config"],
        status=status,
        value=row["cost"] if status is Status.OK else None,
        started=None if zero is None else row["starttime"] - zero,
        ended=None if zero is None else row["endtime"] - zero,
        seconds=float(row["time"]),
        rows=int(row["budget"]) if is_part else None,
        error=None if status is Status.OK else str(error or f"SMAC reports {status}"),
    )


def _is_count(budget: Any) -> bool:
    return isinstance(budget, int | float) and budget >= 1 and float(budget).is_integer()


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _remarks(rows: Sequence[Mapping[str, Any]], whole: float | None) -> tuple[str, ...]:
    remarks = []
    if len({row["instance"] for row in rows}) > 1:
        remarks.append("each instance of a configuration is a trial of its own")
    if len({row["seed"] for row in rows}) > 1:
        remarks.append("each seed of a configuration is a trial of its own")
    budgets = {row["budget"] for row in rows if row["budget"] is not None}
    if len(budgets) > 1:
        as_rows = all(map(_is_count, budgets))
        remarks.append(
            f"SMAC's budgets, up to {whole:g}, are taken as rows"
            if as_rows
            else "SMAC's budgets are not whole numbers, and are left out"
        )
    return tuple(remarks)


def _space(space: Any) -> Space | None:
    """The space; None if it has conditions, or a type of hyperparameter that cfo-bench does not support."""
    try:
        if space["conditions"] or space["forbiddens"]:
            return None
        return Space([_param(row) for row in space["hyperparameters"]])
    except (KeyError, TypeError, SpaceError):
        return None


def _param(row: Mapping[str, Any]) -> Param:
    match row["type"]:
        case "uniform_int":
            return Int(row["name"], row["lower"], row["upper"], row["log"])
        case "uniform_float":
            return Float(row["name"], row["lower"], row["upper"], row["log"])
        case "categorical":
            return Categorical(row["name"], row["choices"])
        case "ordinal":
            return Categorical(row["name"], row["sequence"], ordered=True)
        case "constant":
            return Categorical(row["name"], [row["value"]])
        case kind:
            raise SpaceError(f"{row['name']!r} is of type {kind!r}")
