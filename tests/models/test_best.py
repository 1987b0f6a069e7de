"""The best configuration: found, as a script, trained on all rows, saved and read back."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cfo_bench import Suite, run_suite
from cfo_bench.cli.main import cli
from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.metrics import METRICS
from cfo_bench.models import ModelRecipe, ScriptColumns, kind_of, script
from cfo_bench.models.best import best_configurations, fit_best, load_model, python_script
from cfo_bench.models.recipe import on_all_rows, train
from cfo_bench.models.saving import encoded, save
from cfo_bench.records import Problem, Trial
from cfo_bench.results.comparison_record import ComparisonPlan, ComparisonRecord, ComparisonVerdict
from cfo_bench.tasks import file_ref, load_fold
from cfo_bench.tasks.folds import split_rows
from cfo_bench.tasks.loading import load_data_set
from tests.conftest import WriteRun

N = 240
CONFIGS: dict[str, dict[str, Any]] = {
    "xgboost": {
        "n_estimators": 12,
        "max_leaves": 9,
        "min_child_weight": 1.5,
        "learning_rate": 0.09,
        "subsample": 0.8,
        "reg_alpha": 1e-6,
        "reg_lambda": 0.4,
        "colsample_bylevel": 0.9,
        "colsample_bytree": 0.8,
    },
    "lightgbm": {
        "n_estimators": 12,
        "num_leaves": 9,
        "min_child_samples": 6,
        "learning_rate": 0.2,
        "subsample": 0.7,
        "colsample_bytree": 0.8,
        "reg_alpha": 1e-6,
        "reg_lambda": 0.4,
    },
    "random-forest": {"n_estimators": 9, "max_leaves": 14, "max_features": 0.5},
    "knn": {"k": 7},
    "catboost": {
        "iterations": 12,
        "depth": 4,
        "learning_rate": 0.2,
        "l2_leaf_reg": 2.0,
        "random_strength": 0.5,
        "subsample": 0.7,
        "rsm": 0.8,
    },
    "hist-gradient-boosting": {
        "max_iter": 12,
        "max_leaf_nodes": 9,
        "min_samples_leaf": 6,
        "learning_rate": 0.2,
        "max_features": 0.7,
        "l2_regularization": 0.1,
    },
    "dnn": {"neurons_1": 16, "neurons_2": 8, "batch_size": 16, "dropout": 0.2, "learning_rate": 0.01},
}
# Same seed, same rows, same library: the losses are equal but for rounding. The network's script draws from
# torch and the learner from numpy, so that they differ as two seeds do: the means of three are compared.
TOLERANCE, SEEDS_OF_NETWORK, FACTOR_OF_NETWORK = 1e-6, 3, 1.6


def require(learner: str) -> None:
    if missing := LEARNERS.row(learner).missing:
        pytest.skip(f"{learner} needs {missing}")


def table(problem: Problem, path: Path) -> pd.DataFrame:
    """Numbers with gaps, categories, a date, and a target that they tell."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, N))
    colour = rng.choice(["red", "green", "blue", "10", "9"], N)
    signal = 2 * x + (colour == "red") - z**2 + rng.normal(size=N) * 0.3
    y: Any = signal
    if problem is not Problem.REGRESSION:
        cuts = [-0.5] if problem is Problem.BINARY else [-1.5, 0.5]
        y = np.array(["low", "middle", "top"])[np.digitize(signal, cuts)]
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(N) < 0.1, np.nan, x),
            "colour": np.where(rng.random(N) < 0.1, None, colour),
            "z": z,
            "day": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
            "many": [f"m{i}" for i in rng.integers(0, 90, N)],
            "y": y,
        }
    )
    frame.to_csv(path, index=False)
    return frame


def namespace(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "script"}
    exec(compile(text, "script.py", "exec", dont_inherit=True), found)  # as a program of its own
    return found


def losses(learner: str, problem: Problem, seed: int, path: Path) -> tuple[float, float]:
    """On the validation part of a fold: the loss of our learner, and that of the script."""
    table(problem, path)
    data, _ = load_data_set(file_ref(path, "y"))
    split, fold = split_rows(data, 0, 3, 0), load_fold(file_ref(path, "y"), 0, 3, seed=0)[0]
    objective = LEARNERS.load(learner)().prepare(fold, 1, seed)
    ours = objective.evaluate(Trial(0, CONFIGS[learner]), Deadline(WallClock())).loss
    assert ours is not None
    text = script(ModelRecipe(learner, CONFIGS[learner], problem, seed), ScriptColumns("y"), ["About it."])
    assert "cfo_bench" not in text
    code = namespace(text)
    frame = code["read"](str(path))
    predicted = code["predict"](code["train"](frame.iloc[split.train]), frame.iloc[split.valid])
    return ours, METRICS[fold.metric].loss(fold.valid_y, predicted)


