"""Reads results folders into digests. Files that can't be read are reported; no trace is read twice."""

from __future__ import annotations

import gc
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from cfo_bench import __version__
from cfo_bench.code_hash import code_hash
from cfo_bench.errors import CfoBenchError, UnknownNameError, UserError
from cfo_bench.report.reading import digest as digest_module
from cfo_bench.report.reading.digest import Digest, State, digest
from cfo_bench.results import trial_digest, validation
from cfo_bench.results.files import TRACE_SUFFIX
from cfo_bench.results.folder import run_files
from cfo_bench.results.trial_digest import steps_from_json, steps_to_json
from cfo_bench.safe_writing import read_regular, write_whole

# The methods that scores are scaled by. They are read whatever methods are selected.
CONSTANT, FOREST = "constant", "tuned-rf"


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
    progress(0, len(paths))
    with _no_garbage_collection():
        known = _read_cache(cache_file)
    # Taken before the reading: a trace that grows meanwhile is read again the next time.
    stamps = {path: _stamp_if_there(path) for path in paths}
    found = {path: known[path][1] for path in paths if path in known and known[path][0] == stamps[path]}
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
    if fresh or len(known) != len(found):
        _write_cache(cache_file, stamps, found)
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


def _stamp_if_there(path: str) -> list[int] | None:
    try:
        return _stamp(path)
    except OSError:  # the reading says what is wrong
        return None


def _stamp(path: str) -> list[int]:
    """What tells whether a trace is the one that was read.

    The time of the last change of its inode is set by this machine alone: a cache that comes with somebody
    else's results knows no such time, so it is not believed.
    """
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """While millions of objects are made that all stay: to look through them takes a second."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_cache(file: Path | None) -> dict[str, tuple[list[int], Digest | None]]:
    """The digests that this code has kept, by path, with the size and time of the trace."""
    if file is None:
        return {}
    found: dict[str, tuple[list[int], Digest | None]] = {}
    with suppress(OSError, ValueError, LookupError, TypeError):
        first, _, rest = read_regular(file).partition(b"\n")
        if orjson.loads(first) != [_code(), zlib.crc32(rest)]:
            return {}
        for line in rest.splitlines():
            row = orjson.loads(line)
            found[row["path"]] = (row["stamp"], None if row["digest"] is None else _from_json(row["digest"]))
    return found


def _write_cache(
    file: Path | None, stamps: dict[str, list[int] | None], digests: dict[str, Digest | None]
) -> None:
    if file is None:
        return
    # Without a cache the next report only takes longer. TypeError: a name or a header that is no JSON.
    with suppress(OSError, TypeError):
        rows = b"\n".join(
            orjson.dumps({"path": path, "stamp": stamps[path], "digest": one and _to_json(one)})
            for path, one in digests.items()
        )
        first = orjson.dumps([_code(), zlib.crc32(rows)])
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, first + b"\n" + rows)


def _code() -> str:
    """The version of the code that makes digests."""
    files = (digest_module.__file__, trial_digest.__file__, validation.__file__)
    return f"{__version__} {code_hash(*map(Path, files))}"


def _to_json(one: Digest) -> dict[str, Any]:
    """`full` is null where it is the same as `steps`."""
    row = {field.name: getattr(one, field.name) for field in fields(one)}
    full = None if one.full == one.steps else steps_to_json(one.full)
    return {**row, "steps": steps_to_json(one.steps), "full": full}


def _from_json(row: dict[str, Any]) -> Digest:
    steps = steps_from_json(row["steps"])
    full = steps if row["full"] is None else steps_from_json(row["full"])
    return Digest(**{**row, "steps": steps, "full": full, "state": State(row["state"])})
