"""The status of the runs of a results folder, from its plan and its traces.

The plan lists the requested runs, so that those that have not started are known.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

import msgspec

from cfo_bench.clock import monotonic, unix_now
from cfo_bench.errors import NoLocksError, TraceError, UserError
from cfo_bench.files.locks import lock
from cfo_bench.files.writing import open_file, read_regular
from cfo_bench.records import RunLimits, RunSpec, RunStatus, method_label, run_id
from cfo_bench.registry import label
from cfo_bench.results.folder import (
    PAGE_SUFFIX,
    TRACE_SUFFIX,
    Names,
    copies_in_words,
    is_held,
    run_files,
    stamp,
)
from cfo_bench.results.limits import is_done
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import DECODE_ERRORS
from cfo_bench.values import duration

# --- the plan -------------------------------------------------------------------------------------

# Without the suffix of a trace, because every file with that suffix is read as a trace.
PLAN_NAME = "runs.plan"
# The maximum number of trials of a run in a plan of an older version, which did not contain it.
NOT_STATED = 0


class PlannedRun(msgspec.Struct, frozen=True):
    """A requested run."""

    id: str  # see run_id
    learner: str
    task: str
    method: str
    fold: int
    seed: int
    budget_seconds: float
    clock: str
    max_trials: int | None = NOT_STATED
    error: str | None = None  # the reason, if it failed before it had a trace


_PLAN_DECODER = msgspec.json.Decoder(PlannedRun)  # made here, since types must not be prepared in threads


def record_plan(results: Path, specs: Sequence[RunSpec]) -> None:
    """Adds runs to the plan, except those in it. Several commands may do this at the same time."""
    add_to_plan(results, [_planned(spec) for spec in specs])


def record_failure(results: Path, spec: RunSpec, error: str) -> None:
    """Adds the reason why a run failed before its first line. If the run is requested again, it waits
    again.
    """
    with suppress(OSError, NoLocksError), _locked(results) as file:
        _append(file, [_planned(spec, error)])


def add_to_plan(results: Path, runs: Sequence[PlannedRun]) -> None:
    """Adds runs to the plan; NoLocksError if the file system has no locks.

    A folder that is not writable is not an error here, because the first run reports it.
    """
    if not runs:
        return
    with suppress(OSError), _locked(results) as file:
        file.seek(0)
        known = _parsed_plan(file.read())
        _append(file, [run for run in runs if known.get(run.id) != run])


def read_plan(results: Path) -> list[PlannedRun]:
    """Every requested run, by its last line in the plan; empty without a plan."""
    try:
        return list(_parsed_plan(read_regular(results / PLAN_NAME)).values())
    except OSError:
        return []


def _planned(spec: RunSpec, error: str | None = None) -> PlannedRun:
    return PlannedRun(
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
    path = results / PLAN_NAME
    if path.is_symlink():
        raise UserError(f"{path} is a link, and links are not followed: remove it")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file")  # a pipe would never end
    with open(open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT), "ab+") as file:
        lock(file.fileno(), path, patience_seconds=math.inf)
        yield file


def _append(file: BinaryIO, runs: Sequence[PlannedRun]) -> None:
    # An incomplete line of a killed writer becomes a separate line, which readers ignore.
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    torn = b"\n" if file.read() not in (b"", b"\n") else b""
    if runs:
        file.write(torn + b"".join(msgspec.json.encode(run) + b"\n" for run in runs))
        file.flush()
        os.fsync(file.fileno())


def _parsed_plan(data: bytes) -> dict[str, PlannedRun]:
    runs: dict[str, PlannedRun] = {}
    for line in data.splitlines():
        with suppress(*DECODE_ERRORS):  # an incomplete or foreign line
            run = _PLAN_DECODER.decode(line)
            runs[run.id] = run
    return runs


# --- the status -----------------------------------------------------------------------------------

# The statuses of a folder's runs, in the order of a table's columns.
STATUSES = (
    RunStatus.DONE,
    RunStatus.RUNNING,
    RunStatus.WAITING,
    RunStatus.FAILED,
    RunStatus.INTERRUPTED,
    RunStatus.MISSING,
)
# Statuses by progress, the furthest first.
_FARTHEST = (
    RunStatus.DONE,
    RunStatus.RUNNING,
    RunStatus.INTERRUPTED,
    RunStatus.FAILED,
    RunStatus.WAITING,
    RunStatus.MISSING,
)
# A running cfo-bench, or the same command entered again, will start or resume these.
TO_BE_DONE = (RunStatus.RUNNING, RunStatus.WAITING, RunStatus.INTERRUPTED)

_KILLED = "cut off: its process was killed, or the machine went down"
# Seconds for which a run on another machine, whose lock is not visible, counts as running after its trace
# last grew.
_SILENT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run; None: not known (yet)."""

    learner: str
    task: str
    method: str
    fold: int
    seed: int
    status: RunStatus
    elapsed: float | None = None  # the reading of the run's clock
    budget_seconds: float | None = None
    trials: int | None = None
    reason: str | None = None  # of its failure or interruption
    path: str | None = None  # of its trace
    clock: str | None = None  # `wall` or `virtual`
    is_imported: bool = False
    max_trials: int | None = None  # None also means no limit

    @property
    def names(self) -> Names:
        return self.learner, self.task, self.method, self.fold, self.seed


