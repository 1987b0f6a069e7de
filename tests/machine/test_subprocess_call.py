"""A function's answer, or its error, comes from another process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.context import ForkContext, SpawnContext
from typing import Any

import pytest

from cfo_bench.errors import DataError, RunError, UserError
from cfo_bench.machine.processes import call_in_subprocess


def _pid_and(*args: Any) -> tuple[int, Any]:
    return os.getpid(), args


@pytest.mark.parametrize("context", [ForkContext(), SpawnContext()])
def test_the_answer_comes_from_another_process(context: Any) -> None:
    pid, args = call_in_subprocess(context, "answering", _pid_and, 1, "ü")
    assert pid != os.getpid() and args == (1, "ü")


def _wrong_data() -> None:
    raise DataError("no column 'y'")


def _failed_run() -> None:
    raise RunError("the disk is full")


def _defect() -> None:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (_wrong_data, UserError, "no column 'y'"),
        (_failed_run, RunError, "the disk is full"),
        (_defect, RunError, "unexpected KeyError: 'x'"),
    ],
)
def test_an_error_keeps_its_message_and_its_exit_code(
    function: Callable[[], None], kind: type[Exception], message: str
) -> None:
    with pytest.raises((UserError, RunError)) as caught:
        call_in_subprocess(ForkContext(), "failing", function)
    assert caught.type is kind and str(caught.value) == message


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_death_is_an_error_that_says_what_the_process_was_for() -> None:
    with pytest.raises(RunError, match=r"^loading task 'iris' killed its process \(exit code -9\)$"):
        call_in_subprocess(ForkContext(), "loading task 'iris'", _die)


def _interrupt_ourselves() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "survived"


def test_ctrl_c_is_left_to_the_driver() -> None:
    assert call_in_subprocess(ForkContext(), "waiting", _interrupt_ourselves) == "survived"
