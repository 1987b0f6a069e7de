"""`cfo-bench surrogate`, and runs on the file that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfo_bench.surrogates.building import SurrogateFit, fit_surrogate
from tests.helpers.surrogates import write_traces

RUN = "run --method cfo --method rs --budget 5 -q"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> SurrogateFit:
    folder = tmp_path_factory.mktemp("fitted")
    return fit_surrogate(write_traces(folder / "results", trials=40), folder / "s.npz")


def lines(folder: Path) -> dict[str, list[bytes]]:
    return {
        str(path.relative_to(folder)): path.read_bytes().splitlines()
        for path in sorted(folder.rglob("*.jsonl"))
    }


def test_fit_says_how_good_it_is_and_writes_the_file(program: Any, tmp_path: Path) -> None:
    write_traces(tmp_path / "results", trials=30)

    answer = program("surrogate fit results -o s.npz")

    assert answer.returncode == 0, answer.stderr
    first, *rows = answer.stdout.splitlines()
    assert first.split()[:4] == ["learner,", "task", "left", "out"]
    assert [row.split()[0] for row in rows[:3]] == ["cfo", "rs", "tpe"]
    assert rows[3].startswith("xgboost, bowl") and "all" in rows[3]
    assert "1 surrogates of 6 traces (SHA-256" in answer.stdout
    assert (tmp_path / "s.npz").is_file()


def test_a_poor_surrogate_is_refused_in_one_line(program: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = lambda config, fold: 0.2 + 0.1 * float(rng.random())  # noqa: E731
    write_traces(tmp_path / "results", trials=30, losses=noise)

    answer = program("surrogate fit results -o s.npz")

    assert answer.returncode == 2
    assert len(answer.stderr.splitlines()) == 1 and "xgboost on bowl" in answer.stderr
    assert not (tmp_path / "s.npz").exists()


def test_a_run_on_a_surrogate_needs_no_data_and_says_what_it_is(
    program: Any, tmp_path: Path, fitted: SurrogateFit
) -> None:
    answer = program(f"{RUN} --folds 0,5 --surrogate {fitted.path}")

    assert answer.returncode == 0, answer.stderr
    found = lines(tmp_path / "results")
    assert len(found) == 4
    assert all(name.startswith("surrogate%3Axgboost/bowl/") for name in found)
    for own in found.values():
        header = json.loads(own[0])
        assert header["spec"]["learner"] == "surrogate:xgboost"
        assert header["spec"]["clock"] == "virtual"
        assert header["data"]["sha256"] == fitted.sha256
        assert fitted.sha256 in header["data"]["recording"]
        assert fitted.traces_sha256 in header["data"]["recording"]
        assert len(own) > 10


def test_the_same_seed_gives_the_same_trace_on_one_job_and_on_two(
    program: Any, tmp_path: Path, fitted: SurrogateFit
) -> None:
    for results, jobs in (("one", 1), ("two", 2)):
        answer = program(f"{RUN} --folds 3,4 --surrogate {fitted.path} --results {results} --jobs {jobs}")
        assert answer.returncode == 0, answer.stderr

    one, two = lines(tmp_path / "one"), lines(tmp_path / "two")
    assert len(one) == 4
    assert {name: own[1:] for name, own in one.items()} == {name: own[1:] for name, own in two.items()}


def test_the_command_of_a_run_repeats_it(program: Any, fitted: SurrogateFit) -> None:
    command = program(f"{RUN} --folds 2 --surrogate {fitted.path} --dry-run").stdout.splitlines()[0]

    assert command.endswith(f"--surrogate {fitted.path} --results results")
    assert "surrogate_file" not in command
    again = program(f"{command.removeprefix('cfo-bench ')} --dry-run")
    assert again.stdout.splitlines() == [command]


def test_reference_methods_of_a_suite_are_left_out_and_named(
    program: Any, tmp_path: Path, fitted: SurrogateFit
) -> None:
    (tmp_path / "s.yaml").write_text("tasks: bowl\nmethods: [rs, constant]\nfolds: 0\nbudget: 2\n")

    answer = program(f"run s.yaml --surrogate {fitted.path} -q")

    assert answer.returncode == 0, answer.stderr
    assert "left out, since a surrogate has no data to train on: constant" in answer.stderr
    assert [name.split("/")[2] for name in lines(tmp_path / "results")] == ["rs"]


def test_show_tells_the_share_of_a_run_that_was_extrapolated(
    program: Any, tmp_path: Path, fitted: SurrogateFit
) -> None:
    program(f"{RUN} --folds 0 --surrogate {fitted.path}")

    answer = program(f"surrogate show {fitted.path} results")

    assert answer.returncode == 0, answer.stderr
    assert fitted.sha256 in answer.stdout and fitted.traces_sha256 in answer.stdout
    assert [row.split()[2] for row in answer.stdout.splitlines()[-2:]] == ["cfo", "rs"]
    assert all(row.endswith("%") for row in answer.stdout.splitlines()[-2:])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "--task iris --surrogate {file}",
            "unknown task of the surrogate for xgboost 'iris': choose from bowl",
        ),
        ("--learner dnn --surrogate {file}", "unknown learner of the surrogate"),
        ("--learner surrogate:xgboost --task iris", "give --surrogate FILE"),
        ("--data my.csv --target y --surrogate {file}", "leave one out"),
        ("--surrogate none.npz", "can't read 'none.npz'"),
        ("--surrogate my.csv", "is not a usable surrogate"),
        ("--surrogate {file} --clock wall", "its seconds are virtual"),
    ],
)
def test_a_mistake_is_one_line(
    program: Any, tmp_path: Path, fitted: SurrogateFit, line: str, said: str
) -> None:
    (tmp_path / "my.csv").write_text("x,y\n1,2\n")

    answer = program(f"{RUN} {line.format(file=fitted.path)}")

    assert answer.returncode == 2
    assert said in answer.stderr and len(answer.stderr.splitlines()) == 1
