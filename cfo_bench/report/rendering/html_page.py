"""The report as one HTML page. It needs no server, and has all its content without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import PurePosixPath

from cfo_bench import __version__
from cfo_bench.report.contents import BuiltSection, CellValue, Figure, Place, Table, TaskTrials
from cfo_bench.report.method_styles import MethodStyle
from cfo_bench.report.numbers.overview import Overview
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.assets import template
from cfo_bench.report.rendering.charts import FEWEST_FOR_A_BAND
from cfo_bench.report.rendering.html_plots import chart, explorer, html_id, swatch_lines
from cfo_bench.report.rendering.html_table import scroll_box, sheet
from cfo_bench.report.rendering.layout import prose
from cfo_bench.report.rendering.table_files import in_words
from cfo_bench.report.rendering.trial_plots import trial_plots

# If a section has more figures, only the first is open, and the others unfold with a click. A wide picture is
# also folded if its height is more than this share of its width.
MAX_FIGURES = 6
LONG_SHARE = 0.9
# A picture with more pixels takes the whole width, because half of it is too little for its text.
BROAD_PIXELS = 900
# The smallest text of a picture has 7 points; a picture with more pixels than a page of paper has panels
# with names of 6 points at the ends of lines. At these shares of its pixels, such text is 9 pixels high; on a
# narrower screen, the picture scrolls. It is not enlarged beyond the last share, because this would blur it.
PAPER_PIXELS = 1500
LEAST_SHARE, LEAST_SHARE_OVER_PAPER, MAX_SHARE = 0.48, 0.54, 0.75
# A table with more rows is too long for the text alternative of its figure.
MAX_SPOKEN_ROWS = 40

_FOLDER_HINT = " This folder needs no network: copy it, or zip it, as a whole."
_KEEP_HINT = " To write it as a folder: <code>cfo-bench report</code>."
_PDF_HINT = (
    " Figures as PDF, and sheets with the curves of all tasks: <code>cfo-bench report --format all</code>."
)

# The place of the runs on the page of `cfo-bench watch`, which fills it at each request.
PLACE_OF_RUNS = '<div id="runs"></div>'
_WATCHED = (
    '<link rel="stylesheet" href="assets/watch.css"><script defer src="assets/watch.js"></script>\n'
    f"{PLACE_OF_RUNS}"
)

PictureSize = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LearnerPart:
    """The contents of the page for one learner."""

    learner: str
    overview: Overview
    facts: Sequence[tuple[str, str]]  # names and values that summarise the runs
    scores: Sequence[TaskScores]
    sections: Sequence[BuiltSection]
    styles: Mapping[str, MethodStyle]  # of the methods that are compared, the best first
    leaders: Collection[str]  # the methods that stand out in plots of many
    curve_tables: Sequence[str | None]  # for each of `scores`, the name of the table with its curves
    notices: Sequence[str] = ()  # methods, tasks, runs and trials that do not count

    def at(self, place: Place) -> list[BuiltSection]:
        """The sections of a part of the page; those without content are absent."""
        return [
            built for built in self.sections if built.section.place == place and not built.content.is_empty
        ]

    @property
    def trials(self) -> list[TaskTrials]:
        """The trials of all sections, in the order of their files."""
        return [task for built in self.sections for task in built.content.trials]

    @property
    def warnings_of_absent_sections(self) -> list[str]:
        """The warnings of sections that are absent because they have no content, with their titles."""
        return [
            f"{built.section.title}: {line}"
            for built in self.sections
            if built.content.is_empty
            for line in built.content.warnings
        ]

    @property
    def answer(self) -> Figure | None:
        """The figure of the answer, if one exists."""
        return next(
            (figure for built in self.sections for figure in built.content.figures if figure.is_answer), None
        )


class Page:
    """Renders index.html; `size_of` returns a picture's width and height, None if it was not drawn.

    If `is_watched`, the page has a place for the runs, which `cfo-bench watch` fills.
    """

    def __init__(
        self,
        formats: Collection[str],
        size_of: Callable[[PurePosixPath], PictureSize | None],
        is_watched: bool = False,
    ) -> None:
        self._formats = formats
        self._size_of = size_of
        self._is_watched = is_watched

    def render(self, parts: Sequence[LearnerPart], warnings: Sequence[str]) -> str:
        names = ", ".join(part.learner for part in parts) or "no results yet"
        styles = {name: style for part in parts for name, style in part.styles.items()}
        return template("page.html").substitute(
            version=escape(__version__),
            title=escape(f"cfo-bench report: {names}"),
            learner_switch=_learner_switch(parts),
            contents="\n".join(map(_contents, parts)),
            runs=_WATCHED if self._is_watched else "",
            symbols=swatch_lines(styles.values()),
            learners="\n".join(self._learner(part, warnings) for part in parts),
            folder_hint=_KEEP_HINT if self._is_watched else _FOLDER_HINT,
            pdf_hint="" if self._is_watched or "pdf" in self._formats else _PDF_HINT,
        )

    def _learner(self, part: LearnerPart, warnings: Sequence[str]) -> str:
        """The answer, then its evidence, then the other sections, folded."""
        support = part.at(Place.SUPPORT)
        # If no figure summarises all tasks, the curves of the tasks come first.
        first = [built for built in support if built.section.has_curves and part.answer is None]
        pieces = [
            self._answer(part, warnings),
            *(self._section(part, built) for built in first),
            f"<section>{self._sheet(part, part.overview.table())}</section>",
            *(self._section(part, built) for built in support if built not in first),
        ]
        if more := part.at(Place.MORE):
            pieces += ['<div class="folds"><p class="part">More details</p>']
            pieces += [self._folded(part, built) for built in more]
            pieces += ["</div>"]
        content = "\n".join(pieces)
        return f'<article class="learner" data-learner="{escape(part.learner)}">\n{content}\n</article>'

    def _answer(self, part: LearnerPart, warnings: Sequence[str]) -> str:
        """The verdict in a line, the details in sentences, the warnings, and the figure."""
        anchor = _anchor(part.learner, "overview")
        facts = "".join(f"<li>{escape(name)} <b>{escape(value)}</b></li>" for name, value in part.facts)
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n<h1 id="{anchor}-title">'
            f"Which method finds the better {escape(part.learner)} model, and when?</h1>\n"
            f'<p class="answer">{prose(part.overview.verdict)}</p>\n'
            f"<p>{prose(part.overview.details)}</p>\n"
            f'<ul class="facts">{facts}</ul>\n'
            f"{notices('Before you read on', [*warnings, *part.warnings_of_absent_sections])}\n"
            f"{self._figure(part, part.answer) if part.answer else ''}\n</section>"
        )

    def _section(self, part: LearnerPart, built: BuiltSection) -> str:
        anchor = _anchor(part.learner, built.section.name)
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
            f'<h2 id="{anchor}-title">{escape(built.section.title)}</h2>\n'
            f"{self._content(part, built)}\n</section>"
        )

    def _folded(self, part: LearnerPart, built: BuiltSection) -> str:
        """A folded section. The anchor is inside, so that a link unfolds it, even without scripts."""
        anchor = _anchor(part.learner, built.section.name)
        warnings = built.content.warnings
        marked = f'<span class="count">{len(warnings)}</span>' if warnings else ""
        return (
            f'<details class="fold"><summary><h2 id="{anchor}-title">{escape(built.section.title)}</h2>'
            f'{marked}</summary>\n<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
            f"{self._content(part, built)}\n</section></details>"
        )

    def _content(self, part: LearnerPart, built: BuiltSection) -> str:
        content = built.content
        figures = [figure for figure in content.figures if figure is not part.answer]
        filled = [table for table in content.tables if table.rows]
        drawn = {table.name for figure in figures for table in figure.tables}
        pieces = [
            f"<p>{prose(content.intro)}</p>" if content.intro else "",
            notices("", content.warnings),
            self._explorer(part, figures) if built.section.has_curves else self._gallery(part, figures),
            self._trials(part, built),
            # The first table is open, unless a figure shows its numbers.
            *(
                self._sheet(part, table, folded=at > 0 or table.name in drawn)
                for at, table in enumerate(filled)
            ),
        ]
        return "\n".join(piece for piece in pieces if piece)

    def _explorer(self, part: LearnerPart, figures: Sequence[Figure]) -> str:
        """The curves of the tasks; their figures are links, and pictures for readers without scripts."""
        tables = part.curve_tables if "csv" in self._formats else [None] * len(part.scores)
        pictures = "".join(self._picture(part, figure) for figure in figures)
        static = pictures or "<p>The curves need JavaScript. Their numbers are in the tables.</p>"
        files = [
            f"<li>{escape(figure.title)} {self._pictures(part, figure)}</li>"
            for figure in figures
            if self._pictures(part, figure)
        ]
        links = f'<ul class="files prints"><li>To print:</li>{"".join(files)}</ul>' if files else ""
        anchor = _anchor(part.learner, "explorer")
        band = all(task.n_folds >= FEWEST_FOR_A_BAND for task in part.scores)
        return explorer(part.learner, anchor, part.styles, part.scores, tables, static, band) + "\n" + links

    def _trials(self, part: LearnerPart, built: BuiltSection) -> str:
        if not built.content.trials:
            return ""
        anchor = _anchor(part.learner, f"{built.section.name}-plots")
        files = [
            (layout.trials_file(part.learner, at), task)
            for at, task in enumerate(part.trials)
            if task in built.content.trials
        ]
        return trial_plots(anchor, part.styles, part.leaders, files)

    def _gallery(self, part: LearnerPart, figures: Sequence[Figure]) -> str:
        if not figures:
            return ""
        # The sheets of a figure are all open or all folded, although the last sheet may be short.
        long = {_series(figure) for figure in figures if self._is_long(part, figure)}
        short = [figure for figure in figures if _series(figure) not in long]
        seen = short if len(short) <= MAX_FIGURES else short[:1]
        rest = [figure for figure in figures if figure not in seen]
        first, more = ("".join(self._figure(part, figure) for figure in some) for some in (seen, rest))
        html = f'<div class="gallery">{first}</div>' if seen else ""
        if rest:
            count = f"{len(rest)}{' more' * bool(seen)} figure{'s' * (len(rest) != 1)}"
            html += f'\n<details class="more"><summary>{count}</summary>'
            html += f'<div class="gallery">{more}</div></details>'
        return html

    def _is_long(self, part: LearnerPart, figure: Figure) -> bool:
        """Whether a picture is higher than a screen."""
        size = self._size(part, figure)
        return size is not None and _is_broad(size) and size[1] > LONG_SHARE * size[0]

    def _figure(self, part: LearnerPart, figure: Figure) -> str:
        """The figure with its caption and links to its files."""
        picture = self._picture(part, figure)
        size = self._size(part, figure)
        save = ""
        shape = ' class="broad"' if size is not None and _is_broad(size) else ""
        if figure.lines is not None:
            still = f"<noscript>{picture}</noscript>" if picture else ""
            picture = chart(figure.tables, figure.lines, part.leaders, figure.title) + still
            of = f'<span class="sr"> of {escape(figure.title)}</span>'
            save = f'<button type="button" class="svg">SVG{of}</button>'
        files = f"{save} {self._pictures(part, figure)}"
        if "csv" in self._formats:
            names = [f"CSV {at}" for at in range(1, len(figure.tables) + 1)]
            files += " " + " ".join(
                _link(layout.table_file(part.learner, table.name, "csv"), name, table.title)
                for name, table in zip(names if len(names) > 1 else ["CSV"], figure.tables, strict=False)
            )
        return (
            f"<figure{shape}>{picture}<figcaption><strong>{escape(figure.title)}</strong> "
            f'{prose(figure.caption)} <span class="files">{files}</span></figcaption></figure>'
        )

    def _picture(self, part: LearnerPart, figure: Figure) -> str:
        """The picture with its text alternative, in a box that scrolls; nothing if it was not drawn."""
        size = self._size(part, figure)
        if size is None:
            return ""
        link = escape(layout.href(layout.figure_file(part.learner, figure.name, "png")))
        least = size[0] * (LEAST_SHARE_OVER_PAPER if size[0] > PAPER_PIXELS else LEAST_SHARE)
        return (
            f'<div class="edges"><div {scroll_box(figure.title)}><a class="picture" href="{link}">'
            f'<img src="{link}" width="{size[0]}" height="{size[1]}" loading="lazy" '
            f'style="--least:{least:.0f}px;--most:{size[0] * MAX_SHARE:.0f}px" '
            f'alt="{escape(alternative(figure))}"></a></div></div>'
        )

    def _size(self, part: LearnerPart, figure: Figure) -> PictureSize | None:
        if "png" not in self._formats or not figure.is_drawn(self._formats):
            return None
        return self._size_of(layout.figure_file(part.learner, figure.name, "png"))

    def _pictures(self, part: LearnerPart, figure: Figure) -> str:
        """Links to the files of a picture."""
        if not figure.is_drawn(self._formats):
            return ""
        return " ".join(
            _link(layout.figure_file(part.learner, figure.name, kind), kind.upper(), figure.title)
            for kind in layout.FIGURE_FORMATS
            if kind in self._formats
        )

    def _sheet(self, part: LearnerPart, table: Table, folded: bool = False) -> str:
        names = {"csv": "CSV", "markdown": "Markdown", "latex": "LaTeX"}
        files = " ".join(
            _link(layout.table_file(part.learner, table.name, kind), names[kind], table.title)
            for kind in layout.TABLE_FORMATS
            if kind in self._formats
        )
        return sheet(table, _anchor(part.learner, f"table-{table.name}"), files, part.styles, folded)


def _is_broad(size: PictureSize) -> bool:
    return size[0] > BROAD_PIXELS


def _series(figure: Figure) -> str:
    """The title without the number of the sheet."""
    return re.sub(r" \(\d+/\d+\)$", "", figure.title)


def alternative(figure: Figure) -> str:
    """The text alternative of a figure: its own, or the numbers of a short table."""
    text, title = figure.alt or f"{figure.caption} {_numbers_in_words(figure)}", _series(figure)
    if text.startswith(title):  # do not repeat the title
        return figure.title + text.removeprefix(title)
    return f"{figure.title}. {text}"


def _numbers_in_words(figure: Figure) -> str:
    table = next((table for table in figure.tables if len(table.rows) <= MAX_SPOKEN_ROWS), None)
    if table is None:
        names = " and ".join(table.title for table in figure.tables)
        return f"The numbers are in the table: {names}."
    return f"{'; '.join(_row_in_words(table, row) for row in table.rows)}."


def _row_in_words(table: Table, row: Sequence[CellValue]) -> str:
    """The texts of a row, and its numbers except for counts."""
    words = " ".join(value for value in row if isinstance(value, str))
    numbers = ", ".join(
        f"{table.heading(name)} {in_words(value)}"
        for name, value in zip(table.columns, row, strict=True)
        if isinstance(value, float)
    )
    return f"{words} {numbers}".strip()


def _link(file: PurePosixPath, text: str, of: str) -> str:
    target, of = escape(layout.href(file)), escape(of)
    return f'<a href="{target}" title="{of}">{text}<span class="sr"> of {of}</span></a>'


def notices(title: str, warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    head = f"<p>{escape(title)}</p>" if title else ""
    lines = "".join(f"<li>{prose(line)}</li>" for line in warnings)
    return f'<div class="notices" role="note">{head}<ul>{lines}</ul></div>'


def _learner_switch(parts: Sequence[LearnerPart]) -> str:
    if len(parts) < 2:
        return ""
    options = "".join(f'<option value="{escape(p.learner)}">{escape(p.learner)}</option>' for p in parts)
    return f'<label><span class="sr">Learner</span><select id="learner">{options}</select></label>'


def _contents(part: LearnerPart) -> str:
    groups = (
        ("", [("overview", "The answer")]),
        ("Evidence", [(built.section.name, built.section.title) for built in part.at(Place.SUPPORT)]),
        ("More details", [(built.section.name, built.section.title) for built in part.at(Place.MORE)]),
    )
    links = "".join(
        (f"<li><span>{title}</span></li>" if title else "")
        + "".join(
            f'<li><a href="#{_anchor(part.learner, name)}">{escape(text)}</a></li>' for name, text in entries
        )
        for title, entries in groups
        if entries
    )
    name = escape(part.learner)
    return f'<ul data-contents-of="{name}"><li><strong>{name}</strong></li>{links}</ul>'


def _anchor(learner: str, name: str) -> str:
    return html_id(f"{learner}-{name}")
