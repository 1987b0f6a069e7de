"""A table on the page: its cells sort by their meaning, and a column's decimal points are aligned."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from cfo_bench.report.contents import CellValue, Table, plural
from cfo_bench.report.looks import Look
from cfo_bench.report.rendering.explorer import swatch
from cfo_bench.report.rendering.prose import prose
from cfo_bench.report.rendering.table_files import is_numeric

# The most rows of a table on the page; its files have all.
MOST_ROWS = 500
# A table with more rows scrolls inside its box.
MOST_SEEN_ROWS = 25
# Fewer rows need no filter.
FEWEST_FILTERED = 6

# Columns of methods' names, which get a piece of the method's line.
_METHODS = ("method", "other")

# Cells that don't reach the best sort after all that do, however long those took.
_WORSE = 1e9


def sheet(table: Table, anchor: str, files: str, looks: Mapping[str, Look], folded: bool = False) -> str:
    """The table with its title, note, filter and `files` (links). If `folded`, only the title is seen."""
    shown = table.rows[:MOST_ROWS]
    cut = f" Here are the first {len(shown):,} of {len(table.rows):,} rows; the files have all."
    note = table.note + (cut if len(shown) < len(table.rows) else "")
    title = f"<h3>{escape(table.title)}</h3>"
    tools = f'{_filter(table, anchor)}<span class="files">{files}</span>'
    box = "scroll long" if len(shown) > MOST_SEEN_ROWS else "scroll"
    content = (
        f'<p class="note" id="{anchor}-note">{prose(note)}</p>\n'
        f'<div class="edges"><div class="{box}" tabindex="0" role="region" '
        f'aria-label="{escape(table.title)}">'
        f'<table class="data" id="{anchor}" aria-describedby="{anchor}-note">'
        f'<caption class="sr">{escape(table.title)}</caption>\n{_content(table, shown, looks)}'
        "</table></div></div>"
    )
    if not folded:
        return f'<div class="sheet"><div class="head">{title}{tools}</div>\n{content}</div>'
    rows = f"<span>{plural(len(table.rows), 'row')}</span>"
    return (
        f'<details class="sheet"><summary class="head">{title}{rows}</summary>\n'
        f'<div class="head">{tools}</div>\n{content}</details>'
    )


def _filter(table: Table, anchor: str) -> str:
    if len(table.rows) < FEWEST_FILTERED:
        return ""
    return (
        f'<input type="search" class="filter" id="{anchor}-filter" aria-controls="{anchor}" '
        f'placeholder="Filter rows" aria-label="Filter rows of {escape(table.title)}">'
        f'<span class="sr" role="status" id="{anchor}-filter-count"></span>'
    )


def _content(table: Table, shown: Sequence[Sequence[CellValue]], looks: Mapping[str, Look]) -> str:
    numeric = [is_numeric(table, at) for at in range(len(table.columns))]
    write = [_writer(row[at] for row in shown) for at in range(len(table.columns))]
    names = "".join(
        f'<th scope="col"{_number_class(is_number)}>'
        f"{swatch(looks[name]) if name in looks and name in table.verbatim else ''}"
        f"{escape(table.heading(name))}</th>"
        for name, is_number in zip(table.columns, numeric, strict=True)
    )
    body = []
    for row in shown:
        cells = [
            _name_cell(value, at == 0, looks.get(value) if table.columns[at] in _METHODS else None)
            if isinstance(value, str) and (at == 0 or table.columns[at] in _METHODS)
            else _cell(value, numeric[at], write[at])
            for at, value in enumerate(row)
        ]
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<thead><tr>{names}</tr></thead>\n<tbody>\n" + "\n".join(body) + "\n</tbody>"


def _name_cell(name: str, is_head: bool, look: Look | None) -> str:
    content = (swatch(look) if look else "") + escape(name)
    return f'<th scope="row">{content}</th>' if is_head else f"<td>{content}</td>"


def _cell(value: CellValue, is_number: bool, write: Callable[[float], str]) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return f'<td class="none{" number" * is_number}" data-v="">–</td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int):
        return f'<td class="number" data-v="{value}">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number" data-v="{value!r}">{write(value)}</td>'
    return _text_cell(value)


def _text_cell(text: str) -> str:
    """A cell of the optimality table sorts by how good it is; other text by the alphabet."""
    if best := re.fullmatch(r"\*\*(.+)\*\*(.*)", text):
        return f'<td class="best" data-v="0"><strong>{escape(best[1])}</strong>{escape(best[2])}</td>'
    if slower := re.match(r"×(\d+\.\d)", text):
        return f'<td data-v="{slower[1]}">{escape(text)}</td>'
    if worse := re.match(r"-(\d+\.\d)%", text):
        return f'<td data-v="{_WORSE + float(worse[1])!r}">{escape(text.replace("-", "−", 1))}</td>'
    if len(text) <= 60:
        return f"<td>{escape(text)}</td>"
    # A long text is broken between words. A hash has no spaces: it is cut at the end of the column.
    mark = 'class="wide"' if " " in text else f'title="{escape(text)}"'
    return f"<td {mark}>{escape(text)}</td>"


def _writer(values: Iterable[CellValue]) -> Callable[[float], str]:
    """One number of decimals for a whole column."""
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value) and value]
    if not sizes or min(sizes) < 1e-3 or max(sizes) >= 1e6:
        return lambda value: f"{value:.4g}"
    decimals = min(max(3 - math.floor(math.log10(max(sizes))), 0), 4)
    return lambda value: f"{value:,.{decimals}f}"


def _number_class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
