"""The runs of results folders that are exported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.errors import SpaceError, TraceError, UnknownNameError, UserError
from cfo_bench.records import TrialRecord, method_label
from cfo_bench.registry import label
from cfo_bench.results import trace
from cfo_bench.results.folder import TRACE_SUFFIX, run_files
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

    id: str  # see run_id
    path: Path
    header: dict[str, Any]
    last: dict[str, Any]  # the last line of its trace

    @property
    def names(self) -> dict[str, Any]:
        """What a run is called in every table."""
        spec = self.header["spec"]
        return {
            "learner": label(spec["learner"]),
            "task": label(spec["task"]),
            "method": method_label(spec),
            "fold": spec["fold"],
            "seed": spec["seed"],
        }

    @property
    def space(self) -> Space | None:
        """The space that its trials are from; None where the header does not tell."""
        rows = self.header.get("space")
        try:
            return Space.from_json(rows) if rows else None
        except (SpaceError, LookupError, TypeError, AttributeError):
            return None

    def read(self) -> trace.Trace:
        found = trace.read(self.path)
        if found is None:
            raise TraceError(f"{self.path} is gone: run the same command again")
        return found


@dataclass(slots=True)
class RunsToExport:
    """The runs to export, in the order of their ids, and a line for each file that can't be read."""

    runs: list[RunToExport] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[RunToExport]:
        return iter(self.runs)


def runs_in(results: Sequence[Path], selection: RunFilter) -> RunsToExport:
    """Every run below the folders that has begun, those that were interrupted or failed among them."""
    found = RunsToExport()
    seen: dict[str, Path] = {}
    for folder in results:
        listed = run_files(folder)
        found.unreadable += listed.unreadable
        for run_id in sorted(one for one, suffixes in listed.runs.items() if TRACE_SUFFIX in suffixes):
            path = folder / f"{run_id}{TRACE_SUFFIX}"
            try:
                ends = trace.ends(path)
            except TraceError as error:
                found.unreadable.append(str(error))
                continue
            if ends is None:
                continue
            if run_id in seen:
                raise UserError(
                    f"{seen[run_id]} and {path} are of one run: give one of the folders, or cfo-bench merge "
                    "them"
                )
            seen[run_id] = path
            found.runs.append(RunToExport(run_id, path, *ends))
    if not found.runs:
        where = " and ".join(repr(str(folder)) for folder in results)
        nothing = f"no traces in {where}: cfo-bench run writes them"
        raise UserError(found.unreadable[0] if found.unreadable else nothing)
    found.runs = _selected(found.runs, selection)
    return found


def _selected(runs: Sequence[RunToExport], selection: RunFilter) -> list[RunToExport]:
    wanted = {"learner": selection.learners, "task": selection.tasks, "method": selection.methods}
    names = [run.names for run in runs]
    for kind, chosen in wanted.items():
        there = {one[kind] for one in names}
        for name in chosen:
            if name not in there:
                raise UnknownNameError(f"{kind} in these results", name, there)
    kept = [
        run
        for run, own in zip(runs, names, strict=True)
        if all(not chosen or own[kind] in chosen for kind, chosen in wanted.items())
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
