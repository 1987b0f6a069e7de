"""What methods and learners give back: numpy's numbers are taken, nonsense is named."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cfo_bench.errors import RunError, SpaceError
from cfo_bench.records import Result, Status, Trial
from cfo_bench.run.plugin_checks import checked_result, checked_trial
from cfo_bench.space import Int, Space

SPACE = Space([Int("x", 0, 9)])
CONFIG = {"x": 1}


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError


def test_a_right_trial_and_a_right_result_are_passed_on_as_they_are() -> None:
    for trial in (Trial(3, CONFIG), Trial(3, CONFIG, 50, 2)):
        assert checked_trial(trial, 3, SPACE) is trial
    result = Result.ok(0.5, 0.1, 0.2)
    assert checked_result(result) is result


def test_a_trial_with_numbers_of_numpy_gets_plain_ones() -> None:
    found = checked_trial(Trial(np.int64(3), {"x": np.int8(1)}, np.int64(50), np.uint8(2)), 3, SPACE)  # type: ignore[arg-type]
    assert found == Trial(3, CONFIG, 50, 2)
    assert {type(value) for value in (found.number, found.config["x"], found.rows, found.thread)} == {int}


@pytest.mark.parametrize(
    ("trial", "says"),
    [
        (None, "it gave None: give a Trial"),
        (CONFIG, r"it gave \{'x': 1\}: give a Trial"),
        (Unspeakable(), "it gave a Unspeakable: give a Trial"),
        (Trial(4, CONFIG), "trial 4 in place of 3"),
        (Trial(True, CONFIG), "the number is True: give a whole number from 0 on"),
        (Trial("3", CONFIG), "the number is '3'"),
        (Trial(3, CONFIG, 0), "the number of rows is 0: give a whole number from 1 on"),
        (Trial(3, CONFIG, -5), "the number of rows is -5"),
        (Trial(3, CONFIG, True), "the number of rows is True"),
        (Trial(3, CONFIG, 0.5), "the number of rows is 0.5"),
        (Trial(3, CONFIG, 2**63), "the number of rows is 9223372036854775808"),
        (Trial(3, CONFIG, None, []), r"the thread is \[\]"),
        (Trial(3, CONFIG, None, -1), "the thread is -1"),
        (Trial(3, {"x": True}), "x = True is not a whole number"),
        (Trial(3, {"x": 1, 7: 1}), r"unknown \[7\]"),
    ],
)
def test_a_wrong_trial_is_named_with_what_to_give(trial: Any, says: str) -> None:
    with pytest.raises((RunError, SpaceError), match=f"^{says}|{says}$"):
        checked_trial(trial, 3, SPACE)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            Result(Status.OK, np.float32(0.5), np.float64(0.25), np.int32(1)),
            Result(Status.OK, 0.5, 0.25, 1.0),
        ),
        (Result(Status.OK, 1, 0, 0), Result(Status.OK, 1.0, 0.0, 0.0)),
        (Result(Status.OK, Fraction(1, 2)), Result(Status.OK, 0.5)),
        (Result("ok", 0.5), Result(Status.OK, 0.5)),
        (Result("timeout", "whatever"), Result(Status.TIMEOUT)),
        (Result(Status.OK, None), Result(Status.OK, None)),
        (Result(Status.FAILED, error="a\nb"), Result(Status.FAILED, error="a b")),
        (Result(Status.FAILED, error=b"x"), Result(Status.FAILED, error="the error is b'x': give a text")),
        (Result(Status.FAILED, error="\udc80\x1b"), Result(Status.FAILED, error="\\udc80\\x1b")),
    ],
)
def test_what_can_be_understood_is_taken(given: Any, expected: Result) -> None:
    found = checked_result(given)
    assert found == expected and found.status is expected.status
    assert {type(found.fit_seconds), type(found.validate_seconds)} == {float}
    assert found.loss is None or type(found.loss) is float


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (0.5, "the learner gave 0.5: give a Result"),
        ((Status.OK, 0.5), "give a Result"),
        (Result("great", 0.5), "the status is 'great': choose from ok, failed, timeout, memory"),
        (Result([], 0.5), r"the status is \[\]"),
        (Result(Status.OK, True), "the loss is True: give a number"),
        (Result(Status.OK, np.True_), "the loss is np.True_: give a number"),
        (Result(Status.OK, "0.5"), "the loss is '0.5': give a number"),
        (Result(Status.OK, np.array([0.5, 0.6])), "the loss is array"),
        (Result(Status.OK, 10**400), "the loss is 1000"),
        (Result(Status.OK, 0.5, -3.0), "fit_seconds is -3.0: give a number of seconds that is not negative"),
        (Result(Status.OK, 0.5, math.nan), "fit_seconds is nan"),
        (Result(Status.OK, 0.5, 0.0, math.inf), "validate_seconds is inf"),
        (Result(Status.OK, 0.5, 1e308, 1e308), "give fewer"),
        (Result(Status.FAILED, None, "fast"), "the fit_seconds is 'fast'"),
    ],
)
def test_a_wrong_result_is_named_with_what_to_give(result: Any, says: str) -> None:
    with pytest.raises(RunError, match=says) as refused:
        checked_result(result)
    assert len(str(refused.value)) < 500