@dataclass(frozen=True, slots=True)
class FolderStatus:
    """Every run of a results folder, including the missing ones."""

    runs: list[RunProgress]
    unreadable: list[str]  # a message for each file that is not a trace


@dataclass(frozen=True, slots=True)
class Remaining:
    """The remaining work."""

    budget_seconds: float  # of all runs together
    running: int  # number of runs that are running now
    # The remaining time with the present number of parallel runs; None while nothing runs, and on the virtual
    # clock.
    eta_seconds: float | None


def status(*results: Path) -> FolderStatus:
    """The status of one results folder, or of several that are combined."""
    return Watch(*results).look()


def remaining(runs: Sequence[RunProgress]) -> Remaining:
    """The remaining work. Its time is at least the largest remaining budget of a run."""
    left = [
        max(run.budget_seconds - (run.elapsed or 0.0), 0.0)
        for run in runs
        if run.status in TO_BE_DONE and run.budget_seconds is not None
    ]
    running = sum(run.status is RunStatus.RUNNING for run in runs)
    is_virtual = any(run.clock == "virtual" for run in runs if run.status in TO_BE_DONE)
    eta = max(sum(left) / running, *left) if running and left and not is_virtual else None
    return Remaining(sum(left), running, eta)


def is_unfinished(runs: Sequence[RunProgress]) -> bool:
    return any(run.status in TO_BE_DONE for run in runs)


def time_left(runs: Sequence[RunProgress]) -> str:
    """The time until all runs are done, and how it was computed."""
    if not is_unfinished(runs):
        counts = Counter(run.status for run in runs)
        others = [f"{counts[kind]} {kind}" for kind in (RunStatus.FAILED, RunStatus.MISSING) if counts[kind]]
        return f"nothing left to do, {', '.join(others)}" if others else "all done"
    left = remaining(runs)
    budgets = f"{duration(left.budget_seconds)} of budget left"
    if left.eta_seconds is not None:
        at_once = f"{left.running} run{'s' * (left.running != 1)} at once"
        return f"about {duration(left.eta_seconds)} to go: {budgets}, {at_once}"
    if left.running:
        return "time left unknown: seconds of the virtual clock are not real ones"
    return f"nothing is running: {budgets}; enter the cfo-bench run command again to continue"


@dataclass(slots=True)
class _Growth:
    """Detects that an unfinished trace grows without a visible lock, because another machine writes it."""

    stamp: tuple[int, int]
    grown_at: float | None = None  # when growth was last observed, on the machine's monotonic clock
    was_locked: bool = False  # its lock can be seen, so a run without one is not running


