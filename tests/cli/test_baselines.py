"""The baselines as a user runs them: on time, their own seconds charged, a package's error said aloud."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

pytest.importorskip("skopt")
pytest.importorskip("hpbandster")

Program = Callable[..., CompletedProcess[str]]


def records(folder: Path, method: str) -> list[dict[str, Any]]:
    [trace] = folder.glob(f"results/*/*/{method}/*.jsonl")
    return [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_suggestion_that_would_end_past_the_deadline_is_cut(program: Program, tmp_path: Path) -> None:
    slow = ["--option", "n_candidates=2000000", "--option", "n_initial_points=2"]

    done = program("run --task iris --method gpei --budget 1 --folds 0 -q", *slow)

    assert done.returncode == 0, done.stderr
    *_, end = records(tmp_path, "gpei")
    assert end["reason"] == "budget"
    assert end["trials"] < 10  # of iris, a second holds hundreds
    assert 1 <= end["elapsed"] < 2.5


def test_rows_are_the_resource_of_bohb(program: Program, tmp_path: Path) -> None:
    line = "run --task synthetic-30k --learner synthetic --clock virtual --budget 1e6 --folds 0 -q"

    done = program(f"{line} --method bohb --method hyperband --option min_rows=3000 --max-trials 14")

    assert done.returncode == 0, done.stderr
    for method in ("bohb", "hyperband"):
        header, *trials, _ = records(tmp_path, method)
        n_rows = header["data"]["train_rows"]
        assert header["spec"]["options"]["n_rows"] is None
        assert [trial["rows"] for trial in trials[:13]] == [n_rows // 9] * 9 + [n_rows // 3] * 3 + [None]


def test_the_number_of_rows_is_not_an_option(program: Program) -> None:
    done = program("run --task iris --method bohb --budget 1 --option n_rows=7")

    assert done.returncode == 2
    assert done.stderr == (
        "cfo-bench: option 'n_rows': it is the number of training rows of each fold; leave it out\n"
    )


def test_two_workers_are_refused_before_a_run_starts(program: Program, tmp_path: Path) -> None:
    done = program("run --task iris --method gpei --budget 1 --parallel 2")

    assert done.returncode == 2
    assert done.stderr == "cfo-bench: --parallel 2: method 'gpei' runs one trial at a time; leave it out\n"
    assert not (tmp_path / "results").exists()


BROKEN = """
import math
from cfo_bench.optimizers.bohb import BOHB

class Broken(BOHB):
    def ask(self):
        for model in self._generator.kde_models.values():
            model["good"].data[:] = math.nan
        return super().ask()
"""


@pytest.mark.slow
def test_an_error_inside_a_package_ends_that_run_and_no_other(program: Program, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    line = (
        "run --task synthetic-1k --learner synthetic --clock virtual --budget 1e6 --max-trials 60 --folds 0"
    )

    done = program(f"{line} --method broken.py:Broken --method tpe --option Broken.random_fraction=0.0")

    assert done.returncode == 1
    broken = records(tmp_path, "Broken")[-1]
    assert broken["reason"] == "error"
    assert broken["error"].startswith("the method failed in ask: hpbandster's model failed")
    assert 0 < broken["trials"] < 60
    assert "hpbandster's model failed" in done.stderr
    assert records(tmp_path, "tpe")[-1]["trials"] == 60
