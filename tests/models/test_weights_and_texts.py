"""Models and scripts of data with weights, a split column, and texts that are encoded by the target."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cfo_bench import Estimator, Float, Space, Suite, load_model, run_suite
from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import TraceError
from cfo_bench.learners import LEARNERS
from cfo_bench.metrics import METRICS
from cfo_bench.models import ModelRecipe, ScriptColumns, script
from cfo_bench.models.best import best_configurations, fit_best, python_script
from cfo_bench.records import Problem, Trial
from cfo_bench.suite.file import read
from cfo_bench.tasks import file_ref, load_fold
from cfo_bench.tasks.folds import split_rows
from cfo_bench.tasks.loading import load_data_set
from tests.models.test_best import CONFIGS, namespace, require

N = 600


def table(problem: Problem, path: Path) -> pd.DataFrame:
    """A target that a text of 120 values tells, with gaps in the text; weights, days, and folds."""
    rng = np.random.default_rng(4)
    who = rng.integers(0, 120, N)
    signal = rng.normal(size=120)[who] + rng.normal(size=N) * 0.5
    y = {
        Problem.BINARY: np.where(signal > 0, "yes", "no"),
        Problem.MULTICLASS: np.array(["low", "middle", "top"])[np.digitize(signal, [-0.5, 0.5])],
        Problem.REGRESSION: signal,
    }[problem]
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "who": np.where(rng.random(N) < 0.05, None, [f"w{i}" for i in who]),
            "colour": rng.choice(["red", "green"], N),
            "w": rng.integers(1, 4, N),
            "day": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
            "part": rng.integers(1, 4, N),
            "y": y,
        }
    )
    frame.to_csv(path, index=False)
    return frame


@pytest.mark.parametrize("problem", list(Problem))
@pytest.mark.parametrize(
    "learner", ["catboost", "hist-gradient-boosting", "lightgbm", "random-forest", "xgboost"]
)
def test_the_script_computes_the_learners_loss_with_weights_and_texts(
    learner: str, problem: Problem, tmp_path: Path
) -> None:
    require(learner)
    frame = table(problem, path := tmp_path / "mine.csv")
    ref = file_ref(path, "y", split="time:day", weight="w")
    data, _ = load_data_set(ref)
    split, fold = split_rows(data, 2, 3, 0), load_fold(ref, 2, 3, seed=0)[0]
    objective = LEARNERS.load(learner)().prepare(fold, 1, 0)
    ours = objective.evaluate(Trial(0, CONFIGS[learner]), Deadline(WallClock())).loss

    columns = ScriptColumns("y", ("day", "w"), "w", data.target_encoded)
    code = namespace(script(ModelRecipe(learner, CONFIGS[learner], problem, 0), columns, ["About it."]))
    frame = code["read"](str(path))
    predicted = code["predict"](code["train"](frame.iloc[split.train]), frame.iloc[split.valid])

    assert data.target_encoded == ("who",)
    theirs = METRICS[fold.metric].loss(fold.valid_y, predicted, fold.valid_weight)
    assert theirs == pytest.approx(ours, abs=1e-6)


@pytest.mark.parametrize("problem", [Problem.BINARY, Problem.MULTICLASS])
def test_a_suite_with_splits_and_weights_is_recorded_repeated_and_fitted(
    problem: Problem, tmp_path: Path
) -> None:
    frame = table(problem, path := tmp_path / "mine.csv")
    (tmp_path / "suite.yaml").write_text(
        "data: mine.csv\ntarget: y\nsplit: column:part\nweight: w\nmethods: rs\nbudget: 60\nmax_trials: 2\n"
        "folds: 0\nresults: results\nvalidation: holdout\n"
    )
    suite = read(tmp_path / "suite.yaml")
    outcome = run_suite(suite)
    assert not outcome.failures

    [best] = best_configurations(tmp_path / "results")
    data = best.header["data"]
    assert (data["split"], data["weight"], data["target_encoded"]) == ("column:part", "w", ["who"])
    assert (data["folds"], data["features"]) == ("3 folds of column 'part'", 4)
    assert "--split column:part --weight w" in best.header["command"]
    fitted = fit_best(best, path, tmp_path / "model.ubj", threads=1)
    assert fitted.same_data
    code = namespace(python_script(best))
    expected = code["predict"](code["train"](frame), frame)
    model = load_model(tmp_path / "model.ubj")
    # As JSON keeps them, the means of the encoder are the script's.
    assert model.predict(frame) == pytest.approx(expected, abs=1e-6)
    new = frame.head(3).assign(who=["never seen", None, "w1"]).drop(columns=["w", "part", "y"])
    assert model.predict(new) == pytest.approx(code["predict"](code["train"](frame), new), abs=1e-6)

    changes: list[dict[str, Any]] = [{"weight": None}, {"split": None, "n_folds": 3}]
    for change in changes:
        with pytest.raises(TraceError, match=rf"belongs to another run .*{next(iter(change))} "):
            run_suite(replace(suite, **change))


def test_the_exported_script_runs_as_a_program(tmp_path: Path) -> None:
    table(Problem.BINARY, tmp_path / "mine.csv")
    suite = Suite(
        data_file=tmp_path / "mine.csv", target="y", split="group:who", weight="w", methods="rs", folds="0",
        n_folds=3, budget_seconds=60, max_trials=1, results=tmp_path / "results",
    )  # fmt: skip
    pd.read_csv(suite.data_file).dropna().to_csv(suite.data_file, index=False)  # type: ignore[arg-type]
    run_suite(suite)
    (tmp_path / "train.py").write_text(python_script(best_configurations(tmp_path / "results")[0]))
    command = [sys.executable, "train.py", "mine.csv", "mine.csv"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stderr == "" and answer.stdout.splitlines()[0] == "probability of yes"


def test_a_pipeline_trains_with_weights_and_encodes_texts_itself(tmp_path: Path) -> None:
    frame = table(Problem.BINARY, path := tmp_path / "mine.csv")
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
    suite = Suite(
        data_file=path, target="y", weight="w", methods=["rs"], folds="0", budget_seconds=60, max_trials=2,
        learners=[
            Estimator(
                Pipeline([("columns", columns), ("model", RidgeClassifier())]),
                Space([Float("model__alpha", 0.01, 10.0, log=True)]),
                {"model__alpha": 0.1},
            )
        ],
        drop=["day", "part"], results=tmp_path / "results",
    )  # fmt: skip
    assert not run_suite(suite).failures

    [best] = best_configurations(tmp_path / "results")
    fit_best(best, path, tmp_path / "model.skops", threads=1, trust_learner=True)
    code = namespace(python_script(best, trust_learner=True))
    predicted = code["predict"](trained := code["train"](frame), frame)
    assert load_model(tmp_path / "model.skops").predict(frame) == pytest.approx(predicted, abs=1e-6)

    model, *_ = trained["model"]
    unweighted = Pipeline(
        [("columns", columns), ("model", RidgeClassifier(alpha=best.config["model__alpha"]))]
    )
    coefficients = unweighted.fit(code["features"](frame, trained["columns"]), frame["y"] == "yes")["model"]
    assert model["model"].coef_.shape == coefficients.coef_.shape
    assert not np.allclose(model["model"].coef_, coefficients.coef_)


def test_rows_without_a_target_are_left_out_of_training_as_of_the_search(tmp_path: Path) -> None:
    path, results = tmp_path / "my.csv", tmp_path / "results"
    frame = table(Problem.BINARY, path)
    frame.loc[:9, "y"] = None
    frame.to_csv(path, index=False)
    suite = Suite(
        data_file=path,
        target="y",
        drop_missing_target=True,
        learners=("knn",),  # type: ignore[arg-type]
        methods="rs",
        folds="0",
        budget_seconds=60,
        max_trials=1,
        results=results,
    )
    assert run_suite(suite).exit_code == 0
    [best] = best_configurations(results)

    assert fit_best(best, path, tmp_path / "my.npz").rows == N - 10