class Watch:
    """Observes results folders. A trace that has not changed is not read again.

    With `keep_digests`, `run_at` returns runs with the digests of their trials. A run whose trace grows is
    running even if no lock is visible, as in a folder to which another machine writes.
    """

    def __init__(self, *results: Path, keep_digests: bool = False) -> None:
        self._folders = list({os.path.abspath(folder): folder for folder in results}.values())
        self._keep_digests = keep_digests
        self._known: dict[str, tuple[tuple[int, int], Run]] = {}
        self._growth: dict[str, _Growth] = {}

    def run_at(self, path: str) -> Run | None:
        """The run of a trace at the last look; None if its trace had no complete header."""
        known = self._known.get(path)
        return known[1] if known else None

    def look(self) -> FolderStatus:
        """The status now. A run in several folders has its furthest progress."""
        folders = [self._look_at(folder) for folder in self._folders]
        farthest: dict[Names, RunProgress] = {}
        for run in (run for folder in folders for run in folder.runs):
            known = farthest.setdefault(run.names, run)
            if _FARTHEST.index(run.status) < _FARTHEST.index(known.status):
                farthest[run.names] = run
        runs = list(farthest.values()) if len(folders) > 1 else folders[0].runs
        unreadable = [line for folder in folders for line in folder.unreadable]
        return FolderStatus(runs + _missing(runs), unreadable)

    def _look_at(self, results: Path) -> FolderStatus:
        """The runs of one folder, including the missing ones."""
        files = run_files(results)
        planned = {run.id: run for run in read_plan(results)}
        if not files.runs and not planned and not files.unreadable:
            raise UserError(
                f"no traces in {str(results)!r}: cfo-bench run writes them, as in --results {results}"
            )
        runs: list[RunProgress] = []
        unreadable = list(files.unreadable)
        for id, suffixes in sorted(files.runs.items()):
            path = results / f"{id}{TRACE_SUFFIX}"
            try:
                known = self._run_at(path) if TRACE_SUFFIX in suffixes else None
            except TraceError as error:
                unreadable.append(str(error))
                continue
            is_over = known is not None and known[1].is_finished
            is_running = (PAGE_SUFFIX in suffixes or not is_over) and is_held(path)
            asked = planned.get(id)
            if known is not None:
                progress = _as_asked(known[1], asked)
                silent_seconds = self._silent_seconds(path, *known, is_running)
                runs.append(
                    progress if silent_seconds is None else _running(progress, silent_seconds, known[1])
                )
            elif (is_running or TRACE_SUFFIX in suffixes) and (begun := _by_path(path, is_running)):
                runs.append(replace(begun, budget_seconds=asked.budget_seconds) if asked else begun)
            else:
                continue
            planned.pop(id, None)
        runs += map(_by_plan, planned.values())
        paths = [(run.names, run.path) for run in runs if run.path is not None]
        return FolderStatus(runs, unreadable + copies_in_words(paths))

    def _run_at(self, path: Path) -> tuple[tuple[int, int], Run] | None:
        """The run of a trace with the stamp of its file; None without a complete header."""
        try:
            stamp_now = stamp(path)
        except OSError:  # a full reading reports the error
            stamp_now = None
        known = self._known.get(str(path))
        if known is not None and known[0] == stamp_now:
            return known
        run = read_run(path)
        if run is None or stamp_now is None:
            return None
        self._known[str(path)] = stamp_now, run.digested() if self._keep_digests else run.without_trials()
        return self._known[str(path)]

    def _silent_seconds(self, path: Path, stamp: tuple[int, int], run: Run, is_locked: bool) -> float | None:
        """Seconds since the trace of a running run was written; None if the run is not running."""
        now = monotonic()
        growth = self._growth.setdefault(str(path), _Growth(stamp))
        growth.was_locked |= is_locked
        if stamp != growth.stamp:
            growth.stamp, growth.grown_at = stamp, now
        if is_locked:
            return max(unix_now() - stamp[1] / 1e9, 0.0)
        if run.end is not None or growth.was_locked or growth.grown_at is None:
            return None
        # Measured with our own clock, because that of the other machine may differ.
        silent_seconds = now - growth.grown_at
        return silent_seconds if silent_seconds <= _SILENT_SECONDS else None


