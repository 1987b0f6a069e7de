"""YAHPO's surrogates: the inputs they are given, and what is said where the copy is absent or wrong."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfo_bench.errors import OptionError, UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.recordings import yahpo_folder
from cfo_bench.recordings.yahpo import scenario_of
from cfo_bench.recordings.yahpo_folder import ENVIRONMENT, PAPER, find, instances, refs
from cfo_bench.recordings.yahpo_scenarios import SCENARIOS, STATEMENT
from cfo_bench.space import Config
from cfo_bench.tasks import listing, resolve, select
from cfo_bench.tasks.details import details

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

    looked_up = learner.recorded(resolve("yahpo:1590")).open_fold(0).look_up(start, None)
    assert looked_up.loss == pytest.approx(1 - row[2], abs=1e-6)
    assert (looked_up.fit_seconds, looked_up.validate_seconds) == pytest.approx((row[6], row[7]), rel=1e-5)


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


def test_a_loss_that_no_model_has_is_a_failed_trial(copy: Path) -> None:
    """On Helena the surrogate promises a log-loss of 0 in a tenth of a second, far from what was recorded."""
    config = {
        "nrounds": 2722,
        "max_depth": 7,
        "eta": 0.0019,
        "gamma": 0.0002,
        "lambda": 4.3612,
        "alpha": 0.4038,
        "subsample": 0.8753,
        "min_child_weight": 36.3954,
        "colsample_bytree": 0.582,
        "colsample_bylevel": 0.8437,
    }

    looked_up = answer("yahpo:41169", config, booster="gbtree", num_impute_selected_cpo="impute.median")

    assert looked_up.loss is None and looked_up.fit_seconds < 1
    assert re.fullmatch("the surrogate predicts a logloss of .*: far from what was recorded", looked_up.error)


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
        widths = [tensor.shape[1] for tensor in (*model.get_inputs(), *model.get_outputs())]
        assert widths == [len(facts.categories), len(facts.numbers), len(facts.outputs)]
        assert {*facts.categories, *facts.numbers} == {*scenario.params, facts.instance}


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
    with pytest.raises(UserError, match=r"states the order.*state it in .*cfo_bench.json"):
        scenario_of("mine", tmp_path)


STATED: dict[str, Any] = {  # of iaml_glmnet, but with another output as the loss
    "categories": ["task_id"],
    "numbers": ["alpha", "s", "trainsize"],
    "outputs": list(SCENARIOS["iaml_glmnet"].outputs),
    "instance": "task_id",
    "fidelity": "trainsize",
    "seconds": ["timetrain"],
    "loss": {"output": "mmce", "metric": "accuracy", "reading": "loss"},
    "cheap": {"s": "high"},
}


@pytest.fixture
def mine(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of YAHPO's data with one scenario, whose name nobody knows."""
    shutil.copytree(copy / "iaml_glmnet", tmp_path / "mine")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    return tmp_path.resolve()


def test_a_task_of_a_scenario_that_nobody_knows_is_refused_with_the_remedy(mine: Path) -> None:
    with pytest.raises(UserError, match=r"instance '1067'.*; mine must be stated first"):
        resolve("yahpo:1067")


def test_a_scenario_that_the_user_states_is_searched_like_a_known_one(mine: Path, copy: Path) -> None:
    (mine / "mine" / STATEMENT).write_text(json.dumps(STATED))
    learner = LEARNERS.load("yahpo:mine")()
    start = learner.start(learner.space(0))
    task = learner.recorded(resolve("yahpo:1067"))
    session = onnxruntime.InferenceSession(str(copy / "iaml_glmnet" / "model.onnx"))
    code = json.loads((copy / "iaml_glmnet" / "encoding.json").read_text())["task_id"]["1067"]

    [row] = session.run(
        None,
        {
            "x_cat": np.array([[code]], np.int32),
            "x_cont": np.array([[start["alpha"], start["s"], 1.0]], np.float32),
        },
    )[0]

    looked_up = task.open_fold(0).look_up(start, None)
    assert start["s"] == learner.scenario.params["s"].high and learner.cost_related == ("s",)
    assert looked_up.loss == pytest.approx(row[0], abs=1e-6)
    assert (looked_up.fit_seconds, looked_up.validate_seconds) == (pytest.approx(row[7], rel=1e-5), 0)
    assert (task.facts.metric, task.constant_loss) == ("accuracy", looked_up.loss)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"seconds": []}, "without seconds the clock does not advance"),
        ({"seconds": ["hours"]}, "seconds is 'hours': choose from mmce"),
        ({"fidelity": None}, "fidelity is None: choose from alpha, s, trainsize"),
        ({"instance": None}, "give 'instance'"),
        ({"numbers": "alpha"}, "'numbers' is 'alpha': give a list of names"),
        ({"numbers": ["s", "s"]}, "'numbers' has a name twice"),
        ({"loss": "mmce"}, "'loss' has the keys output, metric and reading"),
        ({"loss": {**STATED["loss"], "reading": "low"}}, "'low': choose from loss, gain, percent"),
        ({"fixed": {"repl": "ten"}}, "'fixed' holds 'repl' at 'ten', which is not a number"),
        ({"costs": {}}, "unknown key 'costs': choose from categories"),
    ],
)
def test_a_statement_that_is_wrong_is_one_line(mine: Path, change: dict[str, Any], error: str) -> None:
    (mine / "mine" / STATEMENT).write_text(json.dumps({**STATED, **change}))
    with pytest.raises(UserError, match=f"{STATEMENT}.*{error}.*docs/simulation.md has an example"):
        LEARNERS.load("yahpo:mine")


