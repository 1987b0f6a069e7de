"""The store: the data, official folds and provenance of each fetched task, once on this machine.

A task has one folder, `<store>/<server>/task-3/`, with `table.parquet`, `about.json` and, if there are
official folds, `folds.npy`: for each row the fold that holds it out, -1 for none. A folder is created
atomically, by a rename, and is never changed. It can be copied to another machine unchanged.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfo_bench.clock import sleep
from cfo_bench.errors import DataError
from cfo_bench.files.locks import lock
from cfo_bench.files.writing import open_file, write_whole
from cfo_bench.records import Problem
from cfo_bench.tasks.sources.caches import openml_home
from cfo_bench.tasks.sources.origins import SUITE, Origin

if TYPE_CHECKING:
    from cfo_bench.metrics import Array
    from cfo_bench.tasks.columns import Column

ENVIRONMENT = "CFO_BENCH_STORE"
SCHEMA = 1
TABLE, FOLDS, ABOUT = "table.parquet", "folds.npy", "about.json"
NAMES = {"openml": "task", "openml-data": "data", SUITE: "suite"}


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """The result of a source: the columns, and the facts for `about.json`."""

    columns: Sequence[Column]
    target: str | None
    problem: Problem | None
    source: str  # in words: `OpenML task 3 (data set 3, kr-vs-kp version 1)`
    obtained: str  # the copy that was used: the cache or the server
    fold_of_row: Array | None = None
    folds_unused: str | None = None  # why the source's splits can't be used as folds
    licence: str | None = None
    md5: str | None = None  # as stated by the source, and as computed


@dataclass(frozen=True, slots=True)
class Stored:
    """A folder of the store; `about` is the content of its `about.json`."""

    folder: Path
    about: Mapping[str, Any]

    @property
    def n_folds(self) -> int | None:
        """The number of official folds; None if there are none."""
        number: int | None = self.about["n_folds"]
        return number

    @property
    def problem(self) -> Problem | None:
        return Problem(self.about["problem"]) if self.about["problem"] else None

    def columns(self) -> list[Column]:
        from cfo_bench.tasks.sources.files import read_columns

        self._check(TABLE)
        return read_columns(self.folder / TABLE)

    def fold_of_row(self) -> Array:
        import numpy as np

        self._check(FOLDS)
        folds: Array = np.load(self.folder / FOLDS)
        return folds

    def _check(self, name: str) -> None:
        """Refuses a file that has changed since it was stored."""
        try:
            actual = sha256(self.folder / name)
        except OSError as error:
            actual = f"unreadable ({error.strerror})"
        if actual != self.about["files"][name]:
            raise DataError(
                f"{self.folder / name} is not what was stored ({actual[:40]}): "
                f"delete {self.folder} and run cfo-bench prepare --task {self.about['origin']}"
            )


def root() -> Path:
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given).expanduser().resolve()
    home = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return home / "cfo-bench" / "tasks"


def path_of(origin: Origin) -> Path:
    """The folder of a task. It names the server, because OpenML's numbers differ between servers."""
    if origin.kind == "pmlb":
        return root() / "pmlb" / origin.key
    return root() / openml_home().host / f"{NAMES[origin.kind]}-{origin.key}"


def find(origin: Origin) -> Stored | None:
    folder = path_of(origin)
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder / ABOUT} can't be read ({error}): delete {folder} and prepare again"
        ) from None
    if about.get("schema") != SCHEMA:
        raise DataError(f"{folder} was stored by another version of cfo-bench: delete it and prepare again")
    return Stored(folder, about)


def find_suite(origin: Origin) -> list[int] | None:
    try:
        about = json.loads(path_of(origin).with_suffix(".json").read_text(encoding="utf-8"))
        tasks: list[int] = about["tasks"]
    except (FileNotFoundError, ValueError, KeyError):  # a damaged one is fetched again
        return None
    return tasks


def put_suite(origin: Origin, tasks: Sequence[int]) -> None:
    path = path_of(origin).with_suffix(".json")
    with writing():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"origin": str(origin), "tasks": list(tasks)}).encode() + b"\n")


@contextmanager
def workplace(target: Path, pause: Callable[[], None] = lambda: sleep(0.1)) -> Iterator[Path]:
    """An empty folder on the store's disk where one process makes `target`; others wait, using `pause`."""
    work = target.parent / f".{target.name}.work"
    with writing():
        target.parent.mkdir(parents=True, exist_ok=True)
        path = target.parent / f".{target.name}.lock"
        lock_fd = open_file(path, os.O_WRONLY | os.O_CREAT)
    with open(lock_fd, "wb") as file:  # the lock ends with the process, however it ends
        while not lock(file.fileno(), path):
            pause()
        with writing():
            shutil.rmtree(work, ignore_errors=True)  # left by a process that was killed
            work.mkdir()
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def put(origin: Origin, fetched: Fetched, work: Path, utc: str) -> Stored:
    """Checks that the data can be a task, and stores it."""
    import numpy as np

    from cfo_bench.tasks.data_set import DataSet
    from cfo_bench.tasks.folds import check_official

    table = None
    if fetched.target is not None:
        table = DataSet.of(fetched.columns, fetched.target, fetched.problem, where=str(origin))
        if fetched.fold_of_row is not None:
            check_official(table, fetched.fold_of_row)
    new = work / "new"
    folds = fetched.fold_of_row
    with writing():
        new.mkdir()
        _write_table(fetched.columns, new / TABLE)
        if folds is not None:
            np.save(new / FOLDS, folds.astype(np.int16))
        about = {
            "schema": SCHEMA,
            "origin": str(origin),
            "source": fetched.source,
            "obtained": fetched.obtained,
            "utc": utc,
            "licence": fetched.licence,
            "md5": fetched.md5,
            "target": fetched.target,
            "problem": table.problem if table else fetched.problem,
            "rows": len(fetched.columns[0].values),
            "features": len(fetched.columns) - 1,
            "classes": list(table.classes) if table else None,
            "sha256": table.sha256() if table else None,
            "n_folds": None if folds is None else int(folds.max()) + 1,
            "folds_unused": fetched.folds_unused,
            "files": {file.name: sha256(file) for file in sorted(new.iterdir())},
        }
        (new / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        new.rename(path_of(origin))
    return Stored(path_of(origin), json.loads(json.dumps(about)))


@contextmanager
def writing() -> Iterator[None]:
    """Converts an error of the disk to a one-line error about the store."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"the store {root()} can't be written ({error.strerror}): "
            f"make room, or set {ENVIRONMENT} to another folder"
        ) from None


def _write_table(columns: Sequence[Column], path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cfo_bench.tasks.columns import ColumnKind

    arrays = []
    for column in columns:
        values = column.values
        if column.kind is ColumnKind.CATEGORY:
            codes = pa.array(values, mask=values < 0)
            arrays.append(pa.DictionaryArray.from_arrays(codes, pa.array(column.labels, pa.string())))
        elif column.kind is ColumnKind.DATE:
            absent = np.isnan(values)
            microseconds = np.where(absent, 0, np.round(values * 86_400e6)).astype(np.int64)
            arrays.append(pa.array(microseconds, mask=absent).cast(pa.timestamp("us")))
        else:
            arrays.append(pa.array(values, mask=np.isnan(values)))
    table = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
