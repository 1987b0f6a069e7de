"""From a file on disk to facts and arrays, and the one line that wrong data gets."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfo_bench.errors import DataError, UserError
from cfo_bench.records import Problem
from cfo_bench.tasks import file_ref, inspect, load_fold


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "colour": rng.choice(["red", "green", "blue"], size=60),
            "day": pd.date_range("2024-01-01", periods=60),
            "y": ["no", "yes", "yes"] * 20,
        }
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_becomes_facts_and_arrays(frame: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    ref = file_ref(write(frame, tmp_path / f"mine.{ending}"), "y")
    fold, facts = load_fold(ref, fold=1, n_folds=5, seed=3)
    assert (facts.name, facts.problem, facts.metric) == ("mine", Problem.BINARY, "auc")
    assert (facts.n_rows, facts.n_features, facts.n_classes) == (60, 3, 2)
    assert facts.source == f"file: mine.{ending}"
    assert facts.folds_source == "stratified 5-fold by seed 3"
    assert fold.categorical == (False, True, False) and fold.constant_loss == 0.5
    assert np.bincount(fold.valid_y).tolist() == [4, 8] and fold.n_rows == 48
    assert fold.train_x[:, 2].min() >= 19723  # days since 1970


def test_csv_and_parquet_of_one_table_give_the_same_arrays(frame: pd.DataFrame, tmp_path: Path) -> None:
    folds = [
        load_fold(file_ref(write(frame, tmp_path / f"mine.{ending}"), "y"), fold=0, n_folds=5, seed=0)[0]
        for ending in ("csv", "parquet")
    ]
    np.testing.assert_array_equal(folds[0].train_x, folds[1].train_x)
    np.testing.assert_array_equal(folds[0].valid_y, folds[1].valid_y)


def test_the_facts_of_an_inspection_are_those_of_a_fold(frame: pd.DataFrame, tmp_path: Path) -> None:
    ref = file_ref(write(frame, tmp_path / "mine.csv"), "y")
    seen, (_, facts) = inspect(ref, n_folds=5), load_fold(ref, fold=0, n_folds=5, seed=0)
    assert seen.sha256 == facts.sha256 and seen.n_rows == facts.n_rows
    assert facts.folds_source == f"{seen.folds_source} by seed 0"


def test_the_hash_follows_the_content_and_not_the_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    original = inspect(file_ref(write(frame, tmp_path / "mine.csv"), "y"), n_folds=5).sha256
    copied = inspect(file_ref(write(frame, tmp_path / "copy" / "other.csv"), "y"), n_folds=5).sha256
    frame.loc[17, "size"] = math.nan
    changed = inspect(file_ref(write(frame, tmp_path / "mine.csv"), "y"), n_folds=5).sha256
    assert original == copied != changed


def test_the_told_problem_wins(tmp_path: Path) -> None:
    path = write(pd.DataFrame({"a": range(60), "y": [1, 2, 3] * 20}), tmp_path / "mine.csv")
    assert inspect(file_ref(path, "y"), n_folds=5).problem is Problem.MULTICLASS
    assert inspect(file_ref(path, "y", Problem.REGRESSION), n_folds=5).problem is Problem.REGRESSION


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a,z\n" + "1,0\n2,1\n" * 10, "no column 'y'"),
        ("a,y\n" + "1,5\n2,5\n" * 10, "target 'y' is '5' in every row"),
        ("a,y\n" + "1,no\n2,yes\n" * 10 + "1,maybe\n", "class 'maybe' of target 'y' has 1 row"),
        ("a,y\n1,\n" + "1,0\n2,1\n" * 10, "target 'y' is missing in 1 of 21 rows"),
        ("a,y\n1,inf\n" + "1,0\n2,1\n" * 10, "target 'y' is infinite in 1 of 21 rows"),
        ("", "is empty"),
        ("a,y\n", "no rows"),
        ("a,a,y\n" + "1,1,0\n2,1,1\n" * 10, "column 'a' occurs 2 times"),
        ("y\n" + "0\n1\n" * 10, "no column but the target"),
        ("a,y\n" + "1,2024-01-01\n2,2024-01-02\n" * 10, "holds dates"),
        ("a,y\n1,0.5\n2,1.5\n3,2.5\n", "3 rows are too few"),
    ],
)
def test_wrong_data_gets_one_clear_line(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(content)
    ref = file_ref(path, "y")
    for look in (lambda: inspect(ref, n_folds=5), lambda: load_fold(ref, fold=0, n_folds=5, seed=0)):
        with pytest.raises(DataError) as caught:
            look()
        message = str(caught.value)
        assert reason in message and "mine.csv" in message and "\n" not in message


def test_a_fold_out_of_range_is_refused_before_the_data_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no fold 5 among 5 folds"):
        load_fold(file_ref(tmp_path / "absent.csv", "y"), fold=5, n_folds=5, seed=0)
