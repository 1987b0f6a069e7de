"""Optuna's storages: opened without a warning, and without writing to one that is only read."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cfo_bench.errors import CfoBenchError, MissingPackageError, UserError, describe
from cfo_bench.exchange.found_runs import read_bytes

SQLITE_MAGIC = b"SQLite format 3\0"
# Optuna has no ending of its own for journal files; its documentation calls them journal.log.
JOURNAL_SUFFIXES = (".log", ".journal")

# With or without the name of the driver.
_SQLITE_URL = re.compile(r"sqlite(\+\w+)?:///(?P<file>[^?]*)")
# Drivers whose package has another name than their module.
_PACKAGES = {"MySQLdb": "mysqlclient", "psycopg2": "psycopg2-binary", "psycopg": "psycopg[binary]"}


def require_optuna() -> None:
    for package in ("optuna", "sqlalchemy"):
        if find_spec(package) is None:
            raise MissingPackageError("an Optuna storage", package, "pip install 'cfo-bench[baselines]'")


def sqlite_file(storage: str) -> Path | None:
    """The file of an SQLite storage, given as a URL or as a path; None for another kind of storage."""
    if found := _SQLITE_URL.match(storage):
        return Path(found["file"])
    return None if "://" in storage else Path(storage)


def is_journal(beginning: bytes) -> bool:
    """Whether a file that begins so is a journal of Optuna: each line is an operation as JSON."""
    try:
        first = json.loads(beginning.partition(b"\n")[0])
    except ValueError:
        return False
    return isinstance(first, dict) and {"op_code", "worker_id"} <= first.keys()


def without_password(storage: str) -> str:
    """A storage as it may be shown and kept."""
    return re.sub(r"(?<=://)([^/@:]*):[^/]*@", r"\1:***@", storage)


@contextmanager
def opened(url: str, *, to_read: bool = False, name: str = "") -> Iterator[Any]:
    """The storage behind a URL, which is closed afterwards. Tables are made only where it is written to.

    An error calls it `name`, if there is one.
    """
    import optuna

    _require_driver(url)
    with _in_one_line(name or url), _quietly():
        if to_read:
            _require_tables(url, name or url)
        storage = optuna.storages.RDBStorage(url, skip_table_creation=to_read)
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()


@contextmanager
def opened_journal(file: Path) -> Iterator[Any]:
    """The storage in a journal file, which is made if it is not there."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    with _in_one_line(str(file)), _quietly():
        yield JournalStorage(JournalFileBackend(str(file)))


@contextmanager
def opened_to_read(source: str) -> Iterator[Any]:
    """A storage of which nothing is changed: an SQLite file, a journal file, or one on a server."""
    file = sqlite_file(source)
    if file is None:
        with opened(source, to_read=True) as storage:
            yield storage
    elif not file.is_file():
        raise UserError(f"no storage {source!r}: give the file of an Optuna storage, or its URL")
    elif is_journal(read_bytes(file)[:100_000]):
        with opened_journal(file) as storage:
            yield storage
    else:
        with _opened_sqlite(file) as storage:
            yield storage


@contextmanager
def _opened_sqlite(file: Path) -> Iterator[Any]:
    place = f"file:{file.resolve().as_posix().replace('%', '%25').replace('?', '%3f').replace('#', '%23')}"
    if not read_bytes(file).startswith(SQLITE_MAGIC):
        raise UserError(f"{str(file)!r} is neither an SQLite file nor a journal of Optuna: give its storage")
    with opened(f"sqlite:///{place}?mode=ro&uri=true", to_read=True, name=str(file)) as storage:
        yield storage


def _require_tables(url: str, name: str) -> None:
    """Optuna would fail later, in words of its own."""
    from sqlalchemy import create_engine, inspect

    engine = create_engine(url)
    try:
        found = inspect(engine).get_table_names()
    finally:
        engine.dispose()
    if not {"studies", "trials", "version_info"} <= set(found):
        raise UserError(f"{without_password(name)!r} has no studies of Optuna: give a storage of its own")


def _require_driver(url: str) -> None:
    from sqlalchemy import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        make_url(url).get_dialect().import_dbapi()
    except ModuleNotFoundError as error:
        package = _PACKAGES.get(error.name or "", error.name or "")
        raise MissingPackageError(
            f"the storage {without_password(url)!r}", package, f"pip install '{package}'"
        ) from None
    except SQLAlchemyError:
        raise UserError(
            f"{without_password(url)!r} is no storage of Optuna: give a file, or a URL such as "
            "postgresql://user:password@host/name"
        ) from None


@contextmanager
def _in_one_line(storage: str) -> Iterator[None]:
    """What goes wrong with a storage is one line."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    kept = (CfoBenchError, optuna.exceptions.DuplicatedStudyError)
    # RuntimeError: tables of another version of Optuna. ValueError, KeyError: a damaged journal.
    told = (SQLAlchemyError, RuntimeError, OSError, ValueError, KeyError)
    try:
        yield
    except kept:
        raise
    except (*told, optuna.exceptions.StorageInternalError) as error:
        what = without_password(describe(error))
        raise UserError(f"the storage {without_password(storage)!r} can't be used: {what}") from None


@contextmanager
def _quietly() -> Iterator[None]:
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)
