"""The contract of task sources: the checks that every source has to pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest

from cfo_bench.registry import Registry
from cfo_bench.tasks import folds
from cfo_bench.tasks.data_set import encode
from cfo_bench.tasks.sources.plugin_tasks import GROUP, TaskSource, read

SOURCES = Registry("task source", GROUP, {})
N_FOLDS = 10
HEAVY = ("pandas", "polars", "pyarrow", "scipy", "sklearn", "torch")


class TaskSourceContract:
    """The checks of one task source: subclass it and set `source`.

    Attributes
    ----------
    source : str
        A registered name, or path/to/file.py:Class.
    most_tasks : int, default 5
        The number of tasks that are loaded, evenly spread over all of them.
    """

    source: ClassVar[str]
    most_tasks: ClassVar[int] = 5

    @pytest.fixture
    def built(self) -> TaskSource:
        built: TaskSource = SOURCES.load(self.source)()
        return built

    def some_names(self, built: TaskSource) -> list[str]:
        names = built.names()
        return names[:: max(1, -(-len(names) // self.most_tasks))]

    def test_its_names_are_texts_that_can_name_a_folder_each_once(self, built: TaskSource) -> None:
        names = built.names()

        assert names
        assert len(set(names)) == len(names)
        for name in names:
            assert type(name) is str
            assert re.fullmatch(r"[\w.+-]+", name) and name.strip(".")

    def test_its_names_are_listed_without_loading_anything_heavy(self) -> None:
        """Every listing of tasks needs the names."""
        code = (
            "import sys; from cfo_bench.registry import Registry\n"
            f"Registry('task source', {GROUP!r}, {{}}).load({self.source!r})().names()\n"
            f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
        )
        path = os.pathsep.join(filter(None, sys.path))  # pytest may have added to it

        answer = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.split() == []

    def test_a_task_is_a_frame_with_its_target_among_the_columns(self, built: TaskSource) -> None:
        import pandas as pd

        for name in self.some_names(built):
            frame, target = built.load(name)
            assert isinstance(frame, pd.DataFrame)
            assert target in list(frame.columns)
            assert not frame.columns.has_duplicates

    def test_a_task_is_the_same_whenever_it_is_loaded(self, built: TaskSource) -> None:
        """Folds and traces of different runs are compared with each other."""
        for name in self.some_names(built):
            frame, target = built.load(name)
            again, same_target = SOURCES.load(self.source)().load(name)
            assert target == same_target
            assert frame.equals(again)

    def test_a_task_is_split_into_folds_and_becomes_arrays(self, built: TaskSource) -> None:
        for name in self.some_names(built):
            table = read(built, name, None, f"task {name!r}")
            folds.check(table, N_FOLDS)
            fold = encode(table, folds.split_rows(table, 0, N_FOLDS, seed=0))
            assert fold.n_rows + len(fold.valid_y) == len(table.y)
            assert not np.isinf(fold.train_x).any()
