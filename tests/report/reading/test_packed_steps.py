"""Packed incumbents are the same again, to the type and the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.report.reading.packed_steps import NUMBER, packed, unpacked
from cfo_bench.results.trial_digest import Configs, Steps

WHOLE = st.integers(-(2**53), 2**53)
REAL = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def numbers(draw: st.DrawFn) -> Steps:
    columns = draw(st.lists(st.sampled_from([WHOLE, REAL]), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*columns), min_size=1, max_size=6))
    lists = [draw(st.lists(REAL, min_size=len(rows), max_size=len(rows))) for _ in range(4)]
    scores = draw(st.lists(st.none() | REAL, min_size=len(rows), max_size=len(rows)))
    return steps([list(row) for row in rows], *lists, scores=scores)


def steps(
    rows: list[list[Any]],
    seconds: list[Any],
    losses: list[Any],
    costs: list[Any],
    overheads: list[Any],
    scores: list[Any],
) -> Steps:
    configs = Configs([f"h{at}" for at in range(len(rows[0]) if rows else 1)], rows)
    return Steps(seconds, losses, scores, costs, overheads, configs[-1] if rows else {}, configs)


def again(found: Steps, *more: Steps) -> list[Steps]:
    """What comes back from JSON and the numbers of some incumbents, one after the other."""
    both = [packed(one) for one in (found, *more)]
    left = np.frombuffer(b"".join(content for _, content in both), NUMBER)
    back = []
    for row, _ in both:
        one, left = unpacked(orjson.loads(orjson.dumps(row)), left)
        back.append(one)
    assert not len(left)
    return back


@given(numbers(), numbers())
def test_numbers_come_back_with_type_and_last_bit(one: Steps, other: Steps) -> None:
    for before, after in zip((one, other), again(one, other), strict=True):
        assert "packed" in packed(before)[0]
        assert after == before and before == after
        assert [repr(config) for config in after.configs] == [repr(config) for config in before.configs]
        assert repr(after.best_config) == repr(before.best_config)
        assert repr((after.seconds, after.losses)) == repr((before.seconds, before.losses))
        assert after.configs[:1] == before.configs[:1] and len(after.configs) == len(before.configs)


@pytest.mark.parametrize(
    "rows", [[[1], [1.0]], [[2**53 + 1]], [["a"]], [[None]], [[True]], []], ids=lambda rows: repr(rows)
)
def test_configurations_that_would_change_are_not_packed(rows: list[list[Any]]) -> None:
    lists = [[0.5] * len(rows) for _ in range(4)]
    assert_comes_back_unpacked(steps(rows, *lists, scores=[None] * len(rows)))


@pytest.mark.parametrize("place", range(4))
def test_a_whole_number_among_the_times_or_losses_is_not_packed(place: int) -> None:
    lists: list[list[Any]] = [[0.5] for _ in range(4)]
    lists[place] = [1]
    assert_comes_back_unpacked(steps([[3]], *lists, scores=[None]))


def assert_comes_back_unpacked(found: Steps) -> None:
    assert packed(found)[1] == b""
    (back,) = again(found)
    assert repr((back.seconds, back.losses, back.costs, back.overheads, list(back.configs))) == repr(
        (found.seconds, found.losses, found.costs, found.overheads, list(found.configs))
    )
