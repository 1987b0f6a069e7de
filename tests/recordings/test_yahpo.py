"""YAHPO's surrogates: the inputs they are given, and what is said where the copy is absent or wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfo_bench.errors import OptionError, UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.recordings import yahpo_folder
from cfo_bench.recordings.yahpo import scenario_of
from cfo_bench.recordings.yahpo_facts import PAPER, SCENARIOS
from cfo_bench.recordings.yahpo_folder import ENVIRONMENT, find, instances, refs
from cfo_bench.space import Config
from cfo_bench.tasks import resolve, select

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture
def copy(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ENVIRONMENT, str(shared / "yahpo"))
    return (shared / "yahpo").resolve()


def answer(task: str, config: Config, **held: Any) -> Any:
    learner = LEARNERS.load("yahpo:rbv2_xgboost")(**held)
    return learner.recorded(resolve(task)).open_fold(0).look_up(config, None)


def test_a_look_up_is_what_the_model_says_of_inputs_made_by_hand(copy: Path) -> None:
    learner = LEARNERS.load("yahpo:rbv2_xgboost")(booster="gbtree", num_impute_selected_cpo="impute.median")
    start = learner.start(learner.space(0))
    session = onnxruntime.InferenceSession(str(copy / "rbv2_xgboost" / "model.onnx"))
    codes = json.loads((copy / "rbv2_xgboost" / "encoding.json").read_text())
    x_cat = [
        codes["task_id"]["1590"],
        codes["booster"]["gbtree"],
        codes["num.impute.selected.cpo"]["impute.median"],
    ]
    names = ("nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth", "min_child_weight")
    x_cont = [
        *(start[name] for name in names),
        start["colsample_bytree"],
        start["colsample_bylevel"],
        0,
        0,
        1,
        10,
    ]

    [row] = session.run(
        None, {"x_cat": np.array([x_cat], np.int32), "x_cont": np.array([x_cont], np.float32)}
    )[0]

    found = learner.recorded(resolve("yahpo:1590")).open_fold(0).look_up(start, None)
    assert found.loss == pytest.approx(1 - row[2], abs=1e-6)
    assert (found.fit_seconds, found.validate_seconds) == pytest.approx((row[6], row[7]), rel=1e-5)


def test_a_hyperparameter_that_its_condition_turns_off_changes_nothing(copy: Path) -> None:
    learner = LEARNERS.load("yahpo:rbv2_xgboost")()
    config = {**learner.start(learner.space(0)), "booster": "gbtree"}

    drop = [answer("yahpo:31", {**config, "rate_drop": value}) for value in (0.1, 0.9)]
    dart = [answer("yahpo:31", {**config, "booster": "dart", "rate_drop": value}) for value in (0.1, 0.9)]

    assert drop[0] == drop[1] and dart[0] != dart[1]


def test_a_value_that_is_held_leaves_the_space_with_all_that_it_turns_off(copy: Path) -> None:
    names = {param.name for param in LEARNERS.load("yahpo:rbv2_xgboost")(booster="gbtree").space(0)}

    assert not {"booster", "rate_drop", "skip_drop", "trainsize", "repl", "task_id"} & names
    assert {"nrounds", "eta", "num.impute.selected.cpo"} <= names
    with pytest.raises(OptionError, match="booster = 'gbtre' is not one of its choices"):
        LEARNERS.load("yahpo:rbv2_xgboost")(booster="gbtre")


def test_more_than_two_classes_are_measured_by_log_loss(copy: Path) -> None:
    learner = LEARNERS.load("yahpo:rbv2_xgboost")(booster="gbtree")
    two, seven = (learner.recorded(resolve(f"yahpo:{number}")) for number in (31, 40984))

    assert (two.facts.metric, two.constant_loss, two.facts.paper_task) == ("auc", 0.5, "credit-g")
    assert (seven.facts.metric, seven.facts.n_classes) == ("log_loss", 7)
    assert seven.constant_loss == pytest.approx(np.log(7))


def test_every_scenario_that_is_here_opens_and_its_orders_are_those_of_its_model(copy: Path) -> None:
    for name in yahpo_folder.scenarios(copy):
        scenario, facts = scenario_of(name, copy), SCENARIOS[name]
        model = onnxruntime.InferenceSession(str(copy / name / "model.onnx"))
        widths = [one.shape[1] for one in (*model.get_inputs(), *model.get_outputs())]
        assert widths == [len(facts.categories), len(facts.numbers), len(facts.outputs)]
        assert {*facts.categories[1:], *facts.numbers} == set(scenario.params)
        assert set(facts.cost_related) <= set(scenario.params)


def test_the_paper_s_tasks_are_instances_of_the_copy(copy: Path) -> None:
    assert set(PAPER) <= set(instances(copy))
    assert [ref.task for ref in select("yahpo:4098*")] == [
        "yahpo:40981",
        "yahpo:40982",
        "yahpo:40983",
        "yahpo:40984",
    ]


def test_without_a_copy_the_user_is_told_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    monkeypatch.setattr(yahpo_folder, "SETTINGS_FILE", tmp_path / "none")

    assert refs(None) == {}
    for ask in (lambda: resolve("yahpo:1590"), lambda: select("yahpo:*"), lambda: LEARNERS.load("yahpo:x")):
        with pytest.raises(
            UserError, match=r"needs a copy of YAHPO Gym's data.*git clone https://github.com/slds"
        ):
            ask()
    with pytest.raises(UserError, match=r"no folder .*: --yahpo names a copy"):
        find(tmp_path / "nowhere")
    with pytest.raises(UserError, match="has no scenario of YAHPO Gym's"):
        find(tmp_path)


def test_yahpo_s_own_settings_name_the_copy(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    monkeypatch.setattr(yahpo_folder, "SETTINGS_FILE", tmp_path / "yahpo_gym")
    (tmp_path / "yahpo_gym").write_text(f"data_path: {shared / 'yahpo'}\n")

    assert find() == (shared / "yahpo").resolve()
    (tmp_path / "yahpo_gym").write_text("data_path: /nowhere/at/all\n")
    assert find() is None


def test_an_instance_or_a_scenario_that_is_not_there_is_one_line(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has an instance '999999'"):
        resolve("yahpo:999999")
    with pytest.raises(UserError, match=r"no scenario 'rbv2_svm' in .*: choose from iaml_glmnet"):
        LEARNERS.load("yahpo:rbv2_svm")
    shutil.copytree(copy / "iaml_glmnet", tmp_path / "mine")
    with pytest.raises(UserError, match="no file of YAHPO's data says the order"):
        scenario_of("mine", tmp_path)
