"""The hyperparameters of an optuna study as CFO searches them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from cfo_bench.errors import SpaceError
from cfo_bench.optimizers.geometry import LINEAR_SPAN, Geometry
from cfo_bench.space import Categorical, Float, Int, Param, Space


@dataclass(frozen=True, slots=True)
class Dimension:
    """One hyperparameter.

    A choice is searched by its index, and a number with a step by its place on the grid. The places count
    from the multiple of the step that is nearest to the lower bound, so that they double where the number
    doubles.
    """

    distribution: BaseDistribution
    param: Param

    @classmethod
    def of(cls, name: str, distribution: BaseDistribution) -> Dimension:
        if isinstance(distribution, CategoricalDistribution):
            return cls(distribution, Categorical(name, range(len(distribution.choices))))
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        low, high = distribution.low, distribution.high
        if (step := _step(distribution)) is not None:
            first = _first_place(distribution)
            return cls(distribution, Int(name, first, first + round((high - low) / step)))
        kind: type[Int | Float] = Int if isinstance(distribution, IntDistribution) else Float
        return cls(distribution, kind(name, low, high, distribution.log))  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return self.param.name

    def to_optuna(self, value: Any) -> Any:
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[value]
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        step = _step(distribution)
        if step is None:
            return value
        found = distribution.low + (value - _first_place(distribution)) * step
        return min(found, distribution.high)

    def from_optuna(self, value: Any) -> Any:
        """Of a value that lies in the distribution, as every value of a trial does."""
        internal = self.distribution.to_internal_repr(value)
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return int(internal)
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        step = _step(distribution)
        if step is not None:
            return _first_place(distribution) + round((internal - distribution.low) / step)
        return self.param.check(int(internal) if isinstance(self.param, Int) else internal)

    def start(self, given: Mapping[str, Any], cost_related: Collection[str]) -> Any:
        """The given value; else the lowest if it drives the cost, or the middle, or the first choice."""
        if self.name in given:
            value = given[self.name]
            try:
                is_in_it = self.distribution._contains(self.distribution.to_internal_repr(value))
            except (TypeError, ValueError):  # no number, or none of the choices
                is_in_it = False
            if not is_in_it:
                raise SpaceError(
                    f"the start has {self.name} = {value!r}: give a value of {self.distribution}"
                )
            return self.from_optuna(value)
        if isinstance(self.param, Categorical):
            return 0
        return self.param.low if self.name in cost_related else self.param.at(0.5)

    def around(self, start: Any, rng: np.random.Generator) -> Any:
        """A draw around the start, one standard deviation being a factor of two: as CFO draws a restart."""
        geometry = Geometry(Space([self.param]), "log2", LINEAR_SPAN)
        centre = geometry.encode({self.name: start})
        drawn = geometry.project([centre.vector[0] + float(rng.standard_normal())], centre, rng)
        return geometry.config(drawn)[self.name]


def _step(distribution: IntDistribution | FloatDistribution) -> float | None:
    """None: the values have no grid but their own."""
    step = distribution.step
    return None if step is None or (isinstance(distribution, IntDistribution) and step == 1) else step


def _first_place(distribution: IntDistribution | FloatDistribution) -> int:
    nearest = round(distribution.low / (_step(distribution) or 1))
    return max(nearest, 1) if distribution.low > 0 else nearest