def _progress(run: Run) -> RunProgress:
    """The progress of a run according to its trace, without regard to running processes."""
    is_cut_off = run.status is RunStatus.UNFINISHED
    return RunProgress(
        *run.names,
        RunStatus.INTERRUPTED if is_cut_off else run.status,
        elapsed=run.reached,
        budget_seconds=run.spec.budget_seconds,
        trials=run.n_trials,
        reason=_KILLED if is_cut_off else None if run.status is RunStatus.DONE else run.error,
        path=str(run.path),
        clock=run.spec.clock,
        is_imported=run.is_imported,
        max_trials=run.spec.max_trials,
    )


def _running(progress: RunProgress, silent_seconds: float, run: Run) -> RunProgress:
    """The progress while a process executes the run: its clock has advanced since the trace was last written.

    If the trace ends with an end record, the run is about to be resumed with other limits, and its clock
    stands still.
    """
    elapsed = progress.elapsed
    is_clock_running = progress.clock == "wall" and not run.is_finished
    if elapsed is not None and progress.budget_seconds is not None and is_clock_running:
        elapsed = max(elapsed, min(elapsed + silent_seconds, progress.budget_seconds))
    return replace(progress, status=RunStatus.RUNNING, reason=None, elapsed=elapsed)


def _as_asked(run: Run, planned: PlannedRun | None) -> RunProgress:
    """The progress towards the last requested limits, which may be larger than those of a finished run."""
    progress = _progress(run)
    if planned is None or progress.status is not RunStatus.DONE:
        return progress
    max_trials = progress.max_trials if planned.max_trials == NOT_STATED else planned.max_trials
    if is_done(run, RunLimits(planned.budget_seconds, max_trials)):
        return progress
    return replace(
        progress,
        status=RunStatus.WAITING if planned.error is None else RunStatus.FAILED,
        reason=planned.error,
        budget_seconds=planned.budget_seconds,
        max_trials=max_trials,
    )


def _by_path(path: Path, is_running: bool) -> RunProgress | None:
    """A run without a header, by the names of its folders."""
    try:
        learner, task, method = path.parts[-4:-1]
        fold, seed = (int(part.partition("-")[2]) for part in path.stem.split("_"))
    except ValueError:
        return None
    status = RunStatus.RUNNING if is_running else RunStatus.INTERRUPTED
    return RunProgress(unquote(learner), unquote(task), unquote(method), fold, seed, status, path=str(path))


def _by_plan(run: PlannedRun) -> RunProgress:
    return RunProgress(
        run.learner,
        run.task,
        run.method,
        run.fold,
        run.seed,
        RunStatus.WAITING if run.error is None else RunStatus.FAILED,
        budget_seconds=run.budget_seconds,
        reason=run.error,
        clock=run.clock,
        max_trials=run.max_trials or None,
    )


def _missing(runs: Sequence[RunProgress]) -> list[RunProgress]:
    """The missing runs: folds that one method has on a task, and another method of the learner lacks.

    Imported runs are ignored: they have no missing folds, and require none of others.
    """
    runs = [run for run in runs if not run.is_imported]
    existing = {run.names for run in runs}
    methods: dict[str, set[str]] = {}
    folds: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for run in runs:
        methods.setdefault(run.learner, set()).add(run.method)
        folds.setdefault((run.learner, run.task), set()).add((run.fold, run.seed))
    wanted = [
        (learner, task, method, fold, seed)
        for (learner, task), pairs in sorted(folds.items())
        for method in sorted(methods[learner])
        for fold, seed in sorted(pairs)
    ]
    return [RunProgress(*names, RunStatus.MISSING) for names in wanted if names not in existing]
