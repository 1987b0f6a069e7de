"""What a report is made of: sections with tables of numbers, and figures drawn from these tables alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

CellValue = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report. Text between `**` and `**` is printed in bold; a missing number is None."""

    name: str  # the stem of its files
    title: str
    note: str  # what a row is, and in which units
    columns: tuple[str, ...]
    rows: Sequence[Sequence[CellValue]]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def fingerprint(self) -> str:
        content = [self.name, self.title, self.columns, [list(row) for row in self.rows]]
        return hashlib.sha256(orjson.dumps(content)).hexdigest()


@dataclass(frozen=True, slots=True)
class Figure:
    """`draw` makes the picture from the `tables`, which are written beside it as CSV.

    `draw` is a partial of a module's function, so that it can be sent to another process.
    """

    name: str
    title: str
    caption: str
    tables: tuple[Table, ...]
    draw: Callable[[], Canvas]

    def fingerprint(self) -> str:
        """Changes when the picture changes: a figure with the same fingerprint need not be drawn again."""
        parts = [self.name, self.title, self.caption, *(table.fingerprint() for table in self.tables)]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Section:
    """A question with its answer. `warnings` say what is missing, imputed, or too little to decide."""

    name: str
    title: str
    intro: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    warnings: tuple[str, ...] = ()
