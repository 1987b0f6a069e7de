"""How far the runs of a results folder are: by its plan, and by its traces."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, get_type_hints
from urllib.parse import unquote

import orjson

from cfo_bench.clock import unix_now
from cfo_bench.errors import NoLocksError, TraceError, UserError
from cfo_bench.files.locks import lock
from cfo_bench.files.writing import open_file, read_regular
from cfo_bench.records import EndReason, RunLimits, RunSpec, method_label, run_id
from cfo_bench.registry import fits, label
from cfo_bench.results.folder import PAGE_SUFFIX, TRACE_SUFFIX, doubled, is_held, run_files, stamp
from cfo_bench.results.limits import has_final_end, is_done, reached
from cfo_bench.results.outline import Outline
from cfo_bench.results.trace import outline_or_lines
from cfo_bench.results.validation import Lines

# --- plan ------------------------------------------------------------------------------------------
# The plan of a results folder: which runs were asked for. It shows which of them have not started.


# Without the suffix of a trace: every file that has it is taken for one.
FILE_NAME = "runs.plan"
# The most trials of a run in a plan by an older version, which did not write them down.
NOT_SAID = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """One run that was asked for."""

    id: str  # see trace.run_id
    learner: str
    task: str
    method: str
    fold: int
    seed: int
    budget_seconds: float
    clock: str
    max_trials: int | None = NOT_SAID
    error: str | None = None  # why it failed, if it failed before it had a trace


def record_plan(results: Path, specs: Sequence[RunSpec]) -> None:
    """Adds runs to the plan, unless they are in it as they are; several commands may do so at once."""
    plan_note(results, [_planned(spec) for spec in specs])


def record_failure(results: Path, spec: RunSpec, error: str) -> None:
    """Adds to the plan why a run failed before its first line. If it is asked for again, it waits again."""
    with suppress(OSError, NoLocksError), _locked(results) as file:
        _append(file, [_planned(spec, error)])


def plan_note(results: Path, runs: Sequence[Planned]) -> None:
    """Adds runs to the plan; NoLocksError where the file system has no locks.

    A folder that can't be written to is no error here: the first run reports it.
    """
    if not runs:
        return
    with suppress(OSError), _locked(results) as file:
        file.seek(0)
        known = _parse(file.read())
        _append(file, [run for run in runs if known.get(run.id) != run])


def _planned(spec: RunSpec, error: str | None = None) -> Planned:
    return Planned(
        id=run_id(spec),
        learner=label(spec.learner),
        task=label(spec.task),
        method=method_label(spec),
        fold=spec.fold,
        seed=spec.seed,
        budget_seconds=float(spec.budget_seconds),
        clock=spec.clock,
        max_trials=spec.max_trials,
        error=error,
    )


@contextmanager
def _locked(results: Path) -> Iterator[BinaryIO]:
    results.mkdir(parents=True, exist_ok=True)
    path = results / FILE_NAME
    if path.is_symlink():
        raise UserError(f"{path} is a link, and links are not followed: remove it")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no regular file")  # a pipe would never end
    with open(open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT), "ab+") as file:
        lock(file.fileno(), path, patience_seconds=math.inf)
        yield file


def _append(file: BinaryIO, runs: Sequence[Planned]) -> None:
    # What a killed writer left of a line becomes a line of its own, which readers ignore.
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    torn = b"\n" if file.read() not in (b"", b"\n") else b""
    if runs:
        file.write(torn + b"".join(orjson.dumps(run, option=orjson.OPT_APPEND_NEWLINE) for run in runs))
        file.flush()
        os.fsync(file.fileno())


def read_plan(results: Path) -> list[Planned]:
    """Every run that was asked for, each by its last line; empty where there is no plan."""
    try:
        return list(_parse(read_regular(results / FILE_NAME)).values())
    except OSError:
        return []


def _parse(data: bytes) -> dict[str, Planned]:
    found: dict[str, Planned] = {}
    for line in data.splitlines():
        with suppress(ValueError, KeyError, TypeError):  # a torn line, or not one of ours
            row = orjson.loads(line)
            run = Planned(**{name: row[name] for name in _TYPES if name in row})
            if all(fits(getattr(run, name), kind) for name, kind in _TYPES.items()):
                found[run.id] = run
    return found


_TYPES = get_type_hints(Planned)


# --- status ----------------------------------------------------------------------------------------


class RunState(StrEnum):
    DONE = "done"
    RUNNING = "running"
    WAITING = "waiting"  # it was asked for, and has not started
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    MISSING = "missing"  # it was not asked for, but another method of its task has that fold


# The order of how far a run is, the farthest first.
_FARTHEST = (
    RunState.DONE,
    RunState.RUNNING,
    RunState.INTERRUPTED,
    RunState.FAILED,
    RunState.WAITING,
    RunState.MISSING,
)
# What a running cfo-bench, or the same command again, will do or resume.
TO_BE_DONE = (RunState.RUNNING, RunState.WAITING, RunState.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One run, and how far it is; None where that is not known (yet)."""

    learner: str
    task: str
    method: str
    fold: int
    seed: int
    progress: RunState
    elapsed: float | None = None  # where the run's clock stands
    budget_seconds: float | None = None
    trials: int | None = None
    reason: str | None = None  # why it failed or was interrupted
    path: str | None = None  # of its trace
    clock: str | None = None  # `wall` or `virtual`
    is_imported: bool = False
    max_trials: int | None = None  # None also means that there is no such limit


