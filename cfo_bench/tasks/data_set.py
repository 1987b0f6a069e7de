"""The checked data of a task: its features, its target and its problem (binary, multiclass, regression).

`encode` makes a learner's arrays of it and a split.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfo_bench.errors import DataError
from cfo_bench.metrics import METRIC_OF, Array, constant_loss
from cfo_bench.records import Fold, Problem
from cfo_bench.tasks.columns import (
    Column,
    ColumnKind,
    are_numbers,
    categories,
    check_names,
    named,
    odd_example,
)

if TYPE_CHECKING:
    from cfo_bench.tasks.folds import Split

# A target of whole numbers is taken as classes when there are two of them, or at most MAX_CLASSES
# with at least ROWS_PER_CLASS rows each on average; otherwise as a quantity.
MAX_CLASSES = 20
ROWS_PER_CLASS = 20

HASHED_AT_ONCE = 2**16  # rows


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """All rows of a task.

    `y` is the target: int32 codes of `classes`, or float64 numbers if there are no classes. `where` names the
    data in error messages.
    """

    features: tuple[Column, ...]
    target: str
    y: Array
    classes: tuple[str, ...]
    problem: Problem
    where: str
    dropped_rows: int = 0  # rows of the file without a target, which were left out

    @classmethod
    def of(cls, columns: Sequence[Column], target: str, problem: Problem | None, where: str) -> DataSet:
        """The checked data; a problem that is None is inferred from the target."""
        column = _pick(columns, target, where)
        _check_target(column, where)
        features = tuple(other for other in columns if other is not column)
        if not features:
            raise DataError(
                f"{where} has no column but the target {target!r}: add the features to learn from"
            )
        if len(column.labels) > MAX_CLASSES and are_numbers(column.labels):
            raise DataError(
                f"{where}: target {target!r} holds numbers written as text, such as "
                f"{odd_example(column.labels)!r}: write them as in 37684.09"
            )
        problem = problem or infer_problem(column)
        if problem is Problem.REGRESSION:
            if column.kind is ColumnKind.CATEGORY:
                raise DataError(
                    f"{where}: target {target!r} holds labels such as {column.labels[0]!r}, "
                    "regression needs numbers: name another target or another --problem"
                )
            return cls(features, target, column.values, (), problem, where)
        coded = column if column.kind is ColumnKind.CATEGORY else _as_categories(column)
        n_classes = len(coded.labels)
        if (problem is Problem.BINARY) != (n_classes == 2):
            rule = "exactly 2" if problem is Problem.BINARY else "3 or more"
            raise DataError(
                f"{where}: target {target!r} has {n_classes} classes, a {problem} problem {rule}: "
                "correct --problem (or the index) or the data"
            )
        return cls(features, target, coded.values, coded.labels, problem, where)

    def sha256(self) -> str:
        """The SHA-256 of the content, the same on every machine; the order of rows and columns counts.

        The bytes hashed are, for each feature in order and then for the target: one line of JSON
        `[name, kind, labels]` (ASCII, separators `,` and `:`, a newline at the end), then the values,
        little-endian: float64 for numbers, dates and a regression's target, with every NaN as the
        quiet NaN 0x7ff8000000000000; int32 codes for categories and classes, -1 for missing. The
        target's kind is the problem.
        """
        digest = hashlib.sha256()
        columns = [(column.name, column.kind.value, column.labels, column.values) for column in self.features]
        for name, kind, labels, values in [*columns, (self.target, self.problem.value, self.classes, self.y)]:
            digest.update(json.dumps([name, kind, labels], separators=(",", ":")).encode() + b"\n")
            for start in range(0, len(values), HASHED_AT_ONCE):
                part = values[start : start + HASHED_AT_ONCE]
                if part.dtype == np.float64:
                    part = np.where(np.isnan(part), np.nan, part)
                digest.update(part.astype("<f8" if part.dtype == np.float64 else "<i4").data)
        return digest.hexdigest()


def infer_problem(target: Column) -> Problem:
    """Labels are classes, and so are a few whole numbers that come back often; the rest is regression."""
    if target.kind is ColumnKind.CATEGORY:
        n_classes = len(target.labels)
    else:
        distinct = np.unique(target.values)
        n_classes = len(distinct)
        whole = bool(np.all(distinct == np.round(distinct)))
        often = n_classes <= MAX_CLASSES and n_classes * ROWS_PER_CLASS <= len(target.values)
        if not (whole and (n_classes == 2 or often)):
            return Problem.REGRESSION
    return Problem.BINARY if n_classes == 2 else Problem.MULTICLASS


def _pick(columns: Sequence[Column], target: str, where: str) -> Column:
    check_names([column.name for column in columns], where)
    column = named(columns, target, "for the target", where)
    if len(column.values) == 0:
        raise DataError(f"{where} has column names but no rows: add some")
    return column


def _check_target(column: Column, where: str) -> None:
    name, values = column.name, column.values
    if column.kind is ColumnKind.DATE:
        raise DataError(f"{where}: target {name!r} holds dates: name a column of numbers or of classes")
    for what, wrong, flag in (
        ("missing", column.missing, " (--drop-missing-target)"),
        ("infinite", np.isinf(values), ""),
    ):
        if wrong.any():
            raise DataError(
                f"{where}: target {name!r} is {what} in {int(wrong.sum())} of {len(values)} rows "
                f"(first in row {int(np.argmax(wrong)) + 1}): drop{flag} or mend them"
            )
    if (values == values[0]).all():
        value = column.labels[0] if column.kind is ColumnKind.CATEGORY else _number_label(values[0])
        raise DataError(f"{where}: target {name!r} is {value!r} in every row: there is nothing to learn")


def _as_categories(column: Column) -> Column:
    distinct, codes = np.unique(column.values, return_inverse=True)
    return categories(column.name, codes, [_number_label(value) for value in distinct])


def _number_label(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


# --- arrays -----------------------------------------------------------------------------------------


LARGEST = float(np.finfo(np.float32).max)


def encode(data: DataSet, split: Split) -> Fold:
    """A learner's arrays; everything that is fitted is fitted on training rows only.

    A category becomes its rank among the categories of the training part, or NaN if it is missing or isn't
    one of these. A number becomes float32: ±inf counts as missing, since XGBoost refuses it, and a number too
    large for float32 becomes the largest float32.
    """
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
