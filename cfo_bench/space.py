"""Hyperparameters and the space they span: types, bounds and scales.

`log` defines the scale on which samplers draw (random search, SMAC, BOHB, TPE). CFO, CFO-0 and the Gaussian
processes take the logarithm of every positive hyperparameter, whatever its `log`, as the paper does. Choices
that are ordered numbers form a grid: a sampler draws each choice equally often, by its index, whereas CFO and
CFO-0 move on the scale of the numbers, as for an `Int`.

A hyperparameter may be conditional on categorical ones (`when`). Methods see all hyperparameters and give a
value to each; `Space.active` is the part of a configuration that has an effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cfo_bench.errors import SpaceError, describe
from cfo_bench.values import LEAST_INT, MOST_INT

if TYPE_CHECKING:
    from numpy.random import Generator

Value = int | float | str | bool | None
Config = dict[str, Any]

PLAIN_TYPES = (int, float, str, bool, type(None))


def without_numpy(value: object) -> object:
    """A numpy scalar as the equal Python value; any other value unchanged."""
    if type(value) in PLAIN_TYPES:
        return value
    from numpy import generic

    return value.item() if isinstance(value, generic) else value


@dataclass(frozen=True, slots=True)
class Int:
    """An integer hyperparameter.

    Parameters
    ----------
    name : str
        The name of the hyperparameter.
    low : int
        The smallest value.
    high : int
        The largest value.
    log : bool, default False
        Whether to draw on a logarithmic scale.
    when : mapping of str to value or list of values, optional
        The choices of categorical hyperparameters with which this one has an effect; by default all.

    Raises
    ------
    SpaceError
        If a bound is not an integer of at most 64 bits, `low` exceeds `high`, or `log` is set and `low` is
        not positive.
    """

    name: str
    low: int
    high: int
    log: bool = False
    when: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.name, self.when))
        if type(self.low) is not int or type(self.high) is not int:
            raise SpaceError(f"{_bounds(self)}: an Int has whole bounds")
        if self.low < LEAST_INT or self.high > MOST_INT:
            raise SpaceError(f"{_bounds(self)}: an Int has bounds of at most 64 bits; use a Float")
        _check_bounds(self)

    def at(self, share: float) -> int:
        """The value at the position `share`, in [0, 1), of the scale."""
        # Half a step past both ends, so that a bound gets the same share of the scale as its neighbours.
        value = _interpolate(self.low - 0.5, self.high + 0.5, self.log, share)
        return min(max(round(value), self.low), self.high)

    def check(self, value: object) -> int:
        """The value as a Python int; a SpaceError if it is not in the range."""
        plain = without_numpy(value)
        if type(plain) is int and self.low <= plain <= self.high:
            return plain
        raise SpaceError(f"{self.name} = {value!r} is not a whole number in [{self.low}, {self.high}]")


@dataclass(frozen=True, slots=True)
class Float:
    """A real-valued hyperparameter.

    Parameters
    ----------
    name : str
        The name of the hyperparameter.
    low : float
        The smallest value.
    high : float
        The largest value.
    log : bool, default False
        Whether to draw on a logarithmic scale.
    when : mapping of str to value or list of values, optional
        The choices of categorical hyperparameters with which this one has an effect; by default all.

    Raises
    ------
    SpaceError
        If a bound is not finite, `low` exceeds `high`, or `log` is set and `low` is not positive.
    """

    name: str
    low: float
    high: float
    log: bool = False
    when: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.name, self.when))
        for name in ("low", "high"):
            try:
                if isinstance(getattr(self, name), str):
                    raise TypeError
                object.__setattr__(self, name, float(getattr(self, name)))
            except (TypeError, ValueError, OverflowError):
                raise SpaceError(f"{_bounds(self)}: a Float has finite numbers for bounds") from None
        _check_bounds(self)

    def at(self, share: float) -> float:
        """The value at the position `share`, in [0, 1), of the scale."""
        return min(max(_interpolate(self.low, self.high, self.log, share), self.low), self.high)

    def check(self, value: object) -> float:
        """The value as a Python float; a SpaceError if it is not in the range."""
        plain = without_numpy(value)
        if (type(plain) is float or type(plain) is int) and self.low <= plain <= self.high:
            return float(plain)
        raise SpaceError(f"{self.name} = {value!r} is not a number in [{self.low}, {self.high}]")


@dataclass(frozen=True, slots=True)
class Categorical:
    """A hyperparameter with a finite number of choices.

    Parameters
    ----------
    name : str
        The name of the hyperparameter.
    choices : sequence of int, float, str, bool or None
        The choices, all different.
    ordered : bool, default False
        Whether the order of the choices matters, so that neighbours are alike.
    when : mapping of str to value or list of values, optional
        The choices of categorical hyperparameters with which this one has an effect; by default all.

    Raises
    ------
    SpaceError
        If there is no choice, a choice is given twice, or one is not a value that a trace can hold.
    """

    name: str
    choices: tuple[Value, ...]
    ordered: bool = False
    when: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __init__(
        self,
        name: str,
        choices: Sequence[Value],
        ordered: bool = False,
        when: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "when", _conditions(name, when))
        object.__setattr__(self, "choices", tuple(choices))
        object.__setattr__(self, "ordered", ordered)
        if any(type(choice) not in PLAIN_TYPES for choice in self.choices):
            raise SpaceError(
                f"choices of {name!r} are {list(choices)!r}: give plain numbers, texts, bools or None"
            )
        if not self.choices or len(set(self.choices)) < len(self.choices):
            raise SpaceError(f"choices of {name!r} are {list(choices)!r}: give one or more, all different")
        if not all(map(_can_be_written, self.choices)):
            raise SpaceError(
                f"choices of {name!r} are {list(choices)!r}: give texts that UTF-8 can hold, finite numbers, "
                "and whole ones of at most 64 bits"
            )

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The choices as points on a scale if they are ordered, increasing numbers; otherwise None."""
        if not self.ordered or not all(type(choice) in (int, float) for choice in self.choices):
            return None
        numbers = tuple(float(choice) for choice in self.choices)  # type: ignore[arg-type]
        return numbers if all(low < high for low, high in pairwise(numbers)) else None

    def at(self, share: float) -> Value:
        """The choice at the position `share`, in [0, 1), of the list of choices."""
        return self.choices[int(share * len(self.choices))]

    def check(self, value: object) -> Value:
        """The choice that equals the value; a SpaceError if none does."""
        plain = without_numpy(value)
        for choice in self.choices:
            if type(plain) is type(choice) and plain == choice:  # 1 is not True
                return choice
        raise SpaceError(f"{self.name} = {value!r} is not one of its choices {list(self.choices)}")


