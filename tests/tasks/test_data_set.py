"""Targets and their problems, the hash of the content, and the learner's arrays."""

from __future__ import annotations

import hashlib
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import DataError
from cfo_bench.metrics import Array, constant_loss
from cfo_bench.records import Problem
from cfo_bench.tasks.columns import Column, categories, dates, numbers
from cfo_bench.tasks.data_set import DataSet, encode, infer_problem
from cfo_bench.tasks.folds import Split, split_rows


def texts(name: str, values: list[str | None]) -> Column:
    labels = sorted({value for value in values if value is not None}, reverse=True)
    codes = np.array([-1 if value is None else labels.index(value) for value in values])
    return categories(name, codes, labels)


def table(target: Column, problem: Problem | None = None) -> DataSet:
    feature = numbers("a", np.arange(len(target.values)))
    return DataSet.of([feature, target], target.name, problem, where="data.csv")


def refusal(target: Column, problem: Problem | None = None) -> str:
    with pytest.raises(DataError) as caught:
        table(target, problem)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- the target ---------------------------------------------------------------------------------


def test_a_target_that_is_no_column_is_told_the_nearest_ones() -> None:
    columns = [numbers(name, np.arange(3)) for name in ("age", "Price", "rooms")]
    with pytest.raises(DataError, match=r"data\.csv has no column 'prize' .* 'Price'"):
        DataSet.of(columns, "prize", None, where="data.csv")


@pytest.mark.parametrize("constant", [numbers("y", np.full(9, 2.5)), texts("y", ["b"] * 9)])
def test_a_constant_target_is_refused(constant: Column) -> None:
    assert "in every row" in refusal(constant)


@pytest.mark.parametrize("problem", [None, Problem.REGRESSION, Problem.BINARY])
@pytest.mark.parametrize(("wrong", "word"), [(math.nan, "missing"), (math.inf, "infinite")])
def test_a_target_without_a_finite_value_is_refused(wrong: float, word: str, problem: Problem | None) -> None:
    message = refusal(numbers("y", np.array([1.0, 0.0, wrong, wrong])), problem)
    assert f"target 'y' is {word} in 2 of 4 rows (first in row 3)" in message


def test_a_missing_label_in_the_target_is_refused() -> None:
    assert "is missing in 1 of 3 rows (first in row 2)" in refusal(texts("y", ["a", None, "b"]))


def test_a_target_of_dates_is_refused() -> None:
    assert "holds dates" in refusal(dates("y", np.arange(3.0)))


def test_a_table_without_rows_is_refused() -> None:
    assert "no rows" in refusal(numbers("y", np.empty(0)))


def test_a_table_without_features_is_refused() -> None:
    with pytest.raises(DataError, match="no column but the target 'y'"):
        DataSet.of([numbers("y", np.arange(9))], "y", None, where="data.csv")


def test_two_columns_of_one_name_are_refused() -> None:
    columns = [numbers(name, np.arange(3)) for name in ("a", "a", "y")]
    with pytest.raises(DataError, match="column 'a' occurs 2 times"):
        DataSet.of(columns, "y", None, where="data.csv")


def test_labels_are_no_target_of_a_regression() -> None:
    assert "regression needs numbers" in refusal(texts("y", ["a", "b", "b"]), Problem.REGRESSION)


@pytest.mark.parametrize(
    ("problem", "labels"), [(Problem.BINARY, ["a", "b", "c"]), (Problem.MULTICLASS, ["a", "b", "b"])]
)
def test_a_told_problem_must_fit_the_number_of_classes(problem: Problem, labels: list[str | None]) -> None:
    message = refusal(texts("y", labels), problem)
    assert f"has {len(set(labels))} classes, a {problem} problem" in message


# --- the problem --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (np.array([0.0, 1.0] * 3), Problem.BINARY),
        (np.array([-1.0, 7.0, 7.0]), Problem.BINARY),
        (np.array([0.5, 1.0] * 30), Problem.REGRESSION),
        (np.repeat(np.arange(3.0), 20), Problem.MULTICLASS),
        (np.repeat(np.arange(3.0), 20)[1:], Problem.REGRESSION),
        (np.repeat(np.arange(20.0), 20), Problem.MULTICLASS),
        (np.repeat(np.arange(21.0), 20), Problem.REGRESSION),
    ],
)
def test_the_problem_of_numbers_is_inferred_by_the_written_rule(values: Array, problem: Problem) -> None:
    assert infer_problem(numbers("y", values)) is problem


