"""Every real data set beside the checkout, run through XGBoost by one command."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_all_data_sets_run_through_xgboost(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data"
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        index = {row["name"]: row for row in csv.DictReader(file)}
    assert len(index) == 23
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "cfo_bench", "run", "--data-dir", str(folder), "--json", "-q", "-j", "2"),
            *("--method", "cfo", "--budget", "60", "--max-trials", "3", "--folds", "0"),
            *(word for name in index for word in ("--task", name)),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    summary = {row["task"]: row for row in json.loads(answer.stdout)}
    assert set(summary) == set(index)
    for name, row in index.items():
        path = tmp_path / "results" / "xgboost" / name / "cfo" / "fold-0_seed-0.jsonl"
        header, *trials, end = map(json.loads, path.read_text().splitlines())
        assert [trial["status"] for trial in trials] == ["ok"] * 3, name
        assert end["reason"] == "max_trials" and summary[name]["unfinished"] == 0
        assert header["problem"] == row["problem"]
        assert (header["data"]["rows"], header["data"]["features"]) == (
            int(row["rows"]),
            int(row["features"]),
        )
        # Four trees of four leaves know something already.
        assert end["best_loss"] < header["constant_loss"], name
