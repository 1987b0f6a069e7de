"""Where a search is in its space as time goes by: the values of the hyperparameters of the incumbent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.digest import Configs, Steps
from cfo_bench.report.reading.packed_steps import PackedConfigs

# Shares of the budget at which the incumbents are looked at.
MOMENTS = tuple(np.geomspace(1e-3, 1.0, 31).tolist())

_NUMBERS = {int, float}


def numeric_names(results: LearnerResults) -> tuple[list[str], list[str]]:
    """The hyperparameters that are numbers in every incumbent, in the learner's order; and the others."""
    types: dict[str, set[type]] = {}
    for runs in results.compared.values():
        for one in runs:
            for name, own in _types(results.steps(one).configs):
                types.setdefault(name, set()).update(own)
    numbers = [name for name, found in types.items() if found <= _NUMBERS]
    return numbers, [name for name in types if name not in numbers]


def _types(configs: Sequence[dict[str, Any]]) -> Iterable[tuple[str, Iterable[type]]]:
    """The types of the values of each hyperparameter."""
    if isinstance(configs, PackedConfigs):
        return ((name, _NUMBERS) for name in configs.names)
    if isinstance(configs, Configs):
        if _NUMBERS.issuperset(map(type, chain.from_iterable(configs.rows))):
            return ((name, _NUMBERS) for name in configs.names)
        columns = zip(*configs.rows, strict=True)
        return ((name, map(type, values)) for name, values in zip(configs.names, columns, strict=True))
    return ((name, (type(value),)) for config in configs for name, value in config.items())


def footprint(results: LearnerResults, method: str, names: Sequence[str]) -> Array:
    """The typical value of each hyperparameter (column) in a method's incumbents at each of MOMENTS (row).

    It is the median over tasks of the median over a task's runs. It is NaN until every task has a run with
    an incumbent, so that a line does not jump when another task joins. Tasks that never have one are left
    out.
    """
    tasks: dict[str, list[Array]] = {}
    for (task, own), runs in results.compared.items():
        if own == method:
            tracks = [_track(results.steps(one), one.budget_seconds, names) for one in runs]
            if there := [track for track in tracks if track is not None]:
                tasks[task] = there
    if not tasks:
        return np.full((len(MOMENTS), len(names)), np.nan)
    typical: Array = np.median([_median_of_known(np.array(tracks)) for tracks in tasks.values()], axis=0)
    return typical


def _median_of_known(tracks: Array) -> Array:
    """The median over the first axis without NaN; NaN where all are. numpy's own takes ten times as long."""
    in_order = np.sort(tracks, axis=0)  # NaN comes last
    known = (~np.isnan(tracks)).sum(axis=0)[None]
    lower, upper = (
        np.take_along_axis(in_order, np.maximum(at, 0), axis=0)[0] for at in ((known - 1) // 2, known // 2)
    )
    middle: Array = np.where(known[0] > 0, (lower + upper) / 2, np.nan)
    return middle


def _track(steps: Steps, budget_seconds: float, names: Sequence[str]) -> Array | None:
    """A run's values at each of MOMENTS, NaN before its first incumbent; None for a run without any."""
    if not steps.configs:
        return None
    found = np.searchsorted(np.array(steps.seconds) / budget_seconds, MOMENTS, side="right")
    begun = int((found == 0).sum())
    track = np.full((len(MOMENTS), len(names)), np.nan)
    if begun < len(MOMENTS):
        track[begun:] = _values(steps.configs, found[begun:] - 1, names)
    return track


def _values(configs: Sequence[dict[str, Any]], places: Array, names: Sequence[str]) -> list[Any] | Array:
    """The values of these hyperparameters in the configurations at these places, NaN where one lacks it."""
    if isinstance(configs, PackedConfigs) and configs.names == names:
        return configs.numbers[places]
    if isinstance(configs, Configs) and configs.names == names:
        return [configs.rows[at] for at in places]
    return [[configs[at].get(name, np.nan) for name in names] for at in places]
