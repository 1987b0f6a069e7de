"""`--validation holdout` from end to end: each new incumbent is tested, and that off the clock."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xgboost

from cfo_bench.metrics import METRICS
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks import load_fold

ROOT = Path(__file__).resolve().parents[2]
NEVER_TELLS = str(ROOT / "tests" / "plugins" / "methods.py:NeverTells")
SLOW_TEST = str(ROOT / "tests" / "plugins" / "slow_test.py:SlowTest")

Line = dict[str, Any]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    answer = subprocess.run(
        [sys.executable, "-m", "cfo_bench", "run", "--folds", "0", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert answer.returncode == 0, answer.stderr
    return answer


def lines(folder: Path) -> list[Line]:
    [path] = (folder / "results").rglob("*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def trials(folder: Path) -> list[Line]:
    return [line for line in lines(folder) if line["kind"] == "trial"]


def incumbents(found: list[Line]) -> list[int]:
    best, numbers = math.inf, []
    for trial in found:
        if trial["loss"] is not None and trial["loss"] < best:
            best = trial["loss"]
            numbers.append(trial["number"])
    return numbers


def test_the_test_score_of_each_new_incumbent_is_its_models_on_the_held_out_part(tmp_path: Path) -> None:
    answer = run(
        tmp_path,
        *("--task", "breast_cancer", "--method", "cfo", "--budget", "60", "--max-trials", "12"),
        *("--validation", "holdout", "--holdout-share", "0.3", "--seed", "4", "--json"),
    )
    header, found = lines(tmp_path)[0], trials(tmp_path)
    tested = [trial["number"] for trial in found if trial["test_score"] is not None]
    assert tested == incumbents(found) and 1 < len(tested) < len(found)

    ref = DataRef("breast_cancer", "bundled", problem=Problem.BINARY)
    fold, _ = load_fold(ref, 0, 10, 4, 0.3)
    assert fold.test_y is not None
    assert header["data"]["test_rows"] == len(fold.test_y)
    assert header["data"]["validation_rows"] == len(fold.valid_y) == 154
    for number in tested:
        config = dict(found[number]["config"])
        rounds = config.pop("n_estimators")
        parameters = {
            **config,
            "objective": "binary:logistic",
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_depth": 0,
            "nthread": 1,
            "seed": 4,
        }
        booster = xgboost.train(parameters, xgboost.QuantileDMatrix(fold.train_x, fold.train_y), rounds)
        for x, y, key in (
            (fold.valid_x, fold.valid_y, "score"),
            (fold.test_x, fold.test_y, "test_score"),
        ):
            score = METRICS["auc"].score(y, booster.predict(xgboost.DMatrix(x)))
            assert found[number][key] == pytest.approx(score, abs=1e-12)

    [row] = json.loads(answer.stdout)
    assert row["test_score_mean"] == found[tested[-1]]["test_score"]
    assert f"{row['test_score_mean']:.4f}" in answer.stderr


@pytest.mark.slow
def test_without_a_holdout_nothing_is_tested(tmp_path: Path) -> None:
    run(tmp_path, "--task", "iris", "--method", "rs", "--budget", "60", "--max-trials", "3")
    assert [trial["test_score"] for trial in trials(tmp_path)] == [None, None, None]
    assert lines(tmp_path)[0]["data"]["test_rows"] == 0


def test_a_test_of_a_second_costs_nothing_on_the_clock_and_the_budget_is_for_trials(tmp_path: Path) -> None:
    """Three seconds of tests in a budget of two and a half, and yet there is time for every trial."""
    run(
        tmp_path,
        *("--task", "iris", "--learner", SLOW_TEST, "--method", "rs"),
        *("--budget", "2.5", "--max-trials", "8", "--validation", "holdout"),
    )
    found, end = trials(tmp_path), lines(tmp_path)[-1]
    assert [trial["status"] for trial in found] == ["ok"] * 8
    assert [trial["number"] for trial in found if trial["test_score"] is not None] == [0, 1, 2]
    for trial in found[:3]:
        assert trial["test_score"] == pytest.approx(trial["config"]["x"] / 10)
    assert (end["reason"], end["trials"]) == ("max_trials", 8)
    assert end["elapsed"] < 2.5


def test_an_incumbent_has_its_test_score_though_the_budget_ends_while_the_method_is_told(
    tmp_path: Path,
) -> None:
    run(
        tmp_path,
        *("--task", "iris", "--learner", SLOW_TEST, "--method", NEVER_TELLS, "--option", "at=2"),
        *("--budget", "1", "--validation", "holdout"),
    )
    found, end = trials(tmp_path), lines(tmp_path)[-1]
    assert [trial["tell_seconds"] is None for trial in found] == [False, False, True]
    assert found[2]["test_score"] == pytest.approx(found[2]["config"]["x"] / 10)
    assert end["reason"] == "budget" and end["cut_tell_seconds"] > 0.5


@pytest.mark.slow
def test_a_resumed_run_tests_only_what_is_better_than_before_it_was_cut(tmp_path: Path) -> None:
    words = (
        *("--task", "iris", "--learner", SLOW_TEST, "--method", "rs"),
        *("--budget", "5", "--max-trials", "6", "--validation", "holdout"),
    )
    run(tmp_path, *words)
    [path] = (tmp_path / "results").rglob("*.jsonl")
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:3]))  # the header and two trials, both incumbents in their time
    run(tmp_path, *words)
    before = [json.loads(line) for line in whole if b'"kind":"trial"' in line]
    after = trials(tmp_path)
    assert [trial["test_score"] for trial in after] == [trial["test_score"] for trial in before]
    assert [trial["number"] for trial in after if trial["test_score"] is not None] == [0, 1, 2]
    assert path.read_bytes().startswith(b"".join(whole[:3]))


@pytest.mark.slow
def test_the_references_are_tested_like_any_method(tmp_path: Path) -> None:
    run(
        tmp_path,
        *("--task", "wine", "--method", "tuned-rf", "--budget", "60", "--validation", "holdout"),
        *("--option", "trees=50", "--option", "grid=1"),
    )
    [trial] = trials(tmp_path)
    assert trial["status"] == "ok" and 0 < trial["test_score"] < lines(tmp_path)[0]["constant_loss"]
