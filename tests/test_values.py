"""Seconds and memory as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.values import megabytes, plain_number, seconds, whole_number


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (3600, 3600), (0.5, 0.5), ("3600", 3600), ("1e-3", 0.001), ("2.5E2", 250), (".5", 0.5),
        ("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("1h 30m", 5400), ("2d", 172800),
        ("1d2h3m4.5s", 93784.5), ("1.5h", 5400), ("10 m", 600),
    ],
)  # fmt: skip
def test_a_time_is_read_in_every_form(written: object, meant: float) -> None:
    assert seconds(written) == pytest.approx(meant)


@pytest.mark.parametrize(
    "written",
    [0, -1, math.nan, math.inf, True, None, [], "", " ", "0", "0s", "0h0m", "-1", "1w", "1H", "10min",
     "30m1h", "1m1m", "h", "1:30", "nan", "inf", "1e999", "9" * 400 + "s", "1h\n"],
)  # fmt: skip
def test_what_is_no_time_above_zero_is_none(written: object) -> None:
    assert seconds(written) is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [(4096, 4096), ("4096", 4096), ("1e3", 1000), (512.0, 512), ("512MB", 512), ("512 mb", 512),
     ("4GB", 4096), ("1.5 GB", 1536), ("0.1MB", 1)],
)  # fmt: skip
def test_memory_is_read_in_megabytes(written: object, meant: int) -> None:
    assert megabytes(written) == meant


@pytest.mark.parametrize(
    "written", [0, -5, 0.5, True, None, "0GB", "4GiB", "4G", "GB", "4 kB", "-4GB", "1e-3"]
)
def test_what_is_no_memory_is_none(written: object) -> None:
    assert megabytes(written) is None


@given(st.floats(min_value=1e-90, max_value=1e90))
def test_a_number_is_the_same_as_text(value: float) -> None:
    assert plain_number(repr(value)) == value == seconds(repr(value))


@given(st.text() | st.integers() | st.floats() | st.none() | st.booleans() | st.lists(st.integers()))
def test_nothing_is_no_error_but_a_number_or_none(value: object) -> None:
    for read in (seconds, megabytes, plain_number, whole_number):
        number = read(value)
        assert number is None or math.isfinite(number)
