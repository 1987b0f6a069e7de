"""What methods on other people's packages share: the start first, plain values, numbers, silence.

The method proposes configurations of the hyperparameters that have more than one value; those with
a single one are left out of what the package sees and put back here.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from cfo_bench.errors import Exhausted
from cfo_bench.records import Result, Trial
from cfo_bench.space import Categorical, Config, Int, Param, Space

Token = TypeVar("Token")

# Packages add 1 and more to a seed, and hand it to generators that take 32 bits.
SEED_LIMIT = 2**31


class Packaged(ABC, Generic[Token]):
    """`ask` and `tell` around a package. A token is whatever the package wants back with a result."""

    def __init__(self, space: Space, start: Mapping[str, Any]) -> None:
        self.start = space.check(start)
        self.searched = [param for param in space if not _is_fixed(param)]
        self._asked = 0
        self._under_way: dict[int, Token] = {}

    @abstractmethod
    def begin(self) -> Token:
        """The start is about to be evaluated: the package is to know of it."""

    @abstractmethod
    def suggest(self) -> tuple[Mapping[str, Any], Token]:
        """The package's next values of the searched hyperparameters; of a categorical, the choice's index."""

    @abstractmethod
    def learn(self, token: Token, result: Result) -> None: ...

    def ask(self) -> Trial:
        number, config, rows = self._asked, self.start, None
        if self.searched:
            with silence():
                if number == 0:
                    token = self.begin()
                else:
                    values, token = self.suggest()
                    config = self._config(values)
            self._under_way[number] = token
            rows = self.rows_of(token)
        elif number > 0:
            raise Exhausted("every hyperparameter has a single value: there is nothing to search")
        self._asked += 1
        return Trial(number, config, rows)

    def tell(self, trial: Trial, result: Result) -> None:
        if self.searched:
            with silence():
                self.learn(self._under_way.pop(trial.number), result)

    def rows_of(self, token: Token) -> int | None:
        """The rows to train on, where a method has a say in that."""
        return None

    def _config(self, values: Mapping[str, Any]) -> Config:
        found = {param.name: plain(param, values[param.name]) for param in self.searched}
        return {**self.start, **found}


def plain(param: Param, value: Any) -> Any:
    """A package's number, of whatever type and a rounding error out of bounds, as the space wants it."""
    if isinstance(param, Categorical):
        return param.choices[min(max(round(float(value)), 0), len(param.choices) - 1)]
    number = round(float(value)) if isinstance(param, Int) else float(value)
    return min(max(number, param.low), param.high)


def index_of(param: Categorical, value: Any) -> int:
    """Where a value stands among the choices; 1 is not True."""
    return next(
        i for i, choice in enumerate(param.choices) if type(choice) is type(value) and choice == value
    )


def encoded(param: Param, value: Any) -> Any:
    """A value of a configuration as a package gets it."""
    return index_of(param, value) if isinstance(param, Categorical) else value


def seed_of(seed: int) -> int:
    return seed % SEED_LIMIT


class FiniteLosses(Generic[Token]):
    """For models that need a number: a trial that gave none counts as the worst seen so far.

    Until there is one, such trials are held back: nothing is known that they could be as bad as.
    No number is larger than `largest`, so that the model's arithmetic stays finite.
    """

    def __init__(self, largest: float) -> None:
        self._largest = largest
        self._worst = -math.inf
        self._held: list[Token] = []

    def admit(self, token: Token, result: Result) -> list[tuple[Token, float]]:
        """What is to be told now, in order."""
        if math.isinf(result.value):
            if math.isinf(self._worst):
                self._held.append(token)
                return []
            return [(token, self._worst)]
        loss = min(max(result.value, -self._largest), self._largest)
        self._worst = max(self._worst, loss)
        held, self._held = self._held, []
        return [(token, loss), *((one, self._worst) for one in held)]


@contextmanager
def silence() -> Iterator[None]:
    """Warnings of a package about its own inner life reach nobody who could do something about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _is_fixed(param: Param) -> bool:
    return len(param.choices) == 1 if isinstance(param, Categorical) else param.low == param.high
