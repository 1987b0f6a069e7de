"""What no file of YAHPO Gym's data says: the order of a surrogate's inputs and outputs, and what they mean.

Facts of the scenarios of its releases, and of `fair_*`, which only a branch of its repository has. Of another
scenario the user states them in a file: see yahpo_statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

# The cheap end of a number that drives the cost. Of a category, the cheap choice stands there itself.
LOW, HIGH = "low", "high"


class Reading(StrEnum):
    """How an output becomes a loss."""

    LOSS = "loss"  # it is one
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
    seconds: tuple[str, ...]  # outputs whose sum is the cost of a trial: of the fit, and of the validation
    fidelity: str  # the hyperparameter that is the resource
    loss: LossFacts
    multiclass: LossFacts | None = None  # where the data set is known to have more than two classes
    cheap: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # LOW, HIGH or a choice
    fixed: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # other fidelities
    instance: str | None = "task_id"  # the category that names the instance
    instances: tuple[str, ...] = ()  # their names, where no category does
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
    """A network's cells: what each of 14 edges does, and which nodes the inner nodes read."""
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
