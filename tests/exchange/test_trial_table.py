"""The tidy table: its columns, its files, and the way back into traces."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench import export_trials, import_trials
from cfo_bench.errors import UserError
from cfo_bench.exchange.trial_table import (
    READABLE_COLUMNS,
    RUN_COLUMNS,
    TRIAL_COLUMNS,
    cell,
    text_cell,
    text_of,
    value_of,
)
from cfo_bench.files.writing import no_formula
from cfo_bench.results.run import read_run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import Value
from cfo_bench.values import LEAST_INT, MOST_INT
from tests.helpers.odd_run import write_odd_run
from tests.helpers.traces import write_run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "exchange.md").read_text(encoding="utf-8")


def trials(path: Path) -> list[TrialRecord]:
    found = read_run(path, parse_trials=True)
    assert found is not None
    return found.trials


def test_trials_come_back_from_a_csv_file_as_they_were(tmp_path: Path) -> None:
    path = write_odd_run(tmp_path / "a")
    write_run(tmp_path / "a", "wine", "cfo", 1, [(1.0, 0.25, 0.5), (2.0, None, 0.5)])

    exported = export_trials(tmp_path / "a", tmp_path / "trials.csv")
    imported = import_trials(tmp_path / "trials.csv", tmp_path / "b")

    assert (exported.runs, exported.trials) == (2, 7)
    by_name = {str(one.path.relative_to(tmp_path / "b").parent): one for one in imported}
    assert sorted(by_name) == ["xgboost/iris/imported rs", "xgboost/wine/imported cfo"]
    assert trials(by_name["xgboost/iris/imported rs"].path) == trials(path)
    assert by_name["xgboost/iris/imported rs"].clock == "wall"


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    write_odd_run(tmp_path / "a")

    export_trials(tmp_path / "a", tmp_path / "trials.csv")

    with (tmp_path / "trials.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=1+1" in cells and "'=cmd()" in cells
    assert not [cell for cell in cells if re.match(r"\s*[=@+]", cell)]


def test_a_parquet_file_has_a_type_for_each_column(tmp_path: Path) -> None:
    path = write_odd_run(tmp_path / "a")

    export_trials(tmp_path / "a", tmp_path / "trials.parquet")

    table = pq.read_table(tmp_path / "trials.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["config.n"] == "int64" and types["config.x"] == "double" and types["config.kind"] == "string"
    assert types["rows"] == types["fold"] == "int64" and types["loss"] == "double"
    assert table["config.x"].to_pylist() == [one.config["x"] for one in trials(path)]
    assert table["config.kind"].to_pylist() == ["'=cmd()", "2", '"1"', None, "true"]
    assert table["tell_seconds"].to_pylist()[3] is None


def test_every_column_is_documented() -> None:
    named = set(re.findall(r"`([a-z_0-9.]+)`", PAGE))

    assert {*RUN_COLUMNS, *TRIAL_COLUMNS} <= named
    assert set(READABLE_COLUMNS) <= named | {"seconds"}


def test_only_the_runs_that_are_asked_for_are_exported(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])
    write_run(tmp_path / "a", "wine", "rs", 0, [(1.0, 0.25, 0.5)] * 2)

    assert export_trials(tmp_path / "a", tmp_path / "cfo.csv", methods=["cfo"]).trials == 1
    with pytest.raises(UserError, match=r"unknown method in these results 'tpe': choose from cfo, rs"):
        export_trials(tmp_path / "a", tmp_path / "tpe.csv", methods=["tpe"])


def test_a_file_is_replaced_only_with_force(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])
    out = tmp_path / "trials.csv"
    out.write_text("mine")

    with pytest.raises(UserError, match=r"trials\.csv exists already: choose another file, or --force"):
        export_trials(tmp_path / "a", out)
    assert out.read_text() == "mine"
    export_trials(tmp_path / "a", out, force=True)
    assert out.read_text().startswith("learner,task")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "trials.csv"]


@pytest.mark.parametrize("name", ["trials.xlsx", "trials", "trials.csv.gz"])
def test_an_unknown_suffix_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"a table of trials is a \.csv or \.parquet file"):
        export_trials(tmp_path, tmp_path / name)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])

    with pytest.raises(UserError, match=r"no folder .*nowhere': make it first"):
        export_trials(tmp_path / "a", tmp_path / "nowhere" / "trials.csv")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plain_csv_file_becomes_a_run(tmp_path: Path) -> None:
    source = written(
        tmp_path, "depth,eta,booster,val_auc,time\n3,0.1,gbtree,0.9,1.5\n4,0.2,dart,0.95,2.5\n5,0.3,dart,,1\n"
    )

    [one] = import_trials(
        source,
        tmp_path / "r",
        learner="xgboost",
        task="adult",
        method="mine",
        metric="auc",
        score="val_auc",
        columns={"seconds": "time"},
    )

    found = read_run(one.path, parse_trials=True)
    assert found is not None
    assert found.trials[0].config == {"depth": 3, "eta": 0.1, "booster": "gbtree"}
    assert [trial.score for trial in found.trials] == pytest.approx([0.9, 0.95, None])
    assert [trial.status for trial in found.trials] == ["ok", "ok", "failed"]
    assert [trial.ended for trial in found.trials] == [1.5, 4.0, 5.0]
    assert found.header.imported.clock == "durations" and found.spec.clock == "virtual"
    assert {"clock", "budget_seconds", "data", "threads", "space"} <= set(one.unknown)


def test_times_are_real_seconds_if_the_user_says_so(tmp_path: Path) -> None:
    source = written(tmp_path, "config.x,loss,ended_seconds\n1,0.5,1\n2,0.4,3\n")
    names = {"learner": "xgboost", "task": "adult", "metric": "auc"}

    [first] = import_trials(source, tmp_path / "r", **names)
    [second] = import_trials(source, tmp_path / "r", **names, clock="wall", seed=1)

    assert (first.clock, second.clock) == ("durations", "wall")
    assert first.path.parent.name == "imported own"


def test_without_times_each_trial_counts_as_a_second(tmp_path: Path) -> None:
    source = written(tmp_path, "x,loss\n1,0.5\n2,inf\n")

    [one] = import_trials(source, tmp_path / "r", learner="l", task="t", metric="auc")

    assert one.clock == "trials"
    assert [(trial.ended, trial.status) for trial in trials(one.path)] == [(1.0, "ok"), (2.0, "failed")]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,loss\n", {}, "has no trials"),
        ("x,auc\n1,2\n", {}, "neither a column loss nor score.*its columns: x, auc"),
        ("x,loss\n1\n", {}, "line 2: 1 values for 2 columns"),
        ("x,loss\n1,a\n", {}, "line 2: loss 'a' is not a number"),
        ("x,loss,fold\n1,1,1.5\n", {}, "line 2: fold '1.5' is not a whole number"),
        ("x,loss,seconds\n1,1,-1\n", {}, "seconds '-1' is not a number from 0 on"),
        ("x,loss,status\n1,1,done\n", {}, "status 'done' is not one of ok, failed, timeout, memory"),
        ("x,loss\n1,1\n", {"columns": {"second": "x"}}, "did you mean 'seconds'"),
        ("x,loss\n1,1\n", {"score": "auc"}, "unknown column of .* 'auc'"),
        ("x,loss\n1,0.5\n", {"metric": None}, "does not state which metric was tuned"),
        ("x,loss\n1,0.5\n", {"metric": "f1"}, "unknown metric 'f1': choose from "),
        ("x,loss\n1,0.5\n", {"task": None}, "does not state the task: name it with --task"),
        ("x,loss\n1,-0.5\n", {}, "a loss of -0.5 can't be 1 − auc"),
        ("x,score\n1,0.5\n", {"metric": "log_loss"}, "log_loss is minimised"),
        ("x,loss\n1,0.5\n", {"metric": "balanced_accuracy"}, "add --problem"),
        ("x,x,loss\n1,1,0.5\n", {}, "column 'x' exists twice"),
        ('x,loss\n"1,0.5\n', {}, "not valid CSV"),
    ],
)
def test_a_csv_file_that_can_not_be_imported_is_one_line(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    source = written(tmp_path, text)

    with pytest.raises(UserError, match=message):
        import_trials(source, tmp_path / "r", **{"learner": "l", "task": "t", "metric": "auc", **options})
    assert not (tmp_path / "r").exists()


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file or folder"):
        import_trials(tmp_path / "none.csv", tmp_path / "r")


def test_an_imported_run_is_replaced_only_with_force(tmp_path: Path) -> None:
    source = written(tmp_path, "x,loss\n1,0.5\n")
    names = {"learner": "l", "task": "t", "metric": "auc"}
    [one] = import_trials(source, tmp_path / "r", **names)
    source.write_text("x,loss\n1,0.25\n")

    with pytest.raises(UserError, match="exists already: name another --seed or --method, or --force"):
        import_trials(source, tmp_path / "r", **names)
    [again] = import_trials(source, tmp_path / "r", **names, force=True)

    assert trials(again.path)[0].loss == 0.25
    assert one.path.with_suffix(".replaced").exists()


# --- cells ----------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    [
        "",
        "1",
        "1.0",
        "true",
        "True",
        "null",
        "nan",
        "Infinity",
        '"x"',
        "'=1",
        "=1+1",
        "-2",
        "+x",
        "a\rb",
        " 3 ",
    ]
)
VALUES = (
    st.integers(LEAST_INT, MOST_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
    | TEXTS
)


@given(VALUES)
def test_the_value_of_a_hyperparameter_comes_back(value: Value) -> None:
    read_back = value_of(cell(value))

    assert read_back == value and type(read_back) is type(value)


@given(TEXTS)
def test_a_text_comes_back(text: str) -> None:
    assert text_of(text_cell(text)) == text


@given(TEXTS)
def test_no_cell_is_a_formula(text: str) -> None:
    assert no_formula(cell(text)) == cell(text)
    assert no_formula(text_cell(text)) == text_cell(text)


@pytest.mark.parametrize(("text", "cell_text"), [("gbtree", "gbtree"), ("1", '"1"'), ("=1+1", "'=1+1")])
def test_plain_text_is_written_as_it_is(text: str, cell_text: str) -> None:
    assert cell(text) == cell_text


def test_an_empty_cell_has_no_text() -> None:
    assert text_of("") is None
