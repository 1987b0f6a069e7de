"""A space as the ConfigSpace package describes it, for SMAC and hpbandster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cfo_bench.optimizers.packaged import encoded
from cfo_bench.space import Categorical, Int, Param


def configuration_space(params: Sequence[Param], seed: int) -> Any:
    """The value of a categorical is the index of its choice. An ordered one is a range of integers:
    hpbandster needs that, and SMAC takes it too.
    """
    from ConfigSpace import ConfigurationSpace

    space = ConfigurationSpace(seed=seed)
    space.add([_hyperparameter(param) for param in params])
    return space


def configuration(space: Any, params: Sequence[Param], config: Mapping[str, Any]) -> Any:
    from ConfigSpace import Configuration

    return Configuration(space, values={param.name: encoded(param, config[param.name]) for param in params})


def _hyperparameter(param: Param) -> Any:
    from ConfigSpace import (
        CategoricalHyperparameter,
        UniformFloatHyperparameter,
        UniformIntegerHyperparameter,
    )

    if isinstance(param, Categorical):
        last = len(param.choices) - 1
        if param.ordered:
            return UniformIntegerHyperparameter(param.name, lower=0, upper=last)
        return CategoricalHyperparameter(param.name, choices=list(range(last + 1)))
    kind = UniformIntegerHyperparameter if isinstance(param, Int) else UniformFloatHyperparameter
    return kind(param.name, lower=param.low, upper=param.high, log=param.log)
