"""Builds a report from a results folder: tables, figures, and the page that shows them."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.files.writing import refuse_linked_folders
from cfo_bench.registry import label
from cfo_bench.report.contents import BuiltSection, Table
from cfo_bench.report.method_styles import in_order, style_of
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.overview import Overview
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.output import NO_LINK, Drawing, Folder
from cfo_bench.report.reading.consistency import comparable, unequal_conditions
from cfo_bench.report.reading.imported import as_if_ended, at_shared_budgets, completed, origin
from cfo_bench.report.reading.load import Selection, load, no_garbage_collection
from cfo_bench.report.reading.published_scores import Reference
from cfo_bench.report.rendering import assets, layout
from cfo_bench.report.rendering.html_page import LearnerPart, Page
from cfo_bench.report.rendering.html_plots import curves_script
from cfo_bench.report.rendering.table_files import to_csv, to_latex, to_markdown
from cfo_bench.report.rendering.trial_plots import trials_script
from cfo_bench.report.sections import built_section, each_section
from cfo_bench.report.sections.learner_pairs import LearnersSection
from cfo_bench.report.sections.performance import curves_name
from cfo_bench.results.run import NOT_COMPARED, Run

_WRITE_TABLE: dict[str, Callable[[Table], str]] = {
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}

DEFAULT_BASELINE = "cfo"
# The baseline if the default has no runs, as in a folder of `cfo-bench compare`; without it, the first method
# of the tables.
_OTHER_BASELINE = "cfo-tuned"

# At most this number of files that can't be read are reported with the reason.
_MOST_UNREADABLE = 3

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Request:
    """The content of a report, and its folder."""

    results: Path | Sequence[Path]  # one folder of traces, or several
    out: Path
    selection: Selection = field(default_factory=Selection)
    baseline: str = DEFAULT_BASELINE
    full_rows_only: bool = False
    budget_seconds: float | None = None  # read longer runs as if they had ended at this time
    references: Sequence[Reference] = ()  # published scores of others
    importance: bool = False  # whether the importance of hyperparameters is computed, which reads all trials
    formats: Collection[str] = layout.DEFAULT_FORMATS
    is_watched: bool = False  # whether the page is that of `cfo-bench watch`


@dataclass(frozen=True, slots=True)
class Built:
    """A report that was written: overviews, warnings, files, and the numbers of figures drawn and kept."""

    out: Path
    overviews: list[Overview]
    warnings: list[str]
    files: list[Path]
    drawn: int
    kept: int


def build(request: Request, progress: OnProgress = lambda stage, done, total: None) -> Built:
    """Writes the report. Figures are drawn while the numbers of the next figures are computed."""
    with no_garbage_collection():
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
                _write_trials(folder, part)
        drawing.finish(lambda done, total: progress("drawing figures", done, total))
    if "html" in request.formats:
        _write_page(folder, parts, [_as_utf8(line) for line in warnings], request)
    folder.close()
    return Built(
        request.out,
        [part.overview for part in parts],
        warnings
        + [
            f"{part.learner}: {line}"
            for part in parts
            for built in part.sections
            for line in built.content.warnings
        ],
        [request.out / file for file in folder.written],
        drawing.drawn,
        drawing.kept,
    )


def _read(request: Request, progress: OnProgress) -> tuple[list[Run], list[str]]:
    """The comparable runs, with warnings about the other runs and about different conditions."""
    loaded = load(
        request.results, request.selection, lambda done, total: progress("reading traces", done, total)
    )
    if request.budget_seconds is None:
        runs, about_imported = completed(loaded.runs)
        shortened = at_shared_budgets(runs)
        runs = shortened.runs
    else:
        shortened = as_if_ended(loaded.runs, request.budget_seconds)
        runs, about_imported = completed(shortened.runs)
    about_budget = shortened.notices
    unreadable = [*loaded.unreadable, *shortened.unreadable]
    kept = comparable(runs, request.budget_seconds)
    if not kept.runs:
        reasons = [*kept.warnings, *unreadable, *about_budget, "their traces changed while they were read"]
        raise UserError(f"no finished runs to report: {reasons[0]}")
    return kept.runs, [
        *about_budget,
        *_about_unreadable(unreadable),
        *about_imported,
        *kept.warnings,
        *unequal_conditions(kept.runs),
        *_about_baseline(kept.runs, request.baseline),
    ]


def _parts(
    request: Request, runs: Sequence[Run], drawing: Drawing, folder: Folder, progress: OnProgress
) -> list[LearnerPart]:
    """The part of each learner. A figure is drawn as soon as its numbers are computed."""
    everyone = [
        LearnerResults(
            learner,
            of_learner,
            _baseline(of_learner, request.baseline),
            request.full_rows_only,
            request.references,
            request.importance,
        )
        for learner, of_learner in _by_learner(runs).items()
    ]
    across = LearnersSection(everyone)
    parts = []
    for done, results in enumerate(everyone):
        progress("computing", done, len(everyone))
        sections = []
        for built in filter(None, chain(each_section(results), (built_section(across, results),))):
            drawing.add(folder, results.learner, built.content.figures)
            sections.append(built)
        parts.append(_part(results, sections))
    progress("computing", len(everyone), len(everyone))
    return parts


def _by_learner(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs by their learner's name in tables; by its full name if two learners share that name."""
    learners = dict.fromkeys(run.learner for run in runs)
    counts = Counter(map(label, learners))
    by_learner: dict[str, list[Run]] = {}
    for run in runs:
        name = label(run.learner)
        by_learner.setdefault(name if counts[name] == 1 else run.learner, []).append(run)
    return by_learner


