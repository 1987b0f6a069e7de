"""The user's copy of YAHPO Gym's data: its folder, scenarios and instances.

The copy is a clone of slds-lmu/yahpo_data: a folder for each scenario with `config_space.json`,
`encoding.json` and `model.onnx`. No model is loaded here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cfo_bench.errors import UserError
from cfo_bench.recordings.yahpo_scenarios import LossFacts, ScenarioFacts, facts_of, read_json
from cfo_bench.records import DataRef, Problem

ENVIRONMENT = "CFO_BENCH_YAHPO"
SETTINGS_FILE = Path("~/.config/yahpo_gym")  # YAHPO's own, with the key data_path
HOW_TO_GET = (
    "git clone https://github.com/slds-lmu/yahpo_data, and name the folder by --yahpo DIR "
    f"or {ENVIRONMENT}=DIR"
)
SPACE, ENCODING, MODEL = "config_space.json", "encoding.json", "model.onnx"
CLONE_AGAIN = "clone yahpo_data again"
ABSENT = "#na#"  # the code of a category that is not active
# A surrogate predicts the mean over YAHPO's folds. The ten folds here are equal, and only the method's seed
# differs, so that ten runs can be averaged.
N_FOLDS = 10


def use(folder: Path | None) -> None:
    """Use the folder of `--yahpo` in this process and in all processes that it starts."""
    if folder is not None:
        os.environ[ENVIRONMENT] = str(_checked(folder, "--yahpo"))


def find(folder: Path | None = None) -> Path | None:
    """The user's copy: the given folder, that of the environment, or that of YAHPO's settings; None if there
    is none.
    """
    if folder is not None:
        return _checked(folder, "--yahpo")
    named = os.environ.get(ENVIRONMENT, "")
    if named:
        return _checked(Path(named), ENVIRONMENT)
    return _in_settings()


def existing(what: str, folder: Path | None = None) -> Path:
    """The user's copy; a UserError if there is none."""
    copy = find(folder)
    if copy is None:
        raise UserError(f"{what} needs a copy of YAHPO Gym's data, and there is none: {HOW_TO_GET}")
    return copy


def _checked(folder: Path, flag: str) -> Path:
    folder = Path(os.path.expanduser(folder)).resolve()
    if not folder.is_dir():
        raise UserError(f"no folder {str(folder)!r}: {flag} names a copy of YAHPO Gym's data; {HOW_TO_GET}")
    if not scenarios(folder):
        raise UserError(f"{str(folder)!r} has no scenario of YAHPO Gym's ({flag}): {HOW_TO_GET}")
    return folder


def _in_settings() -> Path | None:
    try:
        text = SETTINGS_FILE.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, RuntimeError):
        return None
    import yaml

    try:
        settings = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    named = settings.get("data_path") if isinstance(settings, dict) else None
    if not isinstance(named, str) or not named:
        return None
    folder = Path(os.path.expanduser(named))
    # A stale entry in the settings of another program is not an error here.
    return folder.resolve() if folder.is_dir() and scenarios(folder) else None


def scenarios(folder: Path) -> list[str]:
    """The scenarios of a copy that have all their files."""
    return sorted(
        scenario.name
        for scenario in folder.iterdir()
        if all((scenario / name).is_file() for name in (SPACE, ENCODING, MODEL))
    )


def unknown_scenarios(folder: Path) -> list[str]:
    """The scenarios that cfo-bench does not know and the user has not described."""
    return [name for name in scenarios(folder) if facts_of(folder / name) is None]


def instances_of(facts: ScenarioFacts, codes: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """The instances of a scenario; `codes` is the content of its `encoding.json`."""
    if facts.instance is None:
        return facts.instances
    return tuple(instance for instance in codes.get(facts.instance, ()) if instance != ABSENT)


@lru_cache(maxsize=8)
def instances(folder: Path) -> dict[str, tuple[str, ...]]:
    """Every instance of a copy, with its scenarios."""
    scenarios_of: dict[str, list[str]] = {}
    for scenario in scenarios(folder):
        facts = facts_of(folder / scenario)
        codes = read_json(folder / scenario / ENCODING, CLONE_AGAIN)
        for instance in instances_of(facts, codes) if facts is not None else ():
            scenarios_of.setdefault(instance, []).append(scenario)
    return {instance: tuple(scenarios_of[instance]) for instance in sorted(scenarios_of, key=_by_number)}


def measured(facts: ScenarioFacts, instance: str) -> tuple[DataSetFacts, LossFacts]:
    """The known facts of an instance's data set, and the output of the scenario that is its loss."""
    about = data_set(instance) if facts.names_data_sets else DataSetFacts()
    return about, facts.multiclass if facts.multiclass and about.classes > 2 else facts.loss


def metrics(folder: Path, instance: str) -> dict[str, str]:
    """The metric of an instance in each of its scenarios."""
    known = {name: facts_of(folder / name) for name in instances(folder)[instance]}
    return {name: measured(facts, instance)[1].metric for name, facts in known.items() if facts is not None}


def _by_number(name: str) -> tuple[int, str]:
    return (int(name), name) if name.isdecimal() else (10**12, name)


def refs(folder: Path | None) -> dict[str, DataRef]:
    """The tasks of the user's copy by name; empty if there is no copy."""
    copy = find(folder)
    if copy is None:
        return {}
    return {
        f"yahpo:{name}": DataRef(
            f"yahpo:{name}",
            "yahpo",
            path=str(copy),
            problem=data_set(name).problem,
            recorded_folds=N_FOLDS,
        )
        for name in instances(copy)
    }


# --- the data sets behind the instances ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DataSetFacts:
    """A data set; 0 stands for an unknown number."""

    classes: int = 0
    rows: int = 0
    paper_task: str | None = None

    @property
    def problem(self) -> Problem:
        """The problem. If the number of classes is unknown, the loss is 1 − AUC, as for two classes."""
        return Problem.MULTICLASS if self.classes > 2 else Problem.BINARY

    @property
    def constant_log_loss(self) -> float | None:
        """The loss of equal probabilities for all classes; None if their number is not known."""
        return math.log(self.classes) if self.classes else None


# The paper's classification tasks, by OpenML's number of the data set.
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
# Other data sets of the scenarios with more than two classes, by the number of classes.
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
    """The known facts of a data set, by its OpenML number or its name."""
    return PAPER.get(name) or DataSetFacts(_OF_NAME.get(name, 0))
