"""The model of a pipeline of one's own: as a script, trained on all rows, saved by skops and read back."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cfo_bench import Suite, best_configurations, fit_best, load_model, load_results, python_script, run_suite
from cfo_bench.cli.best import _block
from cfo_bench.cli.main import cli
from cfo_bench.errors import UserError
from cfo_bench.models.best import BestConfiguration
from tests.models.test_best import namespace

PIPELINE = """
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

Path(__file__).with_name("imported").touch()


class Clipped(TransformerMixin, BaseEstimator):
    def fit(self, x, y=None):
        self.width_ = 2
        return self

    def transform(self, x):
        return np.clip(x, -self.width_, self.width_)


def make_pipeline_of_mine():
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), Clipped())
    columns = make_column_transformer(
        (numbers, ["x", "z"]),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
    return Pipeline([("columns", columns), ("svc", SVC())])
"""
DESCRIPTION = """
estimator: pipeline.py:make_pipeline_of_mine
fixed: {svc__tol: 1e-4}
space:
  svc__kernel: {categorical: [linear, rbf], start: linear}
  svc__C: {float: [0.01, 100], log: true, cost_related: true, start: 0.1}
  svc__gamma: {float: [0.001, 1], log: true, when: {svc__kernel: rbf}, start: 0.1}
"""
CLIPPED = "cfo_bench_local_pipeline.Clipped"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data file, a pipeline, and the results of two trials of it."""
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 120))
    colour = rng.choice(["red", "green"], 120)
    frame = pd.DataFrame({"x": np.where(x > 1.5, np.nan, x), "z": z, "colour": colour})
    frame.assign(y=np.where(x + (colour == "red") > 0.5, "yes", "no")).to_csv(
        folder / "mine.csv", index=False
    )
    (folder / "pipeline.py").write_text(PIPELINE)
    (folder / "own.yaml").write_text(DESCRIPTION)
    suite = Suite(
        data_file=folder / "mine.csv",
        target="y",
        learners=[str(folder / "own.yaml")],
        methods=["cfo"],
        folds="0",
        n_folds=3,
        budget_seconds=60,
        max_trials=2,
        results=folder / "results",
    )
    assert not run_suite(suite).failures
    return folder


@pytest.fixture
def best(folder: Path) -> BestConfiguration:
    (folder / "imported").unlink(missing_ok=True)
    [best] = best_configurations(folder / "results")
    return best


def test_reading_the_results_imports_no_estimator(folder: Path, best: BestConfiguration) -> None:
    with pytest.raises(UserError, match="--trust-learner"):
        python_script(best)
    text = python_script(best, trust_learner=True)
    answer = CliRunner().invoke(cli, ["best", str(folder / "results")])
    with pytest.raises(UserError, match="which is code: if the results are yours, give --trust-learner"):
        fit_best(best, folder / "mine.csv", folder / "model.skops")

    assert answer.exit_code == 0 and "make_pipeline_of_mine, found by cfo" in answer.output
    assert "cfo_bench" not in text and not (folder / "imported").exists()


def test_a_saved_pipeline_predicts_as_its_script_does(folder: Path, best: BestConfiguration) -> None:
    frame = pd.read_csv(folder / "mine.csv")
    words = [
        "best",
        str(folder / "results"),
        "--fit",
        str(folder / "mine.csv"),
        "-o",
        str(folder / "model.skops"),
    ]
    answer = CliRunner().invoke(cli, [*words, "--trust-learner"])
    assert answer.exit_code == 0, answer.output
    loading = f'load_model("{folder / "model.skops"}", trusted={[str(folder / "pipeline.py")]})'
    assert loading in " ".join(answer.output.split())
    with pytest.raises(UserError, match=rf"the file holds {CLIPPED}: .* trusted=\['.*pipeline\.py'\]"):
        load_model(folder / "model.skops")

    model = load_model(folder / "model.skops", trusted=[str(folder / "pipeline.py")])
    script = namespace(python_script(best, trust_learner=True))
    expected = script["predict"](script["train"](frame), frame)

    assert model.predict(frame) == pytest.approx(expected)
    assert ((model.predict(frame) > 0.5) == (frame["y"] == "yes")).mean() > 0.8
    new = frame.head(2).assign(colour=["violet", None])
    assert np.isfinite(model.predict(new)).all()


def test_inactive_hyperparameters_are_in_the_trace_and_not_in_the_script(
    folder: Path, best: BestConfiguration
) -> None:
    trials = load_results(folder / "results").trials
    is_linear = trials["config.svc__kernel"] == "linear"
    assert is_linear.any()
    assert trials["inactive"].tolist() == is_linear.map({True: "svc__gamma", False: ""}).tolist()
    space = {row["name"]: row for row in best.header["space"]}
    assert space["svc__gamma"]["when"] == {"svc__kernel": ["rbf"]}
    assert set(best.config) == {"svc__kernel", "svc__C", "svc__gamma"}
    linear, rbf = (
        replace(best, config={**best.config, "svc__kernel": kernel}) for kernel in ("linear", "rbf")
    )
    assert "svc__gamma" not in python_script(linear, trust_learner=True) and "svc__gamma" in python_script(
        rbf, trust_learner=True
    )
    assert "(inactive)" in _block(linear) and "(inactive)" not in _block(rbf)


@pytest.mark.parametrize(
    "harm",
    [
        {"learner": "estimator:os.system('touch harm')"},
        {"learner_options": {"fixed": {"steps": [{"estimator": "os.system('touch harm')"}]}}},
        {"learner_options": {"fixed": {"x=open('harm', 'w'), y": 1}}},
        {"learner_options": {"fixed": {"memory": "'); open('harm', 'w'); ('"}}},
        {"learner_options": {"space": [{"type": "int"}]}},
        {"learner_options": {"fixed": {"a": {"import": 3}}}},
    ],
)
def test_a_trace_that_was_made_to_harm_becomes_no_code(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: dict[str, object]
) -> None:
    monkeypatch.chdir(tmp_path)
    [trace] = (folder / "results").rglob("*.jsonl")
    header, *rest = trace.read_text().splitlines(keepends=True)
    row = json.loads(header)
    for key, value in harm.items():
        row["spec"][key] = {**row["spec"][key], **value} if isinstance(value, dict) else value
    (tmp_path / "evil" / trace.relative_to(folder / "results").parent).mkdir(parents=True)
    (tmp_path / "evil" / trace.relative_to(folder / "results")).write_text(
        json.dumps(row) + "\n" + "".join(rest)
    )
    [best] = best_configurations(tmp_path / "evil")
    with contextlib.suppress(UserError):
        text = python_script(best, trust_learner=True)
        made = text[: text.index("FEATURES = features_of(make_model())")] + "\n\nmake_model()"
        with contextlib.suppress(Exception):  # an estimator refuses what it does not know
            namespace(made)
    assert not (tmp_path / "harm").exists()