@pytest.mark.parametrize("problem", list(Problem))
@pytest.mark.parametrize("learner", [name for name in CONFIGS if name != "dnn"])
def test_the_script_of_a_learner_computes_the_learners_loss(
    learner: str, problem: Problem, tmp_path: Path
) -> None:
    require(learner)
    ours, theirs = losses(learner, problem, 0, tmp_path / "mine.csv")
    assert theirs == pytest.approx(ours, abs=TOLERANCE)


@pytest.mark.parametrize(
    "problem",
    [
        Problem.BINARY,
        pytest.param(Problem.MULTICLASS, marks=pytest.mark.slow),
        pytest.param(Problem.REGRESSION, marks=pytest.mark.slow),
    ],
)
def test_the_script_of_the_network_learns_as_much_as_the_learner(problem: Problem, tmp_path: Path) -> None:
    require("dnn")
    pairs = [losses("dnn", problem, seed, tmp_path / "mine.csv") for seed in range(SEEDS_OF_NETWORK)]
    ours, theirs = np.mean(pairs, axis=0)
    assert ours / FACTOR_OF_NETWORK < theirs < ours * FACTOR_OF_NETWORK


def test_the_script_uses_native_categories_where_the_search_did(tmp_path: Path) -> None:
    table(Problem.BINARY, tmp_path / "mine.csv")
    recipe = ModelRecipe("xgboost", CONFIGS["xgboost"], Problem.BINARY, 0, {"categories": "native"})
    data, _ = load_data_set(file_ref(tmp_path / "mine.csv", "y"))
    code = namespace(script(recipe, ScriptColumns("y"), ["About it."]))
    frame = code["read"](str(tmp_path / "mine.csv"))
    expected = code["predict"](code["train"](frame), frame)
    assert code["train"](frame)["model"].feature_types == ["q", "c", "q", "q", "c"]
    save(tmp_path / "model.json", recipe, train(recipe, on_all_rows(data), 1), data, {})
    assert load_model(tmp_path / "model.json").predict(frame) == pytest.approx(expected)


@pytest.mark.parametrize("problem", list(Problem))
@pytest.mark.parametrize("learner", sorted(CONFIGS))
def test_a_saved_model_predicts_as_the_trained_one_and_is_no_pickle(
    learner: str, problem: Problem, tmp_path: Path
) -> None:
    require(learner)
    frame = table(problem, tmp_path / "mine.csv")
    data, _ = load_data_set(file_ref(tmp_path / "mine.csv", "y"))
    recipe = ModelRecipe(learner, CONFIGS[learner], problem)
    fold = on_all_rows(data)
    validated = replace(fold, valid_x=fold.train_x, valid_y=fold.train_y)
    objective = LEARNERS.load(learner)().prepare(validated, 1, 0)
    trained = objective.fitted(CONFIGS[learner])
    path = tmp_path / f"model{kind_of(learner).suffixes[0]}"
    save(path, recipe, trained, data, {"found": {"trace": "here"}})
    model = load_model(path)
    read = pd.read_csv(tmp_path / "mine.csv")
    assert np.array_equal(encoded(read, model.about["columns"]), fold.train_x, equal_nan=True)
    predicted = model.predict(read.drop(columns="y"))
    loss = METRICS[fold.metric].loss(fold.train_y, predicted)
    of_trained = objective._predict(trained, objective._valid_x(trained), Deadline(WallClock()))
    assert loss == pytest.approx(METRICS[fold.metric].loss(fold.train_y, of_trained), abs=1e-6)
    assert model.classes == sorted(set(frame["y"])) if problem is not Problem.REGRESSION else True
    assert model.about["found"] == {"trace": "here"}
    if problem is not Problem.REGRESSION:
        assert predicted.min() >= 0 and predicted.max() <= 1


def _loss_on_training_rows(objective: Any, trained: Any, fold: Any) -> float:
    x = fold.train_x
    if hasattr(trained, "rows"):
        x = trained.rows.encoder.transform(x)
    elif type(trained).__module__.startswith(("xgboost", "cfo_bench")):
        import xgboost

        x = xgboost.DMatrix(x)
    predicted = objective._predict(trained, x, Deadline(WallClock()))
    return METRICS[fold.metric].loss(fold.train_y, predicted)


