"""A table as CSV, Markdown and LaTeX: the same table gives the same bytes."""

from __future__ import annotations

import csv
import io
import math
import re

from cfo_bench.report.contents import CellValue, Table
from cfo_bench.spreadsheets import no_formula

# A table with more rows is broken over several pages.
_ROWS_OF_A_PAGE = 60

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
    "±": r"$\pm$",
    "²": r"\textsuperscript{2}",
    "–": "--",
    "…": r"\ldots{}",
}
_TO_LATEX = str.maketrans(_LATEX)


def to_csv(table: Table) -> str:
    """Numbers with all digits, missing values empty, no bold, no text that a spreadsheet would execute."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([no_formula(column) for column in table.columns])
    writer.writerows([_plain(value) for value in row] for row in table.rows)
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
    lines += [_markdown_row([_markdown(in_words(value)) for value in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """A table with the rules of booktabs; a longtable when it is too long for a page."""
    head = _latex_row([_latex(table.heading(column)) for column in table.columns])
    body = [_latex_row([_latex_cell(value) for value in row]) for row in table.rows]
    align = "".join("r" if is_numeric(table, index) else "l" for index in range(len(table.columns)))
    caption = rf"\caption{{{_latex(table.title)}. {_latex(table.note)}}}"
    label = rf"\label{{tab:{re.sub(r'[^A-Za-z0-9-]+', '-', table.name)}}}"
    if len(body) > _ROWS_OF_A_PAGE:
        lines = [
            r"% \usepackage{booktabs,longtable}",
            rf"\begin{{longtable}}{{{align}}}",
            rf"{caption}{label}\\",
            *(r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
            *body,
            r"\end{longtable}",
        ]
    else:
        lines = [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            *(r"\centering", caption, label),
            rf"\begin{{tabular}}{{{align}}}",
            *(r"\toprule", head, r"\midrule"),
            *body,
            *(r"\bottomrule", r"\end{tabular}", r"\end{table}"),
        ]
    return "\n".join(lines) + "\n"


def in_words(value: CellValue) -> str:
    """A value for people: four digits of a number, a dash if it is missing."""
    if isinstance(value, float):
        if math.isnan(value):
            return "–"
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def is_numeric(table: Table, index: int) -> bool:
    """Whether a column holds only numbers; then it is aligned to the right."""
    types = {type(row[index]) for row in table.rows} - {type(None)}
    return bool(types) and all(issubclass(one, int | float) and one is not bool for one in types)


def _plain(value: CellValue) -> CellValue:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, str):
        return no_formula(_BOLD.sub(r"\1", value) if "**" in value else value)
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _markdown(text: str) -> str:
    flat = " ".join(text.split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace("|", r"\|")


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex(text: str) -> str:
    return " ".join(text.split()).translate(_TO_LATEX)


def _latex_cell(value: CellValue) -> str:
    if isinstance(value, str) and (bold := _BOLD.fullmatch(value)):
        return rf"\textbf{{{_latex(bold[1])}}}"
    return _latex(in_words(value))


def _latex_row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
