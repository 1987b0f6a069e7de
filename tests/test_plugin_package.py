"""An installed package adds a method, a learner, tasks and a section of the report by its entry points."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tests" / "plugins" / "dice"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the plug-in into, entry points and all."""
    folder = tmp_path_factory.mktemp("site-packages")
    copy = tmp_path_factory.mktemp("source") / "dice"  # a build leaves its traces in the source folder
    copy.mkdir()
    for file in SOURCE.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    done = subprocess.run([*pip, "--target", str(folder), str(copy)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def program(where: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(where, folder, "cfo_bench", *arguments)


def python(where: Path, folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A module started in one folder, with what is installed into the other."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        cwd=where,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
    )


RUN = [
    "run",
    "--task",
    "synthetic-1k",
    "--clock",
    "virtual",
    "--budget",
    "60",
    "--folds",
    "0",
    "--max-trials",
    "9",
]


def records(trace: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_the_plug_in_passes_its_own_tests_as_its_author_runs_them(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_dice.py").write_bytes((SOURCE / "test_dice.py").read_bytes())

    done = python(
        tmp_path, installed, "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", f"--rootdir={tmp_path}"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d{2,} passed", done.stdout)


def test_the_listings_say_where_a_plug_in_comes_from(installed: Path, tmp_path: Path) -> None:
    listed = {
        kind: {
            row["name"]: row["summary"]
            for row in json.loads(program(tmp_path, installed, kind, "--json").stdout)
        }
        for kind in ("methods", "learners")
    }

    assert listed["methods"]["dice"] == "from cfo-bench-dice"
    assert listed["learners"]["parabola"] == "from cfo-bench-dice"


def test_a_plug_ins_method_and_learner_run_as_any_other(installed: Path, tmp_path: Path) -> None:
    plugins = ["--method", "dice", "--learner", "parabola", "--option", "sides=3"]

    done = program(tmp_path, installed, *RUN, *plugins)

    assert done.returncode == 0, done.stderr
    [trace] = tmp_path.glob("results/parabola/synthetic-1k/dice/*.jsonl")
    header, *trials, end = records(trace)
    assert header["spec"]["options"] == {"sides": 3}  # type: ignore[index]
    assert trials[0]["config"] == {"x": 1.0}
    assert len(trials) == 9
    assert end["reason"] == "max_trials"


def test_a_plug_ins_section_is_in_every_report(installed: Path, tmp_path: Path) -> None:
    done = program(tmp_path, installed, *RUN, "--method", "rs", "--learner", "parabola")
    assert done.returncode == 0, done.stderr

    done = program(tmp_path, installed, "report", "results")

    assert done.returncode == 0, done.stderr
    report = tmp_path / "results" / "report"
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "How often the dice were thrown" in page
    table = (report / "parabola" / "tables" / "pips.csv").read_text(encoding="utf-8")
    assert table.splitlines() == ["task,method,throws", "synthetic-1k,rs,9"]
    # Our own section has the trials of the task, and the plug-in's those of its run.
    names = [file.read_text(encoding="utf-8") for file in sorted((report / "parabola" / "trials").iterdir())]
    assert ['"name":"synthetic-1k"' in names[0], '"name":"the first throws"' in names[1]] == [True, True]


@pytest.mark.slow
def test_a_plug_ins_task_is_listed_and_runs_as_any_other(installed: Path, tmp_path: Path) -> None:
    [row] = json.loads(program(tmp_path, installed, "tasks", "--tag", "plug-in", "--json").stdout)
    assert (row["name"], row["source"]) == ("two-dice", "plug-in boxes")
    run = [
        "run",
        "--task",
        "two-dice",
        "--method",
        "rs",
        "--budget",
        "60",
        "--folds",
        "0",
        "--max-trials",
        "2",
    ]

    done = program(tmp_path, installed, *run)

    assert done.returncode == 0, done.stderr
    header, *_ = records(tmp_path / "results/xgboost/two-dice/rs/fold-0_seed-0.jsonl")
    assert header["problem"] == "regression"
    assert header["data"]["rows"] == 200  # type: ignore[index]
    assert header["data"]["source"] == "plug-in boxes"  # type: ignore[index]


def test_a_wrong_option_of_a_plug_in_is_refused_in_one_line(installed: Path, tmp_path: Path) -> None:
    done = program(
        tmp_path, installed, *RUN, "--learner", "parabola", "--method", "dice", "--option", "corners=8"
    )

    assert done.returncode == 2
    assert done.stderr == "cfo-bench: method 'dice' has no option 'corners': its options are sides\n"


def test_a_local_file_is_a_method_without_being_installed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes((SOURCE / "cfo_bench_dice.py").read_bytes())

    done = program(tmp_path, tmp_path, *RUN, "--learner", "synthetic", "--method", "mine.py:Dice")

    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/synthetic/synthetic-1k/Dice/*.jsonl"))) == 1
