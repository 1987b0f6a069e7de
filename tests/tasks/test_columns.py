"""Columns that may not be what their owner thinks are named, others are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfo_bench.errors import DataError
from cfo_bench.records import Problem
from cfo_bench.tasks import file_ref, inspect, load_fold
from cfo_bench.tasks.columns import Remark, are_numbers, remark
from cfo_bench.tasks.data_set import DataSet
from cfo_bench.tasks.from_pandas import from_pandas

N = 60


def column(values: object, name: str = "a") -> pd.Series:
    return pd.Series(values, name=name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([None] * N, Remark.EMPTY),
        (["x"] * N, Remark.CONSTANT),
        ([3.5] * N, Remark.CONSTANT),
        (range(N), Remark.IDENTIFIER),
        ([f"customer {i}" for i in range(N)], Remark.IDENTIFIER),
        ([f"{i},684.09" for i in range(1, N + 1)], Remark.NUMBERS_AS_TEXT),
        ([f"${i}" for i in range(N)], Remark.NUMBERS_AS_TEXT),
        ([*(f"{i}.5" for i in range(N - 2)), "n/k", "unknown"], Remark.NUMBERS_AS_TEXT),
        # A measurement may well differ in every row; two values, or one and gaps, tell something.
        (np.linspace(0, 1, N), None),
        ([0, 1] * (N // 2), None),
        ([1.0, None] * (N // 2), None),
        (["red", "green"] * (N // 2), None),
        (["1", "2", "many"] * (N // 3), None),
        (pd.date_range("2024-01-01", periods=N), None),
    ],
)
def test_a_column_is_remarked_on_only_where_it_is_odd(values: object, expected: Remark | None) -> None:
    assert remark(from_pandas("a", column(values), "here")) is expected


@pytest.mark.parametrize("text", ["37,684.09", "1,234", "-1,234.5", "12%", "€ 5", "1.234,56", "1 000"])
def test_numbers_in_the_forms_of_people_are_known_as_numbers(text: str) -> None:
    assert are_numbers([text, "7"])


@pytest.mark.parametrize("text", ["1-2", "3rd", "v1.2.3", "", "10,00,0"])
def test_other_texts_are_not_taken_for_numbers(text: str) -> None:
    assert not are_numbers([text, "7"])


def test_the_remarks_on_a_file_come_with_its_facts_and_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    frame = pd.DataFrame(
        {"id": range(N), "c": 1, "price": [f"{i},000.5" for i in range(N)], "y": [0, 1] * (N // 2)}
    )
    frame.to_csv(path, index=False)
    remarks = inspect(file_ref(path, "y"), 2).remarks
    assert len(remarks) == 3
    assert any("'c' has the same value in every row: leave it out with --drop" in line for line in remarks)
    assert any("'price' has numbers written as text, such as '0,000.5'" in line for line in remarks)
    assert inspect(file_ref(path, "y", drop=["c", "price"]), 2).remarks == (
        "column 'id' has another value in every row: if it is an identifier, leave it out with --drop",
    )


def test_a_target_of_numbers_written_as_text_is_refused_as_such() -> None:
    columns = [
        from_pandas("a", column(range(N)), "here"),
        from_pandas("y", column([f"{i},000" for i in range(N)]), "here"),
    ]
    with pytest.raises(DataError, match=r"target 'y' holds numbers written as text, such as '0,000'"):
        DataSet.of(columns, "y", None, "here")


def test_dropped_columns_and_rows_are_gone_and_are_another_data_set(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    pd.DataFrame({"id": range(6), "a": [1, 2, 3, 4, 5, 6], "y": [0, 1, 0, 1, None, None]}).to_csv(
        path, index=False
    )
    with pytest.raises(DataError, match=r"missing in 2 of 6 rows .*--drop-missing-target"):
        inspect(file_ref(path, "y"), 2)
    rows_only = inspect(file_ref(path, "y", drop_missing_target=True), 2)
    both = inspect(file_ref(path, "y", drop=["id"], drop_missing_target=True), 2)
    assert (rows_only.n_rows, rows_only.n_features, rows_only.dropped_rows) == (4, 2, 2)
    assert (both.n_features, both.dropped, both.problem) == (1, ("id",), Problem.BINARY)
    assert rows_only.sha256 != both.sha256
    fold, _ = load_fold(file_ref(path, "y", drop=["id"], drop_missing_target=True), 0, 2, seed=0)
    assert fold.train_x.shape == (2, 1)


def test_a_class_that_only_rows_without_a_target_had_is_no_class(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    pd.DataFrame({"c": ["x", "x", "z", "z", "w"], "y": ["p", "q", "p", "q", None]}).to_csv(path, index=False)
    fold, facts = load_fold(file_ref(path, "y", drop_missing_target=True), 0, 2, seed=0)
    assert facts.n_classes == 2
    assert facts.n_rows == 4
    assert np.nanmax(fold.train_x) <= 1


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        ("idd", "has no column 'idd' to drop: the nearest of its 2 are 'id'"),
        ("y", "--drop y: it is the target"),
    ],
)
def test_a_column_that_can_not_be_dropped_is_named(tmp_path: Path, drop: str, message: str) -> None:
    path = tmp_path / "mine.csv"
    pd.DataFrame({"id": range(4), "y": [0, 1, 0, 1]}).to_csv(path, index=False)
    with pytest.raises(DataError, match=message):
        inspect(file_ref(path, "y", drop=[drop]), 2)
