"""Turns a pandas column into one of ours: numbers, dates or categories, by what it holds.

Booleans are numbers, and so is a column without any value. Text is categories, unless every value is an ISO
8601 date (`2024-02-29`, with or without a time). A date is the number of days since 1970-01-01 UTC; as
float32, the dates of our time are exact to about three minutes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from cfo_bench.errors import DataError
from cfo_bench.metrics import Array
from cfo_bench.tasks.data_set import (
    Column,
    ColumnKind,
    DataSet,
    are_numbers,
    categories,
    check_names,
    dates,
    named,
    numbers,
    odd_example,
)

# --- columns ---------------------------------------------------------------------------------------


ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")

# What pandas calls the content of an object column.
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
    """The codes of a piece under the numbers in `code_of`, to which its new labels are added."""
    numbers_of = [code_of.setdefault(label, len(code_of)) for label in piece.labels]
    codes: Array = np.array([*numbers_of, -1], dtype=np.int32)[piece.values]
    return codes


def labelled(name: str, series: pd.Series[Any], where: str) -> Column:
    """A column as categories, whatever it holds."""
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
    # One more entry at the end: the code -1 of a missing value is its index.
    return dates(name, np.append(days, np.nan)[codes])


def _days(series: pd.Series[Any]) -> Array:
    if series.dt.tz is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    microseconds = series.to_numpy(dtype="datetime64[us]")
    days: Array = (microseconds - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    return days


# --- column remarks --------------------------------------------------------------------------------
# Columns that may not be what their owner thinks: empty, constant, identifiers, numbers as text.


# Fewer rows than this may all differ in a column by chance.
_FEW_ROWS = 20
# So many names are written out; of the others, only the number is.
_MOST_NAMES = 5


class Remark(StrEnum):
    """What is odd about a column, in words that `cfo-bench tasks show` prints."""

    EMPTY = "empty"
    CONSTANT = "constant"
    IDENTIFIER = "different in every row"
    NUMBERS_AS_TEXT = "numbers written as text"


def remark(column: Column) -> Remark | None:
    """What is odd about a column; None: nothing."""
    values, missing = column.values, column.missing
    is_category = column.kind is ColumnKind.CATEGORY
    present = values[~missing]
    if not len(present):
        return Remark.EMPTY
    n_different = len(np.unique(present))
    if n_different == 1:
        return None if missing.any() else Remark.CONSTANT
    if is_category and are_numbers(column.labels):
        return Remark.NUMBERS_AS_TEXT
    is_whole = column.kind is ColumnKind.NUMBER and bool((present == np.round(present)).all())
    if (is_category or is_whole) and n_different == len(values) >= _FEW_ROWS:
        return Remark.IDENTIFIER
    return None


def in_words(data: DataSet) -> list[str]:
    """A line for each kind of remark, with the columns that it is on and what to do."""
    found: dict[Remark, list[Column]] = {}
    for column in data.features:
        if (about := remark(column)) is not None:
            found.setdefault(about, []).append(column)
    return [_line(about, found[about]) for about in Remark if about in found]


def _line(about: Remark, columns: Sequence[Column]) -> str:
    names = ", ".join(repr(column.name) for column in columns[:_MOST_NAMES])
    more = f" and {len(columns) - _MOST_NAMES} more" if len(columns) > _MOST_NAMES else ""
    which, has, them, are = (
        (f"columns {names}{more}", "have", "them", "they are identifiers")
        if len(columns) > 1
        else (f"column {names}", "has", "it", "it is an identifier")
    )
    drop = f"leave {them} out with --drop"
    match about:
        case Remark.EMPTY:
            return f"{which} {has} no value in any row: {drop}"
        case Remark.CONSTANT:
            return f"{which} {has} the same value in every row: {drop}"
        case Remark.IDENTIFIER:
            return f"{which} {has} another value in every row: if {are}, {drop}"
        case Remark.NUMBERS_AS_TEXT:
            example = odd_example(columns[0].labels)
            return (
                f"{which} {has} numbers written as text, such as {example!r}, taken as categories: "
                f"write {them} as in 37684.09, or {drop}"
            )


# --- dropping --------------------------------------------------------------------------------------
# What a user leaves out of a file: columns, and rows without a target.


def without_columns(
    columns: Sequence[Column], drop: Sequence[str], target: str | None, where: str
) -> list[Column]:
    """The columns but those that `drop` names; the target can't be among them."""
    check_names([column.name for column in columns], where)
    for name in drop:
        named(columns, name, "to drop", where)
        if name == target:
            raise DataError(f"--drop {name}: it is the target; name another column, or another --target")
    return [column for column in columns if column.name not in drop]


def with_target(columns: Sequence[Column], target: str, where: str) -> tuple[list[Column], int]:
    """The rows that have a target, and how many have none. A label that no row has any more is left out."""
    missing = named(columns, target, "for the target", where).missing
    n_missing = int(missing.sum())
    if not n_missing:
        return list(columns), 0
    if n_missing == len(missing):
        raise DataError(f"{where}: target {target!r} has no value in any row: name another --target")
    return [_rows(column, ~missing) for column in columns], n_missing


def _rows(column: Column, kept: Array) -> Column:
    values = column.values[kept]
    if column.kind is ColumnKind.CATEGORY:
        return categories(column.name, values, column.labels)
    return Column(column.name, column.kind, values)
