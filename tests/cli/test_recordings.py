"""Runs on recordings, as a user starts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program

RUN = (
    "run --learner hpobench-mlp --task hpobench:car --task hpobench:kc1 "
    "--budget 1h --max-trials 30 --folds 0-1 -q"
)
METHODS = "--method cfo --method rs"


def bodies(results: Path) -> dict[str, list[str]]:
    """The lines of every trace but the first."""
    return {
        str(path.relative_to(results)): path.read_text().splitlines()[1:] for path in results.rglob("*.jsonl")
    }


def test_the_same_seed_gives_the_same_traces_on_one_job_and_on_two(program: Program, tmp_path: Path) -> None:
    for jobs in (1, 2):
        answer = program(f"{RUN} {METHODS} -j {jobs} --results {jobs}")
        assert answer.returncode == 0, answer.stderr

    one = bodies(tmp_path / "1")
    assert len(one) == 8 and one == bodies(tmp_path / "2")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_traces_on_dask(program: Program, tmp_path: Path) -> None:
    for engine in ("local", "dask --workers 1"):
        answer = program(f"{RUN} --method cfo --engine {engine} --results {engine.split()[0]}")
        assert answer.returncode == 0, answer.stderr

    assert bodies(tmp_path / "local") == bodies(tmp_path / "dask")


def test_the_header_says_what_was_recorded(program: Program, tmp_path: Path) -> None:
    assert program(f"{RUN} --method cfo --folds 0 --task hpobench:car").returncode == 0

    [path, *_] = sorted(tmp_path.glob("results/*/*car/cfo/*.jsonl"))
    lines = path.read_text().splitlines()
    header, trials = json.loads(lines[0]), [json.loads(line) for line in lines[1:-1]]
    assert header["spec"]["clock"] == "virtual" and header["spec"]["charge_method"] is False
    data = header["data"]
    assert "30000 configurations with 5 seeds" in data["recording"] and len(data["sha256"]) == 64
    assert (data["paper_task"], data["resource_rows"]) == ("car", None)
    assert header["optimum"] <= min(one["loss"] for one in trials if one["loss"] is not None)


def test_a_task_and_a_learner_that_do_not_belong_together_are_one_line(program: Program) -> None:
    answer = program("run --task hpobench:car --method rs --budget 5")

    assert answer.returncode == 2
    assert "task 'hpobench:car' is recorded, and learner 'xgboost' does not use" in answer.stderr
