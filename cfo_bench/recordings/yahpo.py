"""YAHPO Gym's surrogates: networks that were fitted to millions of trainings, one for each scenario."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import MissingPackageError, UserError
from cfo_bench.recording import LEAST_SECONDS, RecordedTask
from cfo_bench.recordings.yahpo_data_sets import DataSetFacts
from cfo_bench.recordings.yahpo_folder import ABSENT, ENCODING, MODEL, N_FOLDS, SPACE, existing, measured
from cfo_bench.recordings.yahpo_scenarios import LossFacts
from cfo_bench.recordings.yahpo_space import LEAST_ROWS, Scenario, scenario_of
from cfo_bench.recordings.yahpo_statement import STATEMENT
from cfo_bench.records import Answer, DataRef, Problem, TaskFacts
from cfo_bench.space import Config, Int

# Far from what it was fitted to, a surrogate may predict the end of every scale at once: an accuracy and an
# AUC of 1, and a log-loss and a balanced accuracy of 0, in no time. Whoever finds such a place must not win.
LEAST_LOSS = 1e-7


class SurrogateFold:
    """What the surrogate predicts for one instance; every fold of an instance is the same."""

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
            why = f"the surrogate predicts a {self._loss.output} of {value:g}: far from what was recorded"
            return Answer(None, max(fit_seconds, LEAST_SECONDS), validate_seconds, why)
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
        # That of the start, so that a score of 0 is where all begin.
        constant_loss = float(fold.look_up(start, None).loss or 0.0)
    return RecordedTask(task, N_FOLDS, scenario.full_rows, constant_loss, lambda number: fold)


def _problem(metric: str, about: DataSetFacts) -> Problem:
    if metric in ("mse", "r2"):
        return Problem.REGRESSION
    return Problem.MULTICLASS if metric == "log_loss" else about.problem


def _constant_loss(metric: str, about: DataSetFacts) -> float | None:
    """Of a predictor that sees no feature; None: it is not known."""
    if metric == "auc":
        return 0.5
    return about.constant_log_loss if metric == "log_loss" else None


def _check_widths(scenario: Scenario, session: Any) -> None:
    """The facts name as many inputs and outputs as the model has."""
    facts = scenario.facts
    widths = {one.name: one.shape[-1] for one in session.get_inputs()}
    found = (widths.get("x_cat"), widths.get("x_cont"), session.get_outputs()[0].shape[-1])
    named = (len(facts.categories), len(facts.numbers), len(facts.outputs))
    if found != named:
        raise UserError(
            f"the model of scenario {scenario.name!r} has {found[0]} categories, {found[1]} numbers and "
            f"{found[2]} outputs, and cfo-bench knows {named[0]}, {named[1]} and {named[2]}: it is another "
            f"version; state its own in {scenario.folder / scenario.name / STATEMENT} (docs/simulation.md)"
        )


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
    for path in (folder / name for name in (SPACE, ENCODING, MODEL, STATEMENT)):
        if path.name != STATEMENT or path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()
