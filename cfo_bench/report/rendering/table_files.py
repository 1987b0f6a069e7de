"""A table as CSV, Markdown and LaTeX: the same table gives the same bytes."""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable

from cfo_bench.files.writing import no_formula
from cfo_bench.report.contents import CellValue, Table

# Printed for a missing number.
MISSING = "–"

# In LaTeX, a table with more rows is a longtable. A table with more columns is rotated by 90 degrees; a
# longtable cannot be scaled down to the page's width, so fewer columns fit.
_MAX_ROWS, _MAX_COLUMNS, _MAX_LONGTABLE_COLUMNS = 36, 9, 6
# Longer text is wrapped in a column of half as many ems, and a longer word, such as a hash, is broken.
_MAX_LETTERS = 28
# Headings are wrapped at this width.
_HEADING_LETTERS = 10

_BOLD = re.compile(r"\*\*(.+)\*\*")

# Characters that begin a link, an image, emphasis, a tag or another cell. Our own notes have code in
# backticks.
_TO_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;"} | {character: f"\\{character}" for character in "\\*[|"}
)

_TO_LATEX = str.maketrans(
    {
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
)


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


def is_numeric(table: Table, index: int) -> bool:
    """Whether a column holds only numbers; then it is aligned to the right."""
    types = {type(row[index]) for row in table.rows} - {type(None)}
    return bool(types) and all(issubclass(kind, int | float) and kind is not bool for kind in types)


def to_csv(table: Table) -> str:
    """Numbers with all digits, missing values empty, no bold, no text that a spreadsheet would execute."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([no_formula(column) for column in table.columns])
    writer.writerows(zip(*(_plain(table, index) for index in range(len(table.columns))), strict=True))
    return text.getvalue()


def _plain(table: Table, index: int) -> list[CellValue]:
    """A column as it is written to CSV."""
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
    columns = [_escaped(_texts(table, index), number, _markdown_cell) for index, number in enumerate(numeric)]
    lines += map(_markdown_row, zip(*columns, strict=True))
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    return " ".join(text.split()).translate(_TO_MARKDOWN)


def _markdown_cell(text: str) -> str:
    plain = _markdown(_without_bold(text))
    return f"**{plain}**" if _is_bold(text) else plain


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def to_latex(table: Table) -> str:
    """A table with the rules of booktabs, scaled down to the page's width, or a longtable in small type."""
    align, columns = [], []
    for index, name in enumerate(table.columns):
        texts, number = _texts(table, index), is_numeric(table, index)
        side = "r" if number else "l"
        is_wrapped = any(len(_without_bold(text)) > _MAX_LETTERS for text in set(texts))
        align.append(rf">{{\raggedright\arraybackslash}}p{{{_MAX_LETTERS / 2:g}em}}" if is_wrapped else side)
        columns.append([_latex_heading(table.heading(name), side), *_escaped(texts, number, _latex_cell)])
    head, *body = [f"{' & '.join(cells)} \\\\" for cells in zip(*columns, strict=True)]
    caption = rf"\caption{{{_latex(table.title)}. {_latex(table.note)}}}"
    label = rf"\label{{tab:{re.sub(r'[^A-Za-z0-9-]+', '-', table.name)}}}"
    if len(table.rows) > _MAX_ROWS:
        is_turned = len(columns) > _MAX_LONGTABLE_COLUMNS
        lines = _longtable("".join(align), head, body, caption + label, is_turned)
    else:
        kind = "sidewaystable" if len(columns) > _MAX_COLUMNS else "table"
        lines = [
            r"% \usepackage{array,booktabs,graphicx,rotating}",
            rf"\begin{{{kind}}}",
            *(r"\centering", caption, label, r"\medskip", r"\setlength{\tabcolsep}{4pt}"),
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{''.join(align)}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}}",
            rf"\end{{{kind}}}",
        ]
    return "\n".join(lines) + "\n"


def _longtable(align: str, head: str, body: list[str], caption: str, is_turned: bool) -> list[str]:
    lines = [
        rf"{{\{'tiny' if is_turned else 'scriptsize'}\setlength{{\tabcolsep}}{{3pt}}",
        rf"\begin{{longtable}}{{{align}}}",
        rf"{caption}\\",
        *(r"\toprule", head, r"\midrule", r"\endfirsthead"),
        *(r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
        *body,
        r"\end{longtable}}",
    ]
    if is_turned:
        lines = [r"\begin{landscape}", *lines, r"\end{landscape}"]
    return [r"% \usepackage{array,booktabs,longtable,pdflscape}", *lines]


def _latex_heading(heading: str, side: str) -> str:
    lines = [_latex(line) for line in textwrap.wrap(heading, _HEADING_LETTERS, break_long_words=False)]
    stacked = r"\\".join(lines)
    return rf"\shortstack[{side}]{{{stacked}}}" if len(lines) > 1 else stacked


def _latex_cell(text: str) -> str:
    plain = _latex(_without_bold(text))
    return rf"\textbf{{{plain}}}" if _is_bold(text) else plain


def _latex(text: str) -> str:
    return " ".join(
        r"\allowbreak{}".join(
            piece.translate(_TO_LATEX)
            for piece in (textwrap.wrap(word, _MAX_LETTERS // 2) if len(word) > _MAX_LETTERS else [word])
        )
        for word in text.split()
    )


def _texts(table: Table, index: int) -> list[str]:
    return [in_words(row[index]) for row in table.rows]


def _escaped(texts: list[str], numeric: bool, escape: Callable[[str], str]) -> list[str]:
    """The escaped texts of a column. In a numeric column, only the dash is escaped; each distinct word is
    escaped once.
    """
    escaped = {text: escape(text) for text in ({MISSING} if numeric else set(texts))}
    return [escaped.get(text, text) for text in texts]


def _is_bold(text: str) -> bool:
    return text.startswith("**") and _BOLD.fullmatch(text) is not None


def _without_bold(text: str) -> str:
    return _BOLD.sub(r"\1", text) if "**" in text else text
