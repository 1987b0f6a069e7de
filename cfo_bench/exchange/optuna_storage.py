"""Optuna's storages: opened without a warning, and without writing to one that is only read."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cfo_bench.errors import MissingPackageError, UserError, describe

SQLITE = "sqlite:///"
SQLITE_MAGIC = b"SQLite format 3\0"


def require_optuna() -> None:
    for package in ("optuna", "sqlalchemy"):
        if find_spec(package) is None:
            raise MissingPackageError("an Optuna storage", package, "pip install 'cfo-bench[baselines]'")


def sqlite_file(storage: str) -> Path | None:
    """The file of an SQLite storage, given as a URL or as a path; None for another kind of storage."""
    if storage.startswith(SQLITE):
        return Path(storage.removeprefix(SQLITE))
    return None if "://" in storage else Path(storage)


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """The storage behind a URL, which is closed afterwards. What goes wrong with it is one line."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            storage = optuna.storages.RDBStorage(url, skip_compatibility_check=False)
            try:
                yield storage
            finally:
                storage.remove_session()
                storage.engine.dispose()
    # ImportError: the driver of another data base. RuntimeError: tables of another version of Optuna.
    except (SQLAlchemyError, ImportError, RuntimeError, optuna.exceptions.StorageInternalError) as error:
        raise UserError(f"the storage {url!r} can't be used: {describe(error)}") from None
    finally:
        optuna.logging.set_verbosity(verbosity)


@contextmanager
def opened_to_read(file: Path) -> Iterator[Any]:
    """The storage in an SQLite file, of which nothing is changed.

    Optuna would make its tables in a file that lacks them, so that is looked at first.
    """
    place = f"file:{file.resolve().as_posix().replace('%', '%25').replace('?', '%3f').replace('#', '%23')}"
    try:
        with closing(sqlite3.connect(f"{place}?mode=ro", uri=True)) as connection:
            found = {name for (name,) in connection.execute("select name from sqlite_master")}
    except sqlite3.Error as error:
        raise UserError(f"{str(file)!r} can't be read as an SQLite file: {error}") from None
    if not {"studies", "trials", "version_info"} <= found:
        raise UserError(f"{str(file)!r} has no studies of Optuna: give the file of its storage")
    with opened(f"{SQLITE}{place}?mode=ro&uri=true") as storage:
        yield storage
