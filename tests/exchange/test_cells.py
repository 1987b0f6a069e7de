"""A value that is written to a CSV cell comes back as what it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.exchange.trial_table import cell, text_cell, text_of, value_of
from cfo_bench.files.writing import no_formula
from cfo_bench.space import LEAST_INT, MOST_INT, Value

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    [
        "",
        "1",
        "1.0",
        "true",
        "True",
        "null",
        "nan",
        "Infinity",
        '"x"',
        "'=1",
        "=1+1",
        "-2",
        "+x",
        "a\rb",
        " 3 ",
    ]
)
VALUES = (
    st.integers(LEAST_INT, MOST_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
    | TEXTS
)


@given(VALUES)
def test_the_value_of_a_hyperparameter_comes_back(value: Value) -> None:
    found = value_of(cell(value))

    assert found == value and type(found) is type(value)


@given(TEXTS)
def test_a_text_comes_back(text: str) -> None:
    assert text_of(text_cell(text)) == text


@given(TEXTS)
def test_no_cell_is_a_formula(text: str) -> None:
    assert no_formula(cell(text)) == cell(text)
    assert no_formula(text_cell(text)) == text_cell(text)


@pytest.mark.parametrize(("text", "cell_text"), [("gbtree", "gbtree"), ("1", '"1"'), ("=1+1", "'=1+1")])
def test_plain_text_is_written_as_it_is(text: str, cell_text: str) -> None:
    assert cell(text) == cell_text


def test_an_empty_cell_has_no_text() -> None:
    assert text_of("") is None
