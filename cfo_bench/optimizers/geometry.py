"""The vector space of direct search, and the projection onto configurations.

Every positive hyperparameter is searched by its logarithm, not normalised: a step of one doubles or halves
it, whatever its range. A range that contains 0 or negative numbers has no logarithm: it is searched linearly,
and is as long as a range from 1 to 1024. Choices that are ordered numbers are searched on the scale of these
numbers, other choices by their index. A hyperparameter with a single value is left out of d.

The code uses plain floats and the math module: in the few dimensions of a hyperparameter space they are
faster than numpy, and give the same bits on every machine, whatever its vector instructions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.optimizers.options import check_choice, check_length
from cfo_bench.space import Categorical, Config, Int, Param, Space, Value, is_fixed

Vector = list[float]
Scale = Literal["log2", "ln"]

# The length of a range that contains 0 or negative numbers: in raw units, a step could be a thousandth of the
# range, or longer than the range.
LINEAR_SPAN = 10.0

_SCALES: dict[Scale, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "log2": (math.log2, math.exp2),
    "ln": (math.log, math.exp),
}


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A feasible vector and its values, in the order of the searched dimensions."""

    vector: Vector
    values: tuple[Value, ...]

    def is_same_as(self, other: Point) -> bool:
        """Whether both are the same configuration, up to rounding errors in floats."""
        return all(
            a == b or (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-12))
            for a, b in zip(self.values, other.values, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """One searched dimension: its range [lower, upper] in the vector is [low, high] in values.

    The value of a categorical dimension is the index of the choice; `grid` has the position of each choice
    in the vector.
    """

    lower: float
    upper: float
    low: float
    high: float
    to_vector: Callable[[float], float]
    to_value: Callable[[float], float]
    is_log: bool
    is_discrete: bool
    has_finest_step: bool  # true for integers and ordered choices
    grid: Vector | None = None

    @classmethod
    def of(cls, param: Param, scale: Scale, linear_span: float | None) -> Axis:
        if isinstance(param, Categorical):
            grid = _grid(param.numbers, scale, linear_span)
            return cls._of_choices(
                param, [float(i) for i in range(len(param.choices))] if grid is None else grid
            )
        low, high = param.low, param.high
        to_vector, to_value = _scale(low, high, scale, linear_span)
        return cls(
            lower=to_vector(low),
            upper=to_vector(high),
            low=low,
            high=high,
            to_vector=to_vector,
            to_value=to_value,
            is_log=low > 0,
            is_discrete=isinstance(param, Int),
            has_finest_step=isinstance(param, Int),
        )

    @classmethod
    def _of_choices(cls, param: Categorical, grid: Vector) -> Axis:
        return cls(
            lower=grid[0],
            upper=grid[-1],
            low=0,
            high=len(grid) - 1,
            to_vector=lambda index: grid[int(index)],
            to_value=lambda x: _nearest(grid, x),
            is_log=False,
            is_discrete=True,
            has_finest_step=param.ordered,
            grid=grid,
        )

    def snapped(self, x: float) -> float:
        """The projection of x."""
        x = min(max(x, self.lower), self.upper)
        return (
            self.to_vector(min(max(round(self.to_value(x)), self.low), self.high)) if self.is_discrete else x
        )

    def finest_step(self, value: float, x: float) -> float:
        """The distance to the next whole number, Δ = 1, or to the nearest other choice of a grid."""
        if self.grid is not None:
            return min(abs(x - other) for other in self.grid if other != x)
        return self.to_vector(1 + 1 / value) if self.is_log else self.to_vector(1)


class Geometry:
    """The searched dimensions of a space, and the projection onto its configurations."""

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
        """The configuration of a point."""
        config: Config = dict(zip(self._names, point.values, strict=True))
        if self._fixed:
            config |= self._fixed
            return {name: config[name] for name in self._order}
        return config

    def project(self, vector: Vector, near: Point, rng: np.random.Generator) -> Point:
        """Proj(x): clip to the bounds, round discrete dimensions, clip again; the vector of the result is
        feasible.

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
                # Because of rounding errors, a value may be out of the bounds although its logarithm is not.
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

    def snapped(self, vectors: Array) -> Array:
        """The projection of each row, for a model that rates many vectors in one call."""
        projected: Array = np.clip(vectors, *np.array(self.ranges).T)
        for i, axis in enumerate(self._axes):
            if axis.is_discrete:
                projected[:, i] = [axis.snapped(x) for x in projected[:, i].tolist()]
        return projected

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """The bounds of each dimension of the vector."""
        return [(axis.lower, axis.upper) for axis in self._axes]

    @property
    def unordered(self) -> dict[int, Categorical]:
        """The dimensions of choices without an order."""
        return {i: param for i, param in self._categorical.items() if not param.ordered}

    def away_from_near_end(self, point: Point, names: Collection[str]) -> Vector:
        """A vector of one unit in each named dimension, away from the end of its range nearer to the point.

        It is 0 in all other dimensions, and for choices without an order.
        """
        direction = [0.0] * self.d
        for i, (name, x, axis) in enumerate(zip(self._names, point.vector, self._axes, strict=True)):
            if name in names and i not in self.unordered:
                direction[i] = 1.0 if x - axis.lower <= axis.upper - x else -1.0
        return direction

    @property
    def has_floats(self) -> bool:
        return not all(axis.is_discrete for axis in self._axes)

    def finest_steps(self, point: Point, least_values: int) -> list[tuple[float, float]]:
        """For each discrete dimension, the length of its smallest change at this point and of its range.

        Choices without an order have no smallest change. Dimensions with fewer values than `least_values` are
        left out.
        """
        return [
            (axis.finest_step(value, x), axis.upper - axis.lower)  # type: ignore[arg-type]
            for axis, value, x in zip(self._axes, point.values, point.vector, strict=True)
            if axis.has_finest_step and axis.high - axis.low >= least_values - 1
        ]


def _scale(
    low: float, high: float, scale: Scale, linear_span: float | None
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """The functions from values to the vector and back."""
    if low > 0:
        return _SCALES[scale]
    # The value of one unit of the vector: 1, or a share of the range.
    unit = 1.0 if linear_span is None else (high - low) / linear_span
    return lambda v: v / unit, lambda x: x * unit


def _grid(numbers: Sequence[float] | None, scale: Scale, linear_span: float | None) -> Vector | None:
    """The positions of the numbers in the vector; None without numbers, or if two positions are equal."""
    if numbers is None:
        return None
    to_vector, _ = _scale(numbers[0], numbers[-1], scale, linear_span)
    grid = [to_vector(number) for number in numbers]
    return grid if all(low < high for low, high in pairwise(grid)) else None


def _nearest(grid: Vector, x: float) -> int:
    """The index of the number of an increasing grid that is nearest to x; of two equally near ones, the
    lower.
    """
    above = bisect_left(grid, x)
    if above == 0 or (above < len(grid) and grid[above] - x < x - grid[above - 1]):
        return above
    return above - 1


def _only_value(param: Param) -> Value:
    return param.choices[0] if isinstance(param, Categorical) else param.low
