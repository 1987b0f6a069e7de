"""The files of a report: its folder, which keeps up-to-date files, and the drawing of figures.

Figures are drawn in separate processes while the report computes its next numbers.
"""

from __future__ import annotations

import os
import signal
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from importlib.metadata import version
from multiprocessing import current_process, parent_process
from pathlib import Path, PurePosixPath
from typing import Self

import orjson

from cfo_bench.errors import UserError
from cfo_bench.files.cache import code_hash
from cfo_bench.files.writing import linked_folder, read_regular, refuse_linked_folders, write_whole
from cfo_bench.machine.processes import ForkServerContext, ctrl_c_waits
from cfo_bench.report.contents import Figure, Table
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.style import save

# The remedy if a folder of the report is a link.
NO_LINK = "remove it, or choose another -o"

_MAX_PROCESSES = 4
# Modules that are loaded before the drawing processes are forked.
_PRELOADED = [
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "matplotlib.layout_engine",
    "cfo_bench.report.output",
    "cfo_bench.report.sections.performance",
]
_PRELOADED_FOR_PDF = ["matplotlib.backends.backend_pdf"]


class Folder:
    """The report's folder. Files of an earlier report that this one does not make are removed at the end.

    `.cache/manifest.json` lists the files with the fingerprints of figures and tables. It may have been
    written by someone else, so only names of files that a report makes are used.
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

    def write_tables(self, tables: Mapping[PurePosixPath, tuple[Table, Callable[[Table], str]]]) -> None:
        """Write the tables that have changed, or whose file has; writing all of them takes seconds."""
        marks = {
            file: self._before.get(str(file), "") if self._has_table(file, table) else ""
            for file, (table, _) in tables.items()
        }
        new = [file for file, mark in marks.items() if not mark]
        self.forget(self.path / file for file in new)
        for file in new:
            table, to_text = tables[file]
            text = to_text(table)
            self.write(file, text)
            marks[file] = _table_mark(table, text.encode("utf-8"))
        self.written |= marks

    def _has_table(self, file: PurePosixPath, table: Table) -> bool:
        before = self._before.get(str(file))
        if not before:
            return False
        try:
            return before == _table_mark(table, read_regular(self.path / file))
        except OSError:
            return False

    def has(self, file: PurePosixPath, fingerprint: str) -> bool:
        place = self.path / file
        return self._before.get(str(file)) == fingerprint and place.is_file() and not place.is_symlink()

    def place(self, file: PurePosixPath) -> Path:
        place = self.path / file
        refuse_linked_folders(self.path, place, NO_LINK)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def forget(self, places: Iterable[Path]) -> None:
        """Mark files as outdated before they are made again, in case this is interrupted."""
        for place in places:
            self._before[place.relative_to(self.path).as_posix()] = ""
        self._write_manifest(self._before)

    def close(self) -> None:
        for old in self._before:
            if PurePosixPath(old) not in self.written:
                place = self.path / old
                with suppress(OSError):  # already removed, or a folder
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
            # Another version of the code may draw the same numbers differently.
            return files if content["code"] == self._code else dict.fromkeys(files, "")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _table_mark(table: Table, content: bytes) -> str:
    """A string that changes if the table or its file changes."""
    return f"{table.fingerprint} {zlib.crc32(content):08x}"


def _code() -> str:
    """The version of the code that draws figures and writes tables."""
    return f"{version('matplotlib')} {code_hash(Path(__file__).parent)}"


class Drawing:
    """Draws the figures of one report. Used in a `with` block, which ends the drawing processes.

    A figure whose numbers have not changed since the last report is not drawn again. On a machine with one
    core, and in a process that may not start others, figures are drawn in this process.
    """

    def __init__(self, formats: Collection[str]) -> None:
        self._kinds = [kind for kind in layout.FIGURE_FORMATS if kind in formats]
        self._pool: ProcessPoolExecutor | None = None
        self._jobs: list[Future[None]] = []
        self.drawn = 0  # the number of figures drawn, or being drawn
        self.kept = 0  # the number of figures that have not changed

    def start(self) -> None:
        """Start to load matplotlib, which takes a second, in another process, and return immediately.

        `add` also does this if a figure has changed; this method is for callers that know it earlier.
        """
        processes = min(_cores(), _MAX_PROCESSES)
        may_start_processes = not current_process().daemon
        if self._kinds and processes > 1 and may_start_processes and self._pool is None:
            # Not forked from this process, which reads traces on several threads.
            context = ForkServerContext()
            context.start_server([*_PRELOADED, *(_PRELOADED_FOR_PDF if "pdf" in self._kinds else [])])
            self._pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_start_to_draw)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            with ctrl_c_waits():  # at most until the figures in progress are drawn
                self._pool.shutdown(cancel_futures=True)

    def add(self, folder: Folder, learner: str, figures: Iterable[Figure]) -> None:
        """Start to draw the changed figures of a learner."""
        changed: list[tuple[Figure, list[Path]]] = []
        for figure in figures if self._kinds else ():
            if not figure.is_drawn(self._kinds):
                continue
            mark = figure.fingerprint()
            files = [layout.figure_file(learner, figure.name, kind) for kind in self._kinds]
            if all(folder.has(file, mark) for file in files):
                self.kept += 1
            else:
                changed.append((figure, [folder.place(file) for file in files]))
            folder.written |= dict.fromkeys(files, mark)
        if not changed:
            return
        self.start()
        self.drawn += len(changed)
        folder.forget(place for _, places in changed for place in places)
        for figure, places in changed:
            if self._pool is None:
                _draw(figure, places)
            else:
                # This may start a process, which the pool must register before an interrupt.
                with ctrl_c_waits():
                    self._jobs.append(self._pool.submit(_draw, figure, places))

    def finish(self, progress: Callable[[int, int], None]) -> None:
        """Wait until all figures are drawn; `progress` gets the numbers of drawn and of all figures."""
        if self.drawn:
            progress(0, self.drawn)
        for done, job in enumerate(as_completed(self._jobs), start=1):
            job.result()
            progress(done, self.drawn)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_to_draw() -> None:
    """Set up a drawing process, which ignores Ctrl-C, ends with the report's process, and has a lower
    priority.

    The report's process has the higher priority, because its computation takes longest.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)
    report = parent_process()
    assert report is not None

    def end_with_report() -> None:
        report.join()
        os._exit(1)

    threading.Thread(target=end_with_report, daemon=True).start()


def _draw(figure: Figure, places: Sequence[Path]) -> None:
    """Draw one figure and save it in each format."""
    canvas = figure.draw()
    for place in places:
        save(canvas, place)
