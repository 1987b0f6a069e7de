"""The surrogates of YAHPO Gym: networks that were fitted to millions of trainings, one for each scenario.

The hyperparameters of a scenario, their conditions and their codes come from the files of the user's copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import MissingPackageError, SpaceError, UserError, install_command
from cfo_bench.recordings.yahpo_folder import (
    ABSENT,
    CLONE_AGAIN,
    ENCODING,
    MODEL,
    N_FOLDS,
    SPACE,
    DataSetFacts,
    existing,
    instances_of,
    measured,
    scenarios,
)
from cfo_bench.recordings.yahpo_scenarios import (
    HIGH,
    LOW,
    SCENARIOS,
    STATEMENT,
    LossFacts,
    ScenarioFacts,
    facts_of,
    read_json,
)
from cfo_bench.records import LEAST_SECONDS, Answer, DataRef, Problem, RecordedTask, TaskFacts
from cfo_bench.space import Categorical, Config, Float, Int, Param

# This many rows of a trial stand for the lowest fidelity: the fewest that Hyperband and BOHB ask for.
LEAST_ROWS = 10_000

Condition = Callable[[Config], bool]

# Far from its training data, a surrogate may predict the end of every scale at the same time: an accuracy and
# an AUC of 1, a log-loss and a balanced accuracy of 0, and no seconds. A method that finds such a region must
# not win.
LEAST_LOSS = 1e-7


class SurrogateFold:
    """The predictions of a surrogate for one instance; all folds of an instance are the same."""

    optimum = None

    def __init__(self, scenario: Scenario, instance: str, fixed: Mapping[str, Any], loss: LossFacts) -> None:
        facts = scenario.facts
        self.full_rows: int = scenario.full_rows
        self._fixed = {**facts.fixed, **fixed}
        self._session = _session(scenario.folder / scenario.name / MODEL)
        _check_widths(scenario, self._session)
        self._loss = loss
        self._outputs = [facts.outputs.index(name) for name in (loss.output, *facts.seconds)]
        self._fidelity = scenario.fidelity
        self._categories = [
            (i, name, scenario.codes[name], scenario.conditions.get(name))
            for i, name in enumerate(facts.categories)
            if name != facts.instance
        ]
        self._numbers = [(i, name, scenario.conditions.get(name)) for i, name in enumerate(facts.numbers)]
        self._x_cat = np.zeros((1, len(facts.categories)), dtype=np.int32)
        if facts.instance is not None:
            self._x_cat[0, facts.categories.index(facts.instance)] = scenario.codes[facts.instance][instance]
        self._x_cont = np.zeros((1, len(facts.numbers)), dtype=np.float32)
        self._inputs = {"x_cat": self._x_cat, "x_cont": self._x_cont}

    def look_up(self, config: Config, rows: int | None) -> Answer:
        whole = {**self._fixed, **config, self._fidelity.name: self._resource(rows)}
        for i, name, codes, condition in self._categories:
            is_used = name in whole and (condition is None or condition(whole))
            self._x_cat[0, i] = codes[str(whole[name]) if is_used else ABSENT]
        for i, name, condition in self._numbers:
            is_used = name in whole and (condition is None or condition(whole))
            self._x_cont[0, i] = whole[name] if is_used else 0.0
        [row] = self._session.run(None, self._inputs)[0]
        value, *seconds = (float(row[i]) for i in self._outputs)
        loss, fit_seconds, validate_seconds = self._loss.of(value), seconds[0], max(sum(seconds[1:]), 0.0)
        if loss < LEAST_LOSS:
            error = f"the surrogate predicts a {self._loss.output} of {value:g}: far from what was recorded"
            return Answer(None, max(fit_seconds, LEAST_SECONDS), validate_seconds, error)
        return Answer(loss, max(fit_seconds, LEAST_SECONDS), validate_seconds)

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
    facts = scenario.facts
    about, loss = measured(facts, instance)
    fold = SurrogateFold(scenario, instance, fixed, loss)
    fidelity = scenario.fidelity
    task = TaskFacts(
        name=ref.task,
        problem=_problem(loss.metric, about),
        metric=loss.metric,
        n_rows=about.rows,
        n_features=0,
        n_classes=about.classes,
        source=f"YAHPO Gym: {name}, {facts.instance or 'instance'} {instance}",
        sha256=_sha256(folder / name),
        folds_source=f"no folds were recorded: all {N_FOLDS} are alike; {LEAST_ROWS} to {scenario.full_rows} "
        f"rows stand for {fidelity.name} {fidelity.low:g} to {fidelity.high:g}",
        recording=f"YAHPO Gym's surrogate {name}, its {loss.output}",
        paper_task=about.paper_task,
    )
    constant_loss = _constant_loss(loss.metric, about)
    if constant_loss is None:
        # The loss of the start, so that every method begins at a score of 0.
        constant_loss = float(fold.look_up(start, None).loss or 0.0)
    return RecordedTask(task, N_FOLDS, scenario.full_rows, constant_loss, lambda number: fold)


def _problem(metric: str, about: DataSetFacts) -> Problem:
    if metric in ("mse", "r2"):
        return Problem.REGRESSION
    return Problem.MULTICLASS if metric == "log_loss" else about.problem


def _constant_loss(metric: str, about: DataSetFacts) -> float | None:
    """The loss of a predictor that ignores the features; None if it is not known."""
    if metric == "auc":
        return 0.5
    return about.constant_log_loss if metric == "log_loss" else None


def _check_widths(scenario: Scenario, session: Any) -> None:
    """The model must have as many inputs and outputs as the facts name."""
    facts = scenario.facts
    widths = {tensor.name: tensor.shape[-1] for tensor in session.get_inputs()}
    actual = (widths.get("x_cat"), widths.get("x_cont"), session.get_outputs()[0].shape[-1])
    named = (len(facts.categories), len(facts.numbers), len(facts.outputs))
    if actual != named:
        raise UserError(
            f"the model of scenario {scenario.name!r} has {actual[0]} categories, {actual[1]} numbers and "
            f"{actual[2]} outputs, and cfo-bench knows {named[0]}, {named[1]} and {named[2]}: it is another "
            f"version; state its own in {scenario.folder / scenario.name / STATEMENT} (docs/simulation.md)"
        )


@lru_cache(maxsize=4)
def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingPackageError("YAHPO's surrogates", "onnxruntime", install_command("yahpo")) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@lru_cache(maxsize=8)
def _sha256(folder: Path) -> str:
    content = hashlib.sha256()
    for path in (folder / name for name in (SPACE, ENCODING, MODEL, STATEMENT)):
        if path.name != STATEMENT or path.is_file():
            content.update(path.read_bytes())
    return content.hexdigest()


# --- scenarios -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the user's copy: its hyperparameters, and how a configuration becomes inputs."""

    name: str
    folder: Path
    facts: ScenarioFacts
    params: Mapping[str, Param]  # with the fidelities, without the instance
    defaults: Config
    conditions: Mapping[str, Condition]  # when a hyperparameter is active
    parents: Mapping[str, tuple[str, ...]]  # the hyperparameters that these conditions depend on
    codes: Mapping[str, Mapping[str, int]]
    instances: tuple[str, ...]

    @property
    def fidelity(self) -> Int | Float:
        param = self.params[self.facts.fidelity]
        assert not isinstance(param, Categorical)
        return param

    @property
    def full_rows(self) -> int:
        """The rows of a trial that stand for the full fidelity."""
        return round(LEAST_ROWS * self.fidelity.high / self.fidelity.low)

    def searched(self, fixed: Mapping[str, Any]) -> list[Param]:
        """The hyperparameters to search, without those that can never be active."""
        held = {**self.facts.fixed, **fixed}
        return [
            param
            for name, param in self.params.items()
            if name != self.facts.fidelity and name not in held and self._can_be_used(name, held)
        ]

    def start(self, params: Iterable[Param]) -> Config:
        """The cheap end of each cost-related hyperparameter, and the scenario's default of the others."""
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
            f"scenario {name!r}: no file of YAHPO's data states the order of its surrogate's inputs, and "
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
    """A KeyError if the facts mention a name that is not in the files."""
    inputs = {*facts.categories, *facts.numbers} - {facts.instance}
    missing = (inputs | facts.cheap.keys()) - params.keys() or set(facts.categories) - codes.keys()
    if missing:
        raise KeyError(", ".join(sorted(missing)))
    fidelity = params[facts.fidelity]
    if isinstance(fidelity, Categorical) or fidelity.low <= 0:
        raise TypeError(f"the fidelity {fidelity.name!r} is not a positive number")
    for name, end in facts.cheap.items():
        param = params[name]
        if end not in (param.choices if isinstance(param, Categorical) else (LOW, HIGH)):
            raise KeyError(f"{name} = {end}")


# --- hyperparameters and conditions ----------------------------------------------------------------


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
    """The scenario's default; the middle of the range if it has no valid default."""
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
