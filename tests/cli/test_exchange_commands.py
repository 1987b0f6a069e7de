"""`cfo-bench export` and `cfo-bench import`, as a person types them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfo_bench.cli.main import cli
from tests.helpers.traces import write_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "results", "wine", "cfo", 0, [(1.0, 0.25, 0.5), (2.0, 0.2, 0.5)])
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_trials_go_out_and_come_in(folder: Path) -> None:
    out = call("export", "-o", "trials.csv")
    back = call("import", "trials.csv", "--results", "other")

    assert (out.exit_code, out.output) == (0, "trials.csv: 2 trials of 1 run\n")
    assert back.exit_code == 0, back.output
    path = "other/xgboost/wine/imported cfo/fold-0_seed-0.jsonl"
    assert back.output.startswith(f"{path}: 2 trials; its times are real seconds; not known: ")
    assert call("report", "results", "other", "-o", "both", "--format", "csv").exit_code == 0


def test_trials_go_to_deepcave(folder: Path) -> None:
    assert call("export", "results", "--to", "deepcave", "runs").output == "runs: 2 trials of 1 run\n"
    assert (folder / "runs" / "xgboost--wine--cfo--fold-0_seed-0" / "trials.csv").exists()


def test_an_archive_restores_the_runs_under_their_names(folder: Path) -> None:
    assert (
        call("export", "results", "--to", "archive", "a.parquet").output == "a.parquet: 2 trials of 1 run\n"
    )
    back = call("import", "a.parquet", "--results", "other")

    path = "other/xgboost/wine/cfo/fold-0_seed-0.jsonl"
    assert (back.exit_code, back.output) == (0, f"{path}: 2 trials; its times are real seconds\n")
    assert call("report", "other", "--format", "csv").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export"], "give one of -o FILE and --to FORMAT WHERE"),
        (["export", "-o", "a.csv", "--to", "deepcave", "b"], "give one of -o FILE and --to"),
        (["export", "--to", "excel", "b"], "'excel' is not one of 'archive', 'optuna', 'deepcave'"),
        (["import", "a.csv", "--column", "loss"], "--column 'loss' is not NAME=COLUMN"),
        (
            ["import", "a.csv", "--from", "excel"],
            "'excel' is not one of 'optuna', 'smac', 'flaml', 'csv', 'archive'",
        ),
    ],
)
def test_a_wrong_option_is_a_usage_error(folder: Path, words: list[str], message: str) -> None:
    answer = call(*words)

    assert answer.exit_code == 2 and message in answer.output
