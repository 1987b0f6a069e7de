"""Everything about one task's data that a person may want to see before a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfo_bench.metrics import METRIC_OF
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks.loading import inspect, load_table
from cfo_bench.tasks.sources import synthetic
from cfo_bench.tasks.table import Kind


def details(ref: DataRef, n_folds: int | None) -> dict[str, Any]:
    """Facts by name, in the order to show them in; None is what the source does not tell."""
    if ref.source == "synthetic":
        facts = synthetic.facts(ref.task)
        return {"task": ref.task, "problem": facts.problem, "rows": facts.n_rows, "source": facts.source}
    table, stored = load_table(ref)
    kinds = [column.kind for column in table.features]
    missing = [
        int((column.values < 0).sum() if column.kind is Kind.CATEGORY else np.isnan(column.values).sum())
        for column in table.features
    ]
    n_folds = n_folds or (stored.n_folds if stored else None) or 10
    facts = inspect(ref, n_folds)
    by_class = None
    target_range = None
    if table.problem is Problem.REGRESSION:
        target_range = [float(table.y.min()), float(np.median(table.y)), float(table.y.max())]
    else:
        by_class = dict(zip(table.classes, np.bincount(table.y).tolist(), strict=True))
    about = stored.about if stored else {}
    return {
        "task": ref.task,
        "problem": table.problem,
        "metric": METRIC_OF[table.problem],
        "target": table.target,
        "rows": len(table.y),
        "features": len(table.features),
        "types": {kind.value: kinds.count(kind) for kind in Kind if kind in kinds},
        "missing": {"cells": sum(missing), "columns": sum(count > 0 for count in missing)},
        "classes": by_class,
        "target_min_median_max": target_range,
        "folds": f"{n_folds}: {facts.folds_source}",
        "official_folds_unused": about.get("folds_unused"),
        "source": facts.source,
        "licence": about.get("licence"),
        "md5": about.get("md5"),
        "sha256": facts.sha256,
        "stored": str(stored.folder) if stored else ref.path,
    }
