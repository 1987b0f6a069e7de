"""Folds that a column of the user's file makes, weights of rows, and texts that are encoded by the target."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import DataError, TooManyFoldsError
from cfo_bench.learners import LEARNERS
from cfo_bench.metrics import constant_loss
from cfo_bench.records import Fold, Problem, Trial
from cfo_bench.tasks import file_ref, inspect, load_fold
from cfo_bench.tasks.columns import categories, numbers
from cfo_bench.tasks.data_set import DataSet
from cfo_bench.tasks.folds import Split, hold_out, split_rows

SEEDS = st.integers(0, 1000)
N = 240


def data_set(split: str, values: np.ndarray, problem: Problem = Problem.BINARY) -> DataSet:
    """Classes that alternate, or numbers, with a column `c` that makes the folds."""
    n_rows = len(values)
    y = np.arange(n_rows) % 2 if problem is Problem.BINARY else np.linspace(0, 1, n_rows)
    columns = [numbers("x", np.arange(n_rows)), numbers("c", values), numbers("y", y)]
    return DataSet.of(columns, "y", problem, "data.csv", split)


def splits(data: DataSet, n_folds: int, seed: int = 0) -> list[Split]:
    return [split_rows(data, fold, n_folds, seed) for fold in range(n_folds)]


# --- groups ---------------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from([Problem.BINARY, Problem.REGRESSION]))
@settings(max_examples=20, deadline=None)
def test_no_group_is_in_two_parts_and_every_row_is_held_out_once(seed: int, problem: Problem) -> None:
    groups = np.repeat(np.arange(30), 8)
    data = data_set("group:c", groups, problem)
    folds = splits(data, 5, seed)
    assert sorted(np.concatenate([split.valid for split in folds])) == list(range(N))
    for split in folds:
        inner = hold_out(data, split, 0.2, seed)
        assert inner.test is not None
        parts = [set(groups[rows]) for rows in (inner.train, inner.valid, inner.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 30
    assert folds[0].source == f"5 folds of whole groups of 'c' by seed {seed}"


def test_the_seed_of_groups_counts() -> None:
    data = data_set("group:c", np.repeat(np.arange(30), 8))
    first, again, other = (splits(data, 5, seed)[0].valid.tolist() for seed in (1, 1, 2))
    assert first == again != other


# --- time -----------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), min_size=100, max_size=140), SEEDS)
@settings(max_examples=30, deadline=None)
def test_all_rows_that_train_are_earlier_than_those_that_validate(times: list[int], seed: int) -> None:
    values = np.array(times)
    data = data_set("time:c", values, Problem.REGRESSION)
    try:
        folds = splits(data, 4, seed)
    except TooManyFoldsError:  # nearly all rows are of the first time
        return
    for split in folds:
        assert values[split.train].max() < values[split.valid].min()
        try:
            inner = hold_out(data, split, 0.3, seed)
        except TooManyFoldsError:  # the rows that train are nearly all of one time
            continue
        assert inner.test is not None
        assert values[inner.train].max() < values[inner.valid].min()
        assert values[inner.valid].max() < values[inner.test].min()
    for earlier, later in pairwise(folds):
        assert values[earlier.valid].max() <= values[later.valid].min()
        assert set(earlier.train) < set(later.train)
    assert folds[0].source == "4 folds forward in time, by 'c'"


# --- a column of folds ----------------------------------------------------------------------------


def test_each_value_of_a_column_of_folds_is_held_out_in_turn() -> None:
    own = np.arange(N) % 7 // 2  # 0 to 3
    data = data_set("column:c", own)
    for fold, split in enumerate(splits(data, 4)):
        assert set(own[split.valid]) == {fold} and fold not in own[split.train]
        assert len(split.train) + len(split.valid) == N
        assert split.source == "4 folds of column 'c'"
    with pytest.raises(DataError, match=r"column of --split has 4 values, .* not 10: leave"):
        split_rows(data, 0, 10, 0)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("split", "values", "message"),
    [
        (
            "group:c",
            np.arange(N) // 80,
            "has 3 groups, fewer than the 5 folds: take at most 3 with --n-folds",
        ),
        ("group:c", np.arange(N) % 2 + np.arange(N) // 60 * 10, "no row of class"),
        ("time:c", np.arange(N) % 2, "fold 0 of 5 folds forward in time, by 'c'; take fewer with --n-folds"),
        ("time:c", np.zeros(N), "0 rows to train on"),
        ("time:c", np.where(np.arange(N) < 3, np.nan, 1.0), r"no value in 3 rows \(first in row 1\): fill"),
        ("column:c", np.arange(N) % 2, "has 2 values"),
        ("column:nowhere", np.arange(N), "no column 'nowhere' for --split column"),
        ("column:y", np.arange(N), "--split y: it is the target"),
    ],
)
def test_folds_that_are_empty_or_lack_a_class_are_refused_in_one_line(
    split: str, values: np.ndarray, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        splits(data_set(split, values), 5)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("problem", [Problem.BINARY, Problem.REGRESSION])
def test_a_column_with_another_value_in_every_row_is_refused_without_a_word_on_n_folds(
    problem: Problem,
) -> None:
    data = data_set("column:c", np.arange(N), problem)
    with pytest.raises(DataError, match=r"1 rows? to validate on: fold 0 .* of column 'c'; give") as caught:
        splits(data, N)
    assert "--n-folds" not in str(caught.value)


def test_texts_are_no_times() -> None:
    days = categories("day", np.arange(6) % 3, ["monday", "tuesday", "friday"])
    with pytest.raises(DataError, match="'day' of --split time holds text such as 'friday': write dates as"):
        DataSet.of(
            [numbers("y", np.arange(6) % 2), days, numbers("x", np.arange(6))], "y", None, "d", "time:day"
        )


# --- from a file ----------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Numbers, weights, groups, days, folds, and texts of 150 values, in which the target is told."""
    rng = np.random.default_rng(0)
    skill = rng.normal(size=150)
    who = rng.integers(0, 150, N * 5)
    signal = skill[who] + rng.normal(size=N * 5)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=N * 5),
            "who": [f"w{i}" for i in who],
            "w": rng.integers(0, 4, N * 5),
            "store": rng.integers(0, 12, N * 5),
            "day": pd.date_range("2024-01-01", periods=N * 5).strftime("%Y-%m-%d"),
            "number": signal,
            "class2": signal > 0,
            "class3": np.digitize(signal, [-0.5, 0.5]),
        }
    )
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path / "mine.csv"


