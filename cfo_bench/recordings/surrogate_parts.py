"""A surrogate as a row of JSON and named arrays, and back: its file holds both.

Whoever reads a file checks every value first: it may be damaged, or made by somebody else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.errors import SpaceError
from cfo_bench.metrics import METRICS, Array
from cfo_bench.recordings.surrogate import Cover, Scatter, Surrogate
from cfo_bench.recordings.trees import Trees, problem_with
from cfo_bench.records import Problem
from cfo_bench.space import Space

MOST_FOLDS = 10_000

_MODELS = ("loss", "log_seconds", "failure")
_NODES = ("roots", "feature", "threshold", "child", "value")
_SCATTERS = ("loss_scatter", "seconds_scatter")
_CURVE = ("at", "spread", "quantiles")
_NUMBERS = (
    *("constant_loss", "best", "scale", "least_y", "most_y", "least_seconds", "longest_seconds"),
    *("offset_spread", "validate_share", "failed_share"),
)
_COUNTS = ("n_rows", "n_features", "n_classes", "n_folds", "train_rows")


def to_row(one: Surrogate) -> dict[str, Any]:
    """What the JSON text says of a surrogate."""
    models = {name: getattr(one, name) for name in _MODELS}
    return {
        "learner": one.learner,
        "task": one.task,
        "space": one.space.to_json(),
        "start": one.start,
        "cost_related": list(one.cost_related),
        "learner_options": dict(one.learner_options),
        "problem": one.problem,
        "metric": one.metric,
        "data_sha256": one.data_sha256,
        "trains_on_parts": one.trains_on_parts,
        **{name: getattr(one, name) for name in (*_COUNTS, *_NUMBERS)},
        "offsets": [[seed, fold, offset] for (seed, fold), offset in sorted(one.offsets.items())],
        "models": {
            name: None if trees is None else {"intercept": trees.intercept, "depth": trees.depth}
            for name, trees in models.items()
        },
        "radius": one.cover.radius,
        "quality": one.quality,
    }


def to_arrays(one: Surrogate) -> dict[str, Array]:
    """Its models, scatters and recorded configurations, by names such as `loss/feature`."""
    models = {name: getattr(one, name) for name in _MODELS}
    return {
        **{
            f"{model}/{name}": getattr(trees, name)
            for model, trees in models.items()
            if trees is not None
            for name in _NODES
        },
        **{
            f"{scatter}/{name}": getattr(getattr(one, scatter), name)
            for scatter in _SCATTERS
            for name in _CURVE
        },
        "cover/vectors": one.cover.vectors,
        "cover/weights": one.cover.weights,
    }


def from_parts(row: Mapping[str, Any], arrays: Mapping[str, Array]) -> Surrogate:
    """A surrogate of a file; whatever makes no sense raises a ValueError, LookupError or TypeError."""
    try:
        space = Space.from_json(row["space"])
        start = space.check(row["start"])
    except SpaceError as error:
        raise ValueError(str(error)) from None
    if not len(space) or row["metric"] not in METRICS:
        raise ValueError("a surrogate has no hyperparameters, or a metric that nobody knows")
    numbers = {name: _finite(row[name]) for name in _NUMBERS}
    counts = {name: count(row[name]) for name in _COUNTS}
    _check_ranges(numbers, counts)
    scatters = {name: _scatter(arrays, name) for name in _SCATTERS}
    cover = Cover(arrays["cover/vectors"], arrays["cover/weights"], _finite(row["radius"]))
    found = Surrogate(
        learner=words(row["learner"]),
        task=words(row["task"]),
        space=space,
        start=start,
        cost_related=tuple(map(words, row["cost_related"])),
        learner_options=dict(row["learner_options"]),
        problem=Problem(row["problem"]),
        metric=row["metric"],
        data_sha256=words(row["data_sha256"]),
        trains_on_parts=bool(row["trains_on_parts"]),
        offsets={(count(seed), count(fold)): _finite(offset) for seed, fold, offset in row["offsets"]},
        cover=cover,
        quality=dict(row["quality"]),
        **{name: _trees(row["models"][name], name, arrays) for name in _MODELS},  # type: ignore[arg-type]
        **scatters,  # type: ignore[arg-type]
        **counts,  # type: ignore[arg-type]
        **numbers,  # type: ignore[arg-type]
    )
    n_features = len(found.encoding)
    if found.loss is None or found.log_seconds is None:
        raise ValueError("a surrogate has no model of loss or of seconds")
    for trees in (found.loss, found.log_seconds, found.failure):
        if trees is not None and (why := problem_with(trees, n_features)):
            raise ValueError(why)
    if cover.vectors.ndim != 2 or cover.vectors.shape[1:] != (n_features,) or not len(cover.vectors):
        raise ValueError("the recorded configurations have another length than the space")
    if cover.weights.shape != (n_features,) or not np.all(cover.weights >= 0):
        raise ValueError("the weights of the hyperparameters are out of range")
    return found


def _check_ranges(numbers: Mapping[str, float], counts: Mapping[str, int]) -> None:
    if not numbers["scale"] > 0 or not -700 < numbers["least_y"] <= numbers["most_y"] < 700:
        raise ValueError("the range of losses makes no sense")
    if not 0 < numbers["least_seconds"] <= numbers["longest_seconds"]:
        raise ValueError("the range of seconds makes no sense")
    if not 0 <= numbers["validate_share"] < 1 or not 0 < numbers["failed_share"] <= 1:
        raise ValueError("a share of the seconds is out of range")
    if numbers["offset_spread"] < 0 or not counts["train_rows"] or not 0 < counts["n_folds"] <= MOST_FOLDS:
        raise ValueError("rows or folds are out of range")


def _trees(row: Mapping[str, Any] | None, model: str, arrays: Mapping[str, Array]) -> Trees | None:
    if row is None:
        return None
    parts = {name: arrays[f"{model}/{name}"] for name in _NODES}
    whole = ("roots", "feature", "child")
    if any(part.ndim != 1 or (name in whole) != (part.dtype.kind == "i") for name, part in parts.items()):
        raise ValueError("an array of a tree has the wrong type")
    return Trees(_finite(row["intercept"]), count(row["depth"]), **parts)


def _scatter(arrays: Mapping[str, Array], model: str) -> Scatter:
    found = Scatter(*(arrays[f"{model}/{name}"] for name in _CURVE))
    if not all(part.ndim == 1 and np.all(np.isfinite(part)) for part in (found.at, found.spread)):
        raise ValueError("a scatter has a value that is no number")
    if not len(found.at) or len(found.at) != len(found.spread) or np.any(found.spread < 0):
        raise ValueError("a scatter has no spread")
    if np.any(np.diff(found.at) <= 0) or len(found.quantiles) < 2 or np.any(np.diff(found.quantiles) < 0):
        raise ValueError("a scatter is not in order")
    if found.quantiles.ndim != 1 or not np.all(np.isfinite(found.quantiles)):
        raise ValueError("a scatter has a quantile that is no number")
    return found


def _finite(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError(f"{value!r} is no finite number")
    return float(value)  # type: ignore[arg-type]


def count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{value!r} is no whole number from 0 on")
    return value


def words(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
        raise ValueError("a name is no text")
    return value
