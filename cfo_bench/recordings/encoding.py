"""A configuration and its training rows as the numbers that a surrogate's models are given.

A number is its place on its scale, from 0 to 1: on the logarithm of a positive one, as CFO searches it. An
ordered choice is its place among the choices. Of choices without an order each has a number of its own, 1 for
the one that was taken. The last number is the share of the training rows, as a logarithm to the base 2: 0 for
all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.space import Categorical, Param, Space

# The smallest share of the training rows that is told from smaller ones: 2 to the power of this.
LEAST_ROWS_LOG2 = -20.0


class Encoding:
    """How the configurations of one space become vectors."""

    def __init__(self, space: Space, train_rows: int) -> None:
        self.names = [name for param in space for name in _names(param)] + ["rows"]
        self._train_rows = train_rows
        self._steps = [_step(param) for param in space]

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, config: Mapping[str, Any], rows: int | None) -> list[float]:
        """The vector of a configuration. A value past the bounds counts as the bound."""
        found: list[float] = []
        for name, places, is_log, low, span in self._steps:
            value = config[name]
            if places is not None:
                found += places[_key(value)]
            else:
                at = math.log(value) if is_log else value
                share = (at - low) / span
                found.append(0.0 if share < 0.0 else 1.0 if share > 1.0 else share)
        share_of_rows = 1.0 if rows is None else rows / self._train_rows
        found.append(0.0 if share_of_rows >= 1.0 else max(math.log2(share_of_rows), LEAST_ROWS_LOG2))
        return found

    def encode_all(self, configs: list[dict[str, Any]], rows: list[int | None]) -> Array:
        """One row a configuration."""
        vectors = [self.encode(config, own) for config, own in zip(configs, rows, strict=True)]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), len(self))


_Step = tuple[str, dict[Any, list[float]] | None, bool, float, float]


def _step(param: Param) -> _Step:
    """What `encode` needs of a hyperparameter, so that a look-up decides nothing again."""
    if isinstance(param, Categorical):
        last = len(param.choices) - 1
        if param.ordered:
            places = {_key(choice): [i / last if last else 0.0] for i, choice in enumerate(param.choices)}
        else:
            places = {
                _key(choice): [float(i == j) for j in range(last + 1)]
                for i, choice in enumerate(param.choices)
            }
        return param.name, places, False, 0.0, 1.0
    is_log = param.low > 0
    low = math.log(param.low) if is_log else float(param.low)
    high = math.log(param.high) if is_log else float(param.high)
    return param.name, None, is_log, low, (high - low) or 1.0


def _key(value: Any) -> tuple[type, Any]:
    return type(value), value  # 1 is not True


def _names(param: Param) -> list[str]:
    if isinstance(param, Categorical) and not param.ordered:
        return [f"{param.name}={choice}" for choice in param.choices]
    return [param.name]
