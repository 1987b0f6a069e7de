"""What a process can find out about its machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import orjson
import pytest

from cfo_bench import machine
from cfo_bench.machine import facts


def test_the_provenance_can_stand_in_a_header_and_names_what_matters() -> None:
    found = machine.provenance()
    assert orjson.loads(orjson.dumps(found)) == found
    assert {"cfo_bench", "machine", "python", "packages"} <= found.keys()
    assert {"cpu", "cores", "memory_mb", "os"} <= found["machine"].keys()
    assert {"numpy", "scikit-learn"} <= found["packages"].keys()


def test_cores_and_memory_are_those_of_here() -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    assert 100 < machine.total_memory_mb() < 2**30


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (3.9, 3), (0.25, 1), (64.0, 8)])
def test_cores_are_whole_ones_and_at_least_one(quota: float | None, cores: int) -> None:
    assert facts.whole_cores(8, quota) == cores


def test_the_commit_is_that_of_the_checkout_also_in_a_worktree(tmp_path: Path) -> None:
    def git(folder: Path, *words: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
        return subprocess.run(
            ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", "-b", "branch", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "second")

    assert facts.commit_of(main) == git(main, "rev-parse", "HEAD")
    assert facts.commit_of(other) == git(other, "rev-parse", "HEAD") != facts.commit_of(main)
    git(main, "pack-refs", "--all")
    assert facts.commit_of(other) == git(other, "rev-parse", "HEAD")
    assert facts.commit_of(tmp_path) is None
