"""YAHPO Gym's surrogates: networks that were fitted to millions of trainings, one for each scenario."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import MissingPackageError, UserError
from cfo_bench.metrics import METRICS
from cfo_bench.recording import LEAST_SECONDS, RecordedTask
from cfo_bench.recordings.yahpo_facts import SCENARIOS, ScenarioFacts, data_set
from cfo_bench.recordings.yahpo_folder import (
    ENCODING,
    MODEL,
    N_FOLDS,
    SPACE,
    existing,
    read_json,
    scenarios,
)
from cfo_bench.records import Answer, DataRef, Problem, TaskFacts
from cfo_bench.space import Categorical, Config, Float, Int, Param

# So many rows of a trial stand for the least fidelity: the fewest that Hyperband and BOHB ask for.
LEAST_ROWS = 10_000
ABSENT = "#na#"

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

    def _can_be_used(self, name: str, held: Mapping[str, Any]) -> bool:
        is_decided = name in self.parents and set(self.parents[name]) <= held.keys()
        return not is_decided or self.conditions[name](dict(held))


@lru_cache(maxsize=8)
def scenario_of(name: str, folder: Path) -> Scenario:
    """The scenario, read from its files."""
    if name not in scenarios(folder):
        known = ", ".join(scenarios(folder))
        raise UserError(f"no scenario {name!r} in {folder}: choose from {known}")
    about = read_json(folder / name / SPACE)
    codes = read_json(folder / name / ENCODING)
    try:
        if about.get("forbiddens"):
            raise UserError(f"scenario {name!r} has forbidden combinations, which cfo-bench can't search")
        rows = {row["name"]: row for row in about["hyperparameters"]}
        if name not in SCENARIOS:
            raise UserError(
                f"scenario {name!r}: no file of YAHPO's data says the order of its surrogate's inputs, and "
                f"cfo-bench knows that of {', '.join(SCENARIOS)} only"
            )
        facts = SCENARIOS[name]
        instance = facts.categories[0]
        params = {key: _param(row) for key, row in rows.items() if key != instance}
        conditions = {row["child"]: _condition(row) for row in about.get("conditions", [])}
        parents = {row["child"]: _parents(row) for row in about.get("conditions", [])}
        defaults = {key: _default(params[key], row) for key, row in rows.items() if key != instance}
        missing = {*facts.categories, *facts.numbers} - rows.keys()
        if missing or facts.fidelity not in params:
            raise KeyError(", ".join(sorted(missing)) or facts.fidelity)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder / name / SPACE} is not as cfo-bench knows it ({type(error).__name__}: {error}): "
            "clone yahpo_data again, or another version of it"
        ) from None
    known_instances = tuple(one for one in codes[instance] if one != ABSENT)
    return Scenario(name, folder, facts, params, defaults, conditions, parents, codes, known_instances)


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


# --- one instance of a scenario ---------------------------------------------------------------------


class SurrogateFold:
    """What the surrogate predicts for one instance; every fold of an instance is the same."""

    optimum = None

    def __init__(
        self, scenario: Scenario, instance: str, fixed: Mapping[str, Any], output: str, is_gain: bool
    ) -> None:
        facts = scenario.facts
        self.full_rows: int = scenario.full_rows
        self._fixed = {**facts.fixed, **fixed}
        self._session = _session(scenario.folder / scenario.name / MODEL)
        self._outputs = [facts.outputs.index(name) for name in (output, *facts.seconds)]
        self._is_gain = is_gain
        self._fidelity = scenario.fidelity
        self._conditions = scenario.conditions
        self._categories = [
            (name, scenario.codes[name], scenario.conditions.get(name)) for name in facts.categories[1:]
        ]
        self._numbers = [(name, scenario.conditions.get(name)) for name in facts.numbers]
        self._x_cat = np.zeros((1, len(facts.categories)), dtype=np.int32)
        self._x_cat[0, 0] = scenario.codes[facts.categories[0]][instance]
        self._x_cont = np.zeros((1, len(facts.numbers)), dtype=np.float32)
        self._inputs = {"x_cat": self._x_cat, "x_cont": self._x_cont}

    def look_up(self, config: Config, rows: int | None) -> Answer:
        whole = {**self._fixed, **config, self._fidelity.name: self._resource(rows)}
        for i, (name, codes, condition) in enumerate(self._categories, start=1):
            is_used = condition is None or condition(whole)
            self._x_cat[0, i] = codes[str(whole[name]) if is_used and name in whole else ABSENT]
        for i, (name, condition) in enumerate(self._numbers):
            is_used = condition is None or condition(whole)
            self._x_cont[0, i] = whole[name] if is_used and name in whole else 0.0
        [row] = self._session.run(None, self._inputs)[0]
        value, *seconds = (float(row[i]) for i in self._outputs)
        fit_seconds = max(seconds[0], LEAST_SECONDS)
        return Answer(1.0 - value if self._is_gain else value, fit_seconds, max(sum(seconds[1:]), 0.0))

    def _resource(self, rows: int | None) -> float:
        fidelity = self._fidelity
        if rows is None:
            return fidelity.high
        share = fidelity.high * rows / self.full_rows
        value = min(max(share, fidelity.low), fidelity.high)
        return round(value) if isinstance(fidelity, Int) else value


def open_instance(name: str, ref: DataRef, fixed: Mapping[str, Any], start: Config) -> RecordedTask:
    """An instance of the scenario `name`, with hyperparameters held at `fixed`."""
    folder = existing(f"task {ref.task!r}", Path(ref.path) if ref.path else None)
    scenario, instance = scenario_of(name, folder), ref.task.partition(":")[2]
    if instance not in scenario.instances:
        raise UserError(
            f"scenario {name!r} has no instance {instance!r}: its {len(scenario.instances)} are "
            f"{', '.join(scenario.instances[:8])}, …"
        )
    about = data_set(instance) if scenario.facts.fidelity == "trainsize" else data_set("")
    output, metric = scenario.facts.multiclass if about.classes > 2 else scenario.facts.binary
    is_gain = METRICS[metric].higher_is_better
    fold = SurrogateFold(scenario, instance, fixed, output, is_gain)
    if metric == "auc":
        constant_loss = 0.5
    else:
        # Without the number of classes: that of the start, so that a score of 0 is where all begin.
        constant_loss = about.constant_log_loss or float(fold.look_up(start, None).loss or 0.0)
    fidelity = scenario.fidelity
    facts = TaskFacts(
        name=ref.task,
        problem=Problem.MULTICLASS if metric == "log_loss" else Problem.BINARY,
        metric=metric,
        n_rows=about.rows,
        n_features=0,
        n_classes=about.classes,
        source=f"YAHPO Gym: {name}, {scenario.facts.categories[0]} {instance}",
        sha256=_sha256(folder / name),
        folds_source=f"no folds were recorded: all {N_FOLDS} are alike; {LEAST_ROWS} to {scenario.full_rows} "
        f"rows stand for {fidelity.name} {fidelity.low:g} to {fidelity.high:g}",
        recording=f"YAHPO Gym's surrogate {name}, its {output}",
        paper_task=about.paper_task,
    )
    return RecordedTask(facts, N_FOLDS, scenario.full_rows, constant_loss, lambda number: fold)


@lru_cache(maxsize=4)
def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingPackageError(
            "YAHPO's surrogates", "onnxruntime", "pip install 'cfo-bench[yahpo]'"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@lru_cache(maxsize=8)
def _sha256(folder: Path) -> str:
    found = hashlib.sha256()
    for name in (SPACE, ENCODING, MODEL):
        found.update((folder / name).read_bytes())
    return found.hexdigest()
