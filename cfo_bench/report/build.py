"""Makes a report from a results folder: tables, figures, and the page that shows them."""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import orjson

from cfo_bench.code_hash import code_hash
from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.processes import ForkServerContext
from cfo_bench.report.contents import Figure, Section, Table
from cfo_bench.report.looks import look
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.overview import Overview, overview
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.reading.conditions import unequal_conditions
from cfo_bench.report.reading.consistency import comparable
from cfo_bench.report.reading.digest import Digest
from cfo_bench.report.reading.load import Selection, load
from cfo_bench.report.rendering import assets, layout
from cfo_bench.report.rendering.explorer import curves_script
from cfo_bench.report.rendering.page import LearnerPart, Page
from cfo_bench.report.rendering.style import save
from cfo_bench.report.rendering.table_files import to_csv, to_latex, to_markdown
from cfo_bench.report.sections import sections
from cfo_bench.report.sections.performance import curves_name
from cfo_bench.safe_writing import linked_folder, read_regular, refuse_linked_folders, write_whole

_WRITE_TABLE: dict[str, Callable[[Table], str]] = {
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}

DEFAULT_BASELINE = "cfo"

# Fewer figures than this are drawn faster by one process than by several that load matplotlib first.
_FIGURES_WORTH_A_POOL = 8

_DRAWING = [
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "cfo_bench.report.sections.performance",
]

# What to do about a folder of the report that is a link.
_NO_LINK = "remove it, or choose another -o"

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What a report is made of, and where it goes."""

    results: Path
    out: Path
    selection: Selection = field(default_factory=Selection)
    baseline: str = DEFAULT_BASELINE
    full_rows_only: bool = False
    formats: Collection[str] = layout.FORMATS


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
    """Writes the report. A figure whose numbers have not changed since the last report is not drawn again."""
    digests_file = request.out / layout.CACHE / "digests"
    refuse_linked_folders(request.out, digests_file, _NO_LINK)
    loaded = load(
        request.results,
        digests_file,
        request.selection,
        lambda done, total: progress("reading traces", done, total),
    )
    found = comparable(loaded.digests)
    warnings = [*loaded.unreadable, *found.warnings]
    if not found.digests:
        raise UserError(f"no finished runs to report: {warnings[0]}")
    warnings += unequal_conditions(found.digests)
    warnings += _without_baseline(found.digests, request.baseline)
    by_learner: dict[str, list[Digest]] = {}
    for one in found.digests:
        by_learner.setdefault(one.learner, []).append(one)
    folder = _Folder(request.out)
    parts = []
    for done, (learner, digests) in enumerate(by_learner.items()):
        progress("computing", done, len(by_learner))
        parts.append(_part(learner, digests, request))
    progress("computing", len(by_learner), len(by_learner))
    for part in parts:
        _write_tables(folder, part, request.formats)
    drawn, kept = _draw(folder, parts, request.formats, progress)
    if "html" in request.formats:
        _write_page(folder, parts, [_as_utf8(line) for line in warnings], request.formats)
    folder.close()
    return Built(
        request.out,
        [part.overview for part in parts],
        warnings
        + [f"{part.learner}: {line}" for part in parts for one in part.sections for line in one.warnings],
        [request.out / file for file in folder.written],
        drawn,
        kept,
    )


def _part(learner: str, digests: Sequence[Digest], request: Request) -> LearnerPart:
    results = LearnerResults(learner, digests, request.baseline, request.full_rows_only)
    found = sections(results)
    standings = overview(learner, results.scores, request.baseline)
    return LearnerPart(
        learner=learner,
        overview=standings,
        facts=_facts(digests, results.scores),
        scores=results.scores,
        sections=found,
        looks={one.method: look(one.method) for one in standings.standings},
        curve_tables=[_curve_table(found, task.task) for task in results.scores],
    )


def _without_baseline(digests: Sequence[Digest], baseline: str) -> list[str]:
    methods = {one.method for one in digests}
    if baseline in methods:
        return []
    if baseline != DEFAULT_BASELINE:
        raise UnknownNameError("baseline", baseline, methods)
    return [f"{baseline} has no finished run, so no method is compared with it: choose another --baseline"]


def _facts(digests: Sequence[Digest], scores: Sequence[TaskScores]) -> list[tuple[str, str]]:
    budgets = sorted({one.budget_seconds for one in digests})
    seconds = " to ".join(f"{budget:g}" for budget in dict.fromkeys((budgets[0], budgets[-1])))
    return [
        ("tasks", f"{len(scores)}"),
        ("methods", f"{len({method for task in scores for method in task.methods})}"),
        ("runs", f"{len(digests):,}"),
        ("trials", f"{sum(one.trials for one in digests):,}"),
        ("budget of a run", f"{seconds} s"),
        ("hours in all", f"{sum(one.elapsed for one in digests) / 3600:,.1f}"),
    ]


# --- files ------------------------------------------------------------------------------------


class _Folder:
    """The report's folder. Files of an earlier report that this one does not make are removed at the end.

    `.cache/manifest.json` lists the files with the fingerprints of the figures. It may come from somebody
    else, so it is believed only where it names files that a report makes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: dict[PurePosixPath, str] = {}
        self._manifest = path / layout.CACHE / "manifest.json"
        self._code = _code()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"can't write {path}: {error.strerror}; choose another -o") from None
        self._before = self._read_manifest()

    def write(self, file: PurePosixPath, text: str) -> None:
        write_whole(self.place(file), text.encode("utf-8"))
        self.written[file] = ""

    def has(self, file: PurePosixPath, fingerprint: str) -> bool:
        place = self.path / file
        return self._before.get(str(file)) == fingerprint and place.is_file() and not place.is_symlink()

    def place(self, file: PurePosixPath) -> Path:
        place = self.path / file
        refuse_linked_folders(self.path, place, _NO_LINK)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def forget(self, places: Iterable[Path]) -> None:
        """Marks files as unknown before they are drawn again, in case the drawing is interrupted."""
        for place in places:
            self._before[place.relative_to(self.path).as_posix()] = ""
        self._write_manifest(self._before)

    def close(self) -> None:
        for old in self._before:
            if PurePosixPath(old) not in self.written:
                place = self.path / old
                with suppress(OSError):  # gone already, or a folder has its name
                    if linked_folder(self.path, place) is None:
                        place.unlink()
        self._write_manifest({str(file): mark for file, mark in self.written.items()})

    def _write_manifest(self, files: Mapping[str, str]) -> None:
        content = orjson.dumps({"code": self._code, "files": files})
        write_whole(self.place(layout.CACHE / "manifest.json"), content)

    def _read_manifest(self) -> dict[str, str]:
        try:
            content = orjson.loads(read_regular(self._manifest))
            files = {name: str(mark) for name, mark in content["files"].items() if layout.is_of_report(name)}
            # Other code may draw the same numbers differently.
            return files if content["code"] == self._code else dict.fromkeys(files, "")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _code() -> str:
    """The version of the code that draws figures."""
    import matplotlib

    return f"{matplotlib.__version__} {code_hash(Path(__file__).parent)}"


