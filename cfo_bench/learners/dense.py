"""A fold as matrices without missing values, for models that need distances or weighted sums.

A number is standardised. A missing number becomes the median. A number more than ten standard deviations from
the mean is clipped to ten, so that a single outlier has little weight. A category becomes a column of zeros
and ones for each of its values; if it has many values, the most frequent ones have a column each, and the
others share the remaining columns. A category that is missing, or not in the training rows, is a row of
zeros. A constant feature is left out. All of this is fitted on the trial's training rows only.

`fit_columns` and `dense_matrix` need only numpy and the constants: `cfo-bench best --python` copies their
source into its script, which has to work without cfo-bench.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from cfo_bench.learners.evaluation import FitAndPredict, RowLevels, shuffled_order, training_part
from cfo_bench.metrics import Array
from cfo_bench.records import Fold

# The fitted encoding of a feature, in a form that JSON can hold.
FittedFeature = dict[str, Any]

# The largest distance from the mean, in standard deviations.
FURTHEST = 10.0
# The maximum number of columns of one category, and of all categories together.
MOST_COLUMNS, MOST_COLUMNS_IN_ALL = 64, 4096


def fit_columns(x: Array, categorical: tuple[bool, ...]) -> list[FittedFeature]:
    """How each feature becomes columns without gaps. A feature that never changes is left out."""
    most = max(2, min(MOST_COLUMNS, MOST_COLUMNS_IN_ALL // max(1, sum(categorical))))
    columns: list[FittedFeature] = []
    for source, is_category in enumerate(categorical):
        present = x[~np.isnan(x[:, source]), source].astype(np.float64)
        if not is_category:
            if len(present) and present.min() < present.max():
                facts = {"mean": present.mean(), "deviation": present.std(), "median": np.median(present)}
                columns.append({"source": source, **{name: float(fact) for name, fact in facts.items()}})
            continue
        counts = np.bincount(present.astype(np.int64))
        frequent = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        if not len(present) or (len(frequent) == 1 and len(present) == len(x)):
            continue
        # The column of each code; -1 is none. The last entry is for codes that are missing or new.
        column_of = np.full(len(counts) + 1, -1)
        if len(frequent) <= most:
            column_of[np.sort(frequent)] = np.arange(len(frequent))
        else:  # half of the columns for the most frequent; the others share the rest by Knuth's hash
            n_single, rest = most // 2, frequent[most // 2 :]
            column_of[frequent[:n_single]] = np.arange(n_single)
            column_of[rest] = n_single + (rest * 2654435761 % 2**32) * (most - n_single) // 2**32
        width = min(len(frequent), most)
        columns.append({"source": source, "width": width, "column_of": column_of.tolist()})
    return columns


def dense_matrix(x: Array, columns: list[FittedFeature]) -> Array:
    """A float32 matrix of finite values; one column of zeros if every feature was left out."""
    widths = [column.get("width", 1) for column in columns]
    dense: Array = np.zeros((len(x), max(1, sum(widths))), dtype=np.float32)
    first = 0
    for column, width in zip(columns, widths, strict=True):
        values = x[:, column["source"]].astype(np.float64)
        if "column_of" in column:
            column_of = np.array(column["column_of"])
            unknown = len(column_of) - 1
            codes = np.where(np.isnan(values), unknown, values).astype(np.int64)
            targets = column_of[np.minimum(codes, unknown)]
            rows = np.flatnonzero(targets >= 0)
            dense[rows, first + targets[rows]] = 1
        else:
            filled = np.where(np.isnan(values), column["median"], values)
            dense[:, first] = np.clip((filled - column["mean"]) / column["deviation"], -FURTHEST, FURTHEST)
        first += width
    return dense


@dataclass(frozen=True, slots=True)
class Encoder:
    """A fitted encoding: every matrix that it returns has the same columns."""

    columns: list[FittedFeature]

    @classmethod
    def fit(cls, x: Array, categorical: tuple[bool, ...]) -> Encoder:
        return cls(fit_columns(x, categorical))

    @property
    def width(self) -> int:
        """The number of columns of a dense matrix."""
        width: int = max(1, sum(column.get("width", 1) for column in self.columns))
        return width

    def transform(self, x: Array) -> Array:
        return dense_matrix(x, self.columns)


@dataclass(frozen=True, slots=True, eq=False)
class DenseRows:
    """The dense matrices of some training rows of a fold, and of its validation part.

    Attributes
    ----------
    encoder : Encoder
        The encoder of the training rows: `encoder.transform(x)` encodes other rows.
    train_x : numpy.ndarray
        The features of the training rows.
    train_y : numpy.ndarray
        The targets of the training rows.
    valid_x : numpy.ndarray
        The features of the validation part.
    """

    encoder: Encoder
    train_x: Array
    train_y: Array
    valid_x: Array


def dense_levels(fold: Fold, seed: int) -> RowLevels[DenseRows]:
    """The dense matrices of a fold, for any number of its training rows.

    Parameters
    ----------
    fold : Fold
        The data.
    seed : int
        The seed of the order of the training rows, which are shuffled even if all are used.

    Returns
    -------
    RowLevels of DenseRows
        `levels.on(rows)` returns the matrices of that many training rows; for None, of all rows.
    """

    def build(rows: Array | None) -> DenseRows:
        x, y = training_part(fold, shuffled_order(fold, seed) if rows is None else rows)
        encoder = Encoder.fit(x, fold.categorical)
        return DenseRows(encoder, encoder.transform(x), y, encoder.transform(fold.valid_x))

    return RowLevels(fold, seed, build)


class HasRows(Protocol):
    """A model with the matrices on which it was trained."""

    @property
    def rows(self) -> DenseRows: ...


DenseModel = TypeVar("DenseModel", bound=HasRows)


class DenseObjective(FitAndPredict[DenseModel]):
    """An objective on dense matrices. The matrices of all rows are built before the first trial.

    A subclass implements `_fit` and `_predict` of `FitAndPredict`. Its model has an attribute `rows`, the
    `DenseRows` that it was fitted to, which `_fit` gets from `self._dense.on(trial.rows)`.

    Parameters
    ----------
    fold : Fold
        The data.
    seed : int
        The seed of the order of the training rows.
    """

    def __init__(self, fold: Fold, seed: int) -> None:
        super().__init__(fold)
        self._dense = dense_levels(fold, seed)

    def _valid_x(self, model: DenseModel) -> Array:
        return model.rows.valid_x

    def _test_x(self, model: DenseModel) -> Array:
        return model.rows.encoder.transform(super()._test_x(model))
