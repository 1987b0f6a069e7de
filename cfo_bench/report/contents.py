"""What a report is made of: tables of numbers, and figures that are drawn from them and from nothing else."""

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
    """`name` is its file's stem; `note` says what a row is and in which units.

    A text between two pairs of asterisks is printed in bold. A number that there is none of is None.
    """

    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[CellValue]]

    def records(self) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def fingerprint(self) -> str:
        content = [self.name, self.title, self.columns, [list(row) for row in self.rows]]
        return hashlib.sha256(orjson.dumps(content)).hexdigest()


@dataclass(frozen=True, slots=True)
class Figure:
    """`draw` makes the picture from the `tables`, which stand beside it as CSV.

    It is a partial of a module's function, so that it can be sent to a process that draws.
    """

    name: str
    title: str
    caption: str
    tables: tuple[Table, ...]
    draw: Callable[[], Canvas]

    def fingerprint(self) -> str:
        """Changes when the picture would: a figure whose fingerprint is known need not be drawn again."""
        parts = [self.name, self.title, self.caption, *(table.fingerprint() for table in self.tables)]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Section:
    """A question and what answers it. `warnings` name what is missing, imputed or too little to tell."""

    name: str
    title: str
    intro: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    warnings: tuple[str, ...] = ()
