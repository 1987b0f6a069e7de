"""The real data sets beside the checkout, each loaded whole and checked against its index."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cfo_bench.clock import monotonic
from cfo_bench.records import Problem
from cfo_bench.tasks import inspect, load_fold, resolve

NAMES = [
    *("adult", "Australian", "bank-marketing", "blood-transfusion", "car", "cnae-9", "connect-4", "credit-g"),
    *("jasmine", "kc1", "kr-vs-kp", "segment", "shuttle", "vehicle", "BNG_echoMonths", "BNG_lowbwt"),
    *("BNG_breastTumor", "BNG_pwLinear", "fried", "houses", "house_16H", "mv", "2dplanes"),
]


@pytest.fixture(scope="session")
def index(shared: Path) -> dict[str, dict[str, str]]:
    with (shared / "data" / "index.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_every_data_set_of_the_index_is_tested_here(index: dict[str, dict[str, str]]) -> None:
    assert sorted(index) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_is_what_its_index_says(name: str, shared: Path, index: dict[str, dict[str, str]]) -> None:
    ref = resolve(name.upper().replace("-", "_"), shared / "data")
    fold, facts = load_fold(ref, fold=0, n_folds=10, seed=0)
    expected = index[name]
    assert (facts.name, facts.n_rows, facts.n_features, facts.problem.value) == (
        name,
        int(expected["rows"]),
        int(expected["features"]),
        expected["problem"],
    )
    assert len(fold.train_y) + len(fold.valid_y) == facts.n_rows
    assert fold.train_x.shape[1] == fold.valid_x.shape[1] == len(fold.categorical) == facts.n_features
    assert not np.isinf(fold.train_x).any()
    if facts.problem is Problem.REGRESSION:
        assert np.isfinite(fold.train_y).all() and 0.99 < fold.constant_loss < 1.1
    else:
        assert np.unique(fold.train_y).tolist() == np.unique(fold.valid_y).tolist()
        assert fold.train_y.max() == facts.n_classes - 1


@pytest.mark.parametrize("name", ["adult", "car", "kc1", "houses", "2dplanes"])
def test_the_problem_is_inferred_as_the_index_tells_it(name: str, shared: Path) -> None:
    ref = resolve(name, shared / "data")
    assert inspect(replace(ref, problem=None), n_folds=10).problem is ref.problem


def test_what_adult_misses_is_nan(shared: Path) -> None:
    fold, _ = load_fold(resolve("adult", shared / "data"), fold=0, n_folds=10, seed=0)
    both = np.concatenate([fold.train_x, fold.valid_x])
    # 6465 cells are missing; a category that only validation rows have would come on top.
    assert 6465 <= np.isnan(both).sum() <= 6470
    numeric = [not categorical for categorical in fold.categorical]
    assert np.isfinite(both[:, numeric]).all() and sum(fold.categorical) == 8


def test_the_largest_data_set_loads_in_little_time_and_memory(shared: Path) -> None:
    ref = resolve("BNG_pwLinear", shared / "data")
    load_fold(ref, fold=0, n_folds=10, seed=0)
    began, before = monotonic(), resident_mb()
    fold, facts = load_fold(ref, fold=0, n_folds=10, seed=0)
    assert monotonic() - began < 60
    # float64 columns and float32 arrays of 177147 × 10 cells make 21 MB.
    assert resident_mb() - before < 60
    assert facts.n_rows == 177_147 and fold.train_x.nbytes < 7e6


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
