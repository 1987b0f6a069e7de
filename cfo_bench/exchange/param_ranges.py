"""The hyperparameters of a run, also where its trace does not tell the space that was searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cfo_bench.records import TrialRecord
from cfo_bench.space import Categorical, Float, Int, Param, Space, Value


def params_of(space: Space | None, trials: Iterable[TrialRecord]) -> list[Param]:
    """Those of the space; without one, the narrowest that have all values that were tried."""
    if space is not None:
        return list(space)
    values: dict[str, list[Value]] = {}
    for trial in trials:
        for name, value in trial.config.items():
            values.setdefault(name, []).append(value)
    return [_around(name, tried) for name, tried in values.items()]


def _around(name: str, values: Sequence[Any]) -> Param:
    kinds = set(map(type, values))
    if kinds == {int}:
        return Int(name, min(values), max(values))
    if kinds <= {int, float}:
        return Float(name, min(values), max(values))
    different = {(type(value), value): value for value in values}  # True is not 1
    return Categorical(name, sorted(different.values(), key=lambda value: (str(type(value)), str(value))))
