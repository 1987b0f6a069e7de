"""`cfo-bench merge`, on the traces of real runs, killed ones too."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

VIRTUAL = "run --task synthetic-1k --learner synthetic --clock virtual --max-trials 5 --budget 9 -q"
REAL = "run --task wine --method rs --budget 120 --max-trials 60 --folds 0 -q"


def traces(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.jsonl")}


def test_the_shards_of_a_suite_are_put_together(program: Any, tmp_path: Path) -> None:
    program(f"{VIRTUAL} --method rs --folds 0-1 --results A")
    program(f"{VIRTUAL} --method cfo --folds 0-1 --results B")

    answer = program("merge A B -o C")

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "C: 4 runs, 2 from A, 2 from B\n"
    assert traces(tmp_path / "C") == {**traces(tmp_path / "A"), **traces(tmp_path / "B")}
    again = program(f"{VIRTUAL} --method rs --method cfo --folds 0-1 --results C --dry-run")
    assert again.returncode == 0
    assert "all done" in program("status C").stdout


@pytest.mark.slow
def test_a_killed_run_that_was_finished_elsewhere_is_whole(
    program: Any, tmp_path: Path, environment: dict[str, str]
) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-m", "cfo_bench", *REAL.split(), "--results", "A"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    give_up_at = time.monotonic() + 60
    while not any(b'"trial"' in content for content in traces(tmp_path / "A").values()):
        assert killed.poll() is None and time.monotonic() < give_up_at
        time.sleep(0.02)
    under_way = program("merge A -o C")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    shutil.copytree(tmp_path / "A", tmp_path / "B")
    resumed = program(f"{REAL} --results B")

    answer = program("merge A B -o C")

    assert under_way.returncode == 1 and "is running in A" in under_way.stderr
    assert resumed.returncode == 0, resumed.stderr
    assert answer.returncode == 0, answer.stderr
    assert traces(tmp_path / "C") == traces(tmp_path / "B")
    assert list(traces(tmp_path / "A").values()) != list(traces(tmp_path / "B").values())
    assert not list((tmp_path / "C").rglob("*.live"))


@pytest.mark.slow
def test_conflicts_are_listed_and_nothing_is_written(program: Any, tmp_path: Path) -> None:
    everything = f"{VIRTUAL} --method rs --folds 0-9 --seed 0 --seed 1 --seed 2"
    program(f"{everything} --results A")
    program(f"{everything} --budget 8 --results B")

    answer = program("merge A B -o C")

    assert answer.returncode == 1
    lines = answer.stderr.splitlines()
    assert "budget_seconds 9.0 and 8.0" in lines[0]
    assert lines[-2:-1] == ["  and 10 more"] and len(lines) == 22
    assert lines[-1].startswith("cfo-bench: 30 conflicts, nothing was written: ")
    assert "Traceback" not in answer.stderr
    assert not (tmp_path / "C").exists()


def test_a_target_has_to_be_named(program: Any) -> None:
    answer = program("merge A B")

    assert answer.returncode == 2
    assert "missing option '-o' / '--out'" in answer.stderr
