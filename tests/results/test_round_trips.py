"""What round trips to a program come to."""

from __future__ import annotations

from typing import Any

import pytest

from cfo_bench.results.summary import round_trips


def header(seconds: float | None, clock: str = "wall") -> dict[str, Any]:
    program = {} if seconds is None else {"program": {"command": "x", "round_trip_seconds": seconds}}
    return {"spec": {"clock": clock}, **program}


def test_the_share_is_that_of_two_a_trial_and_the_time_is_the_median() -> None:
    found = round_trips([(header(0.001), 50, 10.0), (header(0.003), 100, 10.0), (header(0.002), 0, 10.0)])

    assert found is not None
    assert found.seconds == 0.002
    assert found.share == pytest.approx((0.01 + 0.06 + 0.0) / 3)
    assert found.in_words("mine") == (
        "mine is a program of its own, and 2 bare round trips a trial of 2.00 ms each are part of its "
        "overhead: 2.33% of the time."
    )


def test_on_the_virtual_clock_they_take_no_time() -> None:
    found = round_trips([(header(0.001, "virtual"), 50, 10.0)])

    assert found is not None and found.share is None
    assert "the virtual clock does not count its 2 bare round trips" in found.in_words("mine")


def test_methods_that_are_no_programs_have_none() -> None:
    assert round_trips([(header(None), 50, 10.0)]) is None