def _write_tables(folder: _Folder, part: LearnerPart, formats: Collection[str]) -> None:
    tables = [part.overview.table()]
    for section in part.sections:
        tables += section.tables
    shown = {table.name for table in tables}
    # The numbers behind a figure are written as CSV only: they are too long to print.
    behind = {table.name: table for one in part.sections for figure in one.figures for table in figure.tables}
    for kind in layout.TABLE_FORMATS:
        if kind not in formats:
            continue
        for table in tables:
            folder.write(layout.table_file(part.learner, table.name, kind), _WRITE_TABLE[kind](table))
    if "csv" in formats:
        for name, table in behind.items():
            if name not in shown:
                folder.write(layout.table_file(part.learner, name, "csv"), to_csv(table))


def _write_page(
    folder: _Folder, parts: Sequence[LearnerPart], warnings: Sequence[str], formats: Collection[str]
) -> None:
    for name in assets.SHIPPED:
        folder.write(layout.asset_file(name), assets.text(name))
    for part in parts:
        for index, task in enumerate(part.scores):
            script = curves_script(part.learner, index, part.looks, task)
            folder.write(layout.curves_file(part.learner, index), script)
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


# --- figures ----------------------------------------------------------------------------------


def _draw(
    folder: _Folder, parts: Sequence[LearnerPart], formats: Collection[str], progress: OnProgress
) -> tuple[int, int]:
    """Draws what has changed; the number of figures drawn, and of those kept."""
    kinds = [kind for kind in layout.FIGURE_FORMATS if kind in formats]
    if not kinds:
        return 0, 0
    todo: list[tuple[Figure, list[Path]]] = []
    kept = 0
    for part in parts:
        for figure in [figure for section in part.sections for figure in section.figures]:
            mark = figure.fingerprint()
            files = [layout.figure_file(part.learner, figure.name, kind) for kind in kinds]
            if all(folder.has(file, mark) for file in files):
                kept += 1
            else:
                todo.append((figure, [folder.place(file) for file in files]))
            folder.written |= dict.fromkeys(files, mark)
    folder.forget(place for _, places in todo for place in places)
    total = len(todo)
    progress("drawing figures", 0, total)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if total < _FIGURES_WORTH_A_POOL or cores < 2:
        for done, (figure, places) in enumerate(todo, start=1):
            _draw_one(figure, places)
            progress("drawing figures", done, total)
        return total, kept
    # Not forked from this process, which has read traces on several threads; loaded once for all that draw.
    context = ForkServerContext()
    context.set_forkserver_preload(_DRAWING)
    with ProcessPoolExecutor(
        min(cores, 4), mp_context=context, initializer=_leave_ctrl_c_to_the_parent
    ) as pool:
        try:
            jobs = [pool.submit(_draw_one, figure, places) for figure, places in todo]
            for done, job in enumerate(as_completed(jobs), start=1):
                job.result()
                progress("drawing figures", done, total)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return total, kept


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _draw_one(figure: Figure, places: Sequence[Path]) -> None:
    """Draws one figure and saves it in each format."""
    canvas = figure.draw()
    for place in places:
        save(canvas, place)


def _curve_table(found: Sequence[Section], task: str) -> str | None:
    """The name of the table with a task's curves, if there is one."""
    name = curves_name(task)
    there = (table.name for section in found for figure in section.figures for table in figure.tables)
    return name if name in there else None
