"""Tables on the terminal, and the same as JSON."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

import click


def show(columns: Sequence[str], rows: Sequence[Sequence[Any]], as_json: bool) -> None:
    """Rows as a table that fits the terminal, or as a JSON list of objects."""
    if as_json:
        import json

        click.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2, default=str))
        return
    text = text_table(columns, [["" if cell is None else str(cell) for cell in row] for row in rows])
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo("\n".join(line if width is None else _fit(line, width) for line in text.splitlines()))


def _fit(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Aligned columns; those in `right` are numbers and align right."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, rows)])
