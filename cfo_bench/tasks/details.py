"""All that is known of a task's data, for `cfo-bench tasks show`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfo_bench.metrics import METRIC_OF
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks.data_set import ColumnKind
from cfo_bench.tasks.loading import inspect, load_data_set
from cfo_bench.tasks.sources import recorded, synthetic


def details(ref: DataRef, n_folds: int | None) -> dict[str, Any]:
    """Facts by name, in the order to show them in; None if the source doesn't say."""
    if ref.source == "synthetic":
        facts = synthetic.facts(ref.task)
        return {"task": ref.task, "problem": facts.problem, "rows": facts.n_rows, "source": facts.source}
    if ref.recorded_folds:
        rows, features = recorded.sizes(ref)
        return {
            "task": ref.task,
            "problem": ref.problem,
            "rows": rows,
            "features": features,
            "folds": f"{ref.recorded_folds} recorded",
            "source": ref.source,
            "note": recorded.note(ref),
        }
    data, stored = load_data_set(ref)
    kinds = [column.kind for column in data.features]
    missing = [
        int(
            (column.values < 0).sum() if column.kind is ColumnKind.CATEGORY else np.isnan(column.values).sum()
        )
        for column in data.features
    ]
    n_folds = n_folds or (stored.n_folds if stored else None) or 10
    facts = inspect(ref, n_folds)
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
        "features": len(data.features),
        "types": {kind.value: kinds.count(kind) for kind in ColumnKind if kind in kinds},
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
