"""Recordings: losses and seconds that are looked up, where other learners train on data.

A learner that answers from a recording has `recording`, the name of the tasks that it knows (`hpobench` for
`hpobench:vehicle`), and `recorded(ref)`, which opens one of them as a `RecordedTask`. A run gets its facts
and its fold from there instead of from data. Such a learner runs on the virtual clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

from cfo_bench.errors import UserError
from cfo_bench.records import DataRef, Fold, Learner, RecordedFold, TaskFacts

# Predicted seconds can be 0 or less. A trial that took none would keep the virtual clock from moving, and a
# run would never end.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """One task of a recording, opened."""

    facts: TaskFacts  # its `sha256` is the recording's
    n_folds: int
    train_rows: int  # what the learner's space is made for
    constant_loss: float  # of a predictor that sees no feature
    open_fold: Callable[[int], RecordedFold]

    def fold(self, number: int) -> Fold:
        """A fold whose arrays are empty: its learner answers from the recording."""
        import numpy as np

        def nothing(n_rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
            return np.empty((n_rows, 0), dtype=np.float32), np.broadcast_to(np.float64(0.0), (n_rows,))

        train_x, train_y = nothing(self.train_rows)
        valid_x, valid_y = nothing(0)
        return Fold(
            problem=self.facts.problem,
            metric=self.facts.metric,
            n_classes=self.facts.n_classes,
            categorical=(),
            train_x=train_x,
            train_y=train_y,
            valid_x=valid_x,
            valid_y=valid_y,
            constant_loss=self.constant_loss,
            recording=self.open_fold(number),
        )


@runtime_checkable
class RecordedLearner(Learner, Protocol):
    """A learner that answers from a recording."""

    recording: str  # its tasks are `recording:name`

    def recorded(self, ref: DataRef) -> RecordedTask:
        """Opens a task; a UserError says what is missing, and how to get it."""


def is_recorded(learner: Learner) -> TypeGuard[RecordedLearner]:
    return getattr(learner, "recording", None) is not None


def check_recording(learner: str, recording: str | None, ref: DataRef) -> None:
    """Whether a task is for a learner: a recording only for its own, data only for those that train.

    `recording` is the learner's, None if it has none.
    """
    if recording is not None and not (ref.recorded_folds and ref.source == recording):
        remedy = (
            "give --surrogate FILE"
            if recording == "surrogate"
            else f"give --task '{recording}:*' or one of these (see cfo-bench tasks)"
        )
        raise UserError(
            f"learner {learner!r} answers from a recording, and has none of task {ref.task!r}: {remedy}"
        )
    if recording is None and ref.recorded_folds:
        raise UserError(
            f"task {ref.task!r} is a recording, and learner {learner!r} does not answer from it: "
            f"give the --learner that cfo-bench tasks show {ref.task} names"
        )
