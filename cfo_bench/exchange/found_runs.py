"""What a reader finds in a file of another program: runs, before they are traces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.records import EndRecord, Status, TrialRecord
from cfo_bench.safe_writing import open_regular
from cfo_bench.space import Config, Space


class SourceClock(StrEnum):
    """What the times of an imported run are."""

    WALL = "wall"  # real seconds since its start, with all that the method took
    VIRTUAL = "virtual"  # it was exported from a run on the virtual clock
    DURATIONS = "durations"  # the seconds of its trials added up: the method's own are missing
    TRIALS = "trials"  # no times at all: each trial counts as one second


class Meaning(StrEnum):
    """What the value of a trial is."""

    LOSS = "loss"  # lower is better
    SCORE = "score"  # the metric itself


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTrial:
    """A trial as its source tells it; None is what it does not tell."""

    config: Config
    status: Status = Status.OK
    value: float | None = None
    started: float | None = None  # in seconds, from any moment that is the same for all trials of the run
    ended: float | None = None
    seconds: float | None = None  # how long it took
    rows: int | None = None
    error: str | None = None
    record: TrialRecord | None = None  # of a trial that cfo-bench has exported: all that was in its trace


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A run as its source tells it; None is what it does not tell."""

    trials: Sequence[FoundTrial]
    part: str | None = None  # which part of the source it is, such as the name of a study
    clock: SourceClock
    meaning: Meaning = Meaning.LOSS
    names: Mapping[str, Any] = field(default_factory=dict)  # learner, task, method, fold, seed
    metric: str | None = None
    problem: str | None = None
    constant_loss: float | None = None
    budget_seconds: float | None = None
    max_trials: int | None = None
    train_rows: int | None = None
    data_sha256: str | None = None
    space: Space | None = None
    utc: str | None = None  # when it started
    header: Mapping[str, Any] | None = None  # of a run that cfo-bench has exported
    end: EndRecord | None = None  # likewise
    remarks: tuple[str, ...] = ()  # what was left out, and what should be known of it


def sha256_of(*files: Path) -> str:
    """The hash of files' contents, one after the other."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(read_bytes(file))
    return digest.hexdigest()


def read_bytes(file: Path) -> bytes:
    """The content of a file that the user named; what is wrong with it is one line."""
    try:
        with open_regular(file) as opened:
            return opened.read()
    except FileNotFoundError:
        raise UserError(f"no file {str(file)!r}: give the file to import") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"can't read {str(file)!r}: {reason}") from None


def read_text(file: Path) -> str:
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{str(file)!r} is not UTF-8: save it as text in UTF-8") from None
