"""Tasks of installed packages: each entry point of the group `cfo_bench.tasks` names a `TaskSource`."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from typing import TYPE_CHECKING, Protocol

from cfo_bench.errors import DataError, UserError, describe
from cfo_bench.records import DataRef, Problem

if TYPE_CHECKING:
    import pandas as pd

    from cfo_bench.tasks.data_set import DataSet

GROUP = "cfo_bench.tasks"


class TaskSource(Protocol):
    """Tasks of an installed package: a class that is built without arguments.

    An entry point of the group `cfo_bench.tasks` names the class.
    """

    def names(self) -> list[str]:
        """List the tasks. Every listing calls this: import nothing heavy here.

        Returns
        -------
        list of str
            The names of the tasks.
        """

    def load(self, name: str) -> tuple[pd.DataFrame, str]:
        """Load the data of one task.

        Parameters
        ----------
        name : str
            One of `names()`.

        Returns
        -------
        frame : pandas.DataFrame
            The data, one row for each example.
        target : str
            The name of the column to predict.
        """


@cache
def names() -> dict[str, str]:
    """Every task of every plug-in, with its entry point."""
    return {
        str(name): point.name
        for point in importlib.metadata.entry_points(group=GROUP)
        for name in _source(point.name).names()
    }


def load(ref: DataRef) -> DataSet:
    where = f"task {ref.task!r} of {ref.source}"
    point = names().get(ref.task)
    if point is None:
        raise UserError(f"{where} is no longer available: is its package still installed?")
    return read(_source(point), ref.task, ref.problem, where)


def read(source: TaskSource, task: str, problem: Problem | None, where: str) -> DataSet:
    """The task as a checked data set; `where` names it in errors."""
    from cfo_bench.tasks.data_set import DataSet
    from cfo_bench.tasks.from_pandas import from_pandas

    try:
        frame, target = source.load(task)
    except Exception as error:
        raise DataError(f"{where} could not be loaded: {describe(error)}") from None
    columns = [from_pandas(str(name), frame[name], where) for name in frame.columns]
    return DataSet.of(columns, target, problem, where)


@cache
def _source(point: str) -> TaskSource:
    (entry_point,) = importlib.metadata.entry_points(group=GROUP, name=point)
    try:
        source: TaskSource = entry_point.load()()
        return source
    except Exception as error:
        raise UserError(
            f"the tasks of plug-in {point!r} ({entry_point.value}) can't be loaded: "
            f"{describe(error)}; correct or uninstall it"
        ) from None
