"""`cfo-bench prepare`, `tasks` and `run` on a copied OpenML cache, with the network off."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Any connection to the network, of any process that is started, ends it.
GUARD = """
import socket

def refuse(*args, **options):
    raise SystemExit(f"a connection was made: {args}")

def connect(self, address, connect=socket.socket.connect):
    return connect(self, address) if self.family == socket.AF_UNIX else refuse(address)

socket.socket.connect = connect
socket.getaddrinfo = refuse
"""


@pytest.fixture
def home(tmp_path: Path, shared: Path) -> Path:
    cache = tmp_path / "openml"
    shutil.copytree(shared / "openml-cache" / "assembled-www", cache, copy_function=shutil.copyfile)
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD)
    return tmp_path


def cfo_bench(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).resolve().parents[2]
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("CFO_BENCH", "OPENML", "XDG"))
    }
    env |= {
        "HOME": str(home),
        "PYTHONPATH": f"{home / 'guard'}:{root}",
        "OPENML_CACHE_DIR": str(home / "openml"),
    }
    return subprocess.run(
        [sys.executable, "-m", "cfo_bench", *words],
        capture_output=True, text=True, cwd=home, env={**env, **environment},
    )  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def header(home: Path, task: str) -> dict[str, object]:
    trace = home / "results" / "xgboost" / task / "cfo" / "fold-0_seed-0.jsonl"
    found: dict[str, object] = json.loads(trace.read_text().splitlines()[0])
    return found


RUN = ("--method", "cfo", "--budget", "20", "--max-trials", "2", "--folds", "0", "-q")


def test_what_was_prepared_runs_with_the_network_off(home: Path) -> None:
    before = contents(home / "openml")
    prepared = cfo_bench(home, "prepare", "--task", "kr-vs-kp", "--offline")
    assert prepared.returncode == 0, prepared.stderr
    assert "[1/1] kr-vs-kp: OpenML task 3" in prepared.stdout and "stored\n" in prepared.stdout
    shutil.move(home / "openml", home / "moved")  # from here on there is the store alone

    done = cfo_bench(home, "run", "--task", "kr-vs-kp", "--offline", *RUN)
    assert done.returncode == 0, done.stderr
    data = header(home, "kr-vs-kp")["data"]
    assert isinstance(data, dict)
    assert data["folds"] == "OpenML task 3, official splits"
    assert data["source"].startswith("OpenML task 3 (data set 3, kr-vs-kp version 1)")
    assert (data["rows"], data["train_rows"], data["validation_rows"]) == (3196, 2876, 320)
    about = json.loads((home / ".local/share/cfo-bench/tasks/www.openml.org/task-3/about.json").read_text())
    assert data["sha256"] == about["sha256"]
    assert contents(home / "moved") == before


@pytest.mark.slow
def test_a_run_takes_the_data_from_the_cache_by_itself(home: Path) -> None:
    done = cfo_bench(home, "run", "--task", "openml:3", *RUN, CFO_BENCH_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert header(home, "kr-vs-kp")["command"].startswith("cfo-bench run --task kr-vs-kp ")  # type: ignore[attr-defined]


@pytest.mark.slow
def test_no_copy_and_no_network_is_one_line(home: Path) -> None:
    for command in (("run", "--task", "adult", *RUN), ("tasks", "show", "adult")):
        done = cfo_bench(home, *command, "--offline")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1 and done.stderr.startswith(
            "cfo-bench: task 'adult' is not on this machine"
        )
        assert "cfo-bench prepare --task adult" in done.stderr and "openml" in done.stderr


def test_prepare_says_what_is_missing_and_exits_with_1(home: Path) -> None:
    done = cfo_bench(home, "prepare", "--task", "adult", "--task", "kr-vs-kp", "--offline")
    assert done.returncode == 1
    assert "1 of 2 tasks are on this machine" in done.stdout
    assert "[1/2] adult: MISSING: " in done.stderr and "missing: adult" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_tasks_of_a_suite_are_prepared(home: Path) -> None:
    (home / "suite.yaml").write_text(
        "tasks: [iris, openml:3, {tags: [bundled, regression]}]\nexclude: iris\nmethods: cfo\nbudget: 1h\n"
    )
    (home / "list.yaml").write_text("- iris\n- 'win?'\n")

    suite = cfo_bench(home, "prepare", "suite.yaml", "--offline")
    names = cfo_bench(home, "prepare", "list.yaml", "smoke", "--offline")

    assert suite.returncode == 0, suite.stderr
    assert [line.split(":")[0] for line in suite.stdout.splitlines()[:-1]] == [
        "[1/2] kr-vs-kp",
        "[2/2] diabetes",
    ]
    assert names.stdout.splitlines()[-1].startswith("4 of 4 tasks are on this machine")


def test_prepare_without_a_task_is_told_what_to_give(home: Path) -> None:
    done = cfo_bench(home, "prepare")
    assert done.returncode == 2 and "nothing to prepare: give --task" in done.stderr


@pytest.mark.slow
def test_the_list_says_where_the_data_is(home: Path) -> None:
    rows = {row["name"]: row for row in json.loads(cfo_bench(home, "tasks", "--json").stdout)}
    assert len([row for row in rows.values() if "paper" in row["tags"]]) == 47
    assert (rows["kr-vs-kp"]["here"], rows["adult"]["here"], rows["iris"]["here"]) == (
        "OpenML cache",
        None,
        "bundled",
    )
    assert rows["adult"]["metric"] == "auc" and rows["adult"]["source"] == "openml:7592"
    cfo_bench(home, "prepare", "--task", "kr-vs-kp", "--offline")
    here = cfo_bench(home, "tasks", "--tag", "paper", "--here").stdout.splitlines()
    assert len(here) == 3 and here[2].startswith("kr-vs-kp") and "prepared" in here[2]


@pytest.mark.slow
def test_one_task_is_shown_with_all_that_is_known_of_it(home: Path) -> None:
    done = cfo_bench(home, "tasks", "show", "openml-data:31", "--offline", "--json")
    shown = json.loads(done.stdout)
    assert shown["types"] == {"number": 7, "category": 13} and shown["missing"]["cells"] == 0
    assert shown["classes"] == {"bad": 300, "good": 700}
    assert shown["licence"] == "Public" and shown["folds"] == "10: stratified 10-fold"
    text = cfo_bench(home, "tasks", "show", "kr-vs-kp", "--offline").stdout
    assert "nowin 1527, won 1669" in text and "OpenML task 3, official splits" in text
    assert "types" in cfo_bench(home, "tasks", "show", "diabetes").stdout
