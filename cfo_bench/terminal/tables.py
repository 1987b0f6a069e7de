"""Tables on the terminal, and the same as JSON."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from cfo_bench.registry import Registry
from cfo_bench.terminal.text import one_line, shown


def show(rows: Sequence[Mapping[str, Any]], as_json: bool, right: Sequence[str] = ()) -> None:
    """Rows as a table, columns in `right` as numbers, or as a JSON list of objects."""
    if as_json:
        show_json(rows)
        return
    columns = list(rows[0])
    cells = [["" if row[column] is None else str(row[column]) for column in columns] for row in rows]
    show_table(columns, cells, [columns.index(column) for column in right])


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), err: bool = False
) -> None:
    """On a terminal, set closer or cut off where it would be too wide."""
    text = text_table(columns, rows, right)
    if (sys.stderr if err else sys.stdout).isatty():
        width = shutil.get_terminal_size().columns
        if max(map(len, text.splitlines())) > width:
            closer = text_table(columns, rows, right, gap=" ")
            text = "\n".join(_fit(line, width) for line in closer.splitlines())
    click.echo(text, err=err)


def show_json(value: object) -> None:
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    # What a terminal must not see, and what no encoding can write, is written as JSON's own escapes.
    click.echo(text if text == shown(text) else json.dumps(value, indent=2))


def show_registry(registry: Registry, name: str | None, as_json: bool) -> None:
    """What a registry holds, with how to install what is absent; or the options of one `name`."""
    if name is not None:
        rows = [
            {"option": key, "default": value if as_json else _as_written(value), "takes": takes}
            for key, value, takes in registry.described_options(name)
        ]
        if rows or as_json:
            show(rows, as_json)
        else:
            click.echo(f"{registry.kind} {name!r} has no options")
        return
    found = sorted(registry.rows().items())
    if as_json:
        show_json(
            [
                {"name": name, "summary": row.summary, "available": row.missing is None, "extra": row.extra}
                for name, row in found
            ]
        )
        return
    show(
        [
            {
                registry.kind: name,
                "available": "yes" if row.missing is None else row.remedy,
                "what it is": row.summary,
            }
            for name, row in found
        ],
        as_json,
    )


def text_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), gap: str = "  "
) -> str:
    """Aligned columns; those in `right` are numbers and align right."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    columns = [one_line(column) for column in columns]
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return gap.join(padded).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, rows)])


def _fit(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _as_written(value: object) -> str:
    """As it is given on the command line."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
