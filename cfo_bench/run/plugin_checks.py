"""Checks of the values that methods and learners return, before they are used.

numpy numbers become Python numbers. Any other value that a trace cannot hold is an error that names the value
and the rule. Valid values, which are nearly all, are recognised quickly, because the run's clock is running.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from cfo_bench.errors import RunError, brief_line
from cfo_bench.records import Result, Status, Trial
from cfo_bench.space import Space, without_numpy
from cfo_bench.values import MOST_INT

# The number of characters of a wrong value in an error.
SHOWN_CHARACTERS = 200


def checked_trial(trial: Any, number: int, space: Space) -> Trial:
    """The checked trial that a method asked for: it must have this number, and be in the space."""
    if not isinstance(trial, Trial):
        raise RunError(f"it gave {_shown(trial)}: give a Trial")
    config, rows, thread = space.accept(trial.config), trial.rows, trial.thread
    if type(trial.number) is not int or trial.number != number:
        _whole("number", trial.number, 0)
        if trial.number != number:
            raise RunError(f"trial {trial.number} in place of {number}: count them from 0 on")
    elif (
        config is trial.config
        and (rows is None or (type(rows) is int and 0 < rows <= MOST_INT))
        and (type(thread) is int and 0 <= thread <= MOST_INT)
    ):
        return trial
    rows = None if rows is None else _whole("number of rows", rows, 1)
    return Trial(number, config, rows, _whole("thread", thread, 0))


def checked_result(result: Any) -> Result:
    """The checked result of a learner. A loss that is not finite is handled by the caller."""
    if type(result) is Result:
        status, loss, fit_seconds, validate_seconds, _, error, _ = result
        if (
            status is Status.OK
            and error is None
            and type(loss) is type(fit_seconds) is type(validate_seconds) is float
            and fit_seconds >= 0.0
            and validate_seconds >= 0.0
            and fit_seconds + validate_seconds < math.inf
        ):
            return result
    if not isinstance(result, Result):
        raise RunError(f"the learner gave {_shown(result)}: give a Result")
    try:
        status = Status(result.status)
    except ValueError:
        known = ", ".join(Status)
        raise RunError(f"the status is {_shown(result.status)}: choose from {known}") from None
    fit_seconds = _seconds("fit_seconds", result.fit_seconds)
    validate_seconds = _seconds("validate_seconds", result.validate_seconds)
    if fit_seconds + validate_seconds == math.inf:
        raise RunError(f"fit and validate take {fit_seconds} and {validate_seconds} seconds: give fewer")
    loss = None if status is not Status.OK or result.loss is None else number_of("loss", result.loss)
    error = result.error
    if error is not None:
        error = brief_line(error) if isinstance(error, str) else f"the error is {_shown(error)}: give a text"
    return Result(status, loss, fit_seconds, validate_seconds, None, error)


def number_of(what: str, value: Any) -> float:
    """A number, perhaps not finite, as a float."""
    plain = without_numpy(value)
    if type(plain) is not bool and isinstance(plain, Real):
        try:
            return float(plain)
        except (OverflowError, TypeError, ValueError):
            pass
    raise RunError(f"the {what} is {_shown(value)}: give a number")


def _seconds(what: str, value: Any) -> float:
    seconds = number_of(what, value)
    if not 0.0 <= seconds < math.inf:
        raise RunError(f"{what} is {seconds}: give a number of seconds that is not negative")
    return seconds


def _whole(what: str, value: Any, least: int) -> int:
    plain = without_numpy(value)
    if type(plain) is int and least <= plain <= MOST_INT:
        return plain
    raise RunError(f"the {what} is {_shown(value)}: give a whole number from {least} on")


def _shown(value: object) -> str:
    """A wrong value, for an error."""
    try:
        return brief_line(repr(value), SHOWN_CHARACTERS)
    except Exception:  # its repr is code of a plug-in
        return f"a {type(value).__name__}"
