"""What is known of the data sets behind YAHPO Gym's instances: classes, rows, and which the paper has."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cfo_bench.records import Problem


@dataclass(frozen=True, slots=True)
class DataSetFacts:
    """A data set; 0 is what is not known."""

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
    10: "14 16 18 22 28 32 181 554 1459 1501 40496 40927 40979 41165 CIFAR10",
    11: "307 40499",
    19: "42",
    20: "1515",
    26: "6 300",
    46: "40923",
    50: "1457",
    100: "1493",
}
_OF_NAME = {name: classes for classes, names in _CLASSES.items() for name in names.split()}


def data_set(name: str) -> DataSetFacts:
    """What is known of a data set, by OpenML's number of it or by its name."""
    return PAPER.get(name) or DataSetFacts(_OF_NAME.get(name, 0))
