"""A table as CSV, Markdown and LaTeX: the same table gives the same bytes."""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cfo_bench.files.writing import no_formula
from cfo_bench.report.contents import CellValue, Table

# A table with more rows is broken over several pages.
_ROWS_OF_A_PAGE = 36
# Widths in signs: of a cell, of the gap between two, of a table that is not turned, of a stacked heading.
_WIDEST_CELL, _GAP, _WIDEST_UPRIGHT, _SHORTEST_STACK = 28, 2, 120, 8
# How many signs of which size fit on a line, and how many times as many if the page is turned.
_SIGNS_OF_A_LINE = {r"\small": 70, r"\footnotesize": 80, r"\scriptsize": 92}
_TURNED_BY_UPRIGHT = 1.55

# What stands for a number that is missing.
MISSING = "–"

_BOLD = re.compile(r"\*\*(.+)\*\*")

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "×": r"$\times$",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "²": r"\textsuperscript{2}",
    "⁵": r"\textsuperscript{5}",
    "ⁿ": r"\textsuperscript{n}",
    "χ": r"$\chi$",
    "√": r"$\surd$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "…": r"\ldots{}",
}
_TO_LATEX = str.maketrans(_LATEX)


def to_csv(table: Table) -> str:
    """Numbers with all digits, missing values empty, no bold, no text that a spreadsheet would execute."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([no_formula(column) for column in table.columns])
    writer.writerows(zip(*(_plain(table, index) for index in range(len(table.columns))), strict=True))
    return text.getvalue()


def to_markdown(table: Table) -> str:
    numeric = [is_numeric(table, index) for index in range(len(table.columns))]
    lines = [
        f"## {_markdown(table.title)}",
        "",
        _markdown(table.note),
        "",
        _markdown_row([_markdown(table.heading(column)) for column in table.columns]),
        _markdown_row(["---:" if number else "---" for number in numeric]),
    ]
    columns = [_escaped(_texts(table, index), number, _markdown) for index, number in enumerate(numeric)]
    lines += map(_markdown_row, zip(*columns, strict=True))
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """A table with the rules of booktabs: smaller or turned if it is too wide, over pages if too long."""
    columns = [_column(table, index) for index in range(len(table.columns))]
    align = "".join(column.align for column in columns)
    head = _latex_row([column.heading for column in columns])
    body = map(_latex_row, zip(*(column.cells for column in columns), strict=True))
    rows = [r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    caption = rf"\caption{{{_latex(table.title)}. {_latex(table.note)}}}"
    label = rf"\label{{tab:{re.sub(r'[^A-Za-z0-9-]+', '-', table.name)}}}"
    width = sum(column.width + _GAP for column in columns)
    if len(table.rows) > _ROWS_OF_A_PAGE:
        return "\n".join(_over_pages(rows, align, caption + label, width)) + "\n"
    kind = "table" if width <= _WIDEST_UPRIGHT else "sidewaystable"
    lines = [
        r"% \usepackage{array,booktabs,graphicx,rotating}",
        rf"\begin{{{kind}}}",
        *(r"\centering", caption, label, r"\medskip", r"\setlength{\tabcolsep}{4pt}"),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{align}}}",
        *rows,
        r"\end{tabular}}",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _over_pages(rows: list[str], align: str, caption: str, width: int) -> list[str]:
    """A longtable: it can't be scaled, so that its font is chosen by its width in signs."""
    is_turned = width > max(_SIGNS_OF_A_LINE.values())
    room = _TURNED_BY_UPRIGHT if is_turned else 1.0
    size = next((name for name, signs in _SIGNS_OF_A_LINE.items() if width <= room * signs), r"\tiny")
    toprule, head, midrule, *body, bottomrule = rows
    lines = [
        rf"{{{size}\setlength{{\tabcolsep}}{{3pt}}",
        rf"\begin{{longtable}}{{{align}}}",
        rf"{caption}\\",
        *(toprule, head, midrule, r"\endfirsthead"),
        *(toprule, head, midrule, r"\endhead", bottomrule, r"\endfoot"),
        *body,
        r"\end{longtable}}",
    ]
    if is_turned:
        lines = [r"\begin{landscape}", *lines, r"\end{landscape}"]
    return [r"% \usepackage{array,booktabs,longtable,pdflscape}", *lines]


class _Column(NamedTuple):
    align: str
    heading: str
    width: int  # in signs
    cells: list[str]


def _column(table: Table, index: int) -> _Column:
    """Text longer than a line of a cell is wrapped; a heading longer than its cells is stacked."""
    texts, number = _texts(table, index), is_numeric(table, index)
    side = "r" if number else "l"
    widest = max((len(_without_bold(text)) for text in set(texts)), default=0)
    words = " ".join(table.heading(table.columns[index]).split())
    if widest > _WIDEST_CELL:
        align, widest = rf">{{\raggedright\arraybackslash}}p{{{_WIDEST_CELL / 2:g}em}}", _WIDEST_CELL
    else:
        align = side
    lines = textwrap.wrap(words, max(widest, _SHORTEST_STACK), break_long_words=False) or [""]
    stacked = r"\\".join(map(_latex, lines))
    heading = stacked if len(lines) == 1 else rf"\shortstack[{side}]{{{stacked}}}"
    cells = _escaped(texts, number, _latex_cell)
    return _Column(align, heading, max(widest, *map(len, lines)), cells)


def in_words(value: CellValue) -> str:
    """A value for people: four digits of a number, a dash if it is missing."""
    if isinstance(value, float):
        if math.isnan(value):
            return MISSING
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _texts(table: Table, index: int) -> list[str]:
    return [in_words(row[index]) for row in table.rows]


def _escaped(texts: list[str], numeric: bool, escape: Callable[[str], str]) -> list[str]:
    """A column's texts. Of numbers only the dash may need it; of words each is escaped once, most recur."""
    escaped = {text: escape(text) for text in ({MISSING} if numeric else set(texts))}
    return [escaped.get(text, text) for text in texts]


def is_numeric(table: Table, index: int) -> bool:
    """Whether a column holds only numbers; then it is aligned to the right."""
    types = {type(row[index]) for row in table.rows} - {type(None)}
    return bool(types) and all(issubclass(one, int | float) and one is not bool for one in types)


def _plain(table: Table, index: int) -> list[CellValue]:
    """A column as it stands in CSV."""
    values = [row[index] for row in table.rows]
    if is_numeric(table, index):
        return [None if value != value else value for value in values]  # NaN is not equal to itself
    return [_plain_value(value) for value in values]


def _plain_value(value: CellValue) -> CellValue:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, str):
        return no_formula(_without_bold(value))
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _markdown(text: str) -> str:
    flat = " ".join(text.split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace("|", r"\|")


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex(text: str) -> str:
    """A word that is too long for a cell, such as a hash, may be broken."""
    words = text.split()
    if len(text) > _WIDEST_CELL:
        return " ".join(
            r"\allowbreak{}".join(piece.translate(_TO_LATEX) for piece in _pieces(w)) for w in words
        )
    return " ".join(words).translate(_TO_LATEX)


def _pieces(word: str) -> list[str]:
    return textwrap.wrap(word, _WIDEST_CELL // 2) if len(word) > _WIDEST_CELL else [word]


def _latex_cell(text: str) -> str:
    plain = _latex(_without_bold(text))
    return rf"\textbf{{{plain}}}" if text.startswith("**") and _BOLD.fullmatch(text) else plain


def _without_bold(text: str) -> str:
    return _BOLD.sub(r"\1", text) if "**" in text else text


def _latex_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
