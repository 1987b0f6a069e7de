"""Columns that may not be what their owner thinks: empty, constant, identifiers, numbers as text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from cfo_bench.tasks.data_set import Column, ColumnKind, DataSet
from cfo_bench.tasks.number_texts import are_numbers, odd_example

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
