"""The runs of results folders that are exported, and their hyperparameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfo_bench.errors import TraceError, UnknownNameError, UserError
from cfo_bench.results.folder import TRACE_SUFFIX, run_files
from cfo_bench.results.frames import RUN_KEYS
from cfo_bench.results.run import Run, cached_run, read_run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import Categorical, Float, Int, Param, Space, Value


@dataclass(frozen=True, slots=True)
class RunToExport:
    """A run that is exported."""

    id: str  # the path of its trace in the results folder, without the suffix
    run: Run  # without its trials

    @property
    def names(self) -> dict[str, Any]:
        """The columns that identify a run in every table."""
        return dict(zip(RUN_KEYS, self.run.names, strict=True))

    @property
    def space(self) -> Space | None:
        """The search space of its trials; None if the header does not contain it."""
        return self.run.header.search_space

    def read(self) -> Run:
        """The run with its trials."""
        run = read_run(self.run.path, parse_trials=True)
        if run is None:
            raise TraceError(f"{self.run.path} no longer exists: run the same command again")
        return run


def runs_in(
    folders: Sequence[Path], names: Mapping[str, Sequence[str]]
) -> tuple[list[RunToExport], list[str]]:
    """Every run below the folders that has started, including those that were interrupted or failed.

    The second list has a line for each file that cannot be read. `names` contains the learners, tasks and
    methods to export under the keys `learner`, `task` and `method`, spelled as in tables; empty: all.
    """
    runs: dict[str, RunToExport] = {}
    unreadable: list[str] = []
    for folder in folders:
        files = run_files(folder)
        unreadable += files.unreadable
        for path in files.traces:
            run_id = str(path.relative_to(folder)).removesuffix(TRACE_SUFFIX)
            try:
                run = cached_run(path)
            except TraceError as error:
                unreadable.append(str(error))
                continue
            if run is None:
                continue
            if run_id in runs:
                raise UserError(
                    f"{runs[run_id].run.path} and {path} are of one run: give one of the folders, or "
                    "cfo-bench merge them"
                )
            runs[run_id] = RunToExport(run_id, run)
    if not runs:
        places = " and ".join(repr(str(folder)) for folder in folders)
        nothing = f"no traces in {places}: cfo-bench run writes them"
        raise UserError(unreadable[0] if unreadable else nothing)
    return _selected(list(runs.values()), names), unreadable


def _selected(runs: Sequence[RunToExport], names: Mapping[str, Sequence[str]]) -> list[RunToExport]:
    for kind, chosen in names.items():
        available = {run.names[kind] for run in runs}
        for name in chosen:
            if name not in available:
                raise UnknownNameError(f"{kind} in these results", name, available)
    selected = [
        run for run in runs if all(not chosen or run.names[kind] in chosen for kind, chosen in names.items())
    ]
    if not selected:
        raise UserError("no run has such a learner, task and method together: leave one of the filters out")
    return selected


def params_of(space: Space | None, trials: Iterable[TrialRecord]) -> list[Param]:
    """The hyperparameters of a space; without a space, the narrowest ones that contain all evaluated
    values.
    """
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