FOREST_OPTIONS = {
    "trees": 20,
    "grid": 3,
    "cv_folds": 3,
    "tuning_share": 0.3,
    "least_trees": 5,
    "leaf_rows": 2,
    "tree_rows": 90,
}


@pytest.mark.parametrize("problem", list(Problem))
def test_the_reference_forest_is_trained_saved_and_written_as_a_script(
    problem: Problem, tmp_path: Path
) -> None:
    table(problem, tmp_path / "mine.csv")
    data, _ = load_data_set(file_ref(tmp_path / "mine.csv", "y"))
    # With a grid of one value, the script and the learner have the same forest.
    recipe = ModelRecipe("tuned-rf", {}, problem, 0, FOREST_OPTIONS | {"grid": 1})
    trained = train(recipe, on_all_rows(data), 1)
    assert len(trained.forest.estimators_) == 20 and trained.forest.min_samples_leaf == 2
    save(tmp_path / "model.npz", recipe, trained, data, {})
    text = script(recipe, ScriptColumns("y"), ["About it."])
    code = namespace(text)
    frame = code["read"](str(tmp_path / "mine.csv"))
    predicted = load_model(tmp_path / "model.npz").predict(frame)
    assert "cfo_bench" not in text
    assert predicted == pytest.approx(code["predict"](code["train"](frame), frame), abs=TOLERANCE)
    assert np.ptp(predicted) > 0.1


def test_the_script_of_the_reference_forest_tunes_the_features_of_a_split(tmp_path: Path) -> None:
    frame = table(Problem.REGRESSION, tmp_path / "mine.csv")
    code = namespace(
        script(
            ModelRecipe("tuned-rf", {}, Problem.REGRESSION, 0, FOREST_OPTIONS),
            ScriptColumns("y"),
            ["About it."],
        )
    )
    forest, _ = code["train"](frame)["model"]
    # The target follows from three of five features: a split has to see more than one.
    assert forest.max_features in (2, 5)
    with pytest.raises(UserError, match="the trace of tuned-rf has no valid trees"):
        script(ModelRecipe("tuned-rf", {}, Problem.REGRESSION, 0, {"trees": "many"}), ScriptColumns("y"), [])


def test_new_categories_and_missing_columns_are_seen_when_predicting() -> None:
    columns = [{"name": "c", "kind": "category", "categories": ["a", "b"]}, {"name": "x", "kind": "number"}]
    found = encoded(pd.DataFrame({"c": ["b", "new", None], "x": [1, 2, 3], "other": 0}), columns)
    assert np.array_equal(found, [[1, 1], [np.nan, 2], [np.nan, 3]], equal_nan=True)
    with pytest.raises(UserError, match="the rows have no column 'x'"):
        encoded(pd.DataFrame({"c": ["a"]}), columns)


# --- from a results folder ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CFO and random search on a file of one's own, two folds, with test scores."""
    folder = tmp_path_factory.mktemp("best")
    table(Problem.BINARY, folder / "mine.csv")
    suite = Suite(
        data_file=folder / "mine.csv",
        target="y",
        drop=("many",),
        methods=["cfo", "rs"],
        folds="0-1",
        n_folds=3,
        validation="holdout",
        budget_seconds=60,
        max_trials=4,
        results=folder / "results",
    )
    assert not run_suite(suite).failures
    return folder / "results"


def test_the_best_configuration_has_every_hyperparameter_and_both_scores(results: Path) -> None:
    [best] = best_configurations(results)
    assert list(best.config) == list(CONFIGS["xgboost"])
    assert best.fixed["grow_policy"] == "lossguide" and best.fixed["max_depth"] == 0
    assert best.test_score is not None and best.validation_score != best.test_score
    assert best.scores_in_words.startswith("test AUC ↑ ") and "(selected by it)" in best.scores_in_words
    assert (best.target, best.dropped_columns, best.folds) == ("y", ("many",), 2)
    only = best_configurations(results, methods=["rs"])[0]
    assert only.method == "rs"
    with pytest.raises(UserError, match="unknown method 'tpe': choose from cfo, rs"):
        best_configurations(results, methods=["tpe"])


