"""The checked data of a task: its features, its target and its problem (binary, multiclass, regression).

`encode` converts it and a split to the arrays of a learner.
"""

from __future__ import annotations

import hashlib
import json
import warnings
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
from cfo_bench.values import SplitKind

if TYPE_CHECKING:
    from sklearn.preprocessing import TargetEncoder

    from cfo_bench.tasks.folds import Split

# A target of whole numbers has classes if it has two values, or at most MAX_CLASSES with at least
# ROWS_PER_CLASS rows each on average; otherwise it is a quantity.
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
    split: SplitColumn | None = None  # makes the folds; None: a seed does
    weight: Column | None = None  # the weights of the rows; None: all rows count equally
    target_encoded: tuple[str, ...] = ()  # the categories that are encoded by the target

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        target: str,
        problem: Problem | None,
        where: str,
        split: str | None = None,
        weight: str | None = None,
    ) -> DataSet:
        """The checked data. If `problem` is None, it is inferred from the target.

        The columns that `split` (such as `time:day`) and `weight` name are not features.
        """
        column = _pick(columns, target, where)
        _check_target(column, where)
        split_column = None if split is None else SplitColumn.of(columns, split, where)
        weight_column = None if weight is None else _weight_column(columns, weight, where)
        used = [column, weight_column, None if split_column is None else split_column.column]
        for name, other in zip(("--weight", "--split"), used[1:], strict=True):
            if other is column:
                raise DataError(f"{name} {target}: it is the target; name another column")
        features = tuple(other for other in columns if not any(other is taken for taken in used))
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
        y, classes = column.values, column.labels
        if problem is not Problem.REGRESSION:
            coded = column if column.kind is ColumnKind.CATEGORY else _as_categories(column)
            y, classes = coded.values, coded.labels
            if (problem is Problem.BINARY) != (len(classes) == 2):
                rule = "exactly 2" if problem is Problem.BINARY else "3 or more"
                raise DataError(
                    f"{where}: target {target!r} has {len(classes)} classes, a {problem} problem {rule}: "
                    "correct --problem (or the index) or the data"
                )
        elif column.kind is ColumnKind.CATEGORY:
            raise DataError(
                f"{where}: target {target!r} holds labels such as {column.labels[0]!r}, "
                "regression needs numbers: name another target or another --problem"
            )
        return cls(features, target, y, classes, problem, where, split=split_column, weight=weight_column)

    def sha256(self) -> str:
        """The SHA-256 of the content, the same on every machine; the order of rows and columns counts.

        The bytes hashed are, for each feature in order and then for the target: one line of JSON
        `[name, kind, labels]` (ASCII, separators `,` and `:`, a newline at the end), then the values,
        little-endian: float64 for numbers, dates and a regression's target, with every NaN as the
        quiet NaN 0x7ff8000000000000; int32 codes for categories and classes, -1 for missing. The
        target's kind is the problem. The column that makes the folds and that of the weights are hashed after
        the features, in the same way.
        """
        digest = hashlib.sha256()
        others = (self.split.column if self.split else None, self.weight)
        hashed = [*self.features, *(column for column in others if column is not None)]
        columns = [(column.name, column.kind.value, column.labels, column.values) for column in hashed]
        for name, kind, labels, values in [*columns, (self.target, self.problem.value, self.classes, self.y)]:
            digest.update(json.dumps([name, kind, labels], separators=(",", ":")).encode() + b"\n")
            for start in range(0, len(values), HASHED_AT_ONCE):
                part = values[start : start + HASHED_AT_ONCE]
                if part.dtype == np.float64:
                    part = np.where(np.isnan(part), np.nan, part)
                digest.update(part.astype("<f8" if part.dtype == np.float64 else "<i4").data)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class SplitColumn:
    """The column that makes the folds, and how."""

    kind: SplitKind
    column: Column

    @classmethod
    def of(cls, columns: Sequence[Column], split: str, where: str) -> SplitColumn:
        """The column of `group:store`, `time:day` or `column:fold`, which must have a value in every row."""
        kind, _, name = split.partition(":")
        column = named(columns, name, f"for --split {kind}", where)
        if n_missing := int(column.missing.sum()):
            raise DataError(
                f"{where}: column {name!r} of --split has no value in {n_missing} rows (first in row "
                f"{int(np.argmax(column.missing)) + 1}): fill these cells, or leave out the rows"
            )
        if kind == SplitKind.TIME and column.kind is ColumnKind.CATEGORY:
            raise DataError(
                f"{where}: column {name!r} of --split time holds text such as {column.labels[0]!r}: write "
                "dates as 2024-02-29, or numbers"
            )
        return cls(SplitKind(kind), column)