Param = Int | Float | Categorical


def is_fixed(param: Param) -> bool:
    """Whether a hyperparameter has a single value, so that there is nothing to search."""
    return len(param.choices) == 1 if isinstance(param, Categorical) else param.low == param.high


@dataclass(frozen=True, slots=True)
class Space:
    """The hyperparameters of a search, in a fixed order.

    Parameters
    ----------
    params : sequence of Int, Float or Categorical
        The hyperparameters, each with a different name.

    Raises
    ------
    SpaceError
        If two hyperparameters have the same name, a name is not a text that UTF-8 can encode, or a condition
        does not name a categorical hyperparameter listed before its own, with choices that this one has.

    Examples
    --------
    >>> from cfo_bench import Float, Int, Space
    >>> space = Space([Int("trees", 4, 1000, log=True), Float("rate", 0.01, 0.1)])
    >>> len(space), space["trees"].high
    (2, 1000)
    """

    params: tuple[Param, ...]
    _by_name: Mapping[str, Param] = field(init=False, repr=False, compare=False)
    _rules: Sequence[tuple[Param, str, type, Any, Any]] = field(init=False, repr=False, compare=False)

    def __init__(self, params: Sequence[Param]) -> None:
        object.__setattr__(self, "params", tuple(params))
        object.__setattr__(self, "_by_name", {param.name: param for param in self.params})
        object.__setattr__(self, "_rules", [_rule(param) for param in self.params])
        if len(self._by_name) < len(self.params):
            names = [param.name for param in self.params]
            duplicate = next(name for name in names if names.count(name) > 1)
            raise SpaceError(f"hyperparameter {duplicate!r} is in the space twice: rename one")
        for name in self._by_name:
            if type(name) is not str or not _can_be_written(name):
                raise SpaceError(f"a hyperparameter is called {name!r}: give it a name that UTF-8 can hold")
        for at, param in enumerate(self.params):
            _check_conditions(param, self.params[:at])

    def __iter__(self) -> Iterator[Param]:
        return iter(self.params)

    def __len__(self) -> int:
        return len(self.params)

    def __getitem__(self, name: str) -> Param:
        return self._by_name[name]

    def sample(self, rng: Generator) -> Config:
        """A configuration drawn uniformly on the scale of each hyperparameter.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        dict
            The configuration.
        """
        shares = rng.random(len(self.params)).tolist()
        return {param.name: param.at(share) for param, share in zip(self.params, shares, strict=True)}

    def check(self, config: Mapping[str, Any]) -> Config:
        """The configuration in the order of the space, with plain Python values.

        Parameters
        ----------
        config : mapping of str to value
            One value for each hyperparameter.

        Returns
        -------
        dict
            The checked configuration.

        Raises
        ------
        SpaceError
            If a name is missing or unknown, or a value is not in the space.
        """
        self.check_names(config)
        return {param.name: param.check(config[param.name]) for param in self.params}

    def active(self, config: Config) -> Config:
        """The values that have an effect: without the hyperparameters whose conditions do not hold.

        A hyperparameter that is conditional on an inactive one is inactive, too.

        Parameters
        ----------
        config : dict
            One value for each hyperparameter.

        Returns
        -------
        dict
            The active part of the configuration, in the order of the space.

        Examples
        --------
        >>> from cfo_bench import Categorical, Float, Space
        >>> kernel = Categorical("kernel", ["linear", "rbf"])
        >>> space = Space([kernel, Float("gamma", 0.01, 1.0, when={"kernel": "rbf"})])
        >>> space.active({"kernel": "linear", "gamma": 0.1})
        {'kernel': 'linear'}
        """
        active: Config = {}
        for param in self.params:  # a condition names a hyperparameter listed before its own
            if all(name in active and _is_among(active[name], values) for name, values in param.when.items()):
                active[param.name] = config[param.name]
        return active

    def accept(self, config: Mapping[str, Any]) -> Config:
        """The same object if it lies in the space and has plain values.

        Scalars of numpy are replaced in a copy. A SpaceError reports a configuration outside the space.
        """
        self.check_names(config)
        replaced = {}
        for param, name, kind, low, high in self._rules:
            value = config[name]
            # Every trial is checked here: a valid number needs no call.
            if type(value) is not kind or not low <= value <= high:
                checked = param.check(value)
                if type(value) not in PLAIN_TYPES:
                    replaced[name] = checked
        return config if type(config) is dict and not replaced else {**config, **replaced}

    def check_names(self, config: Mapping[str, Any]) -> None:
        """A SpaceError if a name is missing or unknown."""
        if config.keys() != self._by_name.keys():
            missing = [name for name in self._by_name if name not in config]
            extra = [name for name in config if name not in self._by_name]
            raise SpaceError(
                f"a configuration has one value for each hyperparameter: missing {missing}, unknown {extra}"
            )

    def to_json(self) -> list[dict[str, Any]]:
        """The space as the header of a trace holds it."""
        return [_param_to_json(param) for param in self.params]

    @classmethod
    def from_json(cls, rows: Sequence[Mapping[str, Any]]) -> Space:
        """The space in the header of a trace from any source; a SpaceError if it is not a valid space."""
        kinds: dict[str, type[Param]] = {"int": Int, "float": Float, "categorical": Categorical}
        try:
            return cls([kinds[row["type"]](**{k: v for k, v in row.items() if k != "type"}) for row in rows])
        except (LookupError, TypeError, AttributeError) as error:
            raise SpaceError(f"the search space has a wrong key or type ({describe(error)})") from None


