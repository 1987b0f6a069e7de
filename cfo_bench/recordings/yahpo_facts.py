"""What no file of YAHPO Gym's data says: the order of a surrogate's inputs and outputs, and what they mean.

Facts of its scenarios and of the OpenML data sets that they are of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from cfo_bench.records import Problem


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """One scenario: the inputs of its surrogate in their order, its outputs, and the cheap ends."""

    categories: tuple[str, ...]  # the first names the instance
    numbers: tuple[str, ...]
    outputs: tuple[str, ...]
    seconds: tuple[str, ...]  # outputs whose sum is the cost of a trial: of the fit, and of the validation
    fidelity: str  # the hyperparameter that is the resource
    # What the loss is: the output, and whether it is 1 − the output. For two classes, and for more.
    binary: tuple[str, str]
    multiclass: tuple[str, str]
    # Hyperparameters that drive the cost, and whether the low end is the cheap one.
    cost_related: Mapping[str, bool]
    fixed: Mapping[str, float]  # other fidelities, held at their most


_RBV2_OUTPUTS = ("acc", "bac", "auc", "brier", "f1", "logloss", "timetrain", "timepredict", "memory")
_IAML_OUTPUTS = (
    *("mmce", "f1", "auc", "logloss", "ramtrain", "rammodel", "rampredict", "timetrain", "timepredict"),
    *("mec", "ias", "nf"),
)
_BOOSTING = (
    *("nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth", "min_child_weight"),
    *("colsample_bytree", "colsample_bylevel", "rate_drop", "skip_drop"),
)
_BOOSTING_COST = {"nrounds": True, "max_depth": True}
_RPART = ("cp", "maxdepth", "minbucket", "minsplit")
_SVM = ("cost", "gamma", "tolerance", "degree")
_AKNN = ("k", "M", "ef", "ef_construction")


def _rbv2(categories: tuple[str, ...], numbers: tuple[str, ...], cost: Mapping[str, bool]) -> ScenarioFacts:
    return ScenarioFacts(
        categories=("task_id", *categories, "num.impute.selected.cpo"),
        numbers=(*numbers, "trainsize", "repl"),
        outputs=_RBV2_OUTPUTS,
        seconds=("timetrain", "timepredict"),
        fidelity="trainsize",
        binary=("auc", "auc"),
        multiclass=("logloss", "log_loss"),
        cost_related=cost,
        fixed={"repl": 10},
    )


def _iaml(categories: tuple[str, ...], numbers: tuple[str, ...], cost: Mapping[str, bool]) -> ScenarioFacts:
    return ScenarioFacts(
        categories=("task_id", *categories),
        numbers=(*numbers, "trainsize"),
        outputs=_IAML_OUTPUTS,
        seconds=("timetrain", "timepredict"),
        fidelity="trainsize",
        binary=("auc", "auc"),
        multiclass=("logloss", "log_loss"),
        cost_related=cost,
        fixed={},
    )


def _of(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}.{name}" for name in names)


_RBV2_FOREST = ("num.trees", "sample.fraction", "mtry.power", "min.node.size", "num.random.splits")
_IAML_FOREST = ("num.trees", "sample.fraction", "mtry.ratio", "min.node.size", "num.random.splits")

SCENARIOS: Mapping[str, ScenarioFacts] = {
    "rbv2_xgboost": _rbv2(("booster",), _BOOSTING, _BOOSTING_COST),
    "rbv2_rpart": _rbv2((), _RPART, {"maxdepth": True}),
    "rbv2_glmnet": _rbv2((), ("alpha", "s"), {"s": False}),
    "rbv2_svm": _rbv2(("kernel",), _SVM, {"cost": True}),
    "rbv2_ranger": _rbv2(
        ("respect.unordered.factors", "splitrule"),
        _RBV2_FOREST,
        {"num.trees": True, "sample.fraction": True},
    ),
    "rbv2_aknn": _rbv2(("distance",), _AKNN, {"M": True, "ef": True, "ef_construction": True}),
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
            *_of("xgboost", _BOOSTING),
        ),
        {"xgboost.nrounds": True, "xgboost.max_depth": True, "ranger.num.trees": True},
    ),
    "iaml_xgboost": _iaml(("booster",), _BOOSTING, _BOOSTING_COST),
    "iaml_rpart": _iaml((), _RPART, {"maxdepth": True}),
    "iaml_glmnet": _iaml((), ("alpha", "s"), {"s": False}),
    "iaml_ranger": _iaml(
        ("replace", "respect.unordered.factors", "splitrule"),
        _IAML_FOREST,
        {"num.trees": True, "sample.fraction": True},
    ),
    "iaml_super": _iaml(
        (
            *("learner", "ranger.replace", "ranger.respect.unordered.factors", "ranger.splitrule"),
            "xgboost.booster",
        ),
        (
            *_of("ranger", _IAML_FOREST),
            *_of("rpart", _RPART),
            *("glmnet.alpha", "glmnet.s"),
            *_of("xgboost", _BOOSTING),
        ),
        {"xgboost.nrounds": True, "xgboost.max_depth": True, "ranger.num.trees": True},
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
        binary=("val_cross_entropy", "log_loss"),
        multiclass=("val_cross_entropy", "log_loss"),
        cost_related={"num_layers": True, "max_units": True, "batch_size": False},
        fixed={},
    ),
}


@dataclass(frozen=True, slots=True)
class DataSetFacts:
    """A data set of OpenML; 0 is what is not known."""

    classes: int = 0
    rows: int = 0
    paper_task: str | None = None

    @property
    def problem(self) -> Problem:
        """Where the number of classes is not known, the loss is 1 − AUC, as for two."""
        return Problem.MULTICLASS if self.classes > 2 else Problem.BINARY

    @property
    def constant_log_loss(self) -> float | None:
        """Of equal probabilities for all classes; None: their number is not known."""
        return math.log(self.classes) if self.classes else None


# The paper's classification tasks by OpenML's number of the data set. Rows where they were checked.
PAPER = {
    "3": DataSetFacts(2, 3196, "kr-vs-kp"),
    "12": DataSetFacts(10, 2000, "mfeat-factors"),
    "31": DataSetFacts(2, 1000, "credit-g"),
    "54": DataSetFacts(4, 846, "vehicle"),
    "1067": DataSetFacts(2, 2109, "kc1"),
    "1111": DataSetFacts(2, 50000, "KDDCup09_appe"),
    "1461": DataSetFacts(2, 45211, "bank_marketing"),
    "1464": DataSetFacts(2, 748, "blood-transfusion"),
    "1468": DataSetFacts(9, 1080, "cnae-9"),
    "1486": DataSetFacts(2, 34465, "nomao"),
    "1489": DataSetFacts(2, 5404, "phoneme"),
    "1590": DataSetFacts(2, 48842, "adult"),
    "4135": DataSetFacts(2, 32769, "Amazon_employee"),
    "23512": DataSetFacts(2, 98050, "higgs"),
    "23517": DataSetFacts(2, 96320, "numerai28.6"),
    "40668": DataSetFacts(3, 67557, "connect-4"),
    "40685": DataSetFacts(7, 58000, "shuttle"),
    "40975": DataSetFacts(4, 1728, "car"),
    "40981": DataSetFacts(2, 690, "Australian"),
    "40984": DataSetFacts(7, 2310, "segment"),
    "40996": DataSetFacts(10, 70000, "Fashion-MNIST"),
    "41027": DataSetFacts(3, 44819, "jungle_chess_2pcs"),
    "41138": DataSetFacts(2, 76000, "APSFailure"),
    "41142": DataSetFacts(2, 5418, "christine"),
    "41143": DataSetFacts(2, 2984, "jasmine"),
    "41146": DataSetFacts(2, 5124, "sylvine"),
    "41150": DataSetFacts(2, 130064, "MiniBooNE"),
    "41161": DataSetFacts(2, 20000, "riccardo"),
    "41164": DataSetFacts(7, 8237, "fabert"),
    "41166": DataSetFacts(10, 58310, "volkert"),
    "41168": DataSetFacts(4, 83733, "Jannis"),
    "41169": DataSetFacts(100, 65196, "Helena"),
}
# Other data sets of the scenarios: how many have more than two classes.
_CLASSES = {
    3: "11 23 46 60 4541 40670 41278",
    4: "458 1497",
    5: "188 4538 41163",
    6: "182 377 469 1475 1476 1478",
    7: "40498 40982",
    8: "40966",
    9: "375",
    10: "14 16 18 22 28 32 181 554 1459 1501 40496 40927 40979 41165",
    11: "307 40499",
    19: "42",
    20: "1515",
    26: "6 300",
    46: "40923",
    50: "1457",
    100: "1493",
}
_OF_NUMBER = {number: classes for classes, numbers in _CLASSES.items() for number in numbers.split()}


def data_set(number: str) -> DataSetFacts:
    """What is known of OpenML's data set of this number."""
    return PAPER.get(number) or DataSetFacts(_OF_NUMBER.get(number, 0))
