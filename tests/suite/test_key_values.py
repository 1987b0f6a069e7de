"""`--option key=value`: from words to values."""

from __future__ import annotations

import pytest

from cfo_bench.errors import OptionError
from cfo_bench.suite.model import parse_options


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a=1", 1),
        ("a=0.5", 0.5),
        ("a=1e-3", 0.001),
        ("a=-2E4", -20000.0),
        ("a=24:00:00", "24:00:00"),
        ("a=true", True),
        ("a=False", False),
        ("a=null", None),
        ("a=2^(d-1)", "2^(d-1)"),
        ("a=x=y", "x=y"),
        ("a=[1, 2]", [1, 2]),
        ("a=", None),
    ],
)
def test_a_value_is_read_as_what_it_looks_like(word: str, value: object) -> None:
    assert parse_options([word]) == {"a": value}


def test_the_last_of_two_values_wins() -> None:
    assert parse_options(["a=1", "a=2"]) == {"a": 2}


@pytest.mark.parametrize("word", ["a", "=1", ""])
def test_a_word_without_key_or_value_is_refused(word: str) -> None:
    with pytest.raises(OptionError, match="write key=value"):
        parse_options([word])


def test_a_value_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'\[1' is not a value"):
        parse_options(["a=[1"])
