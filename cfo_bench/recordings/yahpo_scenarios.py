"""The order and the meaning of a surrogate's inputs and outputs, which are in no file of YAHPO Gym's data.

SCENARIOS contains the facts of the released scenarios, and of `fair_*`, which exist only in a branch of
yahpo_data. For any other scenario, the user writes the facts into a file beside the scenario's data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cfo_bench.errors import UserError

# The cheap end of a cost-related number. For a category, the cheap choice itself is given.
LOW, HIGH = "low", "high"


class Reading(StrEnum):
    """How an output becomes a loss."""

    LOSS = "loss"  # it is the loss
    GAIN = "gain"  # 1 − the output
    PERCENT = "percent"  # 1 − the output / 100


@dataclass(frozen=True, slots=True)
class LossFacts:
    """Which output is the loss."""

    output: str
    metric: str  # of `metrics.METRICS`
    reading: Reading

    def of(self, value: float) -> float:
        if self.reading is Reading.LOSS:
            return value
        return 1.0 - (value if self.reading is Reading.GAIN else value / 100.0)


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """One scenario: the inputs of its surrogate in their order, its outputs, and the cheap ends."""

    categories: tuple[str, ...]
    numbers: tuple[str, ...]
    outputs: tuple[str, ...]
    seconds: tuple[str, ...]  # outputs whose sum is the cost of a trial: of training, and of validation
    fidelity: str  # the hyperparameter that is the resource
    loss: LossFacts
    multiclass: LossFacts | None = None  # for data sets that are known to have more than two classes
    cheap: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # LOW, HIGH or a choice
    fixed: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # other fidelities
    instance: str | None = "task_id"  # the category that names the instance
    instances: tuple[str, ...] = ()  # their names, if no category has them
    names_data_sets: bool = True  # an instance is OpenML's number of a data set, or the name of one


_AUC = LossFacts("auc", "auc", Reading.GAIN)
_LOG_LOSS = LossFacts("logloss", "log_loss", Reading.LOSS)
_ERROR_RATE = LossFacts("mmce", "accuracy", Reading.LOSS)

_RBV2_OUTPUTS = ("acc", "bac", "auc", "brier", "f1", "logloss", "timetrain", "timepredict", "memory")
_IAML_OUTPUTS = (
    *("mmce", "f1", "auc", "logloss", "ramtrain", "rammodel", "rampredict", "timetrain", "timepredict"),
    *("mec", "ias", "nf"),
)
_FAIR_OUTPUTS = (*("mmce", "f1", "feo", "fpredp", "facc", "ftpr", "ffomr", "ffnr", "rammodel", "timetrain"),)
_BOOSTING = (
    *("nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth", "min_child_weight"),
    *("colsample_bytree", "colsample_bylevel"),
)
_DART = ("rate_drop", "skip_drop")
_BOOSTING_CHEAP = {"nrounds": LOW, "max_depth": LOW}
_RPART = ("cp", "maxdepth", "minbucket", "minsplit")
_SVM = ("cost", "gamma", "tolerance", "degree")
_AKNN = ("k", "M", "ef", "ef_construction")
_RBV2_FOREST = ("num.trees", "sample.fraction", "mtry.power", "min.node.size", "num.random.splits")
_IAML_FOREST = ("num.trees", "sample.fraction", "mtry.ratio", "min.node.size", "num.random.splits")
_FAIR_FOREST = ("min.node.size", "mtry.ratio", "num.random.splits", "num.trees", "sample.fraction")
_FOREST_CHEAP = {"num.trees": LOW, "sample.fraction": LOW}
_SUPER_CHEAP = {"xgboost.nrounds": LOW, "xgboost.max_depth": LOW, "ranger.num.trees": LOW}


def _rbv2(categories: tuple[str, ...], numbers: tuple[str, ...], cheap: Mapping[str, str]) -> ScenarioFacts:
    return ScenarioFacts(
        categories=("task_id", *categories, "num.impute.selected.cpo"),
        numbers=(*numbers, "trainsize", "repl"),
        outputs=_RBV2_OUTPUTS,
        seconds=("timetrain", "timepredict"),
        fidelity="trainsize",
        loss=_AUC,
        multiclass=_LOG_LOSS,
        cheap=cheap,
        fixed={"repl": 10},
    )


def _iaml(categories: tuple[str, ...], numbers: tuple[str, ...], cheap: Mapping[str, str]) -> ScenarioFacts:
    return ScenarioFacts(
        categories=("task_id", *categories),
        numbers=(*numbers, "trainsize"),
        outputs=_IAML_OUTPUTS,
        seconds=("timetrain", "timepredict"),
        fidelity="trainsize",
        loss=_AUC,
        multiclass=_LOG_LOSS,
        cheap=cheap,
    )


def _fair(categories: tuple[str, ...], numbers: tuple[str, ...], cheap: Mapping[str, str]) -> ScenarioFacts:
    return ScenarioFacts(
        categories=categories,
        numbers=(*numbers, "trainsize"),
        outputs=_FAIR_OUTPUTS,
        seconds=("timetrain",),
        fidelity="trainsize",
        loss=_ERROR_RATE,
        cheap=cheap,
        names_data_sets=False,
    )


def _of(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}.{name}" for name in names)


_DEBIASING = ("reweighing_os_alpha", "EoD_alpha")


def _nb301() -> ScenarioFacts:
    """The cells of a network: the operation of each of 14 edges, and the nodes that inner nodes read."""
    cells, prefix = ("normal", "reduce"), "NetworkSelectorDatasetInfo_COLON_darts_COLON"
    edges = [f"{prefix}_edge_{cell}_{number}" for cell in cells for number in range(14)]
    inputs = [f"{prefix}_inputs_node_{cell}_{number}" for cell in cells for number in (3, 4, 5)]
    return ScenarioFacts(
        categories=(*edges, *inputs),
        numbers=("epoch",),
        outputs=("val_accuracy", "runtime"),
        seconds=("runtime",),
        fidelity="epoch",
        loss=LossFacts("val_accuracy", "accuracy", Reading.PERCENT),
        cheap=dict.fromkeys(edges, "skip_connect"),
        instance=None,
        instances=("CIFAR10",),
    )


SCENARIOS: Mapping[str, ScenarioFacts] = {
    "rbv2_xgboost": _rbv2(("booster",), (*_BOOSTING, *_DART), _BOOSTING_CHEAP),
    "rbv2_rpart": _rbv2((), _RPART, {"maxdepth": LOW}),
    "rbv2_glmnet": _rbv2((), ("alpha", "s"), {"s": HIGH}),
    "rbv2_svm": _rbv2(("kernel",), _SVM, {"cost": LOW}),
    "rbv2_ranger": _rbv2(("respect.unordered.factors", "splitrule"), _RBV2_FOREST, _FOREST_CHEAP),
    "rbv2_aknn": _rbv2(("distance",), _AKNN, {"M": LOW, "ef": LOW, "ef_construction": LOW}),
    "rbv2_super": _rbv2(
        (
            *("learner_id", "svm.kernel", "ranger.respect.unordered.factors", "ranger.splitrule"),
            *("aknn.distance", "xgboost.booster"),
        ),
        (
            *_of("svm", _SVM),
            *("glmnet.alpha", "glmnet.s"),
            *_of("rpart", _RPART),
            *_of("ranger", _RBV2_FOREST),
            *_of("aknn", _AKNN),
            *_of("xgboost", (*_BOOSTING, *_DART)),
        ),
        _SUPER_CHEAP,
    ),
    "iaml_xgboost": _iaml(("booster",), (*_BOOSTING, *_DART), _BOOSTING_CHEAP),
    "iaml_rpart": _iaml((), _RPART, {"maxdepth": LOW}),
    "iaml_glmnet": _iaml((), ("alpha", "s"), {"s": HIGH}),
    "iaml_ranger": _iaml(("replace", "respect.unordered.factors", "splitrule"), _IAML_FOREST, _FOREST_CHEAP),
    "iaml_super": _iaml(
        (
            *("learner", "ranger.replace", "ranger.respect.unordered.factors", "ranger.splitrule"),
            "xgboost.booster",
        ),
        (
            *_of("ranger", _IAML_FOREST),
            *_of("rpart", _RPART),
            *("glmnet.alpha", "glmnet.s"),
            *_of("xgboost", (*_BOOSTING, *_DART)),
        ),
        _SUPER_CHEAP,
    ),
    "fair_fgrrm": _fair(("task_id", "definition"), ("lambda", "unfairness"), {}),
    "fair_rpart": _fair(("task_id", "pre_post"), (*_RPART, *_DEBIASING), {"maxdepth": LOW}),
    "fair_ranger": _fair(
        ("replace", "respect.unordered.factors", "splitrule", "task_id", "pre_post"),
        (*_FAIR_FOREST, *_DEBIASING),
        _FOREST_CHEAP,
    ),
    "fair_xgboost": _fair(("booster", "task_id", "pre_post"), (*_BOOSTING, *_DEBIASING), _BOOSTING_CHEAP),
    "fair_super": _fair(
        (
            *("fgrrm.definition", "ranger.replace", "ranger.respect.unordered.factors", "ranger.splitrule"),
            *("xgboost.booster", "learner", "task_id", "pre_post"),
        ),
        (
            *("fgrrm.lambda", "fgrrm.unfairness"),
            *_of("rpart", _RPART),
            *_of("ranger", _FAIR_FOREST),
            *_of("xgboost", _BOOSTING),
            *_DEBIASING,
        ),
        _SUPER_CHEAP,
    ),
    "lcbench": ScenarioFacts(
        categories=("OpenML_task_id",),
        numbers=(
            *("epoch", "batch_size", "learning_rate", "momentum", "weight_decay", "num_layers", "max_units"),
            "max_dropout",
        ),
        outputs=(
            *("time", "val_accuracy", "val_cross_entropy", "val_balanced_accuracy", "test_cross_entropy"),
            "test_balanced_accuracy",
        ),
        seconds=("time",),
        fidelity="epoch",
        loss=LossFacts("val_cross_entropy", "log_loss", Reading.LOSS),
        cheap={"num_layers": LOW, "max_units": LOW, "batch_size": HIGH},
        instance="OpenML_task_id",
        names_data_sets=False,
    ),
    "nb301": _nb301(),
}


# --- scenarios that the user describes -------------------------------------------------------------
# The user describes a scenario that cfo-bench does not know in `cfo_bench.json` beside its other files:
#
#     {"categories": ["task", "optimizer"], "numbers": ["epoch", "rate"], "outputs": ["error", "runtime"],
#      "instance": "task", "fidelity": "epoch", "seconds": ["runtime"],
#      "loss": {"output": "error", "metric": "accuracy", "reading": "loss"}, "cheap": {"rate": "high"}}
#
# `categories` and `numbers` are the inputs of its model in their order, and `outputs` are its predictions.


STATEMENT = "cfo_bench.json"
_NAMES = ("categories", "numbers", "outputs", "seconds")
_KEYS = {*_NAMES, "instance", "instances", "fidelity", "loss", "cheap", "fixed"}


def facts_of(scenario: Path) -> ScenarioFacts | None:
    """The facts of the scenario in a folder: from the user's file, or known to cfo-bench; else None."""
    path = scenario / STATEMENT
    if not path.is_file():
        return SCENARIOS.get(scenario.name)
    return parse(read_json(path, "correct it"), path)


