"""Converts a pandas column to a `Column` of numbers, dates or categories, depending on its values.

Booleans are numbers, and so is a column without any value. Text is categories, unless every value is an ISO
8601 date (`2024-02-29`, with or without a time). A date is the number of days since 1970-01-01 UTC; as
float32, current dates are exact to about three minutes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cfo_bench.errors import DataError
from cfo_bench.metrics import Array
from cfo_bench.tasks.columns import Column, ColumnKind, categories, dates, numbers

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")

# Pandas' names for the content of an object column.
NUMBERS = {"boolean", "integer", "floating", "mixed-integer-float", "decimal"}
DATES = {"date", "datetime", "datetime64"}


def from_pandas(name: str, series: pd.Series[Any], where: str) -> Column:
    kind = series.dtype
    if series.isna().all():
        return numbers(name, np.full(len(series), np.nan))
    if isinstance(kind, pd.CategoricalDtype):
        return labelled(name, series, where)
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
    codes, labels = _factorized(name, series, where)
    return _dated(name, codes, labels) or categories(name, codes, [str(label) for label in labels])


def joined(pieces: Sequence[Column]) -> Column | None:
    """The pieces as one column; None if they are of several kinds. A piece without values fits any kind."""
    name = pieces[0].name
    empty = [piece.kind is ColumnKind.NUMBER and bool(np.isnan(piece.values).all()) for piece in pieces]
    kinds = {piece.kind for piece, is_empty in zip(pieces, empty, strict=True) if not is_empty}
    if len(kinds) > 1:
        return None
    if kinds != {ColumnKind.CATEGORY}:
        kind = kinds.pop() if kinds else ColumnKind.NUMBER
        return Column(name, kind, np.concatenate([piece.values for piece in pieces]))
    code_of: dict[str, int] = {}
    codes = [
        np.full(len(piece.values), -1, dtype=np.int32) if is_empty else _recoded(piece, code_of)
        for piece, is_empty in zip(pieces, empty, strict=True)
    ]
    return categories(name, np.concatenate(codes), list(code_of))


def _recoded(piece: Column, code_of: dict[str, int]) -> Array:
    """The codes of a piece according to `code_of`, to which its new labels are added."""
    numbers_of = [code_of.setdefault(label, len(code_of)) for label in piece.labels]
    codes: Array = np.array([*numbers_of, -1], dtype=np.int32)[piece.values]
    return codes


def labelled(name: str, series: pd.Series[Any], where: str) -> Column:
    """A column as categories, whatever its values."""
    codes, labels = _factorized(name, series, where)
    return categories(name, codes, [str(label) for label in labels])


def _factorized(name: str, series: pd.Series[Any], where: str) -> tuple[Array, pd.Index[Any]]:
    try:
        return pd.factorize(series)
    except TypeError:
        raise DataError(
            f"{where}: column {name!r} holds lists or other nested values: flatten it into plain columns"
        ) from None


def _dated(name: str, codes: Array, labels: pd.Index[Any]) -> Column | None:
    """The column as dates, or None if one of its labels isn't a date."""
    if not all(isinstance(label, str) and ISO_DATE.fullmatch(label) for label in labels):
        return None
    try:
        days = _days(pd.to_datetime(pd.Series(labels), format="ISO8601", utc=True))
    except ValueError:  # it looks like a date, but there is no such day
        return None
    # The last entry is for missing values: their code, -1, selects it.
    return dates(name, np.append(days, np.nan)[codes])


def _days(series: pd.Series[Any]) -> Array:
    if series.dt.tz is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    microseconds = series.to_numpy(dtype="datetime64[us]")
    days: Array = (microseconds - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    return days
