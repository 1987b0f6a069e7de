"""The details of a task's data, for `cfo-bench tasks show`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.metrics import METRIC_OF
from cfo_bench.records import DataRef, Problem
from cfo_bench.settings import DEFAULT_N_FOLDS
from cfo_bench.tasks import folds
from cfo_bench.tasks.columns import Column, ColumnKind, remark, repeated, without_columns
from cfo_bench.tasks.loading import inspect, load_data_set
from cfo_bench.tasks.sources import built_in
from cfo_bench.tasks.sources.files import assumptions, read_columns

COLUMNS = "columns"  # of a user's file: a row for each of its columns


def details(ref: DataRef, n_folds: int | None) -> dict[str, Any]:
    """Facts by name, in the order in which they are printed; None for a fact that the source lacks."""
    if ref.source == "synthetic":
        facts = built_in.synthetic_facts(ref.task)
        return {"task": ref.task, "problem": facts.problem, "rows": facts.n_rows, "source": facts.source}
    if ref.recorded_folds:
        rows, features = built_in.recorded_sizes(ref)
        return {
            "task": ref.task,
            "problem": ref.problem,
            "metric": built_in.recorded_metric(ref),
            "rows": rows,
            "features": features,
            "folds": f"{ref.recorded_folds} recorded",
            "source": ref.source,
            "note": built_in.recording_note(ref),
        }
    # A target with missing values is also described, although a run needs --drop-missing-target.
    complete = replace(ref, drop_missing_target=True) if ref.source == "file" else ref
    data, stored = load_data_set(complete)
    n_folds = n_folds or folds.own_folds(data) or (stored.n_folds if stored else None) or DEFAULT_N_FOLDS
    facts = inspect(complete, n_folds)
    has_gaps = data.dropped_rows > 0 and not ref.drop_missing_target
    by_class = None
    target_range = None
    if data.problem is Problem.REGRESSION:
        target_range = [float(data.y.min()), float(np.median(data.y)), float(data.y.max())]
    else:
        by_class = dict(zip(data.classes, np.bincount(data.y).tolist(), strict=True))
    about = stored.about if stored else {}
    return {
        "task": ref.task,
        "problem": data.problem,
        "metric": METRIC_OF[data.problem],
        "target": data.target,
        "rows": len(data.y),
        "rows_without_target": f"{data.dropped_rows}, not counted: leave them out with --drop-missing-target"
        if has_gaps
        else None,
        "rows_without_target_dropped": None if has_gaps else data.dropped_rows or None,
        "features": len(data.features),
        "columns_dropped": list(ref.drop),
        **_kinds_and_missing(data.features),
        "classes": by_class,
        "target_min_median_max": target_range,
        "folds": f"{n_folds}: {facts.folds_source}",
        "weight": ref.weight,
        "official_folds_unused": about.get("folds_unused"),
        "source": facts.source,
        "assumed": assumptions(Path(ref.path)) if ref.source == "file" and ref.path else None,
        "licence": about.get("licence"),
        "md5": about.get("md5"),
        "sha256": facts.sha256,
        "stored": str(stored.folder) if stored else ref.path,
        **({COLUMNS: [_column(column) for column in data.features]} if ref.source == "file" else {}),
    }


def details_of_file(path: Path, drop: Sequence[str]) -> dict[str, Any]:
    """The details of a file whose target is not given."""
    columns = without_columns(read_columns(path), drop, None, str(path))
    twice = repeated([column.name for column in columns])
    return {
        "file": str(path),
        "target": "not given: name the column to predict with --target",
        "rows": len(columns[0].values) if columns else 0,
        "assumed": assumptions(path),
        **_kinds_and_missing(columns),
        COLUMNS: [_column(column, twice) for column in columns],
    }


def _kinds_and_missing(columns: Sequence[Column]) -> dict[str, Any]:
    kinds = [column.kind for column in columns]
    missing = [int(column.missing.sum()) for column in columns]
    return {
        "types": {kind.value: kinds.count(kind) for kind in ColumnKind if kind in kinds},
        "missing": {"cells": sum(missing), "columns": sum(count > 0 for count in missing)},
    }


def _column(column: Column, repeated: Collection[str] = ()) -> dict[str, Any]:
    """One row of the table of columns."""
    present = column.values[~column.missing]
    return {
        "column": column.name,
        "kind": column.kind.value,
        "missing": int(column.missing.sum()),
        "different": len(np.unique(present)),
        "values": _values(column),
        "remark": "another column has this name" if column.name in repeated else remark(column),
    }


def _values(column: Column) -> str | None:
    """The least and the greatest number, or the first labels."""
    if column.kind is ColumnKind.CATEGORY:
        text = ", ".join(column.labels[:4])
        shown = text if len(text) <= 40 else f"{text[:39]}…"
        return f"{shown}, …" if len(column.labels) > 4 and not shown.endswith("…") else shown
    present = column.values[~column.missing]
    if not len(present):
        return None
    low, high = present.min(), present.max()
    if column.kind is ColumnKind.DATE:
        days = np.array([low, high]).astype("datetime64[D]")
        return f"{days[0]} … {days[1]}"
    return f"{low:g} … {high:g}"
