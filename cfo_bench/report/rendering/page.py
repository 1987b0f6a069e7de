"""The report as one HTML page. It needs no server, and is complete without its scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import PurePosixPath

from cfo_bench import __version__
from cfo_bench.report.contents import Figure, Section, Table
from cfo_bench.report.looks import Look
from cfo_bench.report.numbers.overview import Overview
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.assets import template
from cfo_bench.report.rendering.explorer import colour_style, explorer
from cfo_bench.report.rendering.sheet import sheet

# If a section has more figures, only the first is shown at once; the others open with a click.
MOST_FIGURES = 6
# A table with more rows is folded, unless it is the first of its section.
MOST_OPEN_ROWS = 30
# A picture with more pixels is made for both columns of a paper: it takes the whole width.
BROAD_PIXELS = 1200

PictureSize = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LearnerPart:
    """What the page shows of one learner. `facts` are short statements on what was run.

    `looks` are those of the methods that are compared, the best first. `curve_tables` has the name of the
    table of curves for each of the `scores`, None if there is none.
    """

    learner: str
    overview: Overview
    facts: Sequence[tuple[str, str]]
    scores: Sequence[TaskScores]
    sections: Sequence[Section]
    looks: Mapping[str, Look]
    curve_tables: Sequence[str | None]


class Page:
    """Renders index.html; `size_of` gives a picture's width and height, None if it was not drawn."""

    def __init__(
        self, formats: Collection[str], size_of: Callable[[PurePosixPath], PictureSize | None]
    ) -> None:
        self._formats = formats
        self._size_of = size_of

    def render(self, parts: Sequence[LearnerPart], warnings: Sequence[str]) -> str:
        names = ", ".join(part.learner for part in parts)
        return template("page.html").substitute(
            version=escape(__version__),
            title=escape(f"cfo-bench report: {names}"),
            learner_switch=_learner_switch(parts),
            contents="\n".join(map(_contents, parts)),
            notices=_notices("Before you read on", warnings),
            learners="\n".join(map(self._learner, parts)),
        )

    def _learner(self, part: LearnerPart) -> str:
        tables = part.curve_tables if "csv" in self._formats else [None] * len(part.scores)
        anchor = _anchor(part.learner, "explorer")
        sections = "\n".join(self._section(part, section) for section in part.sections)
        return (
            f'<article class="learner" data-learner="{escape(part.learner)}">\n{self._overview(part)}\n'
            f"{explorer(part.learner, anchor, part.looks, part.scores, tables)}\n{sections}\n</article>"
        )

    def _overview(self, part: LearnerPart) -> str:
        anchor = _anchor(part.learner, "overview")
        facts = "".join(f"<li>{escape(name)} <b>{escape(value)}</b></li>" for name, value in part.facts)
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n<h1 id="{anchor}-title">'
            f"Which method finds the better {escape(part.learner)} model, and when?</h1>\n"
            f'<p class="answer">{escape(part.overview.sentence)}</p>\n<ul class="facts">{facts}</ul>\n'
            f"{_bars(part)}\n{self._sheet(part, part.overview.table())}\n</section>"
        )

    def _section(self, part: LearnerPart, section: Section) -> str:
        anchor = _anchor(part.learner, section.name)
        pieces = [
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">',
            f'<h2 id="{anchor}-title">{escape(section.title)}</h2>',
            f"<p>{escape(section.intro)}</p>" if section.intro else "",
            _notices("", section.warnings),
            self._gallery(part, section.figures),
            *(
                self._sheet(part, table, folded=at > 0 and len(table.rows) > MOST_OPEN_ROWS)
                for at, table in enumerate(section.tables)
            ),
            "</section>",
        ]
        return "\n".join(piece for piece in pieces if piece)

    def _gallery(self, part: LearnerPart, figures: Sequence[Figure]) -> str:
        if not figures:
            return ""
        drawn = [self._figure(part, figure) for figure in figures]
        seen = len(drawn) if len(drawn) <= MOST_FIGURES else 1
        first, rest = drawn[:seen], drawn[seen:]
        html = f'<div class="gallery">{"".join(first)}</div>'
        if rest:
            html += (
                f'\n<details class="more"><summary>{len(rest)} more figures</summary>'
                f'<div class="gallery">{"".join(rest)}</div></details>'
            )
        return html

    def _figure(self, part: LearnerPart, figure: Figure) -> str:
        png = layout.figure_file(part.learner, figure.name, "png")
        size = self._size_of(png) if "png" in self._formats else None
        picture, shape = "", ""
        if size is not None:
            link = escape(layout.href(png))
            picture = (
                f'<a class="picture" href="{link}"><img src="{link}" width="{size[0]}" height="{size[1]}" '
                f'loading="lazy" alt="{escape(f"{figure.title}. {figure.caption}")}"></a>'
            )
            shape = ' class="broad"' if size[0] > BROAD_PIXELS else ""
        files = [
            _link(layout.figure_file(part.learner, figure.name, kind), kind.upper(), figure.title)
            for kind in layout.FIGURE_FORMATS
            if kind in self._formats
        ]
        if "csv" in self._formats:
            names = [f"CSV {at}" for at in range(1, len(figure.tables) + 1)]
            files += [
                _link(layout.table_file(part.learner, table.name, "csv"), name, table.title)
                for name, table in zip(names if len(names) > 1 else ["CSV"], figure.tables, strict=False)
            ]
        return (
            f"<figure{shape}>{picture}<figcaption><strong>{escape(figure.title)}</strong> "
            f'{escape(figure.caption)} <span class="files">{" ".join(files)}</span></figcaption></figure>'
        )

    def _sheet(self, part: LearnerPart, table: Table, folded: bool = False) -> str:
        names = {"csv": "CSV", "markdown": "Markdown", "latex": "LaTeX"}
        files = " ".join(
            _link(layout.table_file(part.learner, table.name, kind), names[kind], table.title)
            for kind in layout.TABLE_FORMATS
            if kind in self._formats
        )
        return sheet(table, _anchor(part.learner, f"table-{table.name}"), files, part.looks, folded)


def _bars(part: LearnerPart) -> str:
    """Tasks won, as bars. Screen readers skip them and read the table below, which has the same numbers."""
    tasks = part.overview.tasks
    rows = []
    for one in part.overview.standings:
        share = 100 * one.wins / tasks if tasks else 0.0
        rank = f", mean rank {one.mean_rank:.2f}" if one.mean_rank is not None else ""
        rows.append(
            f'<span>{escape(one.method)}</span><span class="track"><span class="bar method" '
            f'style="{colour_style(part.looks[one.method])};width:{share:.2f}%"></span></span>'
            f'<span class="figure"><b>{one.wins}</b> of {tasks} won{rank}</span>'
        )
    return f'<div class="bars" aria-hidden="true">{"".join(rows)}</div>'


def _link(file: PurePosixPath, text: str, of: str) -> str:
    target, of = escape(layout.href(file)), escape(of)
    return f'<a href="{target}" title="{of}">{text}<span class="sr"> of {of}</span></a>'


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
    entries = [("overview", "Who wins"), ("explorer", "Curves to play with")]
    entries += [(section.name, section.title) for section in part.sections]
    links = "".join(
        f'<li><a href="#{_anchor(part.learner, name)}">{escape(title)}</a></li>' for name, title in entries
    )
    name = escape(part.learner)
    return f'<ul data-contents-of="{name}"><li><strong>{name}</strong></li>{links}</ul>'


def _anchor(learner: str, name: str) -> str:
    """An id on the page, safe in an attribute and in a link."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda sign: f"_{ord(sign[0]):x}_", f"{learner}-{name}")
