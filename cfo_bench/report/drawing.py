"""Draws the figures of a report in processes of their own, while the report goes on with its numbers."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import parent_process
from pathlib import Path
from typing import Self

from cfo_bench.processes import ForkServerContext, ctrl_c_waits
from cfo_bench.report.contents import Figure
from cfo_bench.report.folder import Folder
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.lean_font import lean_font, use_lean_font, write_lean_font
from cfo_bench.report.rendering.style import save

_MOST_PROCESSES = 4

# What the processes that draw have loaded when they start.
_LOADED = [
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "matplotlib.layout_engine",
    "cfo_bench.report.drawing",
    "cfo_bench.report.sections.performance",
]
_LOADED_FOR_PDF = ["matplotlib.backends.backend_pdf"]


class Drawing:
    """The figures of one report. Used in a `with` block, at whose end no process draws any more.

    A figure whose numbers have not changed since the last report is not drawn again. On a machine with one
    core figures are drawn at once, in this process.
    """

    def __init__(self, out: Path, formats: Collection[str]) -> None:
        self._kinds = [kind for kind in layout.FIGURE_FORMATS if kind in formats]
        self._pool: ProcessPoolExecutor | None = None
        self._jobs: list[Future[None]] = []
        self._font = out / layout.CACHE / "font.ttf"
        self.drawn = 0  # the number of figures drawn, or being drawn
        self.kept = 0  # the number of figures that have not changed

    def start(self) -> None:
        """Starts to load matplotlib, which takes a second, in a process beside this one. Does not wait.

        Figures that have changed start it too: this is to start it before it is known which have.
        """
        processes = min(_cores(), _MOST_PROCESSES)
        if self._kinds and processes > 1 and self._pool is None:
            # Not forked from this process, which reads traces on several threads.
            context = ForkServerContext()
            context.start_server([*_LOADED, *(_LOADED_FOR_PDF if "pdf" in self._kinds else [])])
            self._pool = ProcessPoolExecutor(
                processes, mp_context=context, initializer=_start_to_draw, initargs=(self._font,)
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            with ctrl_c_waits():  # for the figures that are being drawn, at most
                self._pool.shutdown(cancel_futures=True)

    def add(self, folder: Folder, learner: str, figures: Iterable[Figure]) -> None:
        """Starts to draw those of a learner's figures that have changed."""
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
        if not self.drawn:
            folder.place(layout.CACHE / self._font.name)
            write_lean_font(self._font)
        self.drawn += len(changed)
        folder.forget(place for _, places in changed for place in places)
        for figure, places in changed:
            if self._pool is None:
                with lean_font(self._font):
                    _draw(figure, places)
            else:
                with ctrl_c_waits():  # this may start a process: none may be left that the pool doesn't know
                    self._jobs.append(self._pool.submit(_draw, figure, places))

    def finish(self, progress: Callable[[int, int], None]) -> None:
        """Waits until all figures are drawn; `progress` is told how many of how many are."""
        if self.drawn:
            progress(0, self.drawn)
        for done, job in enumerate(as_completed(self._jobs), start=1):
            job.result()
            progress(done, self.drawn)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_to_draw(font: Path) -> None:
    """A process that draws leaves Ctrl-C to the report's process, and ends with it, however that ends.

    It draws in the time that the report's process leaves: what that computes is waited for longest.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)
    report = parent_process()
    assert report is not None

    def end_with_it() -> None:
        report.join()
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()
    # What is loaded stays: garbage is looked for in the figures only, and a figure has thousands of objects.
    gc.freeze()
    gc.set_threshold(20_000)
    use_lean_font(font)


def _draw(figure: Figure, places: Sequence[Path]) -> None:
    """Draws one figure and saves it in each format."""
    canvas = figure.draw()
    for place in places:
        save(canvas, place)
