"""A file of one's own on the command line: what is understood, what is dropped, and names that are meant."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from cfo_bench import Suite, run_suite, runs_of
from cfo_bench.cli.main import cli
from cfo_bench.engines.suite_runs import Event, Note
from cfo_bench.errors import TraceError, UserError
from cfo_bench.suite.file import read
from cfo_bench.terminal.command_options import suite_of

N = 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {"id": range(N), "x": [i * 7 % 11 / 3 for i in range(N)], "flat": 1, "y": [0, 1, 1, None] * (N // 4)}
    )
    frame.to_csv(tmp_path / "my.csv", index=False)
    return tmp_path / "my.csv"


def shown(*words: object) -> str:
    answer = CliRunner().invoke(cli, ["tasks", "show", *map(str, words)])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_a_file_is_shown_column_by_column_before_its_target_is_known(path: Path) -> None:
    lines = shown("--data", path).splitlines()
    assert lines[1].endswith("name the column to predict with --target")
    rows = {line.split()[0]: line for line in lines if line}
    assert rows["id"].endswith("different in every row") and rows["flat"].endswith("constant")
    columns = json.loads(shown("--data", path, "--json"))["columns"]
    assert [one["column"] for one in columns] == ["id", "x", "flat", "y"]
    assert columns[3]["missing"] == 10 and columns[0]["remark"] == "different in every row"


def test_with_a_target_problem_classes_and_what_was_dropped_are_shown(path: Path) -> None:
    words = ("--data", path, "--target", "y", "--drop", "id", "--drop", "flat", "--drop-missing-target")
    found = json.loads(shown(*words, "--json"))
    assert found["problem"] == "binary" and found["classes"] == {"0": 10, "1": 20}
    assert found["columns_dropped"] == ["id", "flat"] and found["rows_without_target_dropped"] == 10
    assert [one["column"] for one in found["columns"]] == ["x"]


def test_a_target_with_gaps_is_described_with_the_option_that_a_run_needs(path: Path) -> None:
    text = shown("--data", path, "--target", "y")
    assert "\nproblem                      binary\n" in text
    assert "rows without target          10, not counted: leave them out with --drop-missing-target" in text


def test_what_was_assumed_of_a_file_is_shown_and_noted_before_a_run(tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    rows = "".join(f"{i % 7},5\t{i % 3}\t{i % 4}\t{i % 2}\n" for i in range(40))
    file.write_text(f"a\ta\tb\ty\n{rows}", encoding="utf-16")
    assumed = "export.csv is read as UTF-16 text, separated by tabs, with decimal commas"
    text = shown("--data", file)
    assert f"assumed  {assumed}\n" in text and text.count("another column has this name") == 2
    assert assumed in shown("--data", file, "--target", "y", "--drop", "a", "--n-folds", "2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "my.csv"], "'my.csv' is a data file, not a suite: give it as --data my.csv --target COLUMN"),
        (
            ["run", "--task", "iris", "--method", "random", "--budget", "1"],
            "random search is called 'rs' here",
        ),
        (["run", "--task", "iris", "--method", "optuna", "--budget", "1"], "is called 'tpe' here"),
        (
            ["run", "--task", "iris", "--method", "cfo", "--learner", "XGB", "--budget", "1"],
            "XGBoost is called 'xgboost' here",
        ),
        (
            ["run", "--task", "iris", "--drop", "a", "--method", "cfo", "--budget", "1"],
            "--drop a is for a file",
        ),
        (
            ["run", "--task", "iris", "--split", "time:a", "--method", "cfo", "--budget", "1"],
            "--split time:a is for a file",
        ),
        (
            ["tasks", "show", "--data", "my.csv", "--split", "day"],
            "write group:COLUMN, time:COLUMN or column:COLUMN",
        ),
        (["tasks", "show", "iris", "--data", "my.csv"], "give the NAME of a task, or your own file"),
    ],
)
def test_what_is_meant_is_said(words: list[str], message: str) -> None:
    answer = CliRunner().invoke(cli, words)
    assert answer.exit_code == 2 or isinstance(answer.exception, UserError)
    assert message in answer.output + str(answer.exception)


def test_a_suite_names_a_file_and_the_command_line_replaces_it(path: Path) -> None:
    file = path.parent / "suite.yaml"
    file.write_text(
        "data: my.csv\ntarget: y\ndrop: [id]\ndrop_missing_target: true\nmethods: cfo\nbudget: 5\n"
    )
    runs = runs_of(read(file))
    ref = runs.data["my"]
    assert (ref.path, ref.target, ref.drop, ref.drop_missing_target) == (str(path), "y", ("id",), True)
    assert "--drop id --drop-missing-target" in runs.commands()[0]
    assert suite_of(str(file), {"drop": ("flat",)}).drop == ("flat",)
    other = suite_of(str(file), {"tasks": ("iris",)})
    assert other.data_file is None and other.target is None and other.drop == ()


def test_a_run_without_a_column_is_another_run_and_odd_columns_are_told_of(path: Path) -> None:
    suite = replace(
        suite_of(None, {"methods": ("cfo",), "budget_seconds": 60.0, "max_trials": 1, "folds": "0"}),
        data_file=path,
        target="y",
        drop_missing_target=True,
        n_folds=2,
        results=path.parent / "results",
    )
    told: list[Event] = []
    assert not run_suite(suite, on_event=told.append).failures
    warnings = [event.text for event in told if isinstance(event, Note) and event.is_warning]
    assert warnings == [
        "my: column 'flat' has the same value in every row: leave it out with --drop",
        "my: column 'id' has another value in every row: if it is an identifier, leave it out with --drop",
    ]
    header = json.loads(next(path.parent.rglob("fold-0_seed-0.jsonl")).read_text().splitlines()[0])
    assert header["data"]["dropped_columns"] == [] and header["data"]["dropped_rows"] == 10
    with pytest.raises(TraceError, match=r"dropped_columns \[\] there, \['id'\] here"):
        run_suite(replace(suite, drop=("id",)))


def test_the_folds_of_a_column_are_shown_and_counted_and_a_learner_without_weights_is_refused(
    path: Path,
) -> None:
    frame = pd.read_csv(path).dropna()
    frame["part"] = [f"part {i // 10}" for i in range(len(frame))]
    frame.to_csv(path, index=False)
    words = ("--data", path, "--target", "y", "--split", "column:part", "--weight", "x")
    text = " ".join(shown(*words).split())
    assert "folds 3: 3 folds of column 'part' weight x" in text

    suite = Suite(
        data_file=path, target="y", split="column:part", weight="x", methods="rs", learners="knn",
        budget_seconds=5, results=path.parent / "results",
    )  # fmt: skip
    assert [spec.fold for spec in runs_of(suite).specs] == [0, 1, 2]
    with pytest.raises(UserError, match="--weight x: learner 'knn' does not take weights of rows"):
        run_suite(suite)