OTHERS = ("number", "class2", "class3")


def fold_of(path: Path, target: str, **columns: str) -> Fold:
    problem = Problem.MULTICLASS if target == "class3" else None
    drop = [name for name in (*OTHERS, "store", "day") if name not in (target, columns.get("split", "")[-5:])]
    drop = [name for name in drop if f":{name}" not in columns.get("split", "")]
    return load_fold(file_ref(path, target, problem, drop, **columns), 0, 3, 0, 0.3)[0]


def test_the_columns_of_split_and_weight_are_no_features_and_are_in_the_facts(path: Path) -> None:
    ref = file_ref(path, "class2", None, ["number", "class3"], split="time:day", weight="w")
    facts = inspect(ref, 3)
    assert (facts.n_features, facts.split, facts.weight) == (3, "time:day", "w")
    assert facts.folds_source == "3 folds forward in time, by 'day'"
    assert facts.sha256 != inspect(file_ref(path, "class2", None, ["number", "class3", "w", "day"]), 3).sha256
    frame = pd.read_csv(path)
    frame.loc[0, "w"] += 1
    frame.to_csv(path, index=False)
    assert inspect(ref, 3).sha256 != facts.sha256


@pytest.mark.parametrize("wrong", ["-1", "", "inf", "many"])
def test_a_weight_that_is_no_number_from_0_on_is_refused(path: Path, wrong: str) -> None:
    lines = path.read_text().splitlines()
    cells = lines[3].split(",")
    lines[3] = ",".join([*cells[:2], wrong, *cells[3:]])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        DataError, match=r"column 'w' of --weight (is .* in row 3: a weight is|holds no numbers)"
    ):
        inspect(file_ref(path, "class2", weight="w"), 3)


