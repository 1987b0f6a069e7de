"""The data sets that come with scikit-learn: they need no network and no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cfo_bench.records import Problem

if TYPE_CHECKING:
    from cfo_bench.tasks.data_set import DataSet


@dataclass(frozen=True, slots=True)
class BundledSet:
    loader: str
    problem: Problem
    rows: int
    features: int
    note: str


SETS = {
    "iris": BundledSet("load_iris", Problem.MULTICLASS, 150, 4, "three species by the size of their leaves"),
    "wine": BundledSet("load_wine", Problem.MULTICLASS, 178, 13, "three growers by chemical analysis"),
    "breast_cancer": BundledSet(
        "load_breast_cancer", Problem.BINARY, 569, 30, "tumours, malignant or benign"
    ),
    "digits": BundledSet("load_digits", Problem.MULTICLASS, 1797, 64, "handwritten digits of 8 by 8 pixels"),
    "diabetes": BundledSet(
        "load_diabetes", Problem.REGRESSION, 442, 10, "progression of the disease in a year"
    ),
}


def load(name: str) -> DataSet:
    import sklearn.datasets

    from cfo_bench.tasks.data_set import DataSet, numbers

    one = SETS[name]
    data = getattr(sklearn.datasets, one.loader)()
    features = [numbers(str(column), data.data[:, i]) for i, column in enumerate(data.feature_names)]
    return DataSet.of([*features, numbers("target", data.target)], "target", one.problem, where=name)
