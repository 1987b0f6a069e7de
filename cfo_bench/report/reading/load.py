"""Reads the runs of results folders. A file that can't be read is reported and left out."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.errors import CfoBenchError, UnknownNameError, UserError
from cfo_bench.registry import label
from cfo_bench.results.folder import run_files
from cfo_bench.results.run import CONSTANT, FOREST, Run, read_finished_part, read_run


@dataclass(frozen=True, slots=True)
class Selection:
    """The runs to report; an empty filter selects all. The methods that scale the scores are always read.

    A learner or task is given by its full name, or by its name in tables: `svm` for
    `estimator:pipeline.py:svm`.
    """

    learners: Sequence[str] = ()
    tasks: Sequence[str] = ()
    methods: Sequence[str] = ()

    def contains(self, run: Run) -> bool:
        return all(
            not names or is_among(name, names)
            for names, name in (
                (self.learners, run.learner),
                (self.tasks, run.task),
                ((*self.methods, CONSTANT, FOREST) if self.methods else (), run.method),
            )
        )


def is_among(name: str, names: Collection[str]) -> bool:
    """Whether a name, in full or as in tables, is among those that a user gave."""
    return name in names or label(name) in names


@dataclass(frozen=True, slots=True)
class Loaded:
    """The runs, without their trials, and a line for each file that is not a trace or cannot be read."""

    runs: list[Run]
    unreadable: list[str]


def load(
    results: Path | Sequence[Path],
    selection: Selection | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Loaded:
    """The runs of every trace below `results`, one folder or several.

    `progress` is called with the number of traces read, and the number of all.
    """
    folders = [results] if isinstance(results, Path) else _different_folders(results)
    paths: list[Path] = []
    unreadable: list[str] = []
    for folder in folders:
        traces, messages = trace_files(folder)
        paths += traces
        unreadable += messages
    runs: list[Run] = []
    progress(0, len(paths))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, run in enumerate(pool.map(_run_or_message, paths), start=1):
            if isinstance(run, str):
                unreadable.append(run)
            elif run is not None:
                runs.append(run)
            progress(done, len(paths))
    if not runs:
        reason = unreadable[0] if unreadable else "no run has started: no trace has a header"
        names = " and ".join(repr(str(folder)) for folder in folders)
        raise UserError(f"no run in {names} can be reported: {reason}")
    return Loaded(_selected(runs, selection or Selection()), unreadable)


def _run_or_message(path: Path) -> Run | str | None:
    """The run without its trials; None if it has not started; a message if its trace can't be read.

    Of a finished run that is being resumed with other limits, the finished part is read.
    """
    try:
        run = read_run(path)
        if run is not None and not run.is_finished:
            run = read_finished_part(path) or run
        return None if run is None else run.digested()
    except CfoBenchError as error:
        return str(error)


def _different_folders(folders: Sequence[Path]) -> list[Path]:
    """Each folder once; a UserError if a folder is inside another one, because its traces would be read
    twice.
    """
    by_place: dict[Path, Path] = {}
    for folder in folders:
        by_place.setdefault(Path(os.path.abspath(folder)), folder)
    for inner in by_place:
        for outer in by_place:
            if inner != outer and inner.is_relative_to(outer):
                raise UserError(f"{str(inner)!r} is inside {str(outer)!r}: give only one of them")
    return list(by_place.values())


def trace_files(results: Path) -> tuple[list[Path], list[str]]:
    """Every trace below `results`, in order; and a message for each that can't be read."""
    listed = run_files(results)
    if not listed.traces and not listed.unreadable:
        raise UserError(
            f"no traces in {str(results)!r}: cfo-bench run writes them, as in --results {results}"
        )
    return listed.traces, listed.unreadable


def _selected(runs: Sequence[Run], selection: Selection) -> list[Run]:
    filters = (
        ("learner", selection.learners, {run.learner for run in runs}),
        ("task", selection.tasks, {run.task for run in runs}),
        ("method", selection.methods, {run.method for run in runs}),
    )
    for kind, names, available in filters:
        refuse_unknown(f"{kind} in these results", names, available)
    selected = [run for run in runs if selection.contains(run)]
    if not any(run.method in selection.methods or not selection.methods for run in selected):
        raise UserError("no run has such a learner, task and method together: leave one of the filters out")
    return selected


def refuse_unknown(kind: str, names: Sequence[str], available: Collection[str]) -> None:
    """Raise an UnknownNameError for a user's name that no run has."""
    for name in names:
        if not any(is_among(of_run, [name]) for of_run in available):
            raise UnknownNameError(kind, name, map(label, available))


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """For code that creates millions of permanent objects, in which garbage collection would take seconds."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
