"""Text, tables and JSON on the terminal.

A table fits the terminal, if possible without breaking a word or a number. Names and errors come from files,
so every character that could move the cursor or change colours is printed as an escape. Every command prints
with the functions of this module.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click

# Control characters except line ends and tabs, lone surrogates, and characters that separate lines or
# paragraphs, or change the writing direction.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# An address or a path may be broken into pieces of this many characters; other words only as a last resort.
_ADDRESS_PIECE = 12

# A space at which no line is broken.
_GLUE = "\u00a0"


def printable(text: str) -> str:
    """The text with every unsafe character as an escape, such as `\\x1b`; line ends and tabs stay."""
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text)


def one_line(text: str) -> str:
    """The printable text on one line."""
    return printable(text).replace("\n", "\\n")


def counted(number: int, noun: str) -> str:
    """The number with its noun, such as `1 run` or `2 runs`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def print_text(text: str, err: bool = True, nl: bool = True) -> None:
    """Print a line, or several, on stderr or stdout."""
    click.echo(printable(text), err=err, nl=nl)


def redraw_line(text: str) -> None:
    """Print the text in place of the current line of the terminal, on stderr."""
    click.echo(f"\r\033[K{printable(text)}", err=True, nl=False)


def show_prose(text: str, err: bool = False, indent: str = "") -> None:
    """Print paragraphs. On a terminal, lines are broken between words, and continuation lines begin with
    `indent`.
    """
    width = _width(err)
    for line in printable(text).splitlines():
        if len(line) > width:
            line = textwrap.fill(
                line, int(width), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
            )
        click.echo(line, err=err)


def fits_terminal(text: str) -> bool:
    """Whether the terminal is wide enough for every line on stdout."""
    return _breadth(text) <= _width(err=False)


def show_json(value: object) -> None:
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    # Unsafe characters, and those that no encoding can write, are written as JSON's own escapes.
    click.echo(text if text == printable(text) else json.dumps(value, indent=2))


def show(rows: Sequence[Mapping[str, Any]], right: Sequence[str] = ()) -> None:
    """Print rows as a table, with the columns in `right` right-aligned."""
    columns = list(rows[0])
    cells = [["" if row[column] is None else str(row[column]) for column in columns] for row in rows]
    show_table(columns, cells, [columns.index(column) for column in right])


def show_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    err: bool = False,
    by: Sequence[int] = (),
) -> None:
    """Print a table that fits the terminal; see `fitting_table`."""
    click.echo(fitting_table(columns, rows, right, err, by), err=err)


# --- the layout of a table ------------------------------------------------------------------------


def fitting_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    err: bool = False,
    by: Sequence[int] = (),
) -> str:
    """A table that fits the terminal.

    If the terminal is too narrow, headings are put on several lines, then columns are set closer, then cells
    are put on several lines. Before cells are broken, columns in `by` become headings: one table for each of
    their values. If even the longest words do not fit side by side, the columns are divided among several
    tables, each with the first column.
    """
    width = _width(err)
    text = text_table(columns, rows, right)
    if _breadth(text) > width:
        text = text_table(columns, rows, right, broken=True)
    if _breadth(text) > width:
        text = text_table(columns, rows, right, gap=" ", broken=True)
    if _breadth(text) <= width:
        return text
    if by:
        rest = [i for i in range(len(columns)) if i not in by]
        groups: dict[str, list[Sequence[str]]] = {}
        for row in rows:
            groups.setdefault(one_line(", ".join(row[i] for i in by)), []).append(row)
        return "\n\n".join(
            f"{head}\n{_part(columns, group, right, err, rest)}" for head, group in groups.items()
        )
    parts = _parts(columns, rows, int(width))
    if len(parts) > 1:
        return "\n\n".join(_part(columns, rows, right, err, part) for part in parts)
    return _wrapped_table(columns, rows, right, int(width))


def text_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    gap: str = "  ",
    broken: bool = False,
) -> str:
    """Aligned columns; those in `right` are right-aligned.

    If `broken`, a heading that is wider than its column is broken between words.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    heads = [[one_line(column)] for column in columns]
    if broken:
        most = [max((len(row[i]) for row in rows), default=1) for i in range(len(columns))]
        heads = [_broken(head, width) for (head,), width in zip(heads, most, strict=True)]
    depth = max(map(len, heads))
    titles = list(zip(*([""] * (depth - len(head)) + head for head in heads), strict=True))
    widths = [max(len(row[i]) for row in [*titles, *rows]) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return gap.join(padded).rstrip()

    return "\n".join([*map(line, titles), line(["-" * width for width in widths]), *map(line, rows)])


def _part(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
    err: bool,
    part: Sequence[int],
) -> str:
    """A table of some of the columns."""
    cells = [[row[i] for i in part] for row in rows]
    return fitting_table([columns[i] for i in part], cells, [part.index(i) for i in right if i in part], err)


def _parts(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """The columns of each table: as many as fit side by side with their longest words."""
    least = _longest_words(columns, rows)
    parts = [[0]]
    for i in range(1, len(columns)):
        taken = [*parts[-1], i]
        if sum(least[j] for j in taken) + len(taken) - 1 > width and len(taken) > 2:
            parts.append([0, i])
        else:
            parts[-1] = taken
    return parts


def _wrapped_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int], width: int
) -> str:
    """A table whose widest columns are narrowed: first to their longest word, then as far as necessary."""
    rows = [[_bound(one_line(cell)) for cell in row] for row in rows]
    names = [one_line(column) for column in columns]
    widths = [
        max([*map(len, name.split()), *(len(row[i]) for row in rows)], default=1)
        for i, name in enumerate(names)
    ]
    for least in (_longest_words(columns, rows), [4] * len(names)):
        while sum(widths) + len(widths) - 1 > width:
            wide = [i for i in range(len(widths)) if widths[i] > least[i]]
            if not wide:
                break
            widths[max(wide, key=lambda i: widths[i])] -= 1
    lines: list[list[str]] = []
    for row in rows:
        pieces = [
            textwrap.wrap(cell, widths[i], break_on_hyphens=False) or [""] for i, cell in enumerate(row)
        ]
        depth = max(map(len, pieces))
        filled = [piece + [""] * (depth - len(piece)) for piece in pieces]
        lines += [[piece[at].replace(_GLUE, " ") for piece in filled] for at in range(depth)]
    heads = [" ".join(textwrap.wrap(name, widths[i], break_on_hyphens=False)) for i, name in enumerate(names)]
    return text_table(heads, lines, right, gap=" ", broken=True)


def _longest_words(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """For each column the length of its longest word; a number and its unit are one word."""
    return [
        max(
            min(len(word), _ADDRESS_PIECE) if re.search("[:/]", word) else len(word)
            for cell in (name, *(row[i] for row in rows))
            for word in _bound(one_line(cell)).split(" ")
        )
        for i, name in enumerate(columns)
    ]


def _bound(cell: str) -> str:
    """The cell with non-breaking spaces inside a number with its deviation or unit."""
    return re.sub(r" (?=[±↑↓])|(?<=±) |(?<=\d) (?=(s|%|MB)\b|%)", _GLUE, cell)


def _broken(heading: str, width: int) -> list[str]:
    """The heading on lines of at most this width, or of the longest word."""
    longest = max(map(len, heading.split()), default=1)
    return textwrap.wrap(heading, max(width, longest), break_on_hyphens=False) or [heading]


def _width(err: bool) -> float:
    """The columns of the terminal; infinite if the output is not a terminal."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else math.inf


def _breadth(text: str) -> int:
    return max(map(len, text.splitlines()))
