"""How far a results folder has come, from the first and the last line of each trace."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson

from cfo_bench.errors import UserError
from cfo_bench.records import EndReason
from cfo_bench.registry import label
from cfo_bench.trace import SCHEMA_VERSION, split_torn

# A header or a trial is a few kB; this is read from either end of a trace.
_BLOCK = 1 << 16


class Progress(StrEnum):
    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One run. `reason` says why it failed; a missing run is one that another method of its task has."""

    learner: str
    task: str
    method: str
    fold: int
    seed: int
    progress: Progress
    elapsed: float | None = None
    budget_seconds: float | None = None
    trials: int | None = None
    reason: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Every run that is there or should be; `unreadable` has a line for each file that is no trace."""

    runs: list[RunStatus]
    unreadable: list[str]


def status(results: Path) -> Status:
    if not results.is_dir():
        raise UserError(f"no folder {str(results)!r}: give the --results folder of cfo-bench run")
    traces = {path.with_suffix("") for path in results.rglob("*.jsonl") if path.is_file()}
    pages = {path.with_suffix("") for path in results.rglob("*.live") if path.is_file()}
    if not traces | pages:
        raise UserError(
            f"no traces in {str(results)!r}: cfo-bench run writes them, as in --results {results}"
        )
    runs: list[RunStatus] = []
    unreadable: list[str] = []
    for stem in sorted(traces | pages):
        is_running = _is_locked(stem.with_suffix(".live"))
        try:
            found = _of_trace(stem.with_suffix(".jsonl"), is_running) if stem in traces else None
        except (ValueError, KeyError, TypeError, OSError) as error:
            unreadable.append(
                f"{stem.with_suffix('.jsonl')} can't be read as a trace ({error}): move it away"
            )
            continue
        if found is None and (is_running or stem in traces):
            found = _of_path(stem, Progress.RUNNING if is_running else Progress.INTERRUPTED)
        if found is not None:
            runs.append(found)
    return Status(runs + _missing(runs), unreadable)


def _of_trace(path: Path, is_running: bool) -> RunStatus | None:
    """None for a trace without a whole header."""
    head, last = _ends(path)
    if head is None:
        return None
    if head["kind"] != "run":
        raise ValueError("its first line is no header")
    if head["schema"] != SCHEMA_VERSION:
        raise ValueError(f"trace version {head['schema']}, and version {SCHEMA_VERSION} can be read")
    spec = head["spec"]
    progress, reason = _progress(last, is_running)
    is_trial = last["kind"] == "trial"
    return RunStatus(
        learner=spec["learner"],
        task=spec["task"],
        method=label(spec["method"]),
        fold=spec["fold"],
        seed=spec["seed"],
        progress=progress,
        elapsed=last["ended"] if is_trial else last.get("elapsed", 0.0),
        budget_seconds=spec["budget_seconds"],
        trials=last["number"] + 1 if is_trial else last.get("trials", 0),
        reason=reason,
        path=str(path),
    )


def _progress(last: Mapping[str, Any], is_running: bool) -> tuple[Progress, str | None]:
    if is_running:
        return Progress.RUNNING, None
    if last["kind"] != "end":
        return Progress.INTERRUPTED, "cut off: its process was killed, or the machine went down"
    match EndReason(last["reason"]):
        case EndReason.ERROR:
            return Progress.FAILED, last["error"]
        case EndReason.INTERRUPTED:
            return Progress.INTERRUPTED, last["error"]
        case _:
            return Progress.DONE, None


def _ends(path: Path) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The first and the last whole line."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        block = _BLOCK
        while b"\n" not in (first := file.read(block)) and file.tell() < size:
            block *= 2
            file.seek(0)
        begin = max(size - _BLOCK, 0)
        while True:
            file.seek(begin)
            whole, _ = split_torn(file.read())
            # The block may begin in the middle of a line: the last one needs a line's end before it.
            if whole.rstrip(b"\n").count(b"\n") or begin == 0:
                break
            begin = max(begin - _BLOCK, 0)
    lines = whole.rstrip(b"\n").rpartition(b"\n")[2]
    if not lines:
        return None, {}
    return orjson.loads(split_torn(first)[0].partition(b"\n")[0] or lines), orjson.loads(lines)


def _of_path(stem: Path, progress: Progress) -> RunStatus | None:
    """What the names of the folders say of a run that has no header yet."""
    try:
        fold, seed = (int(part.partition("-")[2]) for part in stem.name.split("_"))
    except ValueError:
        return None
    learner, task, method = (unquote(part) for part in stem.parts[-4:-1])
    return RunStatus(learner, task, method, fold, seed, progress, path=str(stem.with_suffix(".jsonl")))


def _is_locked(page: Path) -> bool:
    """Whether a supervisor holds the page of a run: then somebody is at it."""
    try:
        fd = os.open(page, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _missing(runs: Sequence[RunStatus]) -> list[RunStatus]:
    """The folds of a task that one method of its learner has and another has not."""
    there = {(run.learner, run.task, run.method, run.fold, run.seed) for run in runs}
    methods: dict[str, set[str]] = {}
    folds: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for run in runs:
        methods.setdefault(run.learner, set()).add(run.method)
        folds.setdefault((run.learner, run.task), set()).add((run.fold, run.seed))
    wanted = [
        (learner, task, method, fold, seed)
        for (learner, task), ran in sorted(folds.items())
        for method in sorted(methods[learner])
        for fold, seed in sorted(ran)
    ]
    return [RunStatus(*names, Progress.MISSING) for names in wanted if names not in there]
