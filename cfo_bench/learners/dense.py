"""A fold as matrices without gaps, for models that need distances or weighted sums.

A number is standardised. A missing number becomes the median. A number more than ten standard deviations
from the mean is set to ten, so that a single outlier has little weight. A category becomes a column of
zeros and ones for each of its values; if it has many values, the most frequent ones have a column each
and the others share some. A category that is missing, or that the training rows don't have, is a row of
zeros. A column that never changes is left out. All of this is fitted on the trial's training rows only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from cfo_bench.learners.evaluation import FitAndPredict, RowLevels, shuffled_order, training_part
from cfo_bench.metrics import Array
from cfo_bench.records import Fold

FURTHEST = 10.0
# The most columns that one category may become, and that all may become together.
MOST_COLUMNS, MOST_COLUMNS_IN_ALL = 64, 4096

# Columns that are copied at a time, so that a wide matrix is read along its rows.
_STRIPE = 64


@dataclass(frozen=True, slots=True)
class Number:
    """A column of numbers: `mean` and `deviation` standardise it, `median` replaces a missing value."""

    source: int
    mean: float
    deviation: float
    median: float

    width = 1

    @classmethod
    def fit(cls, source: int, column: Array) -> Number | None:
        present = column[~np.isnan(column)].astype(np.float64)
        if not len(present) or present.min() == present.max():
            return None
        mean = float(present.mean())
        return cls(source, mean, float(np.sqrt(np.mean((present - mean) ** 2))), float(np.median(present)))

    def fill(self, column: Array, out: Array) -> None:
        values = column.astype(np.float64)
        values[np.isnan(values)] = self.median
        out[:, 0] = np.clip((values - self.mean) / self.deviation, -FURTHEST, FURTHEST)


@dataclass(frozen=True, slots=True, eq=False)
class Category:
    """A column of category codes: `column_of[code]` is the output column, -1 for none."""

    source: int
    width: int
    column_of: Array

    @classmethod
    def fit(cls, source: int, column: Array, most: int) -> Category | None:
        codes = column[~np.isnan(column)].astype(np.int64)
        counts = np.bincount(codes)
        by_frequency = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        if not len(codes) or (len(by_frequency) == 1 and len(codes) == len(column)):
            return None
        # One more entry at the end, for codes that are missing or not in these rows.
        column_of = np.full(len(counts) + 1, -1, dtype=np.int64)
        if len(by_frequency) <= most:
            column_of[np.sort(by_frequency)] = np.arange(len(by_frequency))
            return cls(source, len(by_frequency), column_of)
        own = most // 2
        column_of[by_frequency[:own]] = np.arange(own)
        column_of[by_frequency[own:]] = own + _buckets(by_frequency[own:], most - own)
        return cls(source, most, column_of)

    def fill(self, column: Array, out: Array) -> None:
        nowhere = len(self.column_of) - 1
        codes = np.where(np.isnan(column), nowhere, column).astype(np.int64)
        columns = self.column_of[np.minimum(codes, nowhere)]
        out[:] = 0
        rows = np.flatnonzero(columns >= 0)
        out[rows, columns[rows]] = 1


@dataclass(frozen=True, slots=True)
class Encoder:
    """The fitted columns that are kept, in order. The matrix always has one column, if only of zeros."""

    columns: tuple[Number | Category, ...]

    @classmethod
    def fit(cls, x: Array, categorical: tuple[bool, ...]) -> Encoder:
        most = max(2, min(MOST_COLUMNS, MOST_COLUMNS_IN_ALL // max(1, sum(categorical))))
        fitted = (
            Category.fit(source, column, most) if categorical[source] else Number.fit(source, column)
            for source, column in _columns(x)
        )
        return cls(tuple(column for column in fitted if column is not None))

    @property
    def width(self) -> int:
        return max(1, sum(column.width for column in self.columns))

    def transform(self, x: Array) -> Array:
        """A float32 matrix of finite values, `width` columns wide."""
        dense: Array = np.zeros((len(x), self.width), dtype=np.float32)
        kept = {column.source: column for column in self.columns}
        at = 0
        for source, values in _columns(x):
            if source in kept:
                column = kept[source]
                column.fill(values, dense[:, at : at + column.width])
                at += column.width
        return dense


@dataclass(frozen=True, slots=True, eq=False)
class DenseRows:
    """The dense matrices of some training rows of a fold, and of its validation part."""

    encoder: Encoder
    train_x: Array
    train_y: Array
    valid_x: Array


def dense_levels(fold: Fold, seed: int) -> RowLevels[DenseRows]:
    """The dense matrices of a fold, for any number of its training rows; all rows are shuffled too."""

    def build(rows: Array | None) -> DenseRows:
        x, y = training_part(fold, shuffled_order(fold, seed) if rows is None else rows)
        encoder = Encoder.fit(x, fold.categorical)
        return DenseRows(encoder, encoder.transform(x), y, encoder.transform(fold.valid_x))

    return RowLevels(fold, seed, build)


class HasRows(Protocol):
    """A model that knows the matrices it was fitted to."""

    @property
    def rows(self) -> DenseRows: ...


DenseModel = TypeVar("DenseModel", bound=HasRows)


class DenseObjective(FitAndPredict[DenseModel]):
    """Fits and predicts on dense matrices, those of all rows built before the first trial."""

    def __init__(self, fold: Fold, seed: int) -> None:
        super().__init__(fold)
        self._dense = dense_levels(fold, seed)

    def _valid_x(self, model: DenseModel) -> Array:
        return model.rows.valid_x

    def _test_x(self, model: DenseModel) -> Array:
        return model.rows.encoder.transform(super()._test_x(model))


def _columns(x: Array) -> Iterator[tuple[int, Array]]:
    for first in range(0, x.shape[1], _STRIPE):
        stripe = np.ascontiguousarray(x[:, first : first + _STRIPE].T)
        yield from enumerate(stripe, start=first)


def _buckets(codes: Array, n_buckets: int) -> Array:
    """A bucket for each code, the same on every machine: Knuth's multiplicative hash."""
    buckets: Array = (codes * 2654435761 % 2**32) * n_buckets // 2**32
    return buckets
