"""Makes a learner's arrays from a data set and a split. Whatever is fitted is fitted on training rows only.

A category becomes its rank among the categories of the training part, or NaN if it is missing or isn't one
of these. A number becomes float32: ±inf counts as missing, since XGBoost refuses it, and a number too large
for float32 becomes the largest that float32 has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfo_bench.metrics import METRIC_OF, constant_loss
from cfo_bench.records import Fold
from cfo_bench.tasks.data_set import Column, ColumnKind, DataSet

if TYPE_CHECKING:
    from cfo_bench.metrics import Array
    from cfo_bench.tasks.folds import Split

LARGEST = float(np.finfo(np.float32).max)


def encode(data: DataSet, split: Split) -> Fold:
    parts = [split.train, split.valid] if split.test is None else [split.train, split.valid, split.test]
    matrices = [np.empty((len(rows), len(data.features)), dtype=np.float32) for rows in parts]
    for i, column in enumerate(data.features):
        values = (
            _category_ranks(column, split.train) if column.kind is ColumnKind.CATEGORY else _numbers(column)
        )
        for matrix, rows in zip(matrices, parts, strict=True):
            matrix[:, i] = values[rows]
    train_y, valid_y = data.y[split.train], data.y[split.valid]
    return Fold(
        problem=data.problem,
        metric=METRIC_OF[data.problem],
        n_classes=len(data.classes),
        categorical=tuple(column.kind is ColumnKind.CATEGORY for column in data.features),
        train_x=matrices[0],
        train_y=train_y,
        valid_x=matrices[1],
        valid_y=valid_y,
        constant_loss=constant_loss(data.problem, train_y, valid_y, len(data.classes)),
        test_x=None if split.test is None else matrices[2],
        test_y=None if split.test is None else data.y[split.test],
    )


def _category_ranks(column: Column, train: Array) -> Array:
    seen = np.zeros(len(column.labels), dtype=bool)
    codes = column.values[train]
    seen[codes[codes >= 0]] = True
    # One more entry at the end: the code -1 of a missing value is its index.
    rank_of = np.full(len(column.labels) + 1, np.nan, dtype=np.float32)
    rank_of[:-1][seen] = np.arange(seen.sum())
    ranks: Array = rank_of[column.values]
    return ranks


def _numbers(column: Column) -> Array:
    values = np.where(np.isinf(column.values), np.nan, column.values)
    clipped: Array = np.clip(values, -LARGEST, LARGEST).astype(np.float32)
    return clipped
