"""The vectors that direct search moves in, and the projection back onto configurations.

Every positive hyperparameter is searched by its logarithm, not normalised: a step of one
doubles or halves it, whatever its range. One whose range touches 0 or less is searched as it
is; a categorical one by the index of its choice. One with a single value is left out of d.

Plain floats and the math module: at the few dimensions of a hyperparameter space they are
faster than numpy, and they give the same bits whatever vector instructions a machine has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from cfo_bench.optimizers.option_checks import check_choice, check_length
from cfo_bench.space import Categorical, Config, Int, Param, Space, Value, is_fixed

Vector = list[float]
Scale = Literal["log2", "ln"]

_SCALES: dict[Scale, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "log2": (math.log2, math.exp2),
    "ln": (math.log, math.exp),
}


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A feasible vector and the values it stands for, in the order of the searched dimensions."""

    vector: Vector
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One searched dimension: its range [lower, upper] in the vector is [low, high] in values.

    The value of a categorical one is the index of its choice.
    """

    lower: float
    upper: float
    low: float
    high: float
    to_vector: Callable[[float], float]
    to_value: Callable[[float], float]
    is_log: bool
    is_discrete: bool

    @classmethod
    def of(cls, param: Param, scale: Scale, linear_span: float | None) -> Axis:
        low: float
        high: float
        if isinstance(param, Categorical):
            low, high, unit = 0, len(param.choices) - 1, 1.0
        else:
            low, high = param.low, param.high
            # What one unit of the vector is worth: 1, or a share of the range.
            unit = 1.0 if linear_span is None else (high - low) / linear_span
        is_log = low > 0
        to_vector, to_value = _SCALES[scale] if is_log else (lambda v: v / unit, lambda x: x * unit)
        is_discrete = isinstance(param, Int | Categorical)
        return cls(to_vector(low), to_vector(high), low, high, to_vector, to_value, is_log, is_discrete)

    def finest_step(self, value: float) -> float:
        """The way to the next whole number, Δ = 1."""
        return self.to_vector(1 + 1 / value) if self.is_log else self.to_vector(1)


class Geometry:
    def __init__(self, space: Space, scale: Scale, linear_span: float | None) -> None:
        check_choice("scale", scale, get_args(Scale))
        check_length("linear_span", linear_span)
        searched = [param for param in space if not is_fixed(param)]
        self.d = len(searched)
        self._names = [param.name for param in searched]
        self._order = [param.name for param in space]
        self._fixed = {param.name: _only_value(param) for param in space if is_fixed(param)}
        self._axes = [Axis.of(param, scale, linear_span) for param in searched]
        self._categorical = {i: param for i, param in enumerate(searched) if isinstance(param, Categorical)}

    def encode(self, config: Mapping[str, Any]) -> Point:
        """The point of a configuration that lies in the space."""
        values = tuple(config[name] for name in self._names)
        numbers = list(values)
        for i, param in self._categorical.items():
            numbers[i] = param.choices.index(values[i])
        return Point([axis.to_vector(v) for axis, v in zip(self._axes, numbers, strict=True)], values)

    def config(self, point: Point) -> Config:
        found: Config = dict(zip(self._names, point.values, strict=True))
        if self._fixed:
            found |= self._fixed
            return {name: found[name] for name in self._order}
        return found

    def project(self, vector: Vector, near: Point, rng: np.random.Generator) -> Point:
        """Proj(x): clip to the bounds, round what is discrete, clip again; the vector snaps to it.

        The choices of an unordered categorical other than `near`'s are re-assigned to the indices
        at random whenever its index moves away from `near`'s, which amounts to drawing one of them.
        """
        snapped: Vector = []
        values: list[Any] = []
        for x, axis in zip(vector, self._axes, strict=True):
            if x <= axis.lower:
                x, value = axis.lower, axis.low
            elif x >= axis.upper:
                x, value = axis.upper, axis.high
            else:
                value = axis.to_value(x)
                if axis.is_discrete:
                    value = round(value)
                # By a rounding error a value may lie out of the bounds though its logarithm does not.
                if value < axis.low:
                    value = axis.low
                elif value > axis.high:
                    value = axis.high
                if axis.is_discrete:
                    x = axis.to_vector(value)
            snapped.append(x)
            values.append(value)
        for i, param in self._categorical.items():
            if param.ordered:
                values[i] = param.choices[values[i]]
            elif values[i] == near.vector[i]:
                values[i] = near.values[i]
            else:
                others = [choice for choice in param.choices if choice != near.values[i]]
                values[i] = others[int(rng.integers(len(others)))]
        return Point(snapped, tuple(values))

    def finest_steps(self, point: Point) -> list[tuple[float, float]]:
        """For each discrete dimension the length of its smallest change at this point, and of its range."""
        return [
            (axis.finest_step(value), axis.upper - axis.lower)  # type: ignore[arg-type]
            for axis, value in zip(self._axes, point.values, strict=True)
            if axis.is_discrete
        ]


def _only_value(param: Param) -> Value:
    return param.choices[0] if isinstance(param, Categorical) else param.low