def read_json(path: Path, remedy: str) -> Any:
    """The content of a JSON file; an error ends with the `remedy`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"can't read {path}: {error}; {remedy}") from None


def parse(stated: Any, path: Path) -> ScenarioFacts:
    """The facts in a user's file; a UserError names the mistake."""
    try:
        return _parsed(stated)
    except ValueError as error:
        raise UserError(f"{path}: {error}; docs/simulation.md has an example") from None


def _parsed(stated: Any) -> ScenarioFacts:
    if not isinstance(stated, dict):
        raise ValueError("it is not a JSON object")
    if unknown := sorted(stated.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}: choose from {', '.join(sorted(_KEYS))}")
    categories, numbers, outputs, seconds = (_names(stated, key) for key in _NAMES)
    instances = _names(stated, "instances", ())
    instance = stated.get("instance")
    if (instance is None) == (not instances):
        raise ValueError("give 'instance', the category that names the instance, or 'instances', their names")
    if instance is not None:
        _one_of(instance, categories, "instance")
    for output in seconds:
        _one_of(output, outputs, "seconds")
    if not seconds:
        raise ValueError("'seconds' names no output, and without seconds the clock does not advance")
    return ScenarioFacts(
        categories=categories,
        numbers=numbers,
        outputs=outputs,
        seconds=seconds,
        fidelity=_one_of(stated.get("fidelity"), numbers, "fidelity"),
        loss=_loss(stated.get("loss"), outputs),
        cheap={key: str(value) for key, value in _mapping(stated, "cheap").items()},
        fixed={key: _number(key, value) for key, value in _mapping(stated, "fixed").items()},
        instance=instance,
        instances=instances,
        names_data_sets=False,
    )


def _loss(stated: Any, outputs: tuple[str, ...]) -> LossFacts:
    from cfo_bench.metrics import METRICS  # loads numpy

    if not isinstance(stated, dict) or stated.keys() != {"output", "metric", "reading"}:
        raise ValueError("'loss' has the keys output, metric and reading")
    return LossFacts(
        output=_one_of(stated["output"], outputs, "output of 'loss'"),
        metric=_one_of(stated["metric"], tuple(METRICS), "metric of 'loss'"),
        reading=Reading(_one_of(stated["reading"], tuple(Reading), "reading of 'loss'")),
    )


def _names(stated: Mapping[str, Any], key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
    names = stated.get(key, default)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{key!r} is {names!r}: give a list of names")
    if len(set(names)) != len(names):
        raise ValueError(f"{key!r} has a name twice")
    return tuple(names)


def _one_of(name: Any, known: tuple[str, ...], what: str) -> str:
    if name not in known:
        raise ValueError(f"{what} is {name!r}: choose from {', '.join(known)}")
    return str(name)


def _mapping(stated: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = stated.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key!r} is {value!r}: give a JSON object")
    return value


def _number(key: str, value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"'fixed' holds {key!r} at {value!r}, which is not a number")
    return float(value)
