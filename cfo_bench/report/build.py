"""Makes a report from a results folder: tables, figures, and the page that shows them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.files.writing import refuse_linked_folders
from cfo_bench.registry import label
from cfo_bench.report.contents import Section, Table
from cfo_bench.report.method_styles import in_order, style_of
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.overview import Overview
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.output import NO_LINK, Drawing, Folder
from cfo_bench.report.reading.consistency import comparable, unequal_conditions
from cfo_bench.report.reading.imported import as_if_ended, completed, origin
from cfo_bench.report.reading.load import Selection, load, no_garbage_collection
from cfo_bench.report.reading.references import Reference
from cfo_bench.report.rendering import assets, layout
from cfo_bench.report.rendering.html_page import LearnerPart, Page
from cfo_bench.report.rendering.html_plots import curves_script
from cfo_bench.report.rendering.table_files import to_csv, to_latex, to_markdown
from cfo_bench.report.sections import each_section, learner_pairs
from cfo_bench.report.sections.performance import curves_name
from cfo_bench.results.run import Run

_WRITE_TABLE: dict[str, Callable[[Table], str]] = {
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}

DEFAULT_BASELINE = "cfo"

# Of so many files that can't be read, it is said why.
_MOST_UNREADABLE = 3

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What a report is made of, and where it goes."""

    results: Path | Sequence[Path]  # one folder of traces, or several
    out: Path
    selection: Selection = field(default_factory=Selection)
    baseline: str = DEFAULT_BASELINE
    full_rows_only: bool = False
    budget_seconds: float | None = None  # read longer runs as if they had ended then
    references: Sequence[Reference] = ()  # published scores of others
    importance: bool = False  # whether the importance of hyperparameters is computed, which reads all trials
    formats: Collection[str] = layout.DEFAULT_FORMATS


@dataclass(frozen=True, slots=True)
class Built:
    """What was made: overviews, warnings, files; the number of figures drawn, and of those kept."""

    out: Path
    overviews: list[Overview]
    warnings: list[str]
    files: list[Path]
    drawn: int
    kept: int


def build(request: Request, progress: OnProgress = lambda stage, done, total: None) -> Built:
    """Writes the report. Figures are drawn while the numbers of the next ones are computed."""
    with no_garbage_collection():  # until all that was read is gone, and there is little to look through
        return _build(request, progress)


def _build(request: Request, progress: OnProgress) -> Built:
    refuse_linked_folders(request.out, request.out / layout.CACHE / "manifest.json", NO_LINK)
    with Drawing(request.formats) as drawing:
        runs, warnings = _read(request, progress)
        folder = Folder(request.out)
        parts = _parts(request, runs, drawing, folder, progress)
        warnings += [f"{part.learner}: {line}" for part in parts for line in part.notices]
        for part in parts:
            _write_tables(folder, part, request.formats)
            if "html" in request.formats:
                _write_curves(folder, part)
        drawing.finish(lambda done, total: progress("drawing figures", done, total))
    if "html" in request.formats:
        _write_page(folder, parts, [_as_utf8(line) for line in warnings], request.formats)
    folder.close()
    return Built(
        request.out,
        [part.overview for part in parts],
        warnings
        + [f"{part.learner}: {line}" for part in parts for one in part.sections for line in one.warnings],
        [request.out / file for file in folder.written],
        drawing.drawn,
        drawing.kept,
    )


def _read(request: Request, progress: OnProgress) -> tuple[list[Run], list[str]]:
    """The runs that can be compared; and warnings about the others, and about conditions that differ."""
    loaded = load(
        request.results, request.selection, lambda done, total: progress("reading traces", done, total)
    )
    read, unreadable, of_budget = loaded.runs, loaded.unreadable, []
    if request.budget_seconds is not None:
        shorter = as_if_ended(read, request.budget_seconds)
        read, of_budget = shorter.runs, shorter.notices
        unreadable = [*unreadable, *shorter.unreadable]
    read, about_imported = completed(read)
    found = comparable(read, request.budget_seconds)
    if not found.runs:
        why = [*found.warnings, *unreadable, *of_budget, "their traces have changed meanwhile"]
        raise UserError(f"no finished runs to report: {why[0]}")
    return found.runs, [
        *of_budget,
        *_unreadable(unreadable),
        *about_imported,
        *found.warnings,
        *unequal_conditions(found.runs),
        *_without_baseline(found.runs, request.baseline),
    ]


def _parts(
    request: Request, runs: Sequence[Run], drawing: Drawing, folder: Folder, progress: OnProgress
) -> list[LearnerPart]:
    """What is reported on each learner. Its figures start to be drawn as soon as they have their numbers."""
    by_learner: dict[str, list[Run]] = {}
    for one in runs:
        by_learner.setdefault(one.learner, []).append(one)
    everyone = [
        LearnerResults(
            learner, own, request.baseline, request.full_rows_only, request.references, request.importance
        )
        for learner, own in by_learner.items()
    ]
    across = learner_pairs.section(everyone)
    parts = []
    for done, results in enumerate(everyone):
        progress("computing", done, len(everyone))
        found = []
        for section in chain(each_section(results), () if across is None else (across,)):
            drawing.add(folder, results.learner, section.figures)
            found.append(section)
        parts.append(_part(results, found))
    progress("computing", len(everyone), len(everyone))
    return parts


