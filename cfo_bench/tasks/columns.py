"""A column of a task's data (numbers, dates or categories), remarks about it, and columns that are left out.

Labels of categories and classes are ordered by `label_order`: numbers by value, then texts. The order of
two labels depends on these two alone, so that a new label never changes the order of the others.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cfo_bench.errors import DataError
from cfo_bench.metrics import Array


class ColumnKind(StrEnum):
    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column. Numbers and dates (days since 1970) are float64, NaN when missing. Categories are int32
    codes of `labels`, -1 when missing; the labels are in order, and each is used.
    """

    name: str
    kind: ColumnKind
    values: Array
    labels: tuple[str, ...] = ()

    @property
    def missing(self) -> Array:
        """A mask of the rows without a value."""
        is_missing: Array = self.values < 0 if self.kind is ColumnKind.CATEGORY else np.isnan(self.values)
        return is_missing


def numbers(name: str, values: Array) -> Column:
    return Column(name, ColumnKind.NUMBER, np.ascontiguousarray(values, dtype=np.float64))


def dates(name: str, days: Array) -> Column:
    return Column(name, ColumnKind.DATE, np.ascontiguousarray(days, dtype=np.float64))


def categories(name: str, codes: Array, labels: Sequence[str]) -> Column:
    """A category column from codes of labels, which may be in any order, equal or unused."""
    used = np.unique(codes[codes >= 0])
    ordered = tuple(sorted({labels[code] for code in used}, key=label_order))
    rank_of = {label: rank for rank, label in enumerate(ordered)}
    # The last entry is for missing values: their code, -1, selects it.
    recoded = np.full(len(labels) + 1, -1, dtype=np.int32)
    for code in used:
        recoded[code] = rank_of[labels[code]]
    return Column(name, ColumnKind.CATEGORY, recoded[codes], ordered)


def label_order(label: str) -> tuple[bool, float, str]:
    try:
        value = float(label)
    except ValueError:
        value = math.nan
    return (False, value, label) if math.isfinite(value) else (True, 0.0, label)


def check_names(names: Sequence[str], where: str, can_drop: bool) -> None:
    """Refuse a column without a name, and two of the same name, unless `--drop` has left them out."""
    check_named(names, where)
    for name in repeated(names):
        drop = f", or leave all of them out with --drop {name}" if can_drop else ""
        raise DataError(
            f"{where}: column {name!r} occurs {names.count(name)} times: rename them in the file{drop}"
        )


def check_named(names: Sequence[str], where: str) -> None:
    """Refuse a column without a name."""
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"{where}: column {position} has no name: name it, or leave it out if it numbers the rows"
            )


def repeated(names: Sequence[str]) -> list[str]:
    """The names that occur several times, each once."""
    return [name for name, count in Counter(names).items() if count > 1]


def named(columns: Sequence[Column], name: str, use: str, where: str) -> Column:
    """The column of that name; `use` is its purpose, for the error message."""
    names = [column.name for column in columns]
    if name not in names:
        folded = {name.casefold(): name for name in names}
        near = difflib.get_close_matches(name.casefold(), folded, n=3) or list(folded)[-3:]
        nearest = ", ".join(repr(folded[name]) for name in near)
        raise DataError(
            f"{where} has no column {name!r} {use}: the nearest of its {len(names)} are {nearest}"
        )
    return columns[names.index(name)]


# --- columns and rows that a user leaves out --------------------------------------------------------


def without_columns(
    columns: Sequence[Column], drop: Sequence[str], target: str | None, where: str
) -> list[Column]:
    """The columns without those that `drop` names; the target can't be one of them.

    Of several columns with the same name, all are left out.
    """
    for name in drop:
        named(columns, name, "to drop", where)
        if name == target:
            raise DataError(f"--drop {name}: it is the target; name another column, or another --target")
    return [column for column in columns if column.name not in drop]


def with_target(columns: Sequence[Column], target: str, where: str) -> tuple[list[Column], int]:
    """The rows with a target, and the number of the other rows. Unused labels are removed."""
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


# --- numbers written as text ------------------------------------------------------------------------


# 1,234.5 and 1.234,5 (with or without a currency or a percent sign), and numbers that float() reads.
_GROUPED = re.compile(r"[-+]?\s*[$€£¥]?\s*\d{1,3}(([,' ]\d{3})*(\.\d+)?|(\.\d{3})*(,\d+)?)\s*[%$€£¥]?")
# In a column with at least this many numbers, a small share of other texts is allowed: they mean "missing".
_ENOUGH_NUMBERS, _NEARLY_ALL = 10, 0.9


def are_numbers(labels: Sequence[str]) -> bool:
    """Whether all or nearly all texts of a column are numbers in a form that is not read as a number."""
    n_plain = sum(map(_is_plain, labels))
    n_numbers = sum(_is_plain(label) or _GROUPED.fullmatch(label.strip()) is not None for label in labels)
    if n_numbers == len(labels):
        # Plain numbers alone are read as numbers, unless the file declares them as categories.
        return n_plain < n_numbers
    return n_numbers >= _ENOUGH_NUMBERS and n_numbers >= _NEARLY_ALL * len(labels)


def _is_plain(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def odd_example(labels: Sequence[str]) -> str:
    """An example of a text that is not read as a number."""
    return next((label for label in labels if not _is_plain(label)), labels[0])


# --- remarks ----------------------------------------------------------------------------------------


# With more labels than this, ranks are uninformative, and a category of a user's file is encoded by the
# target.
MANY_LABELS = 100
# The values of fewer rows than this may all differ by chance.
_FEW_ROWS = 20
# At most this many columns are named; the others are counted.
_MAX_NAMES = 5


class Remark(StrEnum):
    """A remark about an unusual column, as `cfo-bench tasks show` prints it."""

    EMPTY = "empty"
    CONSTANT = "constant"
    IDENTIFIER = "different in every row"
    NUMBERS_AS_TEXT = "numbers written as text"
    MANY_LABELS = "many different texts"


def remark(column: Column) -> Remark | None:
    """The remark about a column; None if it is not unusual."""
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
    return Remark.MANY_LABELS if has_many_labels(column) else None


def has_many_labels(column: Column) -> bool:
    return len(column.labels) > MANY_LABELS


def remarks(columns: Sequence[Column]) -> list[str]:
    """A line for each kind of remark, with its columns and the remedy."""
    columns_of: dict[Remark, list[Column]] = {}
    for column in columns:
        if (kind := remark(column)) is not None:
            columns_of.setdefault(kind, []).append(column)
    return [_line(kind, columns_of[kind]) for kind in Remark if kind in columns_of]


def _line(kind: Remark, columns: Sequence[Column]) -> str:
    names = ", ".join(repr(column.name) for column in columns[:_MAX_NAMES])
    more = f" and {len(columns) - _MAX_NAMES} more" if len(columns) > _MAX_NAMES else ""
    which, has, them, are = (
        (f"columns {names}{more}", "have", "them", "they are identifiers")
        if len(columns) > 1
        else (f"column {names}", "has", "it", "it is an identifier")
    )
    drop = f"leave {them} out with --drop"
    match kind:
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
        case Remark.MANY_LABELS:
            return (
                f"{which} {has} more than {MANY_LABELS} different texts: each text is encoded as the mean of "
                "the target for it; a pipeline is given the texts"
            )
