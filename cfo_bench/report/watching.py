"""The report of a results folder with running runs, which `cfo-bench watch` serves.

Nothing happens unless the page is requested, and frequent requests are cheap. A look reads the changed
traces. The next look is due when the processor time of the last one is a small share of the time since then.
The report below the runs counts finished runs only. It is built in a separate process with low priority, and
again when a run has finished, as far as builds stay below their share of a core. Pictures, which take
longest, are drawn last, and only while no run is running. The results folders are only read: the files of
the report are in another folder.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from cfo_bench.clock import monotonic, process_seconds, utc_now
from cfo_bench.errors import CfoBenchError, UserError, describe
from cfo_bench.machine.processes import SpawnContext, call_in_subprocess
from cfo_bench.records import RunStatus
from cfo_bench.report.build import Request, build
from cfo_bench.report.contents import plural
from cfo_bench.report.rendering import assets, layout
from cfo_bench.report.rendering.html_page import PLACE_OF_RUNS, Page
from cfo_bench.report.rendering.runs_part import WatchedRun, curves_of_runs, table_of_runs
from cfo_bench.results.folder import run_files
from cfo_bench.results.status import TO_BE_DONE, RunProgress, Watch

# The least number of seconds between two looks, and the share of a core that looks may take.
_LOOK_SECONDS, _LOOK_SHARE = 2.0, 0.005
# The share of a core that builds may take while runs are running, and their niceness.
_BUILD_SHARE, _NICENESS = 0.05, 10
# Pictures are drawn after this many seconds without a running run.
_QUIET_SECONDS = 20.0
_QUICK_FORMATS = ("html", "csv")

# The statuses of runs that a report counts, or warns of.
_ENDED = (RunStatus.DONE, RunStatus.FAILED)


@dataclass(frozen=True, slots=True)
class RunsPart:
    """The HTML of the runs at the last look that found a change."""

    version: int = 0
    table: str = ""
    curves: str = ""
    updated: str = ""  # the time of the change, in UTC


@dataclass(frozen=True, slots=True)
class BuiltReport:
    """The latest report: its page, with a placeholder for the runs, and its other files."""

    version: int
    page: str
    files: Mapping[str, Path]
    counted: str = ""  # a note on the runs that it counts, as HTML
    runs: frozenset[RunProgress] = frozenset()  # the runs that had ended when it was built
    has_pictures: bool = False
    cpu_seconds: float = 0.0
    problem: str = ""  # the reason if the last build failed


@dataclass(slots=True)
class _Schedule:
    """Times on the machine's monotonic clock."""

    look_at: float = 0.0
    build_at: float = 0.0
    last_running: float = field(default_factory=monotonic)


