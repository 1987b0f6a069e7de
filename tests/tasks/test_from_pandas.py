"""pandas columns of every dtype become numbers, dates or categories."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cfo_bench.errors import DataError
from cfo_bench.tasks.columns import ColumnKind
from cfo_bench.tasks.from_pandas import from_pandas

NAN = math.nan
DAY = datetime.date(1970, 1, 3)
NOON = pd.Timestamp("1970-01-02 12:00")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pd.array([1, None], dtype="Int64"), ColumnKind.NUMBER, [1, NAN]),
        (pd.array([1.5, None], dtype="Float64"), ColumnKind.NUMBER, [1.5, NAN]),
        (pd.array([True, None], dtype="boolean"), ColumnKind.NUMBER, [1, NAN]),
        (pd.array([2, None], dtype=pd.ArrowDtype(pa.int8())), ColumnKind.NUMBER, [2, NAN]),
        (np.array([1, 2], dtype=np.uint64), ColumnKind.NUMBER, [1, 2]),
        (np.array([True, False]), ColumnKind.NUMBER, [1, 0]),
        (np.array([True, None], dtype=object), ColumnKind.NUMBER, [1, NAN]),
        (np.array([decimal.Decimal("0.5"), None], dtype=object), ColumnKind.NUMBER, [0.5, NAN]),
        (np.array([None, None], dtype=object), ColumnKind.NUMBER, [NAN, NAN]),
        (pd.array([None, None], dtype="str"), ColumnKind.NUMBER, [NAN, NAN]),
        (pd.to_timedelta(["1h", None]), ColumnKind.NUMBER, [3600, NAN]),
        (pd.DatetimeIndex([NOON, None]), ColumnKind.DATE, [1.5, NAN]),
        (pd.DatetimeIndex([NOON, None]).tz_localize("Asia/Tokyo"), ColumnKind.DATE, [1.5 - 9 / 24, NAN]),
        (np.array([DAY, None], dtype=object), ColumnKind.DATE, [2, NAN]),
        (["1970-01-03", None], ColumnKind.DATE, [2, NAN]),
        (["1970-01-02T12:00:00Z", "1970-01-02 12:00:00+12:00"], ColumnKind.DATE, [1.5, 1.0]),
    ],
)
def test_numbers_and_dates_become_float64(values: Any, kind: ColumnKind, expected: list[float]) -> None:
    column = from_pandas("a", pd.Series(values), "data.csv")
    assert column.kind is kind and column.values.dtype == np.float64
    np.testing.assert_allclose(column.values, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "labels", "codes"),
    [
        (["b", "a", None, "b"], ("a", "b"), [1, 0, -1, 1]),
        (pd.array(["b", None], dtype="string"), ("b",), [0, -1]),
        (pd.Categorical(["x", None], categories=["z", "y", "x"]), ("x",), [0, -1]),
        (pd.Categorical([10, 9, 10]), ("9", "10"), [1, 0, 1]),
        (["10", "9", "nine"], ("9", "10", "nine"), [1, 0, 2]),
        (np.array([1, "1", "a", None], dtype=object), ("1", "a"), [0, 0, 1, -1]),
        (["2024-02-29", "2023-02-29"], ("2023-02-29", "2024-02-29"), [1, 0]),
        (["2024-02-29", "later"], ("2024-02-29", "later"), [0, 1]),
    ],
)
def test_text_becomes_codes_of_its_ordered_labels(values: Any, labels: Any, codes: list[int]) -> None:
    column = from_pandas("a", pd.Series(values), "data.csv")
    assert column.kind is ColumnKind.CATEGORY and column.values.dtype == np.int32
    assert column.labels == labels and column.values.tolist() == codes


def test_lists_in_cells_are_refused() -> None:
    with pytest.raises(DataError, match=r"data\.parquet: column 'a' holds lists"):
        from_pandas("a", pd.Series([[1], [2]]), "data.parquet")


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="column 'a' holds complex numbers"):
        from_pandas("a", pd.Series([1j]), "data.parquet")
