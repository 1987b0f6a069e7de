"""`cfo-bench export`: the trials of results folders as a table, as Optuna studies, or for DeepCAVE."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.errors import UserError
from cfo_bench.exchange.exported_runs import RunFilter, RunsToExport, runs_in
from cfo_bench.exchange.trial_table import writer_for

Folders = str | Path | Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written where, and a line for each file of the results that can't be read."""

    to: str
    runs: int
    trials: int
    unreadable: list[str]


def export_trials(
    results: Folders,
    out: str | Path,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    force: bool = False,
) -> Exported:
    """Writes one row for each trial to a `.csv` or `.parquet` file; docs/exchange.md describes the columns.

    results   one results folder, or several
    out       the file
    learners  only these; empty: all
    tasks     only these; empty: all
    methods   only these; empty: all
    force     replace an existing file
    returns   what was written
    """
    path = Path(out)
    write = writer_for(path)
    if path.exists() and not force:
        raise UserError(f"{path} exists already: choose another file, or --force to replace it")
    runs = _runs(results, learners, tasks, methods)
    unfinished = path.with_name(f".{path.name}-{os.getpid()}.unfinished")
    try:
        trials = write(unfinished, runs.runs)
        unfinished.replace(path)
    except FileNotFoundError:
        raise UserError(f"no folder {str(path.parent)!r}: make it first") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return Exported(str(path), len(runs.runs), trials, runs.unreadable)


def export_to_optuna(
    results: Folders,
    storage: str,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    force: bool = False,
) -> Exported:
    """Adds a study for each run to an Optuna storage, such as `sqlite:///trials.db`.

    results   one results folder, or several
    storage   the URL of the storage, or a journal file that ends in .log or .journal
    learners  only these; empty: all
    tasks     only these; empty: all
    methods   only these; empty: all
    force     replace studies of the same name
    returns   what was written
    """
    from cfo_bench.exchange.optuna_studies import without_password, write_studies

    runs = _runs(results, learners, tasks, methods)
    trials = write_studies(storage, runs.runs, force=force)
    return Exported(without_password(storage), len(runs.runs), trials, runs.unreadable)


def export_to_deepcave(
    results: Folders,
    folder: str | Path,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    force: bool = False,
) -> Exported:
    """Writes a folder for each run into `folder`, which DeepCAVE opens.

    results   one results folder, or several
    folder    where the folders go
    learners  only these; empty: all
    tasks     only these; empty: all
    methods   only these; empty: all
    force     replace the folder of a run that exists
    returns   what was written
    """
    from cfo_bench.exchange.deepcave_export import write_folders

    runs = _runs(results, learners, tasks, methods)
    trials = write_folders(Path(folder), runs.runs, force=force)
    return Exported(str(folder), len(runs.runs), trials, runs.unreadable)


def _runs(
    results: Folders, learners: Sequence[str], tasks: Sequence[str], methods: Sequence[str]
) -> RunsToExport:
    folders = [results] if isinstance(results, str | Path) else results
    return runs_in([Path(folder) for folder in folders], RunFilter(learners, tasks, methods))
