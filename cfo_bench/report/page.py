"""The report as one page: plain HTML that is whole without its scripts, in a folder that needs no server."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import PurePosixPath
from string import Template
from typing import Any

import orjson

from cfo_bench import __version__
from cfo_bench.metrics import METRICS, Array
from cfo_bench.report import layout
from cfo_bench.report.contents import Figure, Section, Table, Value
from cfo_bench.report.overview import Overview
from cfo_bench.report.scores import MethodScores, TaskScores
from cfo_bench.report.style import Look
from cfo_bench.report.tables import is_numeric

ASSETS = ("report.css", "theme.js", "chart.js", "report.js")

# Rows of a table on the page; its files have them all.
MOST_ROWS = 1000
# Pictures that are seen at once; the others of a section are behind a click.
MOST_FIGURES = 6
# Tasks whose curves are drawn when the page opens.
FIRST_TASKS = 4

PictureSize = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LearnerPart:
    """What the page says of one learner. `facts` are short statements on what was run."""

    learner: str
    overview: Overview
    facts: Sequence[tuple[str, str]]
    scores: Sequence[TaskScores]
    sections: Sequence[Section]
    curve_tables: Sequence[str | None]
    looks: dict[str, Look]


class Page:
    """Renders index.html; `size_of` tells a picture's pixels, None for one that was not drawn."""

    def __init__(
        self, formats: Collection[str], size_of: Callable[[PurePosixPath], PictureSize | None]
    ) -> None:
        self._formats = formats
        self._size_of = size_of

    def render(self, parts: Sequence[LearnerPart], warnings: Sequence[str]) -> str:
        template = Template(_asset("page.html"))
        names = ", ".join(part.learner for part in parts)
        return template.substitute(
            version=escape(__version__),
            title=escape(f"cfo-bench report: {names}"),
            learner_switch=_learner_switch(parts),
            contents="\n".join(map(_contents, parts)),
            notices=_notices("Before you read on", warnings),
            learners="\n".join(map(self._learner, parts)),
        )

    def _learner(self, part: LearnerPart) -> str:
        sections = "\n".join(self._section(part, section) for section in part.sections)
        return (
            f'<article class="learner" data-learner="{escape(part.learner)}">\n'
            f"{self._overview(part)}\n{self._explorer(part)}\n{sections}\n</article>"
        )

    # --- the answer ---------------------------------------------------------------------------

    def _overview(self, part: LearnerPart) -> str:
        facts = "".join(f"<li>{escape(name)} <b>{escape(value)}</b></li>" for name, value in part.facts)
        return (
            f'<section id="{_anchor(part.learner, "overview")}" aria-labelledby="{_anchor(part.learner, "h1")}">\n'
            f'<h1 id="{_anchor(part.learner, "h1")}">Which method finds the better {escape(part.learner)} model, '
            f"and when?</h1>\n"
            f'<p class="answer">{escape(part.overview.sentence)}</p>\n<ul class="facts">{facts}</ul>\n'
            f"{self._bars(part)}\n{self._table(part, part.overview.table())}\n</section>"
        )

    def _bars(self, part: LearnerPart) -> str:
        """Tasks won, as bars: the numbers are the table's, next to it."""
        tasks = part.overview.tasks
        rows = []
        for one in part.overview.standings:
            share = 100 * one.wins / tasks if tasks else 0.0
            rank = f", mean rank {one.mean_rank:.2f}" if one.mean_rank is not None else ""
            rows.append(
                f'<span>{escape(one.method)}</span><span class="track"><span class="bar method" '
                f'style="{_colour_style(part, one.method)};width:{share:.2f}%"></span></span>'
                f'<span class="figure"><b>{one.wins}</b> of {tasks} won{rank}</span>'
            )
        return f'<div class="bars" aria-hidden="true">{"".join(rows)}</div>'

    # --- interactive curves -------------------------------------------------------------------

    def _explorer(self, part: LearnerPart) -> str:
        methods = [one.method for one in part.overview.standings]
        method_boxes = "".join(
            f'<label><input type="checkbox" data-method value="{escape(name)}" checked>'
            f'<span class="swatch method" style="{_colour_style(part, name)}"></span>{escape(name)}</label>'
            for name in methods
        )
        task_boxes = "".join(self._task_box(part, index, task) for index, task in enumerate(part.scores))
        anchor = _anchor(part.learner, "curves-explorer")
        return f"""<section class="explorer" id="{anchor}" aria-labelledby="{anchor}-title">
<h2 id="{anchor}-title">Curves to play with</h2>
<p>The mean over folds of the best loss so far; the band is its 95 % confidence interval.</p>
<div class="controls">
<fieldset class="choices-of-methods"><legend>Methods</legend><div class="choices">{method_boxes}
<button type="button" data-switch="all">All</button><button type="button" data-switch="none">None</button></div></fieldset>
{_segment(anchor, "Value", "asScore", ("Loss", "Score"), on=0)}
{_segment(anchor, "Time", "logTime", ("Linear", "Log"), on=1)}
{_segment(anchor, "Value axis", "logValue", ("Linear", "Log"), on=0)}
<fieldset><legend>Band</legend><div class="choices"><label><input type="checkbox" data-view="band" checked>95 % interval</label></div></fieldset>
</div>
<details class="tasks" open><summary>Tasks <span class="count" role="status"></span></summary>
<div class="choices"><input type="search" placeholder="Find a task" aria-label="Find a task">
<button type="button" data-switch="all">All</button><button type="button" data-switch="none">None</button></div>
<div class="choices">{task_boxes}</div></details>
<p class="hint">Drag over a plot to zoom into a time, double-click to see all again. With the keyboard: <kbd>Tab</kbd>
to a plot, <kbd>←</kbd> <kbd>→</kbd> to read the values, <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> to zoom.</p>
<div class="panels"></div>
<noscript><p class="notices">The interactive curves need JavaScript; the same curves are among the figures below.</p></noscript>
<template><div class="panel"><header><h3></h3><p class="sub"></p><span class="files"><a>CSV</a></span>
<button type="button" class="reset" hidden>Show all</button></header><div class="plot"></div>
<p class="sr" aria-live="polite"></p></div></template>
</section>"""

    def _task_box(self, part: LearnerPart, index: int, task: TaskScores) -> str:
        csv = part.curve_tables[index]
        link = ""
        if csv is not None and "csv" in self._formats:
            link = f' data-csv="{escape(layout.href(layout.table_file(part.learner, csv, "csv")))}"'
        about = f"{task.problem}, {METRICS[task.metric].name}, {task.budget_seconds:g} s"
        return (
            f'<label><input type="checkbox" value="{escape(task.task)}" data-about="{escape(about)}"{link} '
            f'data-curves="{escape(layout.href(layout.curves_file(part.learner, index)))}"'
            f"{' checked' if index < FIRST_TASKS else ''}>{escape(task.task)}</label>"
        )

    # --- sections -----------------------------------------------------------------------------

    def _section(self, part: LearnerPart, section: Section) -> str:
        anchor = _anchor(part.learner, section.name)
        pieces = [
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">',
            f'<h2 id="{anchor}-title">{escape(section.title)}</h2>',
            f"<p>{escape(section.intro)}</p>" if section.intro else "",
            _notices("", section.warnings),
            self._gallery(part, section.figures),
            *(self._table(part, table) for table in section.tables),
            "</section>",
        ]
        return "\n".join(piece for piece in pieces if piece)

    def _gallery(self, part: LearnerPart, figures: Sequence[Figure]) -> str:
        if not figures:
            return ""
        drawn = [self._figure(part, figure) for figure in figures]
        first, rest = drawn[:MOST_FIGURES], drawn[MOST_FIGURES:]
        kind = "gallery single" if len(drawn) == 1 else "gallery"
        html = f'<div class="{kind}">{"".join(first)}</div>'
        if rest:
            html += (
                f'\n<details class="more"><summary>{len(rest)} more figures</summary>'
                f'<div class="gallery">{"".join(rest)}</div></details>'
            )
        return html

    def _figure(self, part: LearnerPart, figure: Figure) -> str:
        png = layout.figure_file(part.learner, figure.name, "png")
        size = self._size_of(png) if "png" in self._formats else None
        picture = ""
        if size is not None:
            link = escape(layout.href(png))
            picture = (
                f'<a class="picture" href="{link}"><img src="{link}" width="{size[0]}" height="{size[1]}" '
                f'loading="lazy" alt="{escape(f"{figure.title}. {figure.caption}")}"></a>'
            )
        files = [
            _link(layout.figure_file(part.learner, figure.name, kind), kind.upper(), figure.title)
            for kind in layout.FIGURE_FORMATS
            if kind in self._formats
        ]
        if "csv" in self._formats:
            files += [
                _link(layout.table_file(part.learner, table.name, "csv"), "CSV", table.title)
                for table in figure.tables
            ]
        return (
            f"<figure>{picture}<figcaption><strong>{escape(figure.title)}</strong> {escape(figure.caption)} "
            f'<span class="files">{" ".join(files)}</span></figcaption></figure>'
        )

    def _table(self, part: LearnerPart, table: Table) -> str:
        anchor = _anchor(part.learner, f"table-{table.name}")
        names = {"csv": "CSV", "markdown": "Markdown", "latex": "LaTeX"}
        files = " ".join(
            _link(layout.table_file(part.learner, table.name, kind), name, table.title)
            for kind, name in names.items()
            if kind in self._formats
        )
        shown = table.rows[:MOST_ROWS]
        cut = f" Here are the first {len(shown):,} of {len(table.rows):,} rows; the files have all."
        note = table.note + (cut if len(shown) < len(table.rows) else "")
        numeric = [is_numeric(table, column) for column in range(len(table.columns))]
        head = "".join(
            f'<th scope="col"{_number_class(is_number)}>{escape(name)}</th>'
            for name, is_number in zip(table.columns, numeric, strict=True)
        )
        formats = [
            _number_format(row[column] for row in shown) if is_number else str
            for column, is_number in enumerate(numeric)
        ]
        body = "\n".join(self._row(part, row, numeric, formats) for row in shown)
        search = (
            f'<input type="search" class="filter" id="{anchor}-filter" aria-controls="{anchor}" '
            f'placeholder="Filter rows" aria-label="Filter rows of {escape(table.title)}">'
            f'<span class="sr" role="status" id="{anchor}-filter-count"></span>'
            if len(table.rows) > 5
            else ""
        )
        return (
            f'<div class="sheet"><div class="head"><h3>{escape(table.title)}</h3>{search}'
            f'<span class="files">{files}</span></div>\n'
            f'<p class="note" id="{anchor}-note">{escape(note)}</p>\n'
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
            f'<table class="data" id="{anchor}" aria-describedby="{anchor}-note">'
            f'<caption class="sr">{escape(table.title)}</caption>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div></div>"
        )

    def _row(
        self,
        part: LearnerPart,
        row: Sequence[Value],
        numeric: Sequence[bool],
        formats: Sequence[Callable[[float], str]],
    ) -> str:
        cells = []
        for column, (value, is_number, written) in enumerate(zip(row, numeric, formats, strict=True)):
            if column == 0 and isinstance(value, str):
                swatch = (
                    f'<span class="swatch method" style="{_colour_style(part, value)}"></span>'
                    if value in part.looks
                    else ""
                )
                cells.append(f'<th scope="row">{swatch}{escape(value)}</th>')
            else:
                cells.append(_cell(value, is_number, written))
        return f"<tr>{''.join(cells)}</tr>"


