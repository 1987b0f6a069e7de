"""What DeepCAVE is given, by the rules of its DataFrame format; the package itself needs Python below 3.11.

ConfigSpace, which DeepCAVE reads a space with, has to accept every configuration.
"""

from __future__ import annotations

import re
from pathlib import Path

import ConfigSpace
import pandas as pd
import pytest

from cfo_bench import export_to_deepcave
from cfo_bench.errors import UserError
from cfo_bench.results.run import read_run
from tests.helpers.odd_run import write_odd_run
from tests.helpers.traces import write_run

# The rule by which DeepCAVE finds an objective.
METRIC = re.compile(r"metric:(\w+) \[(-?\d+\.?\d*|[-+]inf); (-?\d+\.?\d*|[-+]inf)\] \((\w+)\)")


def space_of(folder: Path) -> ConfigSpace.ConfigurationSpace:
    """The space, from each row by its type, as the format says."""
    space = ConfigSpace.ConfigurationSpace()
    for row in pd.read_csv(folder / "configspace.csv").to_dict("records"):
        if row["type"] == "categorical":
            items = [
                str(value) for name, value in row.items() if name.startswith("item_") and pd.notna(value)
            ]
            ordered = bool(row["ordered"]) and row["ordered"] != "False"
            space.add(ConfigSpace.Categorical(row["name"], items, default=row["default"], ordered=ordered))
            continue
        kind, number = {"integer": (ConfigSpace.Integer, int), "float": (ConfigSpace.Float, float)}[
            row["type"]
        ]
        space.add(kind(row["name"], (number(row["lower"]), number(row["upper"])), log=bool(row["log"])))
    return space


def test_a_folder_has_the_trials_and_the_space_of_a_run(tmp_path: Path) -> None:
    path = write_odd_run(tmp_path / "a")
    known = read_run(path, parse_trials=True)
    assert known is not None

    exported = export_to_deepcave(tmp_path / "a", tmp_path / "runs")

    [folder] = (tmp_path / "runs").iterdir()
    found = pd.read_csv(folder / "trials.csv")
    assert folder.name == "xgboost--iris--rs--fold-0_seed-0" and exported.trials == len(found) == 5
    [loss] = [name for name in found.columns if name.startswith("metric")]
    assert METRIC.fullmatch(loss) and loss == "metric:loss [0; 1] (minimize)"
    assert found[loss].dropna().tolist() == [one.loss for one in known.trials if one.loss is not None]
    assert found["status"].tolist() == ["SUCCESS", "CRASHED", "SUCCESS", "TIMEOUT", "MEMORYOUT"]
    assert found["start_time"].tolist() == [one.started for one in known.trials]
    assert found["end_time"].tolist() == [one.ended for one in known.trials]
    assert found["budget"].tolist() == [90, 50, 50, 50, 50]
    space = space_of(folder)
    for row in found.to_dict("records"):
        ConfigSpace.Configuration(space, values={name: row[name] for name in space})
    assert found["kind"].tolist()[1:] == ["choice 2", 'choice "1"', "choice null", "choice true"]


def test_a_run_without_a_space_gets_the_ranges_of_its_trials(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5), (2.0, None, 0.5)])

    export_to_deepcave(tmp_path / "a", tmp_path / "runs")

    [folder] = (tmp_path / "runs").iterdir()
    assert space_of(folder)["n_estimators"].lower == 4


def test_a_folder_is_replaced_only_with_force(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])
    export_to_deepcave(tmp_path / "a", tmp_path / "runs")

    with pytest.raises(UserError, match="exists already: choose another folder, or --force"):
        export_to_deepcave(tmp_path / "a", tmp_path / "runs")
    export_to_deepcave(tmp_path / "a", tmp_path / "runs", force=True)
