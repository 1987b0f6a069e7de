"""A results folder becomes digests; what could not be read is told, and nothing is read twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from cfo_bench import __version__
from cfo_bench.errors import CfoBenchError, UserError
from cfo_bench.report.digest import Digest, State, Steps, digest


@dataclass(frozen=True, slots=True)
class Selection:
    """What of the results is wanted; empty is everything."""

    learners: Sequence[str] = ()
    tasks: Sequence[str] = ()
    methods: Sequence[str] = ()

    def takes(self, one: Digest) -> bool:
        return all(
            not wanted or name in wanted
            for wanted, name in (
                (self.learners, one.learner),
                (self.tasks, one.task),
                (self.methods, one.method),
            )
        )


@dataclass(frozen=True, slots=True)
class Loaded:
    """`unreadable` has one line for each file that is no trace, or a broken one."""

    digests: list[Digest]
    unreadable: list[str]


def load(
    results: Path,
    cache_file: Path | None = None,
    selection: Selection | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Loaded:
    """The digests of every trace below `results`; `progress` is told how many of how many."""
    selection = selection or Selection()
    if not results.is_dir():
        raise UserError(f"no folder {str(results)!r}: give the --results folder of cfo-bench run")
    paths = sorted(path for path in results.rglob("*.jsonl") if path.is_file())
    if not paths:
        raise UserError(
            f"no traces in {str(results)!r}: cfo-bench run writes them, as in --results {results}"
        )
    known = _read_cache(cache_file)
    stamps = {str(path): _stamp(path) for path in paths}
    found: dict[str, Digest | None] = {}
    unreadable: list[str] = []
    fresh = [path for path in paths if known.get(str(path), (None, None))[0] != stamps[str(path)]]
    for path in paths:
        if path not in fresh:
            found[str(path)] = known[str(path)][1]
    progress(len(paths) - len(fresh), len(paths))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (path, answer) in enumerate(
            zip(fresh, pool.map(_digest_or_error, fresh), strict=True), start=1
        ):
            if isinstance(answer, str):
                unreadable.append(answer)
            else:
                found[str(path)] = answer
            progress(len(paths) - len(fresh) + done, len(paths))
    if fresh:
        _write_cache(cache_file, stamps, found)
    digests = [one for path in paths if (one := found.get(str(path))) is not None and selection.takes(one)]
    if not digests:
        raise UserError(f"no run in {str(results)!r} is of the learners, tasks and methods asked for")
    return Loaded(digests, unreadable)


def _digest_or_error(path: Path) -> Digest | str | None:
    try:
        return digest(path)
    except CfoBenchError as error:
        return str(error)
    except (OSError, KeyError, TypeError, ValueError) as error:
        return f"{path} can't be read as a trace ({type(error).__name__}: {error}): move it away"


def _stamp(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _read_cache(file: Path | None) -> dict[str, tuple[list[int], Digest | None]]:
    """Digests by path, with the size and time of the trace they were made of; of this version only."""
    if file is None:
        return {}
    found: dict[str, tuple[list[int], Digest | None]] = {}
    with suppress(OSError, ValueError, KeyError, TypeError):
        lines = file.read_bytes().splitlines()
        if orjson.loads(lines[0]) != __version__:
            return {}
        for line in lines[1:]:
            row = orjson.loads(line)
            found[row["path"]] = (row["stamp"], None if row["digest"] is None else _from_json(row["digest"]))
    return found


def _write_cache(file: Path | None, stamps: dict[str, list[int]], digests: dict[str, Digest | None]) -> None:
    if file is None:
        return
    rows = [orjson.dumps(__version__)] + [
        orjson.dumps({"path": path, "stamp": stamps[path], "digest": None if one is None else asdict(one)})
        for path, one in digests.items()
    ]
    with suppress(OSError):  # a cache that can't be written costs time, not answers
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(b"\n".join(rows))
        temporary.replace(file)


def _from_json(row: dict[str, Any]) -> Digest:
    steps = {name: Steps(**row[name]) for name in ("steps", "full")}
    return Digest(**{**row, **steps, "state": State(row["state"])})
