"""What can come of training in a trial, whichever library trains: a loss, no time, no memory, a failure."""

from __future__ import annotations

import re
from collections.abc import Callable

from cfo_bench.clock import Deadline
from cfo_bench.records import Result, Status


class OutOfTime(Exception):
    """The deadline came before the model."""


def check(deadline: Deadline) -> None:
    """To be called each round, batch or chunk."""
    if deadline.passed():
        raise OutOfTime


def attempt(fit_and_validate: Callable[[], Result], deadline: Deadline) -> Result:
    """The result of a training; whatever it raises is a result too, never a crash of the run."""
    started = deadline.now()
    try:
        return fit_and_validate()
    except OutOfTime:
        return Result(Status.TIMEOUT, fit_seconds=deadline.now() - started)
    except Exception as error:
        return Result(status_of(error), fit_seconds=deadline.now() - started, error=one_line(error))


def status_of(error: Exception) -> Status:
    # C++ says "std::bad_alloc", xgboost "bad_malloc: Failed to allocate", torch "can't allocate memory".
    starved = isinstance(error, MemoryError) or re.search(r"bad_m?alloc|memory", str(error), re.IGNORECASE)
    return Status.MEMORY if starved else Status.FAILED


def one_line(error: Exception) -> str:
    """The reason, without a library's time of day, source file and stack trace."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    reason = re.sub(r"^\[[^\]]*\] (\S+:\d+: )?", "", first.strip())
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__
