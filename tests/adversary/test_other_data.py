"""A finished run counts only for the data, the target and the problem that it was of."""

from __future__ import annotations

import time
from pathlib import Path

import orjson
import pytest

from tests.helpers.commands import Commands, one_line, virtual

SHORT = [
    "--method",
    "rs",
    "--learner",
    "random-forest",
    "--budget",
    "60",
    "--max-trials",
    "1",
    "--n-folds",
    "2",
    "--folds",
    "0",
    "-q",
]


def write_table(path: Path, shift: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{n},{(n * 7 + shift) % 5},{n % 2},{n % 3},{n * 1.5 + shift}" for n in range(60)]
    path.write_text("\n".join(["a,b,y1,y3,y2", *rows]) + "\n")
    return path


@pytest.fixture
def table(commands: Commands) -> Path:
    return write_table(commands.folder / "two.csv")


def run_of(path: Path | str, target: str) -> list[str]:
    return ["run", "--data", str(path), "--target", target, *SHORT]


def refused(commands: Commands, words: list[str]) -> None:
    """The second command is refused in one line before anything runs, and the first one's trace stays."""
    path = commands.trace_path()
    before = path.read_bytes()
    one_line(commands(*words), 2, str(path.relative_to(commands.folder)))
    assert path.read_bytes() == before
    assert commands.trace_path() == path


def test_another_target_is_another_run(commands: Commands, table: Path):
    assert commands(*run_of(table, "y1")).returncode == 0
    refused(commands, run_of(table, "y2"))


@pytest.mark.slow
def test_another_file_of_that_name_is_another_run(commands: Commands, table: Path):
    assert commands(*run_of(table, "y1")).returncode == 0
    refused(commands, run_of(write_table(commands.folder / "elsewhere" / "two.csv", shift=3), "y1"))


@pytest.mark.slow
def test_a_file_that_has_changed_is_another_run(commands: Commands, table: Path):
    assert commands(*run_of(table, "y1")).returncode == 0
    write_table(table, shift=3)
    refused(commands, run_of(table, "y1"))


@pytest.mark.slow
def test_another_problem_is_another_run(commands: Commands, table: Path):
    assert commands(*run_of(table, "y3"), "--problem", "multiclass").returncode == 0
    refused(commands, [*run_of(table, "y3"), "--problem", "regression"])


@pytest.mark.slow
def test_a_file_called_like_a_task_is_another_run(commands: Commands, table: Path):
    assert commands("run", "--task", "iris", *SHORT).returncode == 0
    refused(commands, run_of(table.rename(table.with_name("iris.csv")), "y3"))


def test_a_suite_with_one_run_of_other_data_runs_nothing(commands: Commands, table: Path):
    assert commands(*run_of(table, "y1")).returncode == 0
    before = sorted(commands.results.rglob("*.jsonl"))
    result = commands(*run_of(table, "y2"), "--folds", "0-1")
    one_line(result, 2)
    assert sorted(commands.results.rglob("*.jsonl")) == before


@pytest.mark.slow
def test_the_very_same_data_is_the_same_run(commands: Commands, table: Path):
    assert commands(*run_of(table, "y1")).returncode == 0
    before = commands.trace_path().read_bytes()
    table.touch()
    moved = write_table(commands.folder / "elsewhere" / "two.csv")
    for path in (table, moved):
        again = commands(*run_of(path, "y1"))
        assert again.returncode == 0, again.stderr
        assert commands.trace_path().read_bytes() == before


@pytest.mark.slow
def test_a_finished_suite_of_3150_runs_is_recognised_in_seconds(commands: Commands):
    words = virtual(folds="all", trials=2)
    assert commands(*words).returncode == 0
    paths = sorted(commands.results.rglob("*.jsonl"))
    for path in paths:
        header, *rest = path.read_bytes().splitlines(keepends=True)
        row = orjson.loads(header)
        for seed in range(1, 315):
            row["spec"]["seed"] = seed
            copy = path.with_name(path.name.replace("seed-0", f"seed-{seed}"))
            copy.write_bytes(orjson.dumps(row) + b"\n" + b"".join(rest))
    seeds = [word for seed in range(315) for word in ("--seed", str(seed))]
    began = time.monotonic()
    again = commands(*words, *seeds)
    assert again.returncode == 0, again.stderr[-500:]
    assert time.monotonic() - began < 20
    assert len(list(commands.results.rglob("*.jsonl"))) == 3150
