"""Runs of SMAC become traces: one that SMAC itself does here, and files as older versions wrote them."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import pytest
from ConfigSpace import ConfigurationSpace
from ConfigSpace import Float as ConfigFloat

from cfo_bench import import_trials
from cfo_bench.errors import UserError
from tests.helpers.traces import existing_run

NAMES = {"learner": "xgboost", "task": "adult", "metric": "mse"}


def test_a_run_of_smac_becomes_a_trace(tmp_path: Path) -> None:
    from smac import RandomFacade, Scenario

    space = ConfigurationSpace({"x": (0.1, 10.0), "n": (1, 3), "kind": ["a", "b"]}, seed=1)
    space.add(ConfigFloat("rate", (0.01, 1.0), log=True))

    def cost(config: Any, seed: int = 0) -> float:
        if config["n"] == 2:
            raise ValueError("two")
        return float((config["x"] - 1) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            scenario = Scenario(
                space,
                n_trials=9,
                output_directory=tmp_path / "smac3",
                name="demo",
                deterministic=True,
                seed=3,
            )
            smac = RandomFacade(scenario, cost, overwrite=True)
            smac.optimize()
        finally:
            logging.disable(logging.NOTSET)

    [one] = import_trials(tmp_path / "smac3" / "demo" / "3", tmp_path / "r", **NAMES)

    found = existing_run(one.path)
    history = list(smac.runhistory.items())
    assert one.path == tmp_path / "r" / "xgboost" / "adult" / "imported smac" / "fold-0_seed-3.jsonl"
    assert one.clock == "wall" and found.spec.max_trials == 9
    assert len(found.trials) == len(history) > 2
    assert {trial.status for trial in found.trials} == {"ok", "failed"}
    for trial, (key, value) in zip(found.trials, history, strict=True):
        assert trial.config == dict(smac.runhistory.get_config(key.config_id))
        assert trial.loss == (value.cost if value.status.name == "SUCCESS" else None)
        assert trial.ended - trial.started == pytest.approx(value.endtime - value.starttime, abs=1e-6)
    assert "two" in str(next(trial.error for trial in found.trials if trial.error))
    space_of = {row["name"]: row for row in found.header.space}
    assert (
        space_of["rate"]["log"] and space_of["n"]["high"] == 3 and space_of["kind"]["choices"] == ["a", "b"]
    )


def old_run(folder: Path, budgets: tuple[float | None, ...] = (None, None), cost: Any = 0.5) -> Path:
    folder.mkdir(parents=True)
    data = [
        [number + 1, None, 0, budget, cost, 0.25, 1, 100.0 + number, 100.5 + number, {}]
        for number, budget in enumerate(budgets)
    ]
    configs = {str(number + 1): {"x": float(number)} for number in range(len(budgets))}
    (folder / "runhistory.json").write_text(json.dumps({"data": data, "configs": configs, "stats": {}}))
    return folder


def test_lists_of_older_versions_are_read_and_budgets_are_rows(tmp_path: Path) -> None:
    [one] = import_trials(old_run(tmp_path / "run", (3.0, 9.0, 9.0)), tmp_path / "r", **NAMES)

    found = existing_run(one.path)
    assert [trial.rows for trial in found.trials] == [3, None, None]
    assert found.header.data.train_rows == 9
    assert [trial.ended for trial in found.trials] == [0.5, 1.5, 2.5]
    assert one.remarks == ("SMAC's budgets, up to 9, are taken as rows",)
    assert "space" in one.unknown and found.header.space is None


def test_what_is_no_run_of_smac_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    several = old_run(tmp_path / "several", cost=[0.1, 0.2])
    broken = old_run(tmp_path / "broken")
    (broken / "runhistory.json").write_text("{")
    other = old_run(tmp_path / "other")
    (other / "runhistory.json").write_text('{"data": [[1]], "configs": {}}')

    for source, message in (
        (tmp_path / "empty", "no runhistory.json in"),
        (several, "has several objectives"),
        (broken, "is not JSON"),
        (other, "is not a run history of SMAC 2"),
    ):
        with pytest.raises(UserError, match=message):
            import_trials(source, tmp_path / "r", **NAMES)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        ("runhistory.json", "budget", "ok"),
        ("runhistory.json", "instance", [[]]),
        ("runhistory.json", "starttime", -1e300),
        ("runhistory.json", "time", "x"),
        ("runhistory.json", "status", []),
        ("scenario.json", "", ["walltime_limit"]),
        ("configspace.json", "hyperparameters", {"x": 1}),
    ],
)
def test_a_value_of_another_type_is_one_line(tmp_path: Path, file: str, key: str, value: Any) -> None:
    source = old_run(tmp_path / "run", (3.0, 9.0))
    content = {"hyperparameters": [], "conditions": [], "forbiddens": []}
    if file == "runhistory.json":
        content = json.loads((source / file).read_text())
        names = ("config_id", "instance", "seed", "budget", "cost", "time", "status", "starttime", "endtime")
        content["data"][1][names.index(key)] = value
    elif key:
        content[key] = value
    (source / file).write_text(json.dumps(content if key else value))

    if file == "configspace.json":  # without a space the run is still a run
        assert import_trials(source, tmp_path / "r", **NAMES)
        return
    with pytest.raises(UserError) as refusal:
        import_trials(source, tmp_path / "r", **NAMES)
    assert "\n" not in str(refusal.value) and not (tmp_path / "r").exists()
