"""Which folds to run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import UserError
from cfo_bench.suite.model import parse_folds


@pytest.mark.parametrize(
    ("text", "folds"),
    [
        ("all", [0, 1, 2, 3, 4]),
        (" all ", [0, 1, 2, 3, 4]),
        ("0", [0]),
        ("1-3", [1, 2, 3]),
        ("3-3", [3]),
        ("4,0", [0, 4]),
        ("0, 2-3 ,3", [0, 2, 3]),
    ],
)
def test_folds_are_read_in_every_form(text: str, folds: list[int]) -> None:
    assert parse_folds(text, 5) == folds


@pytest.mark.parametrize("text", ["", "-1", "1-", "-", "a", "1.5", "0,", "0;1", "1-2-3"])
def test_folds_that_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="write all, 0, 0-4 or 0,3"):
        parse_folds(text, 5)


@pytest.mark.parametrize("text", ["5", "0-5", "3-1", "0,3-1", "0-99999999999999"])
def test_folds_beyond_the_last_or_backwards_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"with 5 folds, give numbers from 0 to 4, the lower first"):
        parse_folds(text, 5)


@given(st.sets(st.integers(0, 99), min_size=1))
def test_any_set_of_folds_can_be_written(folds: set[int]) -> None:
    assert parse_folds(",".join(map(str, folds)), 100) == sorted(folds)
