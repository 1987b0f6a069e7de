"""A trial whose loss and seconds are looked up."""

from __future__ import annotations

from cfo_bench.clock import Deadline
from cfo_bench.recording import LEAST_SECONDS
from cfo_bench.records import Fold, RecordedFold, Result, Status, Trial


class RecordedObjective:
    """Answers from one fold of a recording: every recorded learner is evaluated here.

    A trial that would end past its deadline is a timeout at the deadline. One whose training had failed when
    it was recorded fails, and takes the seconds that it took then.
    """

    def __init__(self, recording: RecordedFold) -> None:
        self._look_up = recording.look_up
        self._full_rows = recording.full_rows

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        rows = trial.rows
        if rows is not None:
            if self._full_rows is None:
                return Result(
                    Status.FAILED,
                    fit_seconds=LEAST_SECONDS,
                    error=f"{rows} rows: the recording has results on all rows only",
                )
            if rows >= self._full_rows:
                rows = None
        loss, fit_seconds, validate_seconds, error = self._look_up(trial.config, rows)
        fit_seconds, validate_seconds = max(fit_seconds, LEAST_SECONDS), max(validate_seconds, 0.0)
        remaining = deadline.at - deadline.now()
        if fit_seconds + validate_seconds > remaining:
            return Result(Status.TIMEOUT, fit_seconds=max(0.0, remaining))
        if error is not None or loss is None:
            why = error or "the recording has no loss for it"
            return Result(Status.FAILED, None, fit_seconds, validate_seconds, error=why)
        return Result.ok(loss, fit_seconds, validate_seconds)

    def test_loss(self) -> float:
        raise NotImplementedError("a recording has no test part")


def objective_of(fold: Fold) -> RecordedObjective:
    """What evaluates trials on a fold that was opened by a `RecordedTask`."""
    assert fold.recording is not None, "the task of a recorded learner is a recording: checked before"
    return RecordedObjective(fold.recording)
