from __future__ import annotations

import pytest

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.learners.evaluation import OutOfTime, attempt, check_deadline
from cfo_bench.records import Result, Status


def outcome(error: Exception | None) -> Result:
    clock = VirtualClock()

    def train() -> Result:
        clock.account(2.0)
        if error is not None:
            raise error
        return Result.ok(0.5, 2.0)

    return attempt(train, Deadline(clock))


def test_a_training_that_ends_well_is_its_own_result() -> None:
    assert outcome(None) == Result(Status.OK, 0.5, 2.0)


def test_a_passed_deadline_is_a_timeout_with_the_seconds_it_took() -> None:
    with pytest.raises(OutOfTime):
        check_deadline(Deadline(VirtualClock(1.0), at=1.0))
    check_deadline(Deadline(VirtualClock(0.9), at=1.0))
    assert outcome(OutOfTime()) == Result(Status.TIMEOUT, fit_seconds=2.0)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("std::bad_alloc"),
        RuntimeError("[12:00:00] /src/a.cc:7: bad_malloc: Failed to allocate 8 bytes"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:1] . DefaultCPUAllocator: can't allocate memory: 8 bytes"
        ),
    ],
)
def test_every_librarys_want_of_memory_is_seen(error: Exception) -> None:
    assert outcome(error).status is Status.MEMORY


def test_a_failure_is_told_in_one_line_without_the_librarys_source_file() -> None:
    failed = outcome(ValueError("\n[12:00:00] /src/a.cc:7: Check failed: x > 0\nStack trace:\n  ..."))
    assert failed == Result(Status.FAILED, fit_seconds=2.0, error="ValueError: Check failed: x > 0")
    assert outcome(KeyError()).error == "KeyError"