def test_a_statement_that_does_not_fit_the_scenario_is_one_line(mine: Path) -> None:
    statement = mine / "mine" / STATEMENT
    for change, error in (
        ({"numbers": ["alpha", "s", "trainsize", "depth"]}, "KeyError: 'depth'"),
        ({"cheap": {"s": "cheapest"}}, "s = cheapest"),
    ):
        statement.write_text(json.dumps({**STATED, **change}))
        with pytest.raises(UserError, match=error):
            scenario_of.__wrapped__("mine", mine)
    statement.write_text(json.dumps({**STATED, "outputs": ["mmce", "timetrain"]}))
    learner = LEARNERS.load("yahpo:mine")()
    with pytest.raises(UserError, match="3 numbers and 12 outputs, and cfo-bench knows 1, 3 and 2"):
        learner.recorded(resolve("yahpo:1067"))


def test_a_scenario_without_instances_in_its_inputs_has_the_one_that_is_known(tmp_path: Path) -> None:
    """NAS-Bench-301: 34 categories, some of them with conditions, and accuracy in per cent."""
    facts = SCENARIOS["nb301"]
    folder = tmp_path / "nb301"
    folder.mkdir()
    ops = ["max_pool_3x3", "skip_connect"]
    node = next(name for name in facts.categories if "inputs_node" in name)
    rows = [
        {"name": name, "type": "categorical", "choices": ops if "edge" in name else ["0_1", "0_2"]}
        for name in facts.categories
    ]
    epoch = {"name": "epoch", "type": "uniform_int", "lower": 1, "upper": 98}
    condition = {"child": facts.categories[2], "parent": node, "type": "IN", "values": ["0_1"]}
    space = {"hyperparameters": [*rows, epoch], "conditions": [condition]}
    codes = {
        row["name"]: {"#na#": 0, **{choice: i + 1 for i, choice in enumerate(row["choices"])}} for row in rows
    }
    (folder / "config_space.json").write_text(json.dumps(space))
    (folder / "encoding.json").write_text(json.dumps(codes))
    (folder / "model.onnx").write_bytes(b"")

    scenario = scenario_of("nb301", tmp_path)
    start = scenario.start(scenario.searched({}))

    assert instances(tmp_path) == {"CIFAR10": ("nb301",)}
    assert len(start) == 34 and scenario.full_rows == 980_000
    assert {value for name, value in start.items() if "edge" in name} == {"skip_connect"}
    assert facts.categories[2] not in {param.name for param in scenario.searched({node: "0_2"})}
    assert facts.loss.of(94.5) == pytest.approx(0.055)


def test_an_instance_of_openml_s_tasks_is_not_taken_for_a_data_set() -> None:
    """31 is a task for `fair_*`, and the data set credit-g for `rbv2_*`."""
    assert {name for name, facts in SCENARIOS.items() if not facts.names_data_sets} == {
        *(name for name in SCENARIOS if name.startswith("fair_")),
        "lcbench",
    }


def test_a_task_is_listed_with_the_metric_of_its_recording(copy: Path) -> None:
    metrics = {row.name: row.metric for row in listing()}

    assert (metrics["yahpo:31"], metrics["yahpo:40984"]) == ("auc", "log_loss")
    assert (metrics["hpobench:car"], metrics["hpolib:naval_propulsion"]) == ("balanced_accuracy", "mse")
    assert details(resolve("hpobench:car"), None)["metric"] == "balanced_accuracy"


def test_a_task_whose_scenarios_measure_differently_is_listed_with_all_their_metrics(
    mine: Path, copy: Path
) -> None:
    (mine / "mine" / STATEMENT).write_text(json.dumps(STATED))
    shutil.copytree(copy / "iaml_glmnet", mine / "iaml_glmnet")

    [metric] = [row.metric for row in listing() if row.name == "yahpo:1067"]

    assert metric == "auc (iaml_glmnet), accuracy (mine)"
    assert details(resolve("yahpo:1067"), None)["metric"] == metric
