"""The hyperparameters of a scenario of YAHPO Gym, their conditions and their codes, from its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cfo_bench.errors import SpaceError, UserError
from cfo_bench.recordings.yahpo_folder import CLONE_AGAIN, ENCODING, SPACE, instances_of, scenarios
from cfo_bench.recordings.yahpo_scenarios import HIGH, LOW, SCENARIOS, ScenarioFacts
from cfo_bench.recordings.yahpo_statement import STATEMENT, facts_of, read_json
from cfo_bench.space import Categorical, Config, Float, Int, Param

# So many rows of a trial stand for the least fidelity: the fewest that Hyperband and BOHB ask for.
LEAST_ROWS = 10_000

Condition = Callable[[Config], bool]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the user's copy: its hyperparameters, and how a configuration becomes the inputs."""

    name: str
    folder: Path
    facts: ScenarioFacts
    params: Mapping[str, Param]  # with the fidelities, without the instance
    defaults: Config
    conditions: Mapping[str, Condition]  # when a hyperparameter is used at all
    parents: Mapping[str, tuple[str, ...]]  # what these conditions depend on
    codes: Mapping[str, Mapping[str, int]]
    instances: tuple[str, ...]

    @property
    def fidelity(self) -> Int | Float:
        found = self.params[self.facts.fidelity]
        assert not isinstance(found, Categorical)
        return found

    @property
    def full_rows(self) -> int:
        """The rows of a trial that stand for the whole fidelity."""
        return round(LEAST_ROWS * self.fidelity.high / self.fidelity.low)

    def searched(self, fixed: Mapping[str, Any]) -> list[Param]:
        """The hyperparameters that are left to search, without those that can't be used."""
        held = {**self.facts.fixed, **fixed}
        return [
            param
            for name, param in self.params.items()
            if name != self.facts.fidelity and name not in held and self._can_be_used(name, held)
        ]

    def start(self, params: Iterable[Param]) -> Config:
        """The cheap end of what drives the cost, and of the others the scenario's own default."""
        return {param.name: self._cheap(param) for param in params}

    def _cheap(self, param: Param) -> Any:
        end = self.facts.cheap.get(param.name)
        if end is None:
            return self.defaults[param.name]
        if isinstance(param, Categorical):
            return end
        return param.low if end == LOW else param.high

    def _can_be_used(self, name: str, held: Mapping[str, Any]) -> bool:
        is_decided = name in self.parents and set(self.parents[name]) <= held.keys()
        return not is_decided or self.conditions[name](dict(held))


@lru_cache(maxsize=8)
def scenario_of(name: str, folder: Path) -> Scenario:
    """The scenario, read from its files."""
    if name not in scenarios(folder):
        known = ", ".join(scenarios(folder))
        raise UserError(f"no scenario {name!r} in {folder}: choose from {known}")
    facts = facts_of(folder / name)
    if facts is None:
        raise UserError(
            f"scenario {name!r}: no file of YAHPO's data says the order of its surrogate's inputs, and "
            f"cfo-bench knows that of {', '.join(SCENARIOS)} only; state it in {folder / name / STATEMENT} "
            "(docs/simulation.md)"
        )
    about = read_json(folder / name / SPACE, CLONE_AGAIN)
    codes = read_json(folder / name / ENCODING, CLONE_AGAIN)
    try:
        if about.get("forbiddens"):
            raise UserError(f"scenario {name!r} has forbidden combinations, which cfo-bench can't search")
        rows = {row["name"]: row for row in about["hyperparameters"] if row["name"] != facts.instance}
        params = {key: _param(row) for key, row in rows.items()}
        defaults = {key: _default(params[key], row) for key, row in rows.items()}
        conditions = {row["child"]: _condition(row) for row in about.get("conditions", [])}
        parents = {row["child"]: _parents(row) for row in about.get("conditions", [])}
        _check(facts, params, codes)
    except (KeyError, TypeError, AttributeError, SpaceError) as error:
        raise UserError(
            f"{folder / name / SPACE} is not as cfo-bench knows it ({type(error).__name__}: {error}): "
            f"{CLONE_AGAIN}, or another version of it"
        ) from None
    instances = instances_of(facts, codes)
    return Scenario(name, folder, facts, params, defaults, conditions, parents, codes, instances)


def _check(facts: ScenarioFacts, params: Mapping[str, Param], codes: Mapping[str, Any]) -> None:
    """A KeyError names what the facts speak of and the files do not have."""
    inputs = {*facts.categories, *facts.numbers} - {facts.instance}
    missing = (inputs | facts.cheap.keys()) - params.keys() or set(facts.categories) - codes.keys()
    if missing:
        raise KeyError(", ".join(sorted(missing)))
    fidelity = params[facts.fidelity]
    if isinstance(fidelity, Categorical) or fidelity.low <= 0:
        raise TypeError(f"the fidelity {fidelity.name!r} is no positive number")
    for name, end in facts.cheap.items():
        param = params[name]
        if end not in (param.choices if isinstance(param, Categorical) else (LOW, HIGH)):
            raise KeyError(f"{name} = {end}")


# --- hyperparameters and conditions from config_space.json ------------------------------------------


def _param(row: Mapping[str, Any]) -> Param:
    kind, name = row["type"], row["name"]
    if kind in ("uniform_float", "uniform_int"):
        number = Float if kind == "uniform_float" else Int
        return number(name, row["lower"], row["upper"], log=bool(row.get("log")))
    if kind == "constant":
        return Categorical(name, [row["value"]])
    if kind == "ordinal":
        return Categorical(name, row["sequence"], ordered=True)
    if kind == "categorical":
        return Categorical(name, row["choices"])
    raise TypeError(f"hyperparameter {name!r} is {kind!r}")


def _default(param: Param, row: Mapping[str, Any]) -> Any:
    """The scenario's default; where it has none that fits, the middle."""
    value = row.get("default")
    if isinstance(param, Categorical):
        return value if value in param.choices else param.choices[(len(param.choices) - 1) // 2]
    if isinstance(value, int | float) and param.low <= value <= param.high:
        return round(value) if isinstance(param, Int) else float(value)
    return param.at(0.5)


def _condition(row: Mapping[str, Any]) -> Condition:
    kind = row["type"]
    if kind in ("AND", "OR"):
        parts = [_condition(part) for part in row["conditions"]]
        together = all if kind == "AND" else any
        return lambda config: together(part(config) for part in parts)
    parent = row["parent"]
    if kind == "EQ":
        return lambda config: bool(config.get(parent) == row["value"])
    if kind == "NEQ":
        return lambda config: bool(config.get(parent) != row["value"])
    if kind == "IN":
        values = list(row["values"])
        return lambda config: config.get(parent) in values
    if kind in ("LT", "GT"):
        sign = 1 if kind == "GT" else -1
        return lambda config: parent in config and sign * config[parent] > sign * row["value"]
    raise TypeError(f"a condition of {row.get('child')!r} is {kind!r}")


def _parents(row: Mapping[str, Any]) -> tuple[str, ...]:
    if "conditions" in row:
        return tuple(name for part in row["conditions"] for name in _parents(part))
    return (row["parent"],)