@dataclass(frozen=True, slots=True)
class FolderStatus:
    """Every run of a results folder, and those that it should have."""

    runs: list[RunStatus]
    unreadable: list[str]  # a message for each file that is no trace


@dataclass(frozen=True, slots=True)
class Remaining:
    """How much is left to do."""

    budget_seconds: float  # of all runs together
    running: int  # how many runs are running now
    # How long it takes with as many runs at once as now; None while nothing runs, and on the virtual clock.
    eta_seconds: float | None


def status(*results: Path) -> FolderStatus:
    """Of one results folder, or of several as if they were one."""
    return Watch(*results).look()


def remaining(runs: Sequence[RunStatus]) -> Remaining:
    """The time to go is at least what is left of the longest run's budget."""
    left = [
        max(run.budget_seconds - (run.elapsed or 0.0), 0.0)
        for run in runs
        if run.progress in TO_BE_DONE and run.budget_seconds is not None
    ]
    running = sum(run.progress is RunState.RUNNING for run in runs)
    is_virtual = any(run.clock == "virtual" for run in runs if run.progress in TO_BE_DONE)
    eta = max(sum(left) / running, *left) if running and left and not is_virtual else None
    return Remaining(sum(left), running, eta)


class Watch:
    """Looks at results folders again and again. A trace that has not changed is not read again."""

    def __init__(self, *results: Path) -> None:
        self._folders = list({os.path.abspath(folder): folder for folder in results}.values())
        self._known: dict[str, _InTrace] = {}

    def look(self) -> FolderStatus:
        """A run that several folders have is as far as where it is farthest."""
        found = [self._look_at(folder) for folder in self._folders]
        farthest: dict[tuple[str, str, str, int, int], RunStatus] = {}
        for run in (run for folder in found for run in folder.runs):
            known = farthest.setdefault((run.learner, run.task, run.method, run.fold, run.seed), run)
            if _FARTHEST.index(run.progress) < _FARTHEST.index(known.progress):
                farthest[run.learner, run.task, run.method, run.fold, run.seed] = run
        runs = list(farthest.values()) if len(found) > 1 else found[0].runs
        return FolderStatus(runs + _missing(runs), [line for folder in found for line in folder.unreadable])

    def _look_at(self, results: Path) -> FolderStatus:
        """The runs of one folder, those that it has or should have."""
        listed = run_files(results)
        planned = {run.id: run for run in read_plan(results)}
        if not listed.runs and not planned and not listed.unreadable:
            raise UserError(
                f"no traces in {str(results)!r}: cfo-bench run writes them, as in --results {results}"
            )
        runs: list[RunStatus] = []
        unreadable = list(listed.unreadable)
        for name, suffixes in sorted(listed.runs.items()):
            path = results / f"{name}{TRACE_SUFFIX}"
            try:
                found = self._of_trace(path) if TRACE_SUFFIX in suffixes else None
            except TraceError as error:
                unreadable.append(str(error))
                continue
            is_over = found is not None and found.run.progress is not RunState.INTERRUPTED
            is_running = (PAGE_SUFFIX in suffixes or not is_over) and is_held(path)
            asked = planned.get(name)
            if found is not None:
                run = _asked(found, asked)
                runs.append(_running(run, found) if is_running else run)
            elif (is_running or TRACE_SUFFIX in suffixes) and (begun := _of_path(path, is_running)):
                runs.append(replace(begun, budget_seconds=asked.budget_seconds) if asked else begun)
            else:
                continue
            planned.pop(name, None)
        runs += map(_of_plan, planned.values())
        return FolderStatus(runs, unreadable + _doubled(runs))

    def _of_trace(self, path: Path) -> _InTrace | None:
        """The run of a trace, as if no process were working on it; None without a whole header."""
        known = self._known.get(str(path))
        stamp_now = _stamp_if_there(path)
        if known is not None and stamp_now is not None and known.stamp == stamp_now:
            return known
        found = outline_or_lines(path)
        if found is None or stamp_now is None:
            return None
        self._known[str(path)] = _of_trace(path, stamp_now, found)
        return self._known[str(path)]


