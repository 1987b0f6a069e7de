"""The runs of results folders that are exported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.errors import TraceError, UnknownNameError, UserError
from cfo_bench.results.folder import TRACE_SUFFIX, run_files
from cfo_bench.results.run import Run, cached_run, read_run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import Categorical, Float, Int, Param, Space, Value

# --- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted, by the names in tables; empty is all."""

    learners: Sequence[str] = ()
    tasks: Sequence[str] = ()
    methods: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunToExport:
    """A run that has a trace."""

    id: str  # the path of its trace in the results folder, without the suffix
    run: Run  # without its trials

    @property
    def path(self) -> Path:
        return self.run.path

    @property
    def names(self) -> dict[str, Any]:
        """The columns that name a run in every table."""
        return dict(zip(("learner", "task", "method", "fold", "seed"), self.run.names, strict=True))

    @property
    def space(self) -> Space | None:
        """The search space of its trials; None if the header does not contain it."""
        return self.run.header.search_space

    def read(self) -> Run:
        """The run with its trials."""
        run = read_run(self.path, parse_trials=True)
        if run is None:
            raise TraceError(f"{self.path} no longer exists: run the same command again")
        return run


@dataclass(slots=True)
class RunsToExport:
    """The runs to export, in the order of their ids, and a line for each file that can't be read."""

    runs: list[RunToExport] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[RunToExport]:
        return iter(self.runs)


def runs_in(results: Sequence[Path], selection: RunFilter) -> RunsToExport:
    """Every run below the folders that has started, including those that were interrupted or failed."""
    exported = RunsToExport()
    seen: dict[str, Path] = {}
    for folder in results:
        files = run_files(folder)
        exported.unreadable += files.unreadable
        for path in files.traces:
            run_id = str(path.relative_to(folder)).removesuffix(TRACE_SUFFIX)
            try:
                run = cached_run(path)
            except TraceError as error:
                exported.unreadable.append(str(error))
                continue
            if run is None:
                continue
            if run_id in seen:
                raise UserError(
                    f"{seen[run_id]} and {path} are of one run: give one of the folders, or cfo-bench merge "
                    "them"
                )
            seen[run_id] = path
            exported.runs.append(RunToExport(run_id, run))
    if not exported.runs:
        where = " and ".join(repr(str(folder)) for folder in results)
        nothing = f"no traces in {where}: cfo-bench run writes them"
        raise UserError(exported.unreadable[0] if exported.unreadable else nothing)
    exported.runs = _selected(exported.runs, selection)
    return exported


def _selected(runs: Sequence[RunToExport], selection: RunFilter) -> list[RunToExport]:
    wanted = {"learner": selection.learners, "task": selection.tasks, "method": selection.methods}
    names = [run.names for run in runs]
    for kind, chosen in wanted.items():
        known = {columns[kind] for columns in names}
        for name in chosen:
            if name not in known:
                raise UnknownNameError(f"{kind} in these results", name, known)
    kept = [
        run
        for run, columns in zip(runs, names, strict=True)
        if all(not chosen or columns[kind] in chosen for kind, chosen in wanted.items())
    ]
    if not kept:
        raise UserError("no run has such a learner, task and method together: leave one of the filters out")
    return kept


# --- param ranges ----------------------------------------------------------------------------------
# The hyperparameters of a run, also where its trace does not tell the space that was searched.


def params_of(space: Space | None, trials: Iterable[TrialRecord]) -> list[Param]:
    """Those of the space; without one, the narrowest that have all values that were tried."""
    if space is not None:
        return list(space)
    values: dict[str, list[Value]] = {}
    for trial in trials:
        for name, value in trial.config.items():
            values.setdefault(name, []).append(value)
    return [_around(name, tried) for name, tried in values.items()]


def _around(name: str, values: Sequence[Any]) -> Param:
    kinds = set(map(type, values))
    if kinds == {int}:
        return Int(name, min(values), max(values))
    if kinds <= {int, float}:
        return Float(name, min(values), max(values))
    different = {(type(value), value): value for value in values}  # True is not 1
    return Categorical(name, sorted(different.values(), key=lambda value: (str(type(value)), str(value))))