def test_labels_are_classes_however_many() -> None:
    assert infer_problem(texts("y", [f"label {i}" for i in range(50)])) is Problem.MULTICLASS
    assert infer_problem(texts("y", ["a", "b"])) is Problem.BINARY


def test_a_told_problem_wins_over_the_rule() -> None:
    assert table(numbers("y", np.array([0.0, 1.0] * 9)), Problem.REGRESSION).y.dtype == np.float64


# --- classes ------------------------------------------------------------------------------------


def test_classes_that_are_numbers_are_coded_in_numeric_order() -> None:
    coded = table(numbers("y", np.array([10, 9, -1, 10])), Problem.MULTICLASS)
    assert coded.classes == ("-1", "9", "10") and coded.y.tolist() == [2, 1, 0, 2]
    assert coded.y.dtype == np.int32
    as_text = table(texts("y", ["10", "9", "-1", "10"]))
    assert as_text.classes == coded.classes and as_text.y.tolist() == coded.y.tolist()


def test_classes_that_are_text_are_coded_in_alphabetic_order() -> None:
    coded = table(texts("y", ["won", "nowin", "won"]))
    assert coded.classes == ("nowin", "won") and coded.y.tolist() == [1, 0, 1]


def test_fractions_may_be_classes_when_told_so() -> None:
    assert table(numbers("y", np.array([0.5, 2.0, 0.5])), Problem.BINARY).classes == ("0.5", "2")


# --- the hash -----------------------------------------------------------------------------------


def test_the_hash_is_the_written_recipe() -> None:
    columns = [
        numbers("é", np.array([1.5, math.nan])),
        texts("c", ["x", None]),
        dates("d", np.array([0.0, 1.0])),
        texts("y", ["no", "yes"]),
    ]
    by_hand = (
        b'["\\u00e9","number",[]]\n'
        + struct.pack("<d", 1.5)
        + struct.pack("<Q", 0x7FF8000000000000)
        + b'["c","category",["x"]]\n'
        + struct.pack("<ii", 0, -1)
        + b'["d","date",[]]\n'
        + struct.pack("<dd", 0, 1)
        + b'["y","binary",["no","yes"]]\n'
        + struct.pack("<ii", 0, 1)
    )
    assert DataSet.of(columns, "y", None, where="x").sha256() == hashlib.sha256(by_hand).hexdigest()


def test_the_hash_does_not_tell_one_nan_from_another() -> None:
    (odd_nan,) = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))
    target = numbers("y", np.array([0.5, 1, 2]))

    def digest(missing: float) -> str:
        return DataSet.of([numbers("a", np.array([1, missing, 2])), target], "y", None, "x").sha256()

    assert digest(odd_nan) == digest(math.nan)


def test_the_hash_changes_with_a_cell_a_name_a_class_and_the_order_of_rows() -> None:
    def digest(name: str, cells: list[float], labels: list[str | None]) -> str:
        return DataSet.of([numbers(name, np.array(cells)), texts("y", labels)], "y", None, "x").sha256()

    digests = {
        digest("a", [1, 2, 3], ["n", "y", "n"]),
        digest("a", [1, 2, math.nextafter(3, 4)], ["n", "y", "n"]),
        digest("a", [1, 2, math.nan], ["n", "y", "n"]),
        digest("b", [1, 2, 3], ["n", "y", "n"]),
        digest("a", [1, 2, 3], ["n", "z", "n"]),
        digest("a", [1, 2, 3], ["n", "y", "y"]),
        digest("a", [2, 1, 3], ["y", "n", "n"]),
    }
    assert len(digests) == 7


# --- arrays -----------------------------------------------------------------------------------------


LARGEST = np.finfo(np.float32).max