def test_the_best_model_is_trained_on_all_rows_and_says_where_it_is_from(
    results: Path, tmp_path: Path
) -> None:
    [best] = best_configurations(results)
    fitted = fit_best(best, results.parent / "mine.csv", tmp_path / "model.ubj", threads=1)
    assert fitted.rows == N and fitted.same_data
    about = json.loads(fitted.files[1].read_text())
    assert about["found"]["trace"] == best.trace and Path(best.trace).is_file()
    assert about["trained_on"]["sha256"] == about["found"]["data_sha256"]
    assert about["classes"] == ["low", "middle"]
    assert [one["name"] for one in about["columns"]] == ["x", "colour", "z", "day"]
    assert {"numpy", "pandas"} <= set(about["trained_with"]["packages"])
    frame = pd.read_csv(results.parent / "mine.csv")
    code = namespace(python_script(best))
    trained = code["train"](frame)
    assert load_model(tmp_path / "model.ubj").predict(frame) == pytest.approx(code["predict"](trained, frame))

    (tmp_path / "model.ubj").write_bytes(b"other")
    with pytest.raises(UserError, match=r"is not the model that model\.ubj\.json describes"):
        load_model(tmp_path / "model.ubj")
    with pytest.raises(UserError, match=r"end in \.ubj or \.json: write model\.ubj"):
        fit_best(best, results.parent / "mine.csv", tmp_path / "model.pkl")


def test_a_learner_that_trains_nothing_has_no_script() -> None:
    with pytest.raises(UserError, match="models of learner 'synthetic' can't be made outside a run"):
        kind_of("synthetic")


# --- the command ----------------------------------------------------------------------------------


def said(*words: object) -> str:
    answer = CliRunner().invoke(cli, ["best", *map(str, words)])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def refused(*words: object) -> str:
    answer = CliRunner().invoke(cli, ["best", *map(str, words)])
    assert answer.exit_code == 2 or isinstance(answer.exception, UserError)
    return answer.output + str(answer.exception)


def test_the_command_shows_every_hyperparameter_the_scores_and_the_fixed_settings(results: Path) -> None:
    text = said(results)
    assert text.startswith("mine: xgboost, found by ")
    for name in CONFIGS["xgboost"]:
        assert f"\n  {name} " in text
    assert "test AUC ↑" in text and "validation AUC ↑" in text
    assert "tree_method hist, grow_policy lossguide, max_depth 0" in text
    [row] = json.loads(said(results, "--json", "--method", "rs"))
    assert row["method"] == "rs" and set(row["config"]) == set(CONFIGS["xgboost"])


