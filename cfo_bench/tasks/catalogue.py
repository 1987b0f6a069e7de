"""Which tasks there are, by name, without loading any of them.

Names are looked up in the user's folder first, then among the bundled and the synthetic sets. All
are tried with the exact name before any is tried with capitals and `-`/`_` taken alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.errors import DataError, UnknownNameError
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks import bundled, synthetic
from cfo_bench.tasks.folder import FolderRow, read_index

ENVIRONMENT = "CFO_BENCH_DATA"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One line of `cfo-bench tasks`; None is what can't be told without loading the data."""

    name: str
    problem: Problem | None
    source: str
    rows: int | None
    features: int | None
    note: str | None


def resolve(name: str, data_dir: Path | None = None) -> DataRef:
    """Where the data of the task called `name` is to be had."""
    folder = {row.name: row for row in _folder_rows(data_dir)}
    sources: list[Mapping[str, object]] = [folder, bundled.SETS, synthetic.ROWS]
    for found in (_exactly, _loosely):
        for source in sources:
            task = found(name, source)
            if task is None:
                continue
            if source is folder:
                row = folder[task]
                return DataRef(task, "folder", str(row.path), row.target, row.problem, str(row.folder))
            if source is bundled.SETS:
                return DataRef(task, "bundled", problem=bundled.SETS[task].problem)
            return DataRef(task, "synthetic", problem=Problem.REGRESSION)
    raise UnknownNameError("task", name, {known for source in sources for known in source})


def file_ref(path: Path, target: str, problem: Problem | None = None) -> DataRef:
    """One file as a task, called by the file's stem."""
    path = path.expanduser()
    if not path.stem.strip("."):
        raise DataError(f"no file {str(path)!r}: give the path of a .csv, .parquet or .arff file")
    return DataRef(path.stem, "file", str(path.resolve()), target, problem)


def listing(data_dir: Path | None = None) -> list[TaskRow]:
    """Every task that has a name: the folder's first, and a bundled one unless the folder has its name."""
    rows = [
        TaskRow(row.name, row.problem, "folder", row.rows, row.features, row.note)
        for row in _folder_rows(data_dir)
    ]
    rows += [
        TaskRow(name, one.problem, "bundled", one.rows, one.features, one.note)
        for name, one in bundled.SETS.items()
    ]
    rows += [
        TaskRow(name, Problem.REGRESSION, "synthetic", n_rows, 0, "no data: for the analytic learners")
        for name, n_rows in synthetic.ROWS.items()
    ]
    first_of_name = {row.name: row for row in reversed(rows)}
    return [row for row in rows if first_of_name[row.name] is row]


def _folder_rows(data_dir: Path | None) -> list[FolderRow]:
    if data_dir is not None:
        return read_index(data_dir, "--data-dir")
    from_environment = os.environ.get(ENVIRONMENT)
    return read_index(Path(from_environment), ENVIRONMENT) if from_environment else []


def _exactly(name: str, known: Iterable[str]) -> str | None:
    return name if name in known else None


def _loosely(name: str, known: Iterable[str]) -> str | None:
    """The one name that differs only in capitals and `-`/`_`; two such names are too many to choose."""
    alike = [one for one in known if _folded(one) == _folded(name)]
    return alike[0] if len(alike) == 1 else None


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")
