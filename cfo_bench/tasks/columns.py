"""A pandas column becomes one of ours: a number, a date or a category, by what it holds.

Booleans are numbers, and so is a column without any value. Text is categories, unless every value
is an ISO 8601 date (`2024-02-29`, with or without a time). Dates count in days since 1970-01-01 UTC:
as float32, they tell moments of our time apart that are three minutes from each other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cfo_bench.errors import DataError
from cfo_bench.tasks.table import Column, categories, dates, numbers

if TYPE_CHECKING:
    from cfo_bench.metrics import Array

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")

# What pandas calls the content of an object column.
NUMBERS = {"boolean", "integer", "floating", "mixed-integer-float", "decimal"}
DATES = {"date", "datetime", "datetime64"}


def from_pandas(name: str, series: pd.Series[Any], where: str) -> Column:
    kind = series.dtype
    if series.isna().all():
        return numbers(name, np.full(len(series), np.nan))
    if isinstance(kind, pd.CategoricalDtype):
        return _labelled(name, series, where)
    if pd.api.types.is_datetime64_any_dtype(kind):
        return dates(name, _days(series))
    if pd.api.types.is_timedelta64_dtype(kind):
        return numbers(name, series.dt.total_seconds().to_numpy())
    if pd.api.types.is_complex_dtype(kind):
        raise DataError(f"{where}: column {name!r} holds complex numbers: give their parts as two columns")
    if pd.api.types.is_numeric_dtype(kind):
        return numbers(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    content = pd.api.types.infer_dtype(series, skipna=True)
    if content in NUMBERS:
        return numbers(name, np.array([np.nan if pd.isna(v) else float(v) for v in series], dtype=np.float64))
    if content in DATES:
        return dates(name, _days(pd.to_datetime(series, utc=True)))
    return _dated(name, series) or _labelled(name, series, where)


def _labelled(name: str, series: pd.Series[Any], where: str) -> Column:
    try:
        codes, values = pd.factorize(series)
    except TypeError:
        raise DataError(
            f"{where}: column {name!r} holds lists or other nested values: flatten it into plain columns"
        ) from None
    return categories(name, codes, [str(value) for value in values])


def _dated(name: str, series: pd.Series[Any]) -> Column | None:
    """The column as dates, or None if one of its values is none."""
    present = series.dropna()
    if not all(isinstance(value, str) and ISO_DATE.fullmatch(value) for value in present):
        return None
    try:
        return dates(name, _days(pd.to_datetime(series, format="ISO8601", utc=True)))
    except ValueError:  # the form of a date, but no such day
        return None


def _days(series: pd.Series[Any]) -> Array:
    if series.dt.tz is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    microseconds = series.to_numpy(dtype="datetime64[us]")
    days: Array = (microseconds - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    return days