def test_the_script_of_the_command_trains_on_a_file_and_prints_predictions(
    results: Path, tmp_path: Path
) -> None:
    said(results, "--python", "-o", tmp_path / "train.py")
    data = results.parent / "mine.csv"
    answer = subprocess.run(
        [sys.executable, "train.py", data, data], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    frame = pd.read_csv(io.StringIO(answer.stdout))
    assert list(frame.columns) == ["probability of middle"] and len(frame) == N


@pytest.mark.parametrize("words", [[], ["mine.csv"]])
def test_the_script_without_a_file_to_train_on_or_to_predict_for_prints_its_usage(
    results: Path, tmp_path: Path, words: list[str]
) -> None:
    said(results, "--python", "-o", tmp_path / "train.py")
    command = [sys.executable, "train.py", *words]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("usage: train.py") and "Traceback" not in answer.stderr
    assert answer.stderr.splitlines()[-1].endswith(f"required: {', '.join(['known', 'new'][len(words) :])}")


def test_the_script_reads_a_file_with_semicolons_and_decimal_commas(results: Path, tmp_path: Path) -> None:
    code = namespace(python_script(best_configurations(results)[0]))
    frame = pd.read_csv(results.parent / "mine.csv")
    frame.to_csv(tmp_path / "other.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    read = code["read"](str(tmp_path / "other.csv"))
    pd.testing.assert_frame_equal(read, code["read"](str(results.parent / "mine.csv")), check_exact=False)


def test_the_command_fits_saves_and_says_how_to_load(results: Path, tmp_path: Path) -> None:
    text = said(
        results, "--fit", results.parent / "mine.csv", "-o", tmp_path / "model.json", "--threads", "1"
    )
    assert "trained on all 240 rows" in text and "the data of the search" in text
    assert load_model(tmp_path / "model.json").about["target"] == "y"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fit", "my.csv"), "--fit needs -o"),
        (("--json", "--python"), "choose one"),
        (("--target", "y"), "--target is for --fit FILE"),
        (("-o", "x.ubj"), "is for --fit or --python"),
        (("--method", "tpe"), "unknown method 'tpe'"),
    ],
)
def test_what_does_not_fit_together_is_refused(results: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refused(results, *words)


@pytest.mark.parametrize(
    ("of_second", "words"),
    [
        # The incumbent before the one without a test score counts: 0.8 and 0.7.
        ([0.7, None], "test AUC ↑ 0.7500, mean over 2 folds of cfo's best of each fold"),
        # Losses of 0.1 and 0.3.
        ([None, None], "validation AUC ↑ 0.8000, mean over 2 folds of cfo's best of each fold"),
    ],
)
def test_a_mean_is_called_by_the_scores_that_it_is_of(
    write_run: WriteRun, tmp_path: Path, of_second: list[float | None], words: str
) -> None:
    trials = [[(1, 0.2, 1), (5, 0.1, 1)], [(1, 0.4, 1), (5, 0.3, 1)]]
    for fold, scores in enumerate(([0.6, 0.8], of_second)):
        write_run("t", "cfo", fold, trials[fold], validation="holdout", test_scores=scores)

    [best] = best_configurations(tmp_path / "results")

    assert best.mean_in_words == words


def test_a_mean_counts_the_folds_of_each_split(write_run: WriteRun, tmp_path: Path) -> None:
    for fold, seed in ((0, 0), (1, 0), (0, 1)):
        write_run("t", "cfo", fold, [(1, 0.2, 1)], seed=seed)

    [best] = best_configurations(tmp_path / "results")

    assert "mean over 3 folds" in best.mean_in_words


# --- in a folder of `cfo-bench compare` -----------------------------------------------------------

PLAN = ComparisonPlan(("xgboost",), ("cfo", "tpe"), 2, 10.0)


@pytest.fixture
def compared(write_run: WriteRun, tmp_path: Path) -> Path:
    """CFO has the lowest validation losses, and the comparison named another."""
    for method, loss in (("cfo", 0.1), ("tpe", 0.2), ("tuned-rf", 0.3)):
        for fold in range(2):
            options = FOREST_OPTIONS if method == "tuned-rf" else {}
            write_run("t", method, fold, [(1, loss, 1)], options=options)
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("learner", "method"), [("xgboost", "tpe"), ("xgboost", "cfo"), ("random-forest", "tuned-rf")]
)
def test_best_takes_what_the_comparison_named_and_says_so(compared: Path, learner: str, method: str) -> None:
    ComparisonRecord({}, PLAN, ComparisonVerdict("t", learner, method, f"Best: {method}.")).write(compared)
    best = best_configurations(compared)[0]
    assert (best.learner, best.method, best.verdict) == (learner, method, f"Best: {method}.")
    text = said(compared)
    assert text.startswith(f"t: {learner}, found by {method}\n  compare: Best: {method}.\n")
    written = CliRunner().invoke(cli, ["best", str(compared), "--python"])
    assert f"as cfo-bench compare recommended (--learner or --method selects another): Best: {method}" in (
        written.stderr
    )


def test_another_choice_than_the_comparisons_is_an_option(compared: Path) -> None:
    ComparisonRecord({}, PLAN, ComparisonVerdict("t", "xgboost", "tpe", "Best: tpe.")).write(compared)
    [cfo] = best_configurations(compared, methods=["cfo"])
    [forest] = best_configurations(compared, learners=["random-forest"])
    assert (cfo.method, cfo.verdict) == ("cfo", None)
    assert (forest.method, forest.fixed["n_estimators"], forest.verdict) == ("tuned-rf", 20, None)
    assert [best.method for best in best_configurations(compared, learners=["xgboost"])] == ["cfo"]


@pytest.mark.parametrize("content", ["[1, 2]", "\xff", '{"asked": {}, "plan": {}, "verdict": 3}'])
def test_a_record_that_is_none_decides_nothing(compared: Path, content: str) -> None:
    (compared / "compare.plan").write_text(content, encoding="latin-1")
    assert best_configurations(compared)[0].method == "cfo"


def test_a_verdict_without_runs_decides_nothing(compared: Path) -> None:
    ComparisonRecord({}, PLAN, ComparisonVerdict("t", "lightgbm", "tpe", "Best: tpe.")).write(compared)
    [best] = best_configurations(compared)
    assert (best.method, best.verdict) == ("cfo", None)
