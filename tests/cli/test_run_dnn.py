"""A run of the network, in the process that a run has."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")


def test_a_run_forked_from_a_server_with_torch_loaded_trains_from_the_first_moment_on(
    program: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    limits = ["--budget", "60", "--max-trials", "2", "--folds", "0", "--learner-option", "max_epochs=2"]
    done = program("run", "--learner", "dnn", "--task", "iris", "--method", "rs", *limits, "-q")
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("results/dnn/iris/rs/*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["status"] for line in lines if line["kind"] == "trial"] == ["ok", "ok"]
    assert lines[0]["spec"]["learner_options"]["patience"] == 10
    assert lines[1]["fit_seconds"] < 1.0  # what torch loads and sets up at its first use takes longer
