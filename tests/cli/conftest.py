"""The program as a user runs it: another process, in a folder of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment() -> dict[str, str]:
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("CFO_BENCH", "_CFO_BENCH"))
    }
    return {**kept, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def program(tmp_path: Path, environment: dict[str, str]) -> Program:
    """`program("run --task iris …")` in the test's folder; variables of the environment as keywords."""

    def call(
        line: str = "", *arguments: str, cwd: Path = tmp_path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cfo_bench", *shlex.split(line), *arguments],
            cwd=cwd,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            timeout=110,
        )

    return call
