"""A table on the page: cells sort by their meaning, and the decimal points of a column are aligned."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape, unescape

from cfo_bench.report.contents import CellValue, Table, plural
from cfo_bench.report.method_styles import MethodStyle
from cfo_bench.report.rendering.html_plots import swatch
from cfo_bench.report.rendering.layout import prose
from cfo_bench.report.rendering.table_files import is_numeric

# The maximum number of rows of a table on the page; its files contain all rows.
MAX_ROWS = 100
# A table with more rows scrolls inside its box.
MAX_VISIBLE_ROWS = 25
# A table with fewer rows has no filter.
FEWEST_FILTERED = 6
# Of a longer note, only the first sentence is above the table; the others are below it.
MAX_LETTERS_ABOVE = 200

# Columns with names of methods, which get a sample of the method's line.
_METHODS = ("method", "other")

# In the optimality table, cells that do not reach the best score sort after those that do.
_WORSE = 1e9

# Ems of a letter in print, of the space between two columns, and of a sample of a method's line.
_LETTER, _GAP, _SAMPLE = 0.68, 0.5, 1.5
# A longer word is a hash, which may be broken in print.
_LONGEST_WORD = 60


def sheet(
    table: Table, anchor: str, files: str, styles: Mapping[str, MethodStyle], folded: bool = False
) -> str:
    """The table with its title, note, filter and `files` (links). If `folded`, only the title is visible."""
    shown = table.rows[:MAX_ROWS]
    cut = f" Here are the first {len(shown):,} of {len(table.rows):,} rows; the files have all."
    above, below = _parts(table.note + (cut if len(shown) < len(table.rows) else ""))
    title = f"<h3>{escape(table.title)}</h3>"
    tools = f'{_filter(table, anchor)}<span class="files">{files}</span>'
    box = scroll_box(table.title, is_long=len(shown) > MAX_VISIBLE_ROWS)
    head, body = _head(table, styles), _body(table, shown, styles)
    # Folded tables are not printed.
    breadth = "" if folded else f' style="--ems:{_ems([head, *body]):.0f}"'
    content = (
        f'<p class="note" id="{anchor}-note">{prose(above)}</p>\n'
        f'<div class="edges"><div {box}>'
        f'<table class="data" id="{anchor}" aria-describedby="{anchor}-note"{breadth}>'
        f'<caption class="sr">{escape(table.title)}</caption>\n'
        f"{_rows('thead', [head])}\n{_rows('tbody', body)}</table></div></div>"
        + (f'\n<p class="note">{prose(below)}</p>' if below else "")
    )
    if not folded:
        return f'<div class="sheet"><div class="head">{title}{tools}</div>\n{content}</div>'
    rows = f"<span>{plural(len(table.rows), 'row')}</span>"
    return (
        f'<details class="sheet"><summary class="head">{title}{rows}</summary>\n'
        f'<div class="head">{tools}</div>\n{content}</details>'
    )


def _parts(note: str) -> tuple[str, str]:
    """The parts of a note above and below its table."""
    if len(note) <= MAX_LETTERS_ABOVE:
        return note, ""
    first, *rest = re.split(r"(?<=[.?]) (?=[A-Z`×−])", note, maxsplit=1)
    return first, "".join(rest)


def scroll_box(title: str, is_long: bool = False) -> str:
    """The attributes of a box that scrolls, also by keyboard, if its content is larger."""
    return f'class="scroll{" long" * is_long}" tabindex="0" role="region" aria-label="{escape(title)}"'


def _filter(table: Table, anchor: str) -> str:
    if len(table.rows) < FEWEST_FILTERED:
        return ""
    return (
        f'<input type="search" class="filter" id="{anchor}-filter" aria-controls="{anchor}" '
        f'placeholder="Filter rows" aria-label="Filter rows of {escape(table.title)}">'
        f'<span class="sr" role="status" id="{anchor}-filter-count"></span>'
    )


def _head(table: Table, styles: Mapping[str, MethodStyle]) -> list[str]:
    return [
        f'<th scope="col"{_number_class(is_numeric(table, at))}>'
        f"{swatch(styles[name]) if name in styles and name in table.verbatim else ''}"
        f"{escape(table.heading(name))}</th>"
        for at, name in enumerate(table.columns)
    ]


def _body(
    table: Table, shown: Sequence[Sequence[CellValue]], styles: Mapping[str, MethodStyle]
) -> list[list[str]]:
    numeric = [is_numeric(table, at) for at in range(len(table.columns))]
    write = [_writer(row[at] for row in shown) for at in range(len(table.columns))]
    return [
        [
            _name_cell(value, at == 0, styles.get(value) if table.columns[at] in _METHODS else None)
            if isinstance(value, str) and (at == 0 or table.columns[at] in _METHODS)
            else _cell(value, numeric[at], write[at])
            for at, value in enumerate(row)
        ]
        for row in shown
    ]


def _rows(part: str, rows: Iterable[Sequence[str]]) -> str:
    lines = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<{part}>\n{lines}\n</{part}>"


def _ems(rows: Iterable[Sequence[str]]) -> float:
    """The width of the table in print, in multiples of its font size; cells are broken between words.

    The style sheet derives a font size from it such that the table fits on the paper.
    """
    return sum(max(map(_cell_ems, column)) + _GAP for column in zip(*rows, strict=True))


def _cell_ems(cell: str) -> float:
    words = unescape(re.sub(r"<[^>]*>", "", cell)).split(" ")
    longest = max(len(word) if len(word) <= _LONGEST_WORD else 1 for word in words)
    return _LETTER * longest + _SAMPLE * ("<svg" in cell)


def _name_cell(name: str, is_head: bool, style: MethodStyle | None) -> str:
    content = (swatch(style) if style else "") + escape(name)
    return f'<th scope="row">{content}</th>' if is_head else f"<td>{content}</td>"


def _cell(value: CellValue, is_number: bool, write: Callable[[float], str]) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return f'<td class="none{" number" * is_number}" data-v="">–</td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int):
        return f'<td class="number" data-v="{value}">{_minus(f"{value:,}")}</td>'
    if isinstance(value, float):
        return f'<td class="number" data-v="{value!r}">{write(value)}</td>'
    return _text_cell(value)


def _text_cell(text: str) -> str:
    """A cell with text. A score with its deviation sorts by the score, a cell of the optimality table by its
    rank.
    """
    best = re.fullmatch(r"\*\*(.+)\*\*(.*)", text)
    key = _sort_key(best[1] if best else text, best is not None)
    if key is None and len(text) > _LONGEST_WORD:
        # A long text is broken between words. A hash, which has no spaces, is cut off at the end of the
        # column.
        mark = 'class="wide"' if " " in text else f'title="{escape(text)}"'
        return f"<td {mark}>{escape(text)}</td>"
    marks = ' class="best"' * (best is not None) + (f' data-v="{key}"' if key is not None else "")
    if key is not None:  # in print, a score may only be broken before its deviation
        text = re.sub(r"^(\**)-(?=\d)", "\\1\u2212", text).replace(" ± ", " ±\u00a0")
    content = re.sub(r"^\*\*(.+)\*\*", r"<strong>\1</strong>", escape(text))
    content = re.sub(r" ±\u00a0[\d.]+", r"<small>\g<0></small>", content)
    return f"<td{marks}>{content}</td>"


def _sort_key(text: str, is_best: bool) -> str | None:
    """The number that a cell sorts by; None if it sorts alphabetically."""
    if score := re.fullmatch(r"(-?\d+\.\d{4})( ± .*)?", text):
        return score[1]
    if is_best:
        return "0"
    if reference := re.match(r"(-?\d+\.\d{4}) \(", text):
        return reference[1]
    if slower := re.match(r"×(\d+\.\d)", text):
        return slower[1]
    if worse := re.match(r"-(\d+\.\d)%", text):
        return repr(_WORSE + float(worse[1]))
    return None


def _writer(values: Iterable[CellValue]) -> Callable[[float], str]:
    """The format of the numbers of a column: with the same decimals, or as powers of ten."""
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value) and value]
    least, most = (math.floor(math.log10(size)) for size in (min(sizes), max(sizes))) if sizes else (0, 0)
    # Four digits of the largest number; two of the smallest, with at most two decimals more.
    decimals = max(min(max(3 - most, 0), 4), min(1 - least, 6) if least < -3 else 0)
    if least < -5 or most > 5 or most + decimals > 8:
        return lambda value: _minus(f"{value:.2e}")
    return lambda value: _minus(f"{value:z,.{decimals}f}")


def _minus(number: str) -> str:
    return number.replace("-", "\u2212")


def _number_class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
