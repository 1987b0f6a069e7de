"""A fitted encoder of dense features as JSON, and back: what `knn` and `dnn` need besides their file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.learners.dense import Category, Encoder, Number


def to_json(encoder: Encoder) -> list[dict[str, Any]]:
    return [
        {"source": one.source, "mean": one.mean, "deviation": one.deviation, "median": one.median}
        if isinstance(one, Number)
        else {"source": one.source, "width": one.width, "column_of": one.column_of.tolist()}
        for one in encoder.columns
    ]


def from_json(rows: list[Mapping[str, Any]]) -> Encoder:
    return Encoder(
        tuple(
            Category(row["source"], row["width"], np.array(row["column_of"], dtype=np.int64))
            if "column_of" in row
            else Number(row["source"], row["mean"], row["deviation"], row["median"])
            for row in rows
        )
    )
