"""Reads results folders into digests. Files that can't be read are reported; no trace is read twice."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.errors import CfoBenchError, UnknownNameError, UserError
from cfo_bench.report.reading.digest import Digest, digest
from cfo_bench.report.reading.digest_cache import DigestCache, stamp
from cfo_bench.results.compared import CONSTANT, FOREST
from cfo_bench.results.folder import TRACE_SUFFIX, run_files


def is_reference(one: Digest) -> bool:
    """Scores are scaled by what it came to, in whatever time."""
    return one.method in (CONSTANT, FOREST)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which results are wanted; empty is all. The methods that scale the scores are always among them."""

    learners: Sequence[str] = ()
    tasks: Sequence[str] = ()
    methods: Sequence[str] = ()

    def takes(self, one: Digest) -> bool:
        return all(
            not wanted or name in wanted
            for wanted, name in (
                (self.learners, one.learner),
                (self.tasks, one.task),
                ((*self.methods, CONSTANT, FOREST) if self.methods else (), one.method),
            )
        )


@dataclass(frozen=True, slots=True)
class Loaded:
    """The digests, and a line for each file that is no trace or can't be read."""

    digests: list[Digest]
    unreadable: list[str]


def load(
    results: Path | Sequence[Path],
    cache_file: Path | None = None,
    selection: Selection | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Loaded:
    """The digests of every trace below `results`, one folder or several.

    `progress` is called with the number of traces read, and the number of all.
    """
    selection = selection or Selection()
    folders = [results] if isinstance(results, Path) else _each_once(results)
    paths, unreadable = [], []
    for folder in folders:
        found_there, not_there = trace_files(folder)
        paths += found_there
        unreadable += not_there
    with no_garbage_collection():
        cache = DigestCache(cache_file)
    # Taken before the reading: a trace that grows meanwhile is read again the next time.
    stamps = {path: stamp(path) for path in paths}
    found = cache.unchanged(stamps)
    fresh = [path for path in paths if path not in found]
    read = len(found)
    progress(read, len(paths))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, answer in zip(fresh, pool.map(_digest_or_error, fresh), strict=True):
            if isinstance(answer, str):
                unreadable.append(answer)
            else:
                found[path] = answer
            read += 1
            progress(read, len(paths))
    if fresh or len(cache) != len(found):
        cache.write(stamps, found, fresh)
    digests = [one for path in paths if (one := found.get(path)) is not None]
    if not digests:
        reason = unreadable[0] if unreadable else "no run has begun: its traces hold no header"
        where = " and ".join(repr(str(folder)) for folder in folders)
        raise UserError(f"no run in {where} can be reported: {reason}")
    return Loaded(list(_selected(digests, selection)), unreadable)


def _each_once(folders: Sequence[Path]) -> list[Path]:
    """Folders whose traces are all different files; a UserError where one lies inside another."""
    found: dict[Path, Path] = {}
    for folder in folders:
        found.setdefault(Path(os.path.abspath(folder)), folder)
    for one in found:
        for other in found:
            if one != other and one.is_relative_to(other):
                raise UserError(f"{str(one)!r} lies inside {str(other)!r}: give one of the two")
    return list(found.values())


def trace_files(results: Path) -> tuple[list[str], list[str]]:
    """Every trace below `results`, in order; and a message for each that can't be read."""
    listed = run_files(results)
    paths = sorted(
        str(results / f"{run_id}{TRACE_SUFFIX}")
        for run_id, suffixes in listed.runs.items()
        if TRACE_SUFFIX in suffixes
    )
    if not paths and not listed.unreadable:
        raise UserError(
            f"no traces in {str(results)!r}: cfo-bench run writes them, as in --results {results}"
        )
    return paths, listed.unreadable


def _selected(digests: Sequence[Digest], selection: Selection) -> Iterator[Digest]:
    kinds = (
        ("learner", selection.learners, {one.learner for one in digests}),
        ("task", selection.tasks, {one.task for one in digests}),
        ("method", selection.methods, {one.method for one in digests}),
    )
    for kind, wanted, there in kinds:
        for name in wanted:
            if name not in there:
                raise UnknownNameError(f"{kind} in these results", name, there)
    chosen = [one for one in digests if selection.takes(one)]
    if not any(one.method in selection.methods or not selection.methods for one in chosen):
        raise UserError("no run has such a learner, task and method together: leave one of the filters out")
    yield from chosen


def _digest_or_error(path: str) -> Digest | str | None:
    try:
        return digest(Path(path))
    except CfoBenchError as error:
        return str(error)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """While there are millions of objects that stay: to look through them again and again takes a second."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
