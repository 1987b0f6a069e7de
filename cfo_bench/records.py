"""The words everybody speaks: frozen, and as they stand in a trace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cfo_bench.clock import Deadline
from cfo_bench.settings import DEFAULT_N_FOLDS, Settings
from cfo_bench.space import Config, Space

if TYPE_CHECKING:
    import numpy as np


class Status(StrEnum):
    """How a trial ended; only `ok` has a loss that counts."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    MEMORY = "memory"


class EndReason(StrEnum):
    BUDGET = "budget"
    MAX_TRIALS = "max_trials"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"
    ERROR = "error"


class Problem(StrEnum):
    """What a task asks for: one of two classes, one of several, or a number."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration to evaluate. `rows` is the resource (None: all training rows)."""

    number: int
    config: Config
    rows: int | None = None
    thread: int = 0


class Result(NamedTuple):
    """What came of a trial. A tuple, as is its record: several are made for each trial, on the run's time."""

    status: Status
    loss: float | None = None
    fit_seconds: float = 0.0
    validate_seconds: float = 0.0
    peak_memory_mb: float | None = None
    error: str | None = None

    @classmethod
    def ok(cls, loss: float, fit_seconds: float = 0.0, validate_seconds: float = 0.0) -> Result:
        """A finished trial; a loss that is no finite number makes it a failed one."""
        if math.isfinite(loss):
            return cls(Status.OK, float(loss), fit_seconds, validate_seconds)
        return cls(Status.FAILED, None, fit_seconds, validate_seconds, error=f"the loss is {loss}")

    @property
    def value(self) -> float:
        """The loss as a method sees it: +inf for whatever did not end well."""
        if self.status is not Status.OK or self.loss is None or not math.isfinite(self.loss):
            return math.inf
        return self.loss


@dataclass(frozen=True)
class RunKey:
    """Which run it is. A results folder has one trace for each."""

    learner: str  # a registered name, or file.py:Class
    task: str
    method: str  # a registered name, or file.py:Class
    fold: int  # from 0
    seed: int = 0  # of folds, methods and models


@dataclass(frozen=True, kw_only=True)
class RunSpec(Settings, RunKey):
    """Everything that decides what a run does: which run it is, its settings and its options.

    The `spec` in the header of a trace has these fields.
    """

    # A suite may leave these two open, a run has them.
    n_folds: int = DEFAULT_N_FOLDS
    budget_seconds: float = 3600.0
    options: Mapping[str, Any] = field(default_factory=dict)  # of the method
    learner_options: Mapping[str, Any] = field(default_factory=dict)


class TrialRecord(NamedTuple):
    """A `kind: trial` line. `started` and `ended` enclose the evaluation, on the run's clock.

    Where several trials are under way at once, `asked` says how many the method had been asked for when
    it was told of this one: a replay asks and tells in the same order.
    """

    number: int
    config: Config
    rows: int | None
    thread: int
    status: Status
    loss: float | None
    score: float | None
    started: float
    ended: float
    ask_seconds: float
    fit_seconds: float
    validate_seconds: float
    tell_seconds: float | None = None
    peak_memory_mb: float | None = None
    error: str | None = None
    test_score: float | None = None
    asked: int | None = None

    def result(self) -> Result:
        """What the method was told, for a replay."""
        return Result(
            self.status, self.loss, self.fit_seconds, self.validate_seconds, self.peak_memory_mb, self.error
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRecord:
    """A `kind: end` line: why the run ended, and what it came to.

    `cut_ask_seconds` went into a suggestion that was not done when the budget was over. `load` and
    `steal_percent` are the machine's, at the end and since the run began or was last taken up; none
    on the virtual clock.
    """

    kind: str = "end"
    reason: EndReason
    elapsed: float
    trials: int
    best_loss: float | None
    best_score: float | None
    best_number: int | None
    error: str | None = None
    cut_ask_seconds: float = 0.0
    load: float | None = None
    steal_percent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRecord:
    """A `kind: resume` line: the run was taken up again on `node`, its clock standing at `elapsed`."""

    kind: str = "resume"
    elapsed: float
    trials: int
    utc: str
    why: str
    node: str | None = None


@dataclass(frozen=True, slots=True)
class DataRef:
    """Where a task's data is to be had: enough to load it again in another process.

    `folder` is the one whose index named the file, `table` the user's own YAML that names the task.
    What is no file has `origins` (`openml:3`, `pmlb:adult`), to be tried in this order, and never over
    the network when `offline`.
    """

    task: str
    source: str
    path: str | None = None
    target: str | None = None
    problem: Problem | None = None
    folder: str | None = None
    origins: tuple[str, ...] = ()
    table: str | None = None
    offline: bool = False


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What is known of a task once its data was looked at."""

    name: str
    problem: Problem
    metric: str
    n_rows: int
    n_features: int
    n_classes: int
    source: str
    sha256: str
    folds_source: str


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold, ready for a learner: float32 features, classes as 0…k-1, missing as NaN.

    A `categorical` column holds the codes of its categories. Whatever was fitted to make the
    arrays was fitted on the training part only. There is a test part when validation is not done
    on the fold's held-out rows but on rows split off its training rows.
    """

    problem: Problem
    metric: str
    n_classes: int
    categorical: tuple[bool, ...]
    train_x: np.ndarray[Any, Any]
    train_y: np.ndarray[Any, Any]
    valid_x: np.ndarray[Any, Any]
    valid_y: np.ndarray[Any, Any]
    constant_loss: float
    test_x: np.ndarray[Any, Any] | None = None
    test_y: np.ndarray[Any, Any] | None = None

    @property
    def n_rows(self) -> int:
        """Training rows: what bounds of hyperparameters and the resource are counted in."""
        return len(self.train_y)


class Optimizer(Protocol):
    """A method, built as Method(space, start, seed, **options): the options are keyword-only."""

    def ask(self) -> Trial: ...

    def tell(self, trial: Trial, result: Result) -> None: ...


class Objective(Protocol):
    """One fold of one learner: what a trial is evaluated on."""

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result: ...

    def test_loss(self) -> float:
        """The loss on the fold's test part of the model that was evaluated last."""


class Learner(Protocol):
    """A model to tune: built as Learner(**options)."""

    problems: tuple[Problem, ...]
    cost_related: tuple[str, ...]
    virtual: bool  # its seconds are analytic: for `clock: virtual` only

    def space(self, n_rows: int) -> Space: ...

    def start(self, space: Space) -> Config: ...

    def prepare(self, fold: Fold, threads: int, seed: int) -> Objective: ...