def curves_script(part: LearnerPart, index: int) -> str:
    """The numbers of one task's plot, as a script: a page from disk may load no other kind of file."""
    task = part.scores[index]
    data = {
        "name": task.task,
        "budget": task.budget_seconds,
        "scale": {"zero": _short(task.scale.zero_loss), "one": _short(task.scale.one_loss)},
        "methods": [
            _curve(part, task.methods[one.method])
            for one in part.overview.standings
            if one.method in task.methods
        ],
    }
    file = layout.href(layout.curves_file(part.learner, index))
    return f"cfoCurves({_script_json(file)}, {_script_json(data)});\n"


def asset(name: str) -> str:
    return _asset(name)


def dark_colour(colour: str) -> str:
    """The colour, or as much lighter as it takes to be seen on a dark ground."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    for share in (0.0, 0.15, 0.3, 0.45, 0.6, 0.75):
        mixed = [round(part + (255 - part) * share) for part in (red, green, blue)]
        if _luminance(mixed) > 0.2:
            break
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _curve(part: LearnerPart, found: MethodScores) -> dict[str, Any]:
    look = part.looks[found.method]
    line: dict[str, Any] = {
        "name": found.method,
        "light": look.colour,
        "dark": dark_colour(look.colour),
        "dash": " ".join(f"{1.5 * length:g}" for length in look.dashes),
    }
    if found.curve is None:
        return {**line, "t": [], "mean": []}
    curve = found.curve.thinned()
    line |= {"t": _shorts(curve.seconds), "mean": _shorts(curve.mean)}
    if curve.n_folds > 1:
        line |= {"low": _shorts(curve.low), "high": _shorts(curve.high)}
    return line


def _shorts(values: Array) -> list[float]:
    return [_short(value) for value in values.tolist()]


def _short(value: float) -> float:
    """Seven digits: more than a screen shows, half the bytes. The tables have them all."""
    return float(f"{value:.7g}")


def _script_json(value: object) -> str:
    """JSON that can stand in a script whatever its strings hold: no tag, and no end of line, in them."""
    text = orjson.dumps(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _cell(value: Value, is_number: bool, written: Callable[[float], str]) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return (
            '<td class="none number" data-v="">–</td>' if is_number else '<td class="none" data-v="">–</td>'
        )
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int):
        return f'<td class="number" data-v="{value}">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number" data-v="{value!r}">{written(value)}</td>'
    return _text_cell(value)


def _text_cell(text: str) -> str:
    """A cell of the optimality table sorts by how good it is; other text by the alphabet."""
    if best := re.fullmatch(r"\*\*(.+)\*\*", text):
        return f'<td class="best" data-v="0"><strong>{escape(best[1])}</strong></td>'
    if slower := re.fullmatch(r"×(\d+\.\d)", text):
        return f'<td data-v="{slower[1]}">{escape(text)}</td>'
    if worse := re.fullmatch(r"-(\d+\.\d)%", text):
        return f'<td data-v="{1e9 + float(worse[1])!r}">{escape(text.replace("-", "−"))}</td>'
    if len(text) <= 60:
        return f"<td>{escape(text)}</td>"
    # A long text is broken between its words; a hash has none, and is cut off where the column ends.
    return (
        f'<td class="wide">{escape(text)}</td>'
        if " " in text
        else f'<td title="{escape(text)}">{escape(text)}</td>'
    )


def _number_format(values: Iterable[Value]) -> Callable[[float], str]:
    """One number of decimals for a whole column, so that its points stand below each other."""
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value) and value]
    if not sizes or min(sizes) < 1e-3 or max(sizes) >= 1e6:
        return lambda value: f"{value:.4g}"
    decimals = max(3 - math.floor(math.log10(max(sizes))), 0)
    return lambda value: f"{value:,.{min(decimals, 4)}f}"


def _number_class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _link(file: PurePosixPath, text: str, of: str) -> str:
    return f'<a href="{escape(layout.href(file))}">{text}<span class="sr"> of {escape(of)}</span></a>'


def _segment(anchor: str, legend: str, view: str, names: tuple[str, str], on: int) -> str:
    """Two radio buttons that look like one switch; the second one is true."""
    buttons = "".join(
        f'<label><input type="radio" name="{anchor}-{view}" data-view="{view}" value="{value}"'
        f"{' checked' if value == on else ''}>{name}</label>"
        for value, name in enumerate(names)
    )
    return f'<fieldset><legend>{legend}</legend><div class="choices segment">{buttons}</div></fieldset>'


def _notices(title: str, warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    head = f"<p>{escape(title)}</p>" if title else ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in warnings)
    return f'<div class="notices" role="note">{head}<ul>{lines}</ul></div>'


def _learner_switch(parts: Sequence[LearnerPart]) -> str:
    if len(parts) < 2:
        return ""
    options = "".join(f'<option value="{escape(p.learner)}">{escape(p.learner)}</option>' for p in parts)
    return f'<label><span class="sr">Learner</span><select id="learner">{options}</select></label>'


def _contents(part: LearnerPart) -> str:
    entries = [("overview", "Who wins"), ("curves-explorer", "Curves to play with")]
    entries += [(section.name, section.title) for section in part.sections]
    links = "".join(
        f'<li><a href="#{_anchor(part.learner, name)}">{escape(title)}</a></li>' for name, title in entries
    )
    return f'<ul data-contents-of="{escape(part.learner)}"><li><strong>{escape(part.learner)}</strong></li>{links}</ul>'


def _anchor(learner: str, name: str) -> str:
    """An id of the page, safe in an attribute and in a link."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda sign: f"_{ord(sign[0]):x}_", f"{learner}-{name}")


def _colour_style(part: LearnerPart, method: str) -> str:
    colour = part.looks[method].colour
    return f"--on-light:{colour};--on-dark:{dark_colour(colour)}"


def _luminance(colour: Sequence[int]) -> float:
    """As WCAG defines it, 0 for black and 1 for white."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _asset(name: str) -> str:
    return resources.files("cfo_bench.report").joinpath("assets", name).read_text(encoding="utf-8")
