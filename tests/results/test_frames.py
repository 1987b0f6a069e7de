"""Results as pandas frames: every run and every trial is there once, with what the trace says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cfo_bench import load_results
from cfo_bench.errors import UserError
from cfo_bench.records import EndReason

WriteRun = Callable[..., Path]


def test_a_run_is_a_row_with_its_state_and_its_best(write_run: WriteRun, tmp_path: Path) -> None:
    path = write_run("alpha", "cfo", 0, [(1, 0.375, 0.5), (10, 0.0625, 4)])
    write_run("alpha", "rs", 0, [(1, 0.375, 0.5)], reason=EndReason.ERROR)

    runs = load_results(tmp_path / "results").runs

    done, failed = runs.to_dict("records")
    assert (done["learner"], done["task"], done["method"]) == ("xgboost", "alpha", "cfo")
    assert (done["state"], done["trials"], done["metric"], done["path"]) == ("done", 2, "auc", str(path))
    assert (failed["state"], failed["reason"]) == ("failed", "it broke")


def test_a_trial_is_a_row_and_a_hyperparameter_a_column(write_run: WriteRun, tmp_path: Path) -> None:
    write_run("alpha", "cfo", 0, [(1, 0.375, 0.5), (10, None, 4)])
    write_run("beta", "rs", 1, [(2, 0.25, 1)])

    trials = load_results(tmp_path / "results").trials

    assert list(trials["task"]) == ["alpha", "alpha", "beta"]
    assert list(trials["status"]) == ["ok", "timeout", "ok"]
    assert list(trials["config.n_estimators"]) == [4, 8, 4]
    assert trials["loss"].isna().tolist() == [False, True, False]
    assert "config" not in trials and "asked" not in trials and "inactive" not in trials


def test_a_run_that_waits_has_a_row_and_no_trials(write_run: WriteRun, tmp_path: Path) -> None:
    write_run("alpha", "cfo", 0, [], reason=None)

    found = load_results(tmp_path / "results")

    assert list(found.runs["state"]) == ["interrupted"]
    assert found.trials.empty and "loss" in found.trials


def test_frames_can_be_merged_on_the_run(write_run: WriteRun, tmp_path: Path) -> None:
    write_run("alpha", "cfo", 0, [(1, 0.375, 0.5), (10, 0.25, 4)])
    found = load_results(tmp_path / "results")

    both = found.trials.merge(
        found.runs, on=["learner", "task", "method", "fold", "seed"], suffixes=("", "_")
    )

    assert len(both) == 2 and set(both["metric"]) == {"auc"}


def test_what_is_no_trace_is_named(write_run: WriteRun, tmp_path: Path) -> None:
    write_run("alpha", "cfo", 0, [(1, 0.375, 0.5)])
    (tmp_path / "results" / "odd.jsonl").write_text("{}\n")

    found = load_results(tmp_path / "results")

    assert len(found.runs) == 1 and len(found.trials) == 1
    [line] = found.unreadable
    assert "odd.jsonl" in line


def test_no_folder_is_an_error_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no folder"):
        load_results(tmp_path / "nowhere")
