"""The incumbents' hyperparameters over time: medians worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from cfo_bench.report.numbers.hyperparameters import MOMENTS, footprint, numeric_names
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.load import load


def read(tmp_path: Path) -> LearnerResults:
    return LearnerResults("xgboost", load(tmp_path / "results").runs)


def values(results: LearnerResults, name: str, *shares: float) -> list[float | None]:
    found = footprint(results, "cfo", ["max_leaves", name])[:, 1].tolist()
    at = [min(range(len(MOMENTS)), key=lambda i: abs(MOMENTS[i] - share)) for share in shares]
    return [None if math.isnan(found[i]) else found[i] for i in at]


def test_the_value_is_that_of_the_best_configuration_so_far(write_run: Any, tmp_path: Path) -> None:
    # Trial i has 4 (i + 1) trees; the second is worse than the first, so it is no incumbent.
    write_run("t", "cfo", 0, [(1, 0.4, 0.5), (5, 0.45, 1), (30, 0.3, 1)])

    assert values(read(tmp_path), "n_estimators", 0.001, 0.0126, 0.1, 1.0) == [None, 4, 4, 12]
    assert values(read(tmp_path), "max_leaves", 1.0) == [24]


def test_tasks_count_the_same_and_wait_for_each_other(write_run: Any, tmp_path: Path) -> None:
    for fold in range(3):
        write_run("t", "cfo", fold, [(1, 0.4, 0.5), (5, 0.3, 1)])
    write_run("u", "cfo", 0, [(20, 0.4, 1)])
    write_run("never", "cfo", 0, [(20, None, 1)])
    results = read(tmp_path)

    # Until 20 s u has none. Then t has 8 trees on all folds and u has 4: the median of 8 and 4 is 6.
    assert values(results, "n_estimators", 0.0126, 0.1, 1.0) == [None, None, 6]


def test_a_method_without_a_result_has_no_footprint(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, [(20, None, 1)])

    assert values(read(tmp_path), "n_estimators", 0.1, 1.0) == [None, None]


def test_only_numbers_have_a_place_on_an_axis(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, [(1, 0.4, 0.5), (5, 0.3, 1)])
    text = path.read_text().replace('"max_leaves":8', '"max_leaves":"few"')
    path.write_text(text.replace('"max_leaves":16', '"max_leaves":true'))

    assert numeric_names(read(tmp_path)) == (["n_estimators"], ["max_leaves"])