def _part(results: LearnerResults, found: Sequence[Section]) -> LearnerPart:
    return LearnerPart(
        learner=results.learner,
        overview=results.overview,
        facts=_facts(results.runs, results.scores),
        scores=results.scores,
        sections=found,
        styles={standing.method: style_of(standing.method) for standing in results.overview.standings},
        leaders=results.leaders,
        curve_tables=[_curve_table(found, task.task) for task in results.scores],
        notices=results.notices,
    )


def _unreadable(lines: Sequence[str]) -> list[str]:
    """One line, however many files can't be read."""
    if len(lines) < 2:
        return list(lines)
    more = f"; and {len(lines) - _MOST_UNREADABLE} more" if len(lines) > _MOST_UNREADABLE else ""
    first = "; ".join(lines[:_MOST_UNREADABLE])
    return [f"{len(lines)} files can't be read, and are left out (cfo-bench status names all): {first}{more}"]


def _without_baseline(runs: Sequence[Run], baseline: str) -> list[str]:
    methods = {one.method for one in runs}
    if baseline in methods:
        return []
    if baseline != DEFAULT_BASELINE:
        raise UnknownNameError("baseline", baseline, methods)
    return [f"{baseline} has no finished run, so no method is compared with it: choose another --baseline"]


def _facts(runs: Sequence[Run], scores: Sequence[TaskScores]) -> list[tuple[str, str]]:
    compared = [one for one in runs if not one.is_reference] or runs
    budgets = sorted({one.budget_seconds for one in compared})
    budget = " to ".join(dict.fromkeys(f"{seconds:g} s" for seconds in (budgets[0], budgets[-1])))
    kind = " (virtual)" if scores[0].clock == "virtual" else ""  # all tasks of a learner have one clock
    return [
        ("tasks", f"{len(scores)}"),
        ("methods", f"{len({method for task in scores for method in task.methods})}"),
        ("runs", f"{len(runs):,}"),
        ("trials", f"{sum(one.n_trials for one in runs):,}"),
        ("budget of a run", f"{budget}{kind}"),
        ("time in all", f"{_time(sum(one.measured_seconds for one in runs))}{kind}"),
        *_changed_methods(runs),
    ]


def _changed_methods(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Each method that is not as it comes: its source, or what it is a variant of and how it differs."""
    found: dict[str, str] = {}
    for one in runs:
        spec, changed = one.spec, one.header.changed_options or {}
        if one.header.imported is not None:
            found.setdefault(one.method, origin(one.header.imported))
        if one.method not in found and (changed or spec.variant):
            options = ", ".join(f"{key}={value}" for key, value in changed.items()) or "its defaults"
            of = f"{label(spec.method)} " if spec.variant else ""
            found[one.method] = f"{of}with {options}"
    return [(method, found[method]) for method in in_order(found)]


def _time(seconds: float) -> str:
    """In seconds, minutes or hours, whichever suits."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    value, unit = (seconds / 60, "min") if seconds < 6000 else (seconds / 3600, "h")
    return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def _write_tables(folder: Folder, part: LearnerPart, formats: Collection[str]) -> None:
    tables = [part.overview.table()]
    for section in part.sections:
        tables += section.tables
    shown = {table.name for table in tables}
    # The numbers behind a figure are written as CSV only: they are too long to print.
    behind = {table.name: table for one in part.sections for figure in one.figures for table in figure.tables}
    files = {
        layout.table_file(part.learner, table.name, kind): (table, _WRITE_TABLE[kind])
        for kind in layout.TABLE_FORMATS
        if kind in formats
        for table in tables
    }
    if "csv" in formats:
        for name, table in behind.items():
            if name not in shown:
                files[layout.table_file(part.learner, name, "csv")] = table, to_csv
    folder.write_tables(files)


def _write_curves(folder: Folder, part: LearnerPart) -> None:
    """The scripts from which the page draws the curves of the tasks."""
    for index, task in enumerate(part.scores):
        script = curves_script(part.learner, index, part.styles, part.leaders, task)
        folder.write(layout.curves_file(part.learner, index), script)


def _write_page(
    folder: Folder, parts: Sequence[LearnerPart], warnings: Sequence[str], formats: Collection[str]
) -> None:
    for name in assets.SHIPPED:
        folder.write(layout.asset_file(name), assets.text(name))
    page = Page(formats, lambda file: _png_size(folder.path / file))
    folder.write(layout.INDEX, page.render(parts, warnings))


def _as_utf8(text: str) -> str:
    """A warning may name a file whose name is no UTF-8: its bytes become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _png_size(path: Path) -> tuple[int, int] | None:
    try:
        with path.open("rb") as file:
            width, height = struct.unpack(">II", file.read(24)[16:])
    except (OSError, struct.error):
        return None
    return width, height


def _curve_table(found: Sequence[Section], task: str) -> str | None:
    """The name of the table with a task's curves, if there is one."""
    name = curves_name(task)
    there = (table.name for section in found for figure in section.figures for table in figure.tables)
    return name if name in there else None
