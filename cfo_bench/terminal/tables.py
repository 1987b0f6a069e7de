"""Tables on the terminal, and the same as JSON."""

from __future__ import annotations

import math
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click

from cfo_bench.registry import Registry, Row

# --- text ------------------------------------------------------------------------------------------
# Text for a terminal: names and errors come from files, and must not move the cursor or change colours.


# Control characters but line ends and tabs, half characters, and those that change the direction of writing.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """The text with every unsafe character as an escape, such as `\\x1b`; line ends and tabs stay."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """The same in one line."""
    return shown(text).replace("\n", "\\n")


def say(text: str, err: bool = True) -> None:
    """A line, or several, on stderr or stdout."""
    click.echo(shown(text), err=err)


# --- tables ----------------------------------------------------------------------------------------


# Letters of an address or a path that stay together: it may be broken, as no other word.
_ADDRESS_PIECE = 12

# A blank at which no line is broken.
_GLUE = "\u00a0"


def show(rows: Sequence[Mapping[str, Any]], as_json: bool, right: Sequence[str] = ()) -> None:
    """Rows as a table, columns in `right` as numbers, or as a JSON list of objects."""
    if as_json:
        show_json(rows)
        return
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
    """A table that fits the terminal; see `fitting_table`."""
    click.echo(fitting_table(columns, rows, right, err, by), err=err)


def fitting_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    err: bool = False,
    by: Sequence[int] = (),
) -> str:
    """If the terminal is too narrow: headings on several lines, then set closer, then cells on several.

    With columns in `by`, before cells are broken: a table for each of their values, which stand above it. If
    even the longest words have no room side by side: several tables, each with the first column.
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
    """The columns of each table, if so many fit side by side as their longest words need."""
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
    """The widest columns are made narrower: first to their longest word, then to what is left."""
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
    """For each column the letters of its longest word; a number and its unit are one."""
    return [
        max(
            min(len(word), _ADDRESS_PIECE) if re.search("[:/]", word) else len(word)
            for cell in (name, *(row[i] for row in rows))
            for word in _bound(one_line(cell)).split(" ")
        )
        for i, name in enumerate(columns)
    ]


def _bound(cell: str) -> str:
    """With glue in place of the blanks where no line may end: in a number with its deviation or unit."""
    return re.sub(r" (?=[±↑↓])|(?<=±) |(?<=\d) (?=(s|%|MB)\b|%)", _GLUE, cell)


def show_prose(text: str, err: bool = False) -> None:
    """A paragraph, or several; on a terminal broken between words."""
    width = _width(err)
    for line in shown(text).splitlines():
        whole = len(line) <= width
        click.echo(line if whole else textwrap.fill(line, int(width), break_on_hyphens=False), err=err)


def _width(err: bool) -> float:
    """The columns of the terminal; infinite where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else math.inf


def _breadth(text: str) -> int:
    return max(map(len, text.splitlines()))


def show_json(value: object) -> None:
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    # What a terminal must not see, and what no encoding can write, is written as JSON's own escapes.
    click.echo(text if text == shown(text) else json.dumps(value, indent=2))


def show_registry(registry: Registry, name: str | None, as_json: bool) -> None:
    """What a registry holds, with how to install what is absent; or the options of one `name`."""
    if name is not None:
        show_options(registry, name, as_json)
        return
    found = _in_groups(registry)
    has_groups = any(row.group for _, row in found)
    if as_json:
        show_json(
            [
                {"name": name, "summary": row.summary, "available": row.missing is None, "extra": row.extra}
                | ({"group": row.group, "source": row.source or None} if has_groups else {})
                for name, row in found
            ]
        )
        return
    show(
        [
            {
                registry.kind: name,
                **({"group": row.group} if has_groups else {}),
                "available": "yes" if row.missing is None else row.remedy,
                "what it is": row.summary,
                **({"from": row.source} if has_groups else {}),
            }
            for name, row in found
        ],
        as_json,
    )


def _in_groups(registry: Registry) -> list[tuple[str, Row]]:
    """All names of a registry, families too, by group in the order in which the registry has the groups."""
    found = registry.listed()
    order = list(dict.fromkeys(row.group for row in [*registry.builtin.values(), *found.values()]))
    return sorted(found.items(), key=lambda one: (order.index(one[1].group), one[0]))


def show_options(registry: Registry, name: str, as_json: bool) -> None:
    """The options of one method or learner: a line with default and type, below it what the option does."""
    options = registry.described_options(name)
    if as_json:
        keys = ("default", "takes", "does")
        show_json([{"option": one.name, **{key: getattr(one, key) for key in keys}} for one in options])
        return
    if not options:
        click.echo(f"{registry.kind} {name!r} has no options")
    width = min(shutil.get_terminal_size().columns, 100)
    for one in options:
        click.echo(one_line(f"{one.name}={_as_written(one.default)}  ({one.takes})"))
        for line in textwrap.wrap(one_line(one.does), width, initial_indent="    ", subsequent_indent="    "):
            click.echo(line)


def text_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    gap: str = "  ",
    broken: bool = False,
) -> str:
    """Aligned columns; those in `right` are numbers and align right.

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


def _broken(heading: str, width: int) -> list[str]:
    """The heading on lines of at most this width, or of the longest word."""
    longest = max(map(len, heading.split()), default=1)
    return textwrap.wrap(heading, max(width, longest), break_on_hyphens=False) or [heading]


def _as_written(value: object) -> str:
    """As it is given on the command line."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
