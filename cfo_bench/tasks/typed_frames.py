"""Features as frames of pandas in which each column has its own type, on which pipelines are trained.

A number is a float64, NaN if it is missing or infinite; a date is a datetime64 in UTC, without a time zone;
any other column is a category, whose labels are texts. Nothing is encoded or imputed: the pipeline does this
itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cfo_bench.records import FoldFrames
from cfo_bench.tasks.columns import Column, ColumnKind
from cfo_bench.tasks.data_set import DataSet
from cfo_bench.tasks.folds import Split


def fold_frames(data: DataSet, split: Split) -> FoldFrames:
    """The parts of a split. All have the categories of the whole table."""
    frame = pd.DataFrame({column.name: _series(column) for column in data.features})
    return FoldFrames(
        frame.iloc[split.train],
        frame.iloc[split.valid],
        None if split.test is None else frame.iloc[split.test],
    )


def _series(column: Column) -> pd.Series[Any]:
    match column.kind:
        case ColumnKind.CATEGORY:
            return pd.Series(pd.Categorical.from_codes(column.values, pd.Index(column.labels)))
        case ColumnKind.DATE:
            return pd.Series(pd.to_datetime(column.values, unit="D"))
        case ColumnKind.NUMBER:
            return pd.Series(np.where(np.isinf(column.values), np.nan, column.values))


def typed(frame: pd.DataFrame, columns: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The described columns of a user's frame, converted to the types of this module.

    A label that is not in the description becomes an additional category, which the pipeline may or may not
    support.
    """
    return pd.DataFrame({column["name"]: _typed(frame[column["name"]], column) for column in columns})


def _typed(cells: pd.Series[Any], column: Mapping[str, Any]) -> pd.Series[Any]:
    match column["kind"]:
        case ColumnKind.CATEGORY:
            texts = cells.astype(object).map(str, na_action="ignore")
            known = column["categories"]
            new = sorted(set(texts.dropna()) - set(known))
            return texts.astype(pd.CategoricalDtype([*known, *new]))
        case ColumnKind.DATE:
            return pd.to_datetime(cells, format="ISO8601", utc=True).dt.tz_localize(None)
        case _:
            return pd.to_numeric(cells).astype(np.float64).replace([np.inf, -np.inf], np.nan)