def test_the_weights_of_each_part_are_those_of_its_rows_and_the_constant_is_weighted(path: Path) -> None:
    fold = fold_of(path, "number", weight="w")
    assert fold.train_weight is not None and fold.valid_weight is not None and fold.test_weight is not None
    sizes = [len(part) for part in (fold.train_weight, fold.valid_weight, fold.test_weight)]
    assert sizes == [len(fold.train_y), len(fold.valid_y), 400]
    weight_of = dict(zip(*pd.read_csv(path)[["number", "w"]].to_numpy().T, strict=True))
    assert fold.train_weight.tolist() == [weight_of[y] for y in fold.train_y]
    assert fold.constant_loss == constant_loss(
        fold.problem,
        fold.train_y,
        fold.valid_y,
        0,
        train_weight=fold.train_weight,
        valid_weight=fold.valid_weight,
    )


@pytest.mark.parametrize("target", ["class2", "class3", "number"])
@pytest.mark.parametrize("learner", ["hist-gradient-boosting", "lightgbm", "random-forest", "xgboost"])
def test_a_row_of_weight_0_neither_trains_nor_validates(path: Path, learner: str, target: str) -> None:
    if missing := LEARNERS.row(learner).missing:
        pytest.skip(f"{learner} needs {missing}")
    fold = fold_of(path, target, weight="w")
    assert fold.train_weight is not None and fold.valid_weight is not None
    spoilt_y, spoilt_valid = fold.train_y.copy(), fold.valid_y.copy()
    spoilt_y[fold.train_weight == 0] = fold.train_y[0]
    spoilt_valid[fold.valid_weight == 0] = fold.valid_y[0]

    def loss(train_y: np.ndarray, valid_y: np.ndarray) -> float:
        cls = LEARNERS.load(learner)
        space = cls().space(fold.n_rows)
        config = {**cls().start(space), "n_estimators": 20}
        objective = cls().prepare(replace(fold, train_y=train_y, valid_y=valid_y), 1, 0)
        found = objective.evaluate(Trial(0, config), Deadline(WallClock())).loss
        assert found is not None
        return float(found)

    assert loss(spoilt_y, spoilt_valid) == pytest.approx(loss(fold.train_y, fold.valid_y), abs=1e-3)
    assert loss(fold.train_y, spoilt_valid) == pytest.approx(loss(fold.train_y, fold.valid_y), abs=1e-12)


# --- texts of many values -------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "width"), [("class2", 1), ("class3", 3), ("number", 1)])
def test_texts_of_many_values_become_the_mean_of_the_target_out_of_fold(
    path: Path, target: str, width: int
) -> None:
    fold = fold_of(path, target)
    assert fold.train_x.shape[1] == width + 2 and not any(fold.categorical)
    assert fold.test_x is not None and not np.isnan(fold.test_x).any()
    encoded = slice(1, 1 + width)
    y = fold.train_y if target == "number" else fold.train_y == (fold.n_classes - 1)
    held_out = fold.valid_y if target == "number" else fold.valid_y == (fold.n_classes - 1)
    in_training = np.corrcoef(fold.train_x[:, encoded][:, -1], y)[0, 1]
    in_validation = np.corrcoef(fold.valid_x[:, encoded][:, -1], held_out)[0, 1]
    # It tells about as much of rows that it was not made from: in-fold means would tell far more in training.
    assert in_validation > 0.3 and abs(in_training - in_validation) < 0.15


def test_the_encoding_sees_no_target_of_a_held_out_row(path: Path) -> None:
    before = fold_of(path, "number")
    frame = pd.read_csv(path)
    assert before.test_y is not None
    frame.loc[frame["number"].isin([*before.valid_y, *before.test_y]), "number"] += 100.0
    frame.to_csv(path, index=False)
    after = fold_of(path, "number")
    np.testing.assert_array_equal(after.train_x, before.train_x)
    np.testing.assert_array_equal(after.valid_x, before.valid_x)


def test_it_is_reported_which_texts_are_encoded(path: Path) -> None:
    facts = inspect(file_ref(path, "class2", None, ["number", "class3"]), 3)
    assert facts.target_encoded == ("who",)
    assert facts.remarks[-1] == (
        "column 'who' has more than 100 different texts: each text is encoded as the mean of the target "
        "for it; a pipeline is given the texts"
    )