@dataclass(frozen=True, slots=True)
class _InTrace:
    """A run by its trace, and what of the trace tells whether it is done with other limits, too."""

    stamp: tuple[int, int]  # of the file: its size, and when it was written in nanoseconds
    run: RunStatus
    header: Mapping[str, Any]
    last: Mapping[str, Any]


def _stamp_if_there(path: Path) -> tuple[int, int] | None:
    try:
        return stamp(path)
    except OSError:  # a full reading says what is wrong
        return None


def _of_trace(path: Path, stamp: tuple[int, int], found: Outline | Lines) -> _InTrace:
    spec = found.header["spec"]
    last, trials = (
        (found.end, found.end["trials"]) if isinstance(found, Outline) else (found.last, len(found.trials))
    )
    progress, reason = _progress(last)
    run = RunStatus(
        learner=label(spec["learner"]),
        task=label(spec["task"]),
        method=method_label(spec),
        fold=spec["fold"],
        seed=spec["seed"],
        progress=progress,
        elapsed=reached(last),
        budget_seconds=spec["budget_seconds"],
        trials=trials,
        reason=reason,
        path=str(path),
        clock=spec.get("clock", "wall"),
        is_imported="imported" in found.header,
        max_trials=spec.get("max_trials"),
    )
    # Thousands of runs are kept in memory: without what is large.
    limits = {key: spec.get(key, default) for key, default in _LIMITS.items()}
    return _InTrace(stamp, run, {"spec": limits}, {key: last[key] for key in _OF_LAST if key in last})


# What `is_done` reads of a header and of a last line.
_LIMITS = {"budget_seconds": None, "max_trials": None, "parallel": 1}
_OF_LAST = ("kind", "reason", "elapsed", "trials", "number", "ended")


def _progress(last: Mapping[str, Any]) -> tuple[RunState, str | None]:
    if last["kind"] != "end":
        return RunState.INTERRUPTED, "cut off: its process was killed, or the machine went down"
    match EndReason(last["reason"]):
        case EndReason.ERROR:
            return RunState.FAILED, last.get("error")
        case EndReason.INTERRUPTED:
            return RunState.INTERRUPTED, last.get("error")
        case _:
            return RunState.DONE, None


def _running(run: RunStatus, found: _InTrace) -> RunStatus:
    """The run while a process works on it: its clock has gone on since the trace was last written.

    If the trace ends with an end, the run is about to go on with other limits, and its clock stands.
    """
    elapsed = run.elapsed
    is_clock_running = run.clock == "wall" and not has_final_end(found.last)
    if elapsed is not None and run.budget_seconds is not None and is_clock_running:
        since = max(unix_now() - found.stamp[1] / 1e9, 0.0)
        elapsed = max(elapsed, min(elapsed + since, run.budget_seconds))
    return replace(run, progress=RunState.RUNNING, reason=None, elapsed=elapsed)


def _asked(found: _InTrace, planned: Planned | None) -> RunStatus:
    """The run as it was last asked for: one that is done may have been given a longer budget since, or more
    trials.
    """
    run = found.run
    if planned is None or run.progress is not RunState.DONE:
        return run
    max_trials = run.max_trials if planned.max_trials == NOT_SAID else planned.max_trials
    if is_done(found.header, found.last, RunLimits(planned.budget_seconds, max_trials)):
        return run
    return replace(
        run,
        progress=RunState.WAITING if planned.error is None else RunState.FAILED,
        reason=planned.error,
        budget_seconds=planned.budget_seconds,
        max_trials=max_trials,
    )


def _of_path(path: Path, is_running: bool) -> RunStatus | None:
    """A run that has no header yet, by the names of its folders."""
    try:
        learner, task, method = path.parts[-4:-1]
        fold, seed = (int(part.partition("-")[2]) for part in path.stem.split("_"))
    except ValueError:
        return None
    progress = RunState.RUNNING if is_running else RunState.INTERRUPTED
    return RunStatus(unquote(learner), unquote(task), unquote(method), fold, seed, progress, path=str(path))


def _of_plan(run: Planned) -> RunStatus:
    return RunStatus(
        run.learner,
        run.task,
        run.method,
        run.fold,
        run.seed,
        RunState.WAITING if run.error is None else RunState.FAILED,
        budget_seconds=run.budget_seconds,
        reason=run.error,
        clock=run.clock,
        max_trials=run.max_trials or None,
    )


def _doubled(runs: Sequence[RunStatus]) -> list[str]:
    return doubled(
        ((run.learner, run.task, run.method, run.fold, run.seed), run.path)
        for run in runs
        if run.path is not None
    )


def _missing(runs: Sequence[RunStatus]) -> list[RunStatus]:
    """For each task the folds that one method of its learner has and another one lacks.

    An imported run is as it is: it lacks nothing, and asks nothing of others.
    """
    runs = [run for run in runs if not run.is_imported]
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
    return [RunStatus(*names, RunState.MISSING) for names in wanted if names not in there]