def _rule(param: Param) -> tuple[Param, str, type, Any, Any]:
    """The type and bounds with which `Space.accept` compares a value. No value has the type Categorical, so
    that `check` is called for choices.
    """
    if isinstance(param, Categorical):
        return param, param.name, Categorical, 0, 0
    return param, param.name, int if isinstance(param, Int) else float, param.low, param.high


def _param_to_json(param: Param) -> dict[str, Any]:
    when = {"when": dict(param.when)} if param.when else {}
    if isinstance(param, Categorical):
        choices = list(param.choices)
        return {
            "type": "categorical",
            "name": param.name,
            "choices": choices,
            "ordered": param.ordered,
            **when,
        }
    kind = "int" if isinstance(param, Int) else "float"
    return {"type": kind, "name": param.name, "low": param.low, "high": param.high, "log": param.log, **when}


# --- conditions -------------------------------------------------------------------------------------


def _conditions(name: str, when: Any) -> dict[str, list[Value]]:
    """The choices of each hyperparameter on which `name` depends. A single choice need not be in a list."""
    if not isinstance(when, Mapping):
        raise SpaceError(f"{name!r} depends on {when!r}: give a mapping, as in {{'kernel': 'rbf'}}")
    return {
        other: list(choices) if isinstance(choices, list | tuple) else [choices]
        for other, choices in when.items()
    }


def _check_conditions(param: Param, earlier: Sequence[Param]) -> None:
    categorical = {other.name: other for other in earlier if isinstance(other, Categorical)}
    for name, values in param.when.items():
        if name not in categorical:
            raise SpaceError(
                f"{param.name!r} depends on {name!r}: name a categorical hyperparameter listed before it"
            )
        if not values:
            raise SpaceError(f"{param.name!r} depends on no choice of {name!r}: give one or more")
        for value in values:
            if not _is_among(value, categorical[name].choices):
                raise SpaceError(
                    f"{param.name!r} depends on {name} = {value!r}: choose from "
                    f"{list(categorical[name].choices)}"
                )


def _is_among(value: Value, choices: Sequence[Value]) -> bool:
    return any(type(value) is type(choice) and value == choice for choice in choices)  # 1 is not True


def _interpolate(low: float, high: float, log: bool, share: float) -> float:
    return low ** (1 - share) * high**share if log else low + share * (high - low)


def _check_bounds(param: Int | Float) -> None:
    if not isinstance(param.log, bool):
        raise SpaceError(f"log = {param.log!r} of {param.name!r} is neither true nor false")
    if not (math.isfinite(param.low) and math.isfinite(param.high) and param.low <= param.high):
        raise SpaceError(f"{_bounds(param)}: low must not exceed high, both finite")
    if param.log and param.low <= 0:
        raise SpaceError(f"{_bounds(param)}: a log scale needs low > 0")


def _can_be_written(value: Value) -> bool:
    """Whether a trace can hold the value."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or LEAST_INT <= value <= MOST_INT


def _bounds(param: Int | Float) -> str:
    return f"bounds of {param.name!r} are [{param.low}, {param.high}]"