def _part(results: LearnerResults, sections: Sequence[BuiltSection]) -> LearnerPart:
    return LearnerPart(
        learner=results.learner,
        overview=results.overview,
        facts=_facts(results.runs, results.scores),
        scores=results.scores,
        sections=sections,
        styles={standing.method: style_of(standing.method) for standing in results.overview.standings},
        leaders=results.leaders,
        curve_tables=[_curve_table(sections, task.task) for task in results.scores],
        notices=results.notices,
    )


def _about_unreadable(lines: Sequence[str]) -> list[str]:
    """One line, however many files can't be read."""
    if len(lines) < 2:
        return list(lines)
    more = f"; and {len(lines) - _MOST_UNREADABLE} more" if len(lines) > _MOST_UNREADABLE else ""
    first = "; ".join(lines[:_MOST_UNREADABLE])
    return [f"{len(lines)} files can't be read, and are left out (cfo-bench status names all): {first}{more}"]


def _baseline(runs: Sequence[Run], requested: str) -> str:
    """The requested baseline; if it is the default and has no runs, one of the learner's methods."""
    methods = in_order({run.method for run in runs} - {*NOT_COMPARED})
    if requested != DEFAULT_BASELINE or requested in methods or not methods:
        return requested
    return _OTHER_BASELINE if _OTHER_BASELINE in methods else methods[0]


def _about_baseline(runs: Sequence[Run], requested: str) -> list[str]:
    if requested != DEFAULT_BASELINE and requested not in (methods := {run.method for run in runs}):
        raise UnknownNameError("baseline", requested, methods)
    baselines = {
        learner: _baseline(of_learner, requested) for learner, of_learner in _by_learner(runs).items()
    }
    return [
        f"{learner}: {requested} has no finished run, so {baseline} is the baseline: "
        "--baseline selects another"
        for learner, baseline in baselines.items()
        if baseline != requested
    ]


