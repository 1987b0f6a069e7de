"""`cfo-bench export`: trials of results folders as a table, an archive, Optuna studies, or for DeepCAVE."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.errors import UserError
from cfo_bench.exchange.exported_runs import RunToExport, runs_in
from cfo_bench.exchange.trial_table import writer_for

Folders = str | Path | Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Attributes
    ----------
    to : str
        The file, folder or storage that was written.
    runs, trials : int
        The number of runs and trials that were written.
    unreadable : list of str
        A line for each file of the results that can't be read.
    """

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
    """Write one row for each trial to a `.csv` or `.parquet` file; docs/exchange.md has the columns.

    Parameters
    ----------
    results : str, Path or sequence of these
        One results folder, or several.
    out : str or Path
        The file.
    learners, tasks, methods : sequence of str, default=()
        Only the runs with these names; empty: all.
    force : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    Exported
        What was written.

    Raises
    ------
    UserError
        The file exists, its suffix is not supported, or no run has these names.
    """
    path = Path(out)
    write = writer_for(path)
    return _file(path, write, _runs(results, learners, tasks, methods), force)


def export_to_archive(
    results: Folders,
    file: str | Path,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    force: bool = False,
) -> Exported:
    """Write finished runs to a Parquet file, which `import_trials` converts back to traces.

    Headers and incumbents are exact. Other trials are rounded, to keep the file small; docs/exchange.md
    describes the format.

    Parameters
    ----------
    results : str, Path or sequence of these
        One results folder, or several.
    file : str or Path
        The file.
    learners, tasks, methods : sequence of str, default=()
        Only the runs with these names; empty: all.
    force : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    Exported
        What was written.

    Raises
    ------
    UserError
        The file exists, a run has not finished, or no run has these names.
    """
    from cfo_bench.exchange.archive import write_archive

    return _file(Path(file), write_archive, _runs(results, learners, tasks, methods), force)


def export_to_optuna(
    results: Folders,
    storage: str,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    force: bool = False,
) -> Exported:
    """Add a study for each run to an Optuna storage, such as `sqlite:///trials.db`.

    Parameters
    ----------
    results : str, Path or sequence of these
        One results folder, or several.
    storage : str
        The URL of the storage, or a journal file that ends in .log or .journal.
    learners, tasks, methods : sequence of str, default=()
        Only the runs with these names; empty: all.
    force : bool, default=False
        Whether to replace studies of the same name.

    Returns
    -------
    Exported
        What was written.

    Raises
    ------
    UserError
        A study exists, the storage can't be used, or no run has these names.
    """
    from cfo_bench.exchange.optuna_studies import without_password, write_studies

    runs, unreadable = _runs(results, learners, tasks, methods)
    trials = write_studies(storage, runs, force=force)
    return Exported(without_password(storage), len(runs), trials, unreadable)


def export_to_deepcave(
    results: Folders,
    folder: str | Path,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    force: bool = False,
) -> Exported:
    """Write a folder for each run, which DeepCAVE opens.

    Parameters
    ----------
    results : str, Path or sequence of these
        One results folder, or several.
    folder : str or Path
        The folder in which to create them.
    learners, tasks, methods : sequence of str, default=()
        Only the runs with these names; empty: all.
    force : bool, default=False
        Whether to replace the existing folders of these runs.

    Returns
    -------
    Exported
        What was written.

    Raises
    ------
    UserError
        A folder exists, can't be made, or no run has these names.
    """
    from cfo_bench.exchange.deepcave_export import write_folders

    runs, unreadable = _runs(results, learners, tasks, methods)
    trials = write_folders(Path(folder), runs, force=force)
    return Exported(str(folder), len(runs), trials, unreadable)


def _runs(
    results: Folders, learners: Sequence[str], tasks: Sequence[str], methods: Sequence[str]
) -> tuple[list[RunToExport], list[str]]:
    folders = [results] if isinstance(results, str | Path) else results
    names = {"learner": learners, "task": tasks, "method": methods}
    return runs_in([Path(folder) for folder in folders], names)


def _file(
    path: Path,
    write: Callable[[Path, Sequence[RunToExport]], int],
    chosen: tuple[list[RunToExport], list[str]],
    force: bool,
) -> Exported:
    if path.exists() and not force:
        raise UserError(f"{path} exists already: choose another file, or --force to replace it")
    runs, unreadable = chosen
    unfinished = path.with_name(f".{path.name}-{os.getpid()}.unfinished")
    try:
        trials = write(unfinished, runs)
        unfinished.replace(path)
    except FileNotFoundError:
        raise UserError(f"no folder {str(path.parent)!r}: make it first") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return Exported(str(path), len(runs), trials, unreadable)
