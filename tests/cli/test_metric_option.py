"""`--metric`: a run with another metric, and what reads its results."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from cfo_bench.results.run import read_run
from tests.cli.conftest import Program

RUN = "run --task breast-cancer --learner knn --budget 60 --max-trials 3 --folds 0 -q --results r "
RUN += "--method rs --method constant "

COST = """
def cost(truth, prediction):
    return float(((truth == 1) & (prediction == 0)).sum())

cost.higher_is_better = False
"""


def test_a_metric_of_a_file_is_recorded_and_read_without_the_file(tmp_path: Path, program: Program) -> None:
    file = tmp_path / "mine.py"
    file.write_text(COST, encoding="utf-8")

    run = program(f"{RUN} --metric mine.py:cost")

    assert run.returncode == 0 and "cost ↓" in run.stdout, run.stderr
    file.write_text("raise SystemExit('a reader ran it')", encoding="utf-8")
    headers = [run.header for path in tmp_path.rglob("*.jsonl") if (run := read_run(path)) is not None]
    assert {(header.metric, str(header.metric_facts)) for header in headers} == {("mine.py:cost", "cost ↓")}
    assert all(header.constant_loss == 0.0 for header in headers)  # most are positive: none is missed
    assert all("--metric mine.py:cost" in (header.command or "") for header in headers)
    for reader in ("report r -o out --format csv,markdown", "best r", "status r"):
        assert (read := program(reader)).returncode == 0, read.stderr
    tables = tmp_path / "out" / "knn" / "tables"
    assert "Final scores: cost ↓ (validation)" in (tables / "scores.md").read_text(encoding="utf-8")
    assert set(pd.read_csv(tables / "final-scores.csv")["metric"]) == {"cost"}
    assert "validation cost ↓" in program("best r").stdout


def test_a_trace_is_resumed_only_with_its_metric(tmp_path: Path, program: Program) -> None:
    assert program(RUN).returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}

    assert program(f"{RUN} --metric roc_auc").returncode == 0  # another name of the same
    refused = program(f"{RUN} --metric f1")

    assert refused.returncode == 2 and "metric auc there, f1 here" in refused.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")} == before


def test_a_metric_in_a_suite_is_relative_to_its_file(tmp_path: Path, program: Program) -> None:
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "mine.py").write_text(COST, encoding="utf-8")
    (folder / "suite.yaml").write_text(
        "learners: knn\ntasks: breast-cancer\nmethods: rs\nmetric: mine.py:cost\nbudget: 60\n"
        "max_trials: 2\nfolds: 0\n",
        encoding="utf-8",
    )

    done = program("run suites/suite.yaml -q --json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["metric"] == "mine.py:cost"


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("f2", "unknown metric 'f2'"),
        ("neg_max_error", "--metric neg_max_error is not for a binary task"),
        ("absent.py:cost", "no file 'absent.py'"),
        ("mine.py", "--metric mine.py names no function: write mine.py:function"),
    ],
)
def test_a_metric_is_refused_before_anything_starts(
    tmp_path: Path, program: Program, metric: str, reason: str
) -> None:
    refused = program(f"{RUN} --metric {metric}")

    assert refused.returncode == 2 and reason in refused.stderr
    assert refused.stderr.count("\n") == 1 and not list(tmp_path.rglob("*.jsonl"))


def test_a_learner_that_does_not_train_keeps_its_own_metric(program: Program) -> None:
    line = "run --learner synthetic --task synthetic-1k --method rs --folds 0 --budget 100 --max-trials 3 -q"

    assert program(f"{line} --metric r2").returncode == 0
    refused = program(f"{line} --metric mse --results other")

    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "its losses are those of r2: leave --metric out" in refused.stderr
