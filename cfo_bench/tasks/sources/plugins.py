"""Tasks of installed packages: entry points of the group `cfo_bench.tasks`.

An entry point names a class with two methods: `names()` lists its tasks, and `load(name)` returns a pandas
DataFrame and the name of the target column. Heavy imports belong into `load`.
"""

from __future__ import annotations

import importlib.metadata
from functools import cache
from typing import TYPE_CHECKING, Any

from cfo_bench.errors import DataError, UserError
from cfo_bench.records import DataRef

if TYPE_CHECKING:
    from cfo_bench.tasks.data_set import DataSet

GROUP = "cfo_bench.tasks"


@cache
def names() -> dict[str, str]:
    """Every task of every plug-in, and the entry point that it comes from."""
    return {
        str(name): point.name
        for point in importlib.metadata.entry_points(group=GROUP)
        for name in _source(point.name).names()
    }


def load(ref: DataRef) -> DataSet:
    from cfo_bench.tasks.columns import from_pandas
    from cfo_bench.tasks.data_set import DataSet

    where = f"task {ref.task!r} of {ref.source}"
    point = names().get(ref.task)
    if point is None:
        raise UserError(f"{where} is not there any more: is its package still installed?")
    try:
        frame, target = _source(point).load(ref.task)
    except Exception as error:
        raise DataError(f"{where} could not be loaded: {type(error).__name__}: {error}") from None
    columns = [from_pandas(str(name), frame[name], where) for name in frame.columns]
    return DataSet.of(columns, target, ref.problem, where)


@cache
def _source(point: str) -> Any:
    (found,) = importlib.metadata.entry_points(group=GROUP, name=point)
    try:
        return found.load()()
    except Exception as error:
        raise UserError(
            f"the tasks of plug-in {point!r} ({found.value}) can't be loaded: "
            f"{type(error).__name__}: {error}; mend or uninstall it"
        ) from None
