"""The base of methods from other packages: the start comes first, values are plain, warnings are hidden.

Each class has its own constructor, because its keyword-only parameters are its options.

A package receives only the hyperparameters with more than one value. The others are added to its
configurations here.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np

from cfo_bench.errors import Exhausted
from cfo_bench.optimizers.options import check_count, check_counts, check_number
from cfo_bench.records import Result, Trial
from cfo_bench.space import Categorical, Config, Int, Param, Space, is_fixed

Token = TypeVar("Token")

# Packages add to the seed and pass it to generators that take 32 bits.
SEED_LIMIT = 2**31


class Packaged(ABC, Generic[Token]):
    """`ask` and `tell` around a package. A token is the object that the package needs back with a result."""

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int, parallel: int = 1) -> None:
        check_count("parallel", parallel)
        self.start = space.check(start)
        self.searched = [param for param in space if not is_fixed(param)]
        self.seed = seed % SEED_LIMIT
        self._asked = 0
        self._tokens: dict[int, Token] = {}  # of the running trials, by their numbers

    @abstractmethod
    def begin(self) -> Token:
        """Make the start the first configuration of the package, and return its token."""

    @abstractmethod
    def suggest(self) -> tuple[Mapping[str, Any], Token]:
        """The package's next values of the searched hyperparameters (a choice as its index), and a token."""

    @abstractmethod
    def learn(self, token: Token, result: Result) -> None:
        """Pass the result of a token to the package."""

    def ask(self) -> Trial:
        number, config, rows = self._asked, self.start, None
        if self.searched:
            with silence():
                if number == 0:
                    token = self.begin()
                else:
                    values, token = self.suggest()
                    config = self._config(values)
            self._tokens[number] = token
            rows = self.rows_of(token)
        elif number > 0:
            raise Exhausted("every hyperparameter has a single value: there is nothing to search")
        self._asked += 1
        return Trial(number, config, rows)

    def tell(self, trial: Trial, result: Result) -> None:
        if self.searched:
            with silence():
                self.learn(self._tokens.pop(trial.number), result)

    @property
    def first_values(self) -> dict[str, Any]:
        """The start in the form of the package: only the searched hyperparameters, a choice as its index."""
        return {param.name: encoded(param, self.start[param.name]) for param in self.searched}

    def rows_of(self, token: Token) -> int | None:
        """The number of rows to train on, for methods that choose it; None for all rows."""
        return None

    def _config(self, values: Mapping[str, Any]) -> Config:
        return {**self.start, **{param.name: plain(param, values[param.name]) for param in self.searched}}


def plain(param: Param, value: Any) -> Any:
    """A package's value as a value of the space: of a plain type, and within the bounds despite rounding."""
    if isinstance(param, Categorical):
        return param.choices[min(max(round(float(value)), 0), len(param.choices) - 1)]
    number = round(float(value)) if isinstance(param, Int) else float(value)
    return min(max(number, param.low), param.high)


def encoded(param: Param, value: Any) -> Any:
    """A value in the form of a package: the index of a choice, or the number itself."""
    return param.choices.index(value) if isinstance(param, Categorical) else value


class FiniteLosses(Generic[Token]):
    """For models that need a finite loss: a trial without one counts as the worst loss so far.

    Such trials are held back until the first loss. Losses are clipped to ±`largest`, so that the
    model's arithmetic stays finite.
    """

    def __init__(self, largest: float) -> None:
        self._largest = largest
        self._worst = -math.inf
        self._held: list[Token] = []

    def admit(self, token: Token, result: Result) -> list[tuple[Token, float]]:
        """The tokens and losses to pass to the package now, in order."""
        if math.isinf(result.value):
            if math.isinf(self._worst):
                self._held.append(token)
                return []
            return [(token, self._worst)]
        loss = min(max(result.value, -self._largest), self._largest)
        self._worst = max(self._worst, loss)
        held, self._held = self._held, []
        return [(token, loss), *((earlier, self._worst) for earlier in held)]