def features(*columns: Column) -> DataSet:
    n_rows = len(columns[0].values)
    renamed = [Column(f"{i}", f.kind, f.values, f.labels) for i, f in enumerate(columns)]
    target = numbers("y", np.arange(n_rows) / 8)
    return DataSet.of([*renamed, target], "y", Problem.REGRESSION, "data.csv")


def split(train: list[int], valid: list[int]) -> Split:
    return Split(np.array(train), np.array(valid), "by hand")


def test_unseen_and_missing_categories_are_nan() -> None:
    fold = encode(features(texts("c", ["d", "b", None, "c", "b", None, "d"])), split([0, 1, 2], [3, 4, 5, 6]))
    np.testing.assert_array_equal(fold.train_x[:, 0], [1, 0, math.nan])
    np.testing.assert_array_equal(fold.valid_x[:, 0], [math.nan, 0, math.nan, 1])
    assert fold.categorical == (True,)


def test_a_category_column_that_the_training_part_never_fills_is_all_nan() -> None:
    fold = encode(features(texts("c", [None, None, "a", "b"])), split([0, 1], [2, 3]))
    assert np.isnan(fold.train_x).all() and np.isnan(fold.valid_x).all()


def test_codes_follow_the_numeric_order_of_labels() -> None:
    fold = encode(features(texts("c", ["10", "9", "x", "1"])), split([0, 1, 2], [3]))
    assert fold.train_x[:, 0].tolist() == [1, 0, 2]


def test_numbers_become_float32_with_infinity_missing_and_giants_clipped() -> None:
    values = np.array([0.1, math.nan, math.inf, -math.inf, 1e300, -1e300, LARGEST, 1e-300])
    fold = encode(features(numbers("a", values)), split([0, 1, 2, 3, 4, 5, 6], [7]))
    expected = np.array([0.1, math.nan, math.nan, math.nan, LARGEST, -LARGEST, LARGEST], dtype=np.float32)
    np.testing.assert_array_equal(fold.train_x[:, 0], expected)
    assert fold.valid_x[0, 0] == 0 and fold.categorical == (False,)


def test_targets_are_split_with_their_rows() -> None:
    fold = encode(features(numbers("a", np.arange(4))), split([1, 3], [0, 2]))
    assert fold.train_y.tolist() == [1 / 8, 3 / 8] and fold.valid_y.tolist() == [0, 2 / 8]
    assert fold.train_y.dtype == np.float64
    assert fold.constant_loss == constant_loss(Problem.REGRESSION, fold.train_y, fold.valid_y, 0)


def test_the_matrices_lie_row_by_row() -> None:
    fold = encode(
        features(numbers("a", np.arange(6)), texts("c", list("abcabc"))), split([0, 1, 2, 3], [4, 5])
    )
    assert fold.train_x.flags.c_contiguous and fold.valid_x.flags.c_contiguous


LABELS = st.sampled_from([None, "a", "b", "1", "2", "10", "9", "nan", "", "é"])
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@given(st.data(), st.integers(8, 30), st.integers(2, 4), st.integers(0, 1000))
def test_the_features_of_validation_rows_never_change_the_training_arrays(
    data: st.DataObject, n_rows: int, n_folds: int, seed: int
) -> None:
    labels = data.draw(st.lists(LABELS, min_size=n_rows, max_size=n_rows))
    cells = data.draw(st.lists(NUMBERS, min_size=n_rows, max_size=n_rows))
    before = features(texts("c", labels), numbers("n", np.array(cells)))
    rows = split_rows(before, 0, n_folds, seed)
    for row in rows.valid:
        labels[row] = data.draw(LABELS)
        cells[row] = data.draw(NUMBERS)
    after = features(texts("c", labels), numbers("n", np.array(cells)))

    np.testing.assert_array_equal(split_rows(after, 0, n_folds, seed).train, rows.train)
    fold, changed = encode(before, rows), encode(after, rows)
    np.testing.assert_array_equal(changed.train_x, fold.train_x)
    assert changed.categorical == fold.categorical
    known = np.unique(fold.train_x[:, 0][~np.isnan(fold.train_x[:, 0])])
    valid_codes = changed.valid_x[:, 0]
    assert np.isin(valid_codes[~np.isnan(valid_codes)], known).all()