def _weight_column(columns: Sequence[Column], name: str, where: str) -> Column:
    column = named(columns, name, "for --weight", where)
    values = column.values
    if column.kind is not ColumnKind.NUMBER:
        raise DataError(f"{where}: column {name!r} of --weight holds no numbers: name a column of numbers")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{where}: column {name!r} of --weight is {values[row]:g} in row {row + 1}: a weight is a number "
            "from 0 on"
        )
    return column


def infer_problem(target: Column) -> Problem:
    """Labels are classes, and so are a few whole numbers that occur often; other targets are regression."""
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
    check_names([column.name for column in columns], where, can_drop=True)
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
                f"(first in row {int(np.argmax(wrong)) + 1}): drop{flag} or correct them"
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
    """The arrays of a learner. Everything that is fitted is fitted on training rows only.

    A category becomes its rank among the categories of the training part, or NaN if it is missing or not one
    of these. A category in `data.target_encoded` becomes its mean of the target, or one mean for each of
    several classes. A number becomes float32: ±inf counts as missing, since XGBoost refuses it, and a number
    too large for float32 becomes the largest float32.
    """
    parts = [split.train, split.valid] if split.test is None else [split.train, split.valid, split.test]
    is_encoded = [column.name in data.target_encoded for column in data.features]
    # A target-encoded category becomes one column for each class if there are more than two.
    width = len(data.classes) if data.problem is Problem.MULTICLASS else 1
    widths = [width if encoded else 1 for encoded in is_encoded]
    matrices = [np.empty((len(rows), sum(widths)), dtype=np.float32) for rows in parts]
    first = 0
    for column, encoded, width in zip(data.features, is_encoded, widths, strict=True):
        if encoded:
            blocks = _target_encoded(column, data, parts)
        elif column.kind is ColumnKind.CATEGORY:
            ranks = _category_ranks(column, split.train)
            blocks = [ranks[rows, None] for rows in parts]
        else:
            numbers = _numbers(column)
            blocks = [numbers[rows, None] for rows in parts]
        for matrix, block in zip(matrices, blocks, strict=True):
            matrix[:, first : first + width] = block
        first += width
    train_y, valid_y = data.y[split.train], data.y[split.valid]
    weights = [None if data.weight is None else data.weight.values[rows] for rows in parts]
    return Fold(
        problem=data.problem,
        metric=METRIC_OF[data.problem],
        n_classes=len(data.classes),
        categorical=tuple(
            column.kind is ColumnKind.CATEGORY and not encoded
            for column, encoded, width in zip(data.features, is_encoded, widths, strict=True)
            for _ in range(width)
        ),
        train_x=matrices[0],
        train_y=train_y,
        valid_x=matrices[1],
        valid_y=valid_y,
        constant_loss=constant_loss(
            data.problem,
            train_y,
            valid_y,
            len(data.classes),
            train_weight=weights[0],
            valid_weight=weights[1],
        ),
        test_x=None if split.test is None else matrices[2],
        test_y=None if split.test is None else data.y[split.test],
        train_weight=weights[0],
        valid_weight=weights[1],
        test_weight=None if split.test is None else weights[2],
    )


def _target_encoded(column: Column, data: DataSet, parts: Sequence[Array]) -> list[Array]:
    """The encoded column in each part. The first part is for training: its rows are encoded out of fold."""
    encoder = target_encoder(data.problem)
    cells = column.values[:, None]
    train, *others = parts
    with warnings.catch_warnings():
        # A class with few rows may be missing in an inner fold.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        encoded = encoder.fit_transform(cells[train], data.y[train])
    return [encoded, *(encoder.transform(cells[rows]) for rows in others)]


def target_encoder(problem: Problem) -> TargetEncoder:
    """scikit-learn's encoder: the smoothed mean of the target for each category, out of fold in training."""
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.preprocessing import TargetEncoder

    folds = KFold if problem is Problem.REGRESSION else StratifiedKFold
    target_type = "continuous" if problem is Problem.REGRESSION else problem.value
    return TargetEncoder(target_type=target_type, cv=folds(5, shuffle=True, random_state=0))


def _category_ranks(column: Column, train: Array) -> Array:
    seen = np.zeros(len(column.labels), dtype=bool)
    codes = column.values[train]
    seen[codes[codes >= 0]] = True
    # The last entry is for missing values: their code, -1, selects it.
    rank_of = np.full(len(column.labels) + 1, np.nan, dtype=np.float32)
    rank_of[:-1][seen] = np.arange(seen.sum())
    ranks: Array = rank_of[column.values]
    return ranks


def _numbers(column: Column) -> Array:
    values = np.where(np.isinf(column.values), np.nan, column.values)
    clipped: Array = np.clip(values, -LARGEST, LARGEST).astype(np.float32)
    return clipped