def _facts(runs: Sequence[Run], scores: Sequence[TaskScores]) -> list[tuple[str, str]]:
    compared = [run for run in runs if not run.is_reference] or runs
    budgets = sorted({run.budget_seconds for run in compared})
    budget = " to ".join(dict.fromkeys(f"{seconds:g} s" for seconds in (budgets[0], budgets[-1])))
    kind = " (virtual)" if scores[0].clock == "virtual" else ""  # all tasks of a learner have one clock
    return [
        ("tasks", f"{len(scores)}"),
        ("methods", f"{len({method for task in scores for method in task.methods})}"),
        ("runs", f"{len(runs):,}"),
        ("trials", f"{sum(run.n_trials for run in runs):,}"),
        ("budget of a run", f"{budget}{kind}"),
        ("time in all", f"{_time(sum(run.measured_seconds for run in runs))}{kind}"),
        *_changed_methods(runs),
    ]


def _changed_methods(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Descriptions of methods that are imported, are variants, or have options that differ from the defaults.

    Options of references are not described, because references are not results.
    """
    descriptions: dict[str, str] = {}
    for run in runs:
        if run.is_reference:
            continue
        changed = run.header.changed_options or {}
        if run.header.imported is not None:
            descriptions.setdefault(run.method, origin(run.header.imported))
        if run.method not in descriptions and (changed or run.spec.variant):
            options = ", ".join(f"{key}={value}" for key, value in changed.items()) or "its defaults"
            variant_of = f"{label(run.spec.method)} " if run.spec.variant else ""
            descriptions[run.method] = f"{variant_of}with {options}"
    return [(method, descriptions[method]) for method in in_order(descriptions)]


def _time(seconds: float) -> str:
    """A time in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    value, unit = (seconds / 60, "min") if seconds < 6000 else (seconds / 3600, "h")
    return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def _write_tables(folder: Folder, part: LearnerPart, formats: Collection[str]) -> None:
    tables = [part.overview.table(), *(table for built in part.sections for table in built.content.tables)]
    printed = {table.name for table in tables}
    # The numbers behind a figure are written as CSV only: they are too long to print.
    figures = [figure for built in part.sections for figure in built.content.figures]
    behind = {table.name: table for figure in figures for table in figure.tables}
    files = {
        layout.table_file(part.learner, table.name, kind): (table, _WRITE_TABLE[kind])
        for kind in layout.TABLE_FORMATS
        if kind in formats
        for table in tables
    }
    if "csv" in formats:
        for name, table in behind.items():
            if name not in printed:
                files[layout.table_file(part.learner, name, "csv")] = table, to_csv
    folder.write_tables(files)


def _write_curves(folder: Folder, part: LearnerPart) -> None:
    """The scripts from which the page draws the curves of the tasks."""
    for index, task in enumerate(part.scores):
        script = curves_script(part.learner, index, part.styles, part.leaders, task)
        folder.write(layout.curves_file(part.learner, index), script)


def _write_trials(folder: Folder, part: LearnerPart) -> None:
    """The scripts from which the page draws the trials of the tasks."""
    for index, task in enumerate(part.trials):
        script = trials_script(part.learner, index, part.styles, part.leaders, task)
        folder.write(layout.trials_file(part.learner, index), script)


def _write_page(
    folder: Folder, parts: Sequence[LearnerPart], warnings: Sequence[str], request: Request
) -> None:
    for name in assets.SHIPPED:
        folder.write(layout.asset_file(name), assets.text(name))
    page = Page(request.formats, lambda file: _png_size(folder.path / file), request.is_watched)
    folder.write(layout.INDEX, page.render(parts, warnings))


def _as_utf8(text: str) -> str:
    """A warning with escapes for bytes that are not UTF-8, which the name of a file may contain."""
    return text.encode("utf-8", "backslashreplace").decode()


def _png_size(path: Path) -> tuple[int, int] | None:
    try:
        with path.open("rb") as file:
            width, height = struct.unpack(">II", file.read(24)[16:])
    except (OSError, struct.error):
        return None
    return width, height


def _curve_table(sections: Sequence[BuiltSection], task: str) -> str | None:
    """The name of the table with a task's curves, if one exists."""
    name = curves_name(task)
    figures = [figure for built in sections for figure in built.content.figures]
    return name if any(table.name == name for figure in figures for table in figure.tables) else None
