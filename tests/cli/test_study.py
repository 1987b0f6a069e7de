"""`cfo-bench study knn`, as a person types it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cfo_bench.records import EndReason, Status
from cfo_bench.results.run import read_run

Program = Callable[..., subprocess.CompletedProcess[str]]
STUDY = ("study", "knn", "--task", "iris")


@pytest.mark.slow
def test_every_k_is_evaluated_traced_and_drawn(program: Program, tmp_path: Path) -> None:
    done = program(*STUDY, "--k", "1-6,20", "--seed", "3", "--fold", "1")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "results/knn/iris/study/fold-1_seed-3.jsonl"
    run = read_run(path)
    assert run is not None and run.end is not None
    assert [trial.config["k"] for trial in run.trials] == [1, 2, 3, 4, 5, 6, 20]
    assert {trial.status for trial in run.trials} == {Status.OK}
    assert run.end.reason is EndReason.EXHAUSTED
    assert (run.header.command or "").startswith("cfo-bench run --task iris --method study")
    assert "the loss is lowest at K = " in done.stdout
    for suffix in (".png", ".pdf"):
        file = path.with_suffix(suffix)
        assert file.is_file() and file.relative_to(tmp_path).as_posix() in done.stdout

    written = path.stat().st_mtime_ns
    again = program(*STUDY, "--k", "1-6,20", "--seed", "3", "--fold", "1")
    assert again.returncode == 0 and path.stat().st_mtime_ns == written
    assert again.stdout.splitlines()[-3:] == done.stdout.splitlines()[-3:]


def test_a_report_of_a_study_alone_has_no_table_of_methods(program: Program, tmp_path: Path) -> None:
    assert program(*STUDY, "--k", "1-3").returncode == 0

    reported = program("report", "results", "-o", "report", "--format", "csv")

    assert reported.returncode == 0, reported.stderr
    assert "mean rank" not in reported.stdout + reported.stderr
    assert (tmp_path / "report/knn/tables/neighbours.csv").is_file()


def test_more_neighbours_than_rows_are_refused_in_one_line(program: Program, tmp_path: Path) -> None:
    done = program(*STUDY, "--k", "1-200", "--results", "many")
    assert done.returncode == 2
    assert "k = 136 is out of [1, 135] here" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.glob("many/**/*.png"))


def test_what_is_no_list_of_numbers_is_refused_in_one_line(program: Program, tmp_path: Path) -> None:
    done = program(*STUDY, "--k", "few")
    assert done.returncode == 2
    assert "values 'few': write 1-100, 1,2,5-9 or 7" in done.stderr and len(done.stderr.splitlines()) == 1