class CostCooling:
    """The exponent of the cost, as in CArBO: it falls from 1 after the initial points to 0 at the end.

    Without a budget it stays 1. Only the seconds of trials are counted, because a method has no clock.
    """

    def __init__(self, budget_seconds: float | None, n_initial_points: int) -> None:
        if budget_seconds is not None:
            check_number("budget_seconds", budget_seconds, 0)
        self._budget, self._n_initial = budget_seconds, n_initial_points
        self._spent, self._spent_at_first, self._results = 0.0, 0.0, 0

    def count(self, result: Result) -> None:
        self._spent += result.seconds
        self._results += 1
        if self._results == self._n_initial:
            self._spent_at_first = self._spent

    @property
    def exponent(self) -> float:
        """The remaining share of the budget that was left after the initial points."""
        if self._budget is None or self._results < self._n_initial:
            return 1.0
        left = max(self._budget - self._spent, 0.0)
        return left / (self._budget - self._spent_at_first) if left else 0.0


class OwnGlobalRandomness:
    """For packages that draw from numpy's global generator: a context in which this generator has the state
    of the method. Afterwards its previous state is restored.
    """

    def __init__(self, seed: int) -> None:
        self._state: Any = np.random.RandomState(seed).get_state()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        outside = np.random.get_state()  # noqa: NPY002
        np.random.set_state(self._state)  # noqa: NPY002
        try:
            yield
        finally:
            self._state = np.random.get_state()  # noqa: NPY002
            np.random.set_state(outside)  # noqa: NPY002


@contextmanager
def silence() -> Iterator[None]:
    """Hide the warnings of a package about its internals, because the user cannot do anything about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- spaces of the package ConfigSpace, for SMAC and hpbandster ------------------------------------


def configuration_space(params: Sequence[Param], seed: int) -> Any:
    """A space in which the value of a categorical is the index of its choice. An ordered categorical is a
    range of integers, which hpbandster needs and SMAC accepts.
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


# --- levels of rows, for methods that train on part of them ----------------------------------------


class OnLevels(Packaged[Token]):
    """A method of successive halving, whose resource is the number of training rows.

    eta       each level has this many times the rows of the one before, and so many times fewer trials
    min_rows  the fewest rows of a level
    n_rows    rows of the training part; a run sets it
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        eta: int = 3,
        min_rows: int = 10_000,
        n_rows: int | None = None,
        **options: Any,
    ) -> None:
        self._eta, self._levels = eta, levels(n_rows, min_rows, eta)
        super().__init__(space, start, seed, **options)


def levels(n_rows: int | None, min_rows: int, eta: int) -> list[float]:
    """The rows of each level: all rows last, an `eta`-th of them before, and so on, down to `min_rows`.

    They are plain floats, as packages need them. If the number of rows isn't known, the only level is all
    rows. Wrong options raise an OptionError.
    """
    check_counts(min_rows=min_rows, eta=eta)
    check_number("eta", eta, 2)
    if n_rows is None:
        return [math.inf]
    rows_of_levels = [float(n_rows)]
    while rows_of_levels[0] / eta >= min_rows:
        rows_of_levels.insert(0, rows_of_levels[0] / eta)
    return rows_of_levels


def budget_range(rows_of_levels: list[float]) -> tuple[float, float]:
    """The lowest and the highest budget for a package that derives the number of levels from a logarithm.

    The lowest is a little below the lowest level, so that a rounding error does not remove a level. A single
    level of unknown size is 1.
    """
    most = rows_of_levels[-1] if math.isfinite(rows_of_levels[-1]) else 1.0
    return (rows_of_levels[0] if len(rows_of_levels) > 1 else most) * 0.999, most


def rows_at(budget: float, rows_of_levels: list[float]) -> int | None:
    """The rows of the level that a package calls `budget`; None for all rows."""
    _, most = budget_range(rows_of_levels)
    return None if round(budget) >= round(most) else max(round(budget), 1)