class WatchedReport:
    """The report of results folders in which runs may be running. Used in a `with` block, which ends its
    build.

    Parameters
    ----------
    results
        One results folder, or several.
    folder
        An empty folder for the files of the report.
    """

    def __init__(self, results: Sequence[Path], folder: Path) -> None:
        for place in results:
            run_files(place)  # a UserError if it does not exist
        self._results = results
        self._folder = folder
        self._watch = Watch(*results, keep_digests=True)
        self._schedule = _Schedule()
        self._looking = threading.Lock()
        self._builder: threading.Thread | None = None
        self.runs = RunsPart()
        page = Page(_QUICK_FORMATS, lambda file: None, is_watched=True)
        self.report = BuiltReport(0, page.render([], []), {})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends a running build, whose result is no longer needed.

        Its process may be starting, and is then among the children only a moment later.
        """
        while self._builder is not None and self._builder.is_alive():
            for process in multiprocessing.active_children():
                if isinstance(process, SpawnContext.Process):
                    process.kill()
            self._builder.join(0.02)

    def look(self) -> None:
        """Update the runs if a look is due, and start a build if one is due. This does not wait for the
        build.

        Of several threads, one looks, and the others use the previous state.
        """
        if monotonic() < self._schedule.look_at or not self._looking.acquire(blocking=False):
            return
        try:
            cpu_seconds = -process_seconds()
            self._look()
            cpu_seconds += process_seconds()
            self._schedule.look_at = monotonic() + max(_LOOK_SECONDS, cpu_seconds / _LOOK_SHARE)
        finally:
            self._looking.release()

    def page(self) -> str:
        """The page with the current runs."""
        runs, report = self.runs, self.report
        part = (
            f'<section id="runs" aria-labelledby="runs-title" data-report="{report.version}" '
            f'data-runs="{runs.version}">'
            '<p class="live"><b id="runs-title">Live</b> <span id="connection" role="status"></span> '
            f'updated <span id="updated">{_time(runs.updated)}</span></p>'
            f'<div id="table-of-runs">{runs.table}</div>'
            f'<div id="curves-of-runs">{runs.curves}</div><p class="live">{report.counted}</p></section>'
        )
        return report.page.replace(PLACE_OF_RUNS, part)

    def _look(self) -> None:
        warnings: list[str] = []
        progress: list[RunProgress] = []
        try:
            status = self._watch.look()
            progress, warnings = status.runs, status.unreadable
        except (UserError, OSError) as error:  # no trace yet, or the folder was removed
            warnings = [describe(error)]
        runs = [
            WatchedRun(run, self._watch.run_at(run.path) if run.path is not None else None)
            for run in progress
        ]
        if self.report.problem:
            warnings = [*warnings, self.report.problem]
        table, curves = table_of_runs(runs, warnings), curves_of_runs(runs)
        if (table, curves) != (self.runs.table, self.runs.curves):
            self.runs = RunsPart(self.runs.version + 1, table, curves, utc_now())
        self._build_if_due(progress)

    # --- the report below the runs ----------------------------------------------------------------

    def _build_if_due(self, progress: Sequence[RunProgress]) -> None:
        now = monotonic()
        if any(run.status is RunStatus.RUNNING for run in progress):
            self._schedule.last_running = now
            is_quiet = False
        else:
            are_all_done = not any(run.status in TO_BE_DONE for run in progress)
            is_quiet = are_all_done or now - self._schedule.last_running >= _QUIET_SECONDS
        ended = frozenset(run for run in progress if run.status in _ENDED)
        is_new = ended != self.report.runs
        lacks_pictures = is_quiet and not self.report.has_pictures and not self.report.problem
        is_allowed = is_quiet or now >= self._schedule.build_at
        is_building = self._builder is not None and self._builder.is_alive()
        if ended and (is_new or lacks_pictures) and is_allowed and not is_building:
            formats = _QUICK_FORMATS if is_new else layout.DEFAULT_FORMATS
            self._builder = threading.Thread(target=self._build, args=(ended, formats), daemon=True)
            self._builder.start()

    def _build(self, ended: frozenset[RunProgress], formats: Sequence[str]) -> None:
        request = Request(list(self._results), self._folder, formats=formats, is_watched=True)
        version, began = self.report.version + 1, utc_now()
        try:
            files, cpu_seconds = call_in_subprocess(SpawnContext(), "the report", _build_yielding, request)
            page = (self._folder / layout.INDEX).read_text(encoding="utf-8")
            n_runs = plural(len(ended), "run")
            self.report = BuiltReport(
                version,
                page,
                {str(file): self._folder / file for file in files},
                f"Below is the report of the {n_runs} that had ended at {_time(began)}.",
                ended,
                "png" in formats,
                cpu_seconds,
            )
        except (CfoBenchError, OSError) as error:
            # The previous report stays until more runs have ended.
            cpu_seconds = self.report.cpu_seconds
            self.report = replace(self.report, runs=ended, problem=f"the report is not up to date: {error}")
        self._schedule.build_at = monotonic() + cpu_seconds / _BUILD_SHARE


def _time(utc: str) -> str:
    """A time in HTML, which the page shows in the reader's local time."""
    return f'<time datetime="{utc}">{utc}</time>'


def _build_yielding(request: Request) -> tuple[list[PurePosixPath], float]:
    """Runs in a separate process. Returns the files of the report without its page and assets, and the
    processor seconds.
    """
    os.nice(_NICENESS)
    built = build(request)
    files = [PurePosixPath(file.relative_to(request.out)) for file in built.files]
    kept = {layout.INDEX, *map(layout.asset_file, assets.SHIPPED)}
    return [file for file in files if file not in kept], process_seconds()
