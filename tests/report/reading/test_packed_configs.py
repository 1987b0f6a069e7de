"""Packed configurations are the same dicts again, to the type and the last bit."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.report.reading.packed_configs import packed, unpacked
from cfo_bench.results.trial_digest import Configs

WHOLE = st.integers(-(2**53), 2**53)
REAL = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def numbers(draw: st.DrawFn) -> Configs:
    columns = draw(st.lists(st.sampled_from([WHOLE, REAL]), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*columns), min_size=1, max_size=6))
    return Configs([f"h{at}" for at in range(len(columns))], [list(row) for row in rows])


@given(numbers())
def test_numbers_come_back_with_type_and_last_bit(configs: Configs) -> None:
    row = packed(configs)
    assert row is not None
    again = unpacked(orjson.loads(orjson.dumps(row)))

    assert [repr(one) for one in again] == [repr(one) for one in configs]
    assert again == configs and configs == again and again[:1] == configs[:1] and len(again) == len(configs)


@pytest.mark.parametrize(
    "rows", [[[1], [1.0]], [[2**53 + 1]], [["a"]], [[None]], [[True]], []], ids=lambda rows: repr(rows)
)
def test_what_would_change_is_not_packed(rows: list[list[Any]]) -> None:
    assert packed(Configs(["h"], rows)) is None
