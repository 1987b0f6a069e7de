"""Runs that were not made alike are not compared, and that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.records import EndReason
from cfo_bench.report.reading.consistency import comparable
from cfo_bench.report.reading.load import load

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


def change(path: Path, part: str, **values: Any) -> None:
    """Rewrites a trace as if its run had been made otherwise."""
    first, _, rest = path.read_bytes().partition(b"\n")
    header = orjson.loads(first)
    header[part] |= values
    path.write_bytes(orjson.dumps(header) + b"\n" + rest)


@pytest.mark.parametrize(
    ("part", "values", "said"),
    [
        ("spec", {"budget_seconds": 60.0}, "budgets (seconds), 100.0 (3 runs) and 60.0 (1 runs)"),
        ("spec", {"clock": "virtual"}, "clocks, virtual (1 runs) and wall (3 runs)"),
        ("spec", {"validation": "holdout"}, "ways of validation"),
        ("spec", {"n_folds": 5}, "numbers of folds"),
        ("spec", {"parallel": 4}, "trials at once"),
        ("spec", {"threads": 2}, "threads"),
        ("spec", {"learner_options": {"categories": "one-hot"}}, "options of the learner"),
        ("data", {"sha256": "f" * 64}, "versions of the data (SHA-256), 000000000000 (3 runs) and ffff"),
    ],
)
def test_a_task_whose_runs_differ_is_left_out_and_the_others_stay(
    write_run: Any, tmp_path: Path, part: str, values: dict[str, Any], said: str
) -> None:
    for task in ("good", "mixed"):
        for method in ("cfo", "rs"):
            for fold in (0, 1):
                path = write_run(task, method, fold, TRIALS)
    change(path, part, **values)

    found = comparable(load(tmp_path / "results").digests)

    assert {one.task for one in found.digests} == {"good"}
    assert any("'mixed' with xgboost is left out" in line and said in line for line in found.warnings)


def test_a_method_with_other_options_on_other_folds_is_not_one_method(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    change(write_run("t", "cfo", 1, TRIALS), "spec", options={"mode": "tuned"})

    found = comparable(load(tmp_path / "results").digests)

    assert not found.digests
    assert "cfo was run with different options on different folds" in found.warnings[0]


def test_a_run_that_is_there_twice_is_not_counted_twice(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS)
    copy = tmp_path / "results" / "copy" / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())

    found = comparable(load(tmp_path / "results").digests)

    assert not found.digests
    assert "is there twice" in found.warnings[0] and str(copy) in found.warnings[0]


def test_only_finished_runs_are_compared_and_the_others_are_told_apart(
    write_run: Any, tmp_path: Path
) -> None:
    for fold, reason in enumerate((EndReason.BUDGET, EndReason.ERROR, EndReason.INTERRUPTED, None)):
        write_run("t", "cfo", fold, TRIALS, reason=reason)

    found = comparable(load(tmp_path / "results").digests)

    assert [one.fold for one in found.digests] == [0]
    assert [line.split(" left out")[0] for line in found.warnings] == [
        "1 failed run",
        "1 interrupted run",
        "1 unfinished run",
    ]
    assert "it broke" in found.warnings[0]


def test_tasks_may_have_budgets_of_their_own_but_it_is_said(write_run: Any, tmp_path: Path) -> None:
    write_run("short", "cfo", 0, TRIALS)
    change(write_run("long", "cfo", 0, TRIALS), "spec", budget_seconds=400.0)

    found = comparable(load(tmp_path / "results").digests)

    assert len(found.digests) == 2
    assert found.warnings == ["tasks have different budgets: 100, 400 s"]
