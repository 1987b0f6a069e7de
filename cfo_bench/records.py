"""The records that all parts of cfo-bench exchange: frozen, and with the names that a trace uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeGuard, runtime_checkable
from urllib.parse import quote

from msgspec import Meta

from cfo_bench.clock import Deadline
from cfo_bench.errors import UserError
from cfo_bench.registry import label
from cfo_bench.settings import DEFAULT_N_FOLDS, Affects, ClockName, Settings, affecting, required
from cfo_bench.space import Config, Space
from cfo_bench.values import Name, NonNegativeInt, PositiveFloat, PositiveInt

if TYPE_CHECKING:
    import numpy as np


# --- records ---------------------------------------------------------------------------------------


class TrialStatus(StrEnum):
    """How a trial ended; only an `ok` one has a loss."""

    OK = "ok"  # it was trained and validated in time
    FAILED = "failed"  # it raised, its process died, or its loss is not a finite number
    TIMEOUT = "timeout"  # it had not ended at its deadline
    MEMORY = "memory"  # it needed more memory than it may use


Status = TrialStatus  # the public name


class RunStatus(StrEnum):
    """The status of a run.

    The last two apply to a requested run that the command did not execute itself.
    """

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # the same command resumes it
    UNFINISHED = "unfinished"  # its trace has no end: it is running, or its process was killed
    RUNNING = "running"
    WAITING = "waiting"  # it was requested, and has not started
    MISSING = "missing"  # it was not requested, but another method of its task has that fold
    ALREADY_DONE = "already done"  # an earlier command finished it
    BUSY = "busy"  # another command is executing it


Outcome = RunStatus  # the public name


class EndReason(StrEnum):
    """Why a run ended; an `interrupted` one can be resumed."""

    BUDGET = "budget"
    MAX_TRIALS = "max_trials"
    EXHAUSTED = "exhausted"  # the method has nothing new to ask for
    INTERRUPTED = "interrupted"
    ERROR = "error"


class Problem(StrEnum):
    """The kind of target of a task: one of two classes, one of several, or a number."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration that a method asks to have evaluated."""

    number: int  # the method's count of the trials that it asked for, from 0
    config: Config  # one value for each hyperparameter
    rows: int | None = None  # how many training rows to use; None: all
    thread: int = 0  # the search that asked for it, if the method runs several in parallel


class Result(NamedTuple):
    """The result of a trial.

    It is a tuple, since it is faster to make than a dataclass: several are made for each trial, while the
    run's clock is running.
    """

    status: TrialStatus  # how the trial ended
    loss: float | None = None  # lower is better; None unless the status is `ok`
    fit_seconds: float = 0.0  # the duration of training
    validate_seconds: float = 0.0  # the duration of predicting and scoring
    peak_memory_mb: float | None = None  # the peak of the process so far; None: not measured
    error: str | None = None  # one line
    cpu_seconds: float | None = None  # of all threads that evaluated it; None: not measured

    @classmethod
    def ok(cls, loss: float, fit_seconds: float = 0.0, validate_seconds: float = 0.0) -> Result:
        """A finished trial; a loss that is not a finite number makes it a failed one."""
        if math.isfinite(loss):
            return cls(TrialStatus.OK, float(loss), fit_seconds, validate_seconds)
        return cls(TrialStatus.FAILED, None, fit_seconds, validate_seconds, error=f"the loss is {loss}")

    @property
    def seconds(self) -> float:
        """The duration of the trial."""
        return self.fit_seconds + self.validate_seconds

    @property
    def value(self) -> float:
        """The loss as a method sees it: +inf for a trial that is not `ok`."""
        if self.status is not TrialStatus.OK or self.loss is None or not math.isfinite(self.loss):
            return math.inf
        return self.loss


@dataclass(frozen=True)
class RunKey:
    """The identity of a run. A results folder has one trace for each key."""

    learner: Annotated[Name, Meta(description="A registered name, or file.py:Class.")] = affecting(
        Affects.RESUME
    )
    task: Annotated[Name, Meta(description="The name of the data set.")] = affecting(Affects.RESUME)
    method: Annotated[Name, Meta(description="A registered name, or file.py:Class.")] = affecting(
        Affects.RESUME
    )
    fold: Annotated[NonNegativeInt, Meta(description="Number of the fold, from 0.")] = affecting(
        Affects.RESUME
    )
    seed: Annotated[NonNegativeInt, Meta(description="Seed of folds, methods and models.")] = affecting(
        Affects.RESUME, default=0
    )
    variant: Annotated[
        str,
        Meta(
            description="The name of the method with its options in folders, tables and figures; empty: its "
            "own name."
        ),
    ] = affecting(Affects.RESUME, default="")


@dataclass(frozen=True, kw_only=True)
class RunSpec(Settings, RunKey):
    """Everything that decides what a run does: its key, its settings and its options.

    The `spec` in the header of a trace has these fields.
    """

    # A suite may leave these three unset; a run always has them.
    n_folds: PositiveInt = required("n_folds", DEFAULT_N_FOLDS)
    budget_seconds: PositiveFloat = required("budget_seconds", 3600.0)
    clock: ClockName = required("clock", "wall")
    # Options are compared one by one: see `results/comparability.py`.
    options: Annotated[Mapping[str, Any], Meta(description="Options of the method.")] = field(
        default_factory=dict
    )
    learner_options: Annotated[Mapping[str, Any], Meta(description="Options of the learner.")] = affecting(
        Affects.COMPARISON, plural="options of the learner", default_factory=dict
    )

    @property
    def limits(self) -> RunLimits:
        return RunLimits(self.budget_seconds, self.max_trials)


class StartedTrial(NamedTuple):
    """A trial that is being evaluated: it has no result yet."""

    trial: Trial
    started: float  # when its evaluation started, in seconds of the run's clock
    ask_seconds: float  # the duration of the method's `ask`
    ask_cpu_seconds: float | None = None  # of all threads in `ask`; None: not measured


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What ends a run, apart from its method."""

    budget_seconds: Annotated[PositiveFloat, Meta(description="Seconds of the run's clock.")]
    max_trials: Annotated[
        PositiveInt | None, Meta(description="Maximum number of trials; null: no limit.")
    ] = None


@dataclass(frozen=True, slots=True)
class DataRef:
    """Where a task's data comes from: enough to load it again in another process."""

    task: str  # its name
    source: str  # the kind of source, such as `file`, `bundled` or `synthetic`
    path: str | None = None  # of the file, if the data is a file
    target: str | None = None  # the column to predict, if the user named it
    problem: Problem | None = None  # if the user named it
    folder: str | None = None  # the data folder whose index names the file
    origins: tuple[str, ...] = ()  # what to fetch, such as `openml:3`: each is tried in this order
    table: str | None = None  # the user's own YAML file that names the task
    offline: bool = False  # never fetch over the network
    # The number of recorded folds of a recording; 0: there is data to train on.
    recorded_folds: int = 0
    drop: tuple[str, ...] = ()  # columns of the file to leave out
    drop_missing_target: bool = False  # leave out rows without a target
    split: str | None = None  # how a column makes the folds, such as `time:day`; the column is not a feature
    own_folds: int = 0  # with `split` by a column of folds: the number of its folds
    weight: str | None = None  # the column with the weights of the rows, which is not a feature


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """The facts of a task that are known after its data was read."""

    name: str
    problem: Problem
    metric: str
    n_rows: int
    n_features: int
    n_classes: int  # 0 for regression
    source: str  # in words
    sha256: str  # of the table
    folds_source: str  # who made the folds, and how, in words
    target: str | None = None  # the column to predict; None if there is no table
    recording: str | None = None  # what was recorded, in words; None: there is data to train on
    paper_task: str | None = None  # of a recording: the paper's name for its data, if the paper uses it
    dropped: tuple[str, ...] = ()  # columns that the user left out
    dropped_rows: int = 0  # rows that were left out, since they have no target
    remarks: tuple[str, ...] = ()  # on columns that may not be what the user expects, one line each
    split: str | None = None  # how a column makes the folds
    weight: str | None = None  # the column with the weights of the rows
    target_encoded: tuple[str, ...] = ()  # text columns that are encoded by the target

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> TaskFacts:
        """The facts from a JSON object with these fields."""
        lists = {name: tuple(row[name]) for name in ("dropped", "remarks", "target_encoded")}
        return cls(**{**row, "problem": Problem(row["problem"]), **lists})


class Answer(NamedTuple):
    """The recorded result of a configuration. If it has an `error`, the training failed."""

    loss: float | None
    fit_seconds: float
    validate_seconds: float = 0.0
    error: str | None = None  # one line


class RecordedFold(Protocol):
    """One fold of a recorded task. The same configuration always has the same answer."""

    @property
    def optimum(self) -> float | None:
        """The least loss of all configurations; None if it is unknown."""

    @property
    def full_rows(self) -> int | None:
        """The number of rows that stands for all rows; None if only trials on all rows were recorded."""

    def look_up(self, config: Config, rows: int | None) -> Answer:
        """The recorded result of a configuration; `rows` is None for all rows."""


class FoldFrames(NamedTuple):
    """The features of a fold as frames of pandas, each column with its own type.

    A number is a float64, a date a datetime64 without a time zone (UTC), any other column a category. All
    parts have the categories of the whole table.
    """

    train: Any
    valid: Any
    test: Any = None


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold, ready for a learner: float32 features, classes as 0…k-1, missing values as NaN.

    The preprocessing was fitted on the training part only.
    """

    problem: Problem
    metric: str
    n_classes: int
    categorical: tuple[bool, ...]  # for each column whether it holds the codes of categories
    train_x: np.ndarray[Any, Any]
    train_y: np.ndarray[Any, Any]
    valid_x: np.ndarray[Any, Any]
    valid_y: np.ndarray[Any, Any]
    constant_loss: float  # of a predictor that uses no feature, on the validation rows
    # With `validation: holdout` only: the fold's held-out rows. The validation rows are then split off from
    # the training rows.
    test_x: np.ndarray[Any, Any] | None = None
    test_y: np.ndarray[Any, Any] | None = None
    # Of a recording only: the recorded results. The arrays are then empty.
    recording: RecordedFold | None = None
    # The weights of the rows of each part; None: all rows count equally.
    train_weight: np.ndarray[Any, Any] | None = None
    valid_weight: np.ndarray[Any, Any] | None = None
    test_weight: np.ndarray[Any, Any] | None = None
    # The same rows as frames of pandas, for pipelines. They are read from the data when this function is
    # called.
    frames: Callable[[], FoldFrames] | None = field(default=None, compare=False, repr=False)

    @property
    def n_rows(self) -> int:
        """The number of training rows. Bounds of hyperparameters depend on it."""
        return len(self.train_y)


class Optimizer(Protocol):
    """A method, built as Method(space, start, seed, **options): the options are keyword-only."""

    def ask(self) -> Trial: ...

    def tell(self, trial: Trial, result: Result) -> None: ...


class Objective(Protocol):
    """A learner with the data of one fold: it evaluates trials."""

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result: ...

    def test_loss(self) -> float:
        """The loss on the fold's test part, of the model that was evaluated last."""


class Learner(Protocol):
    """A model to tune: built as Learner(**options)."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that it can be trained for."""

    cost_related: tuple[str, ...]  # the hyperparameters that determine the cost of a trial
    virtual: bool  # it computes its seconds instead of spending them: for `clock: virtual` only
    # A learner may also have `takes_weights = True`: it trains with the weights of rows in a fold.
    # A learner with `checks_deadline = False` leaves late trials to the supervisor, which ends their process.

    def space(self, n_rows: int) -> Space: ...

    def start(self, space: Space) -> Config: ...

    def prepare(self, fold: Fold, threads: int, seed: int) -> Objective: ...


# --- run id ----------------------------------------------------------------------------------------
# The id of a run: its name in `--list`, and the path of its trace without the suffix.


def run_id(run: RunKey) -> str:
    """<learner>/<task>/<method>/fold-<f>_seed-<s>"""
    folders = map(_folder, (label(run.learner), label(run.task), method_label(run)))
    return "/".join([*folders, f"fold-{run.fold}_seed-{run.seed}"])


def method_label(run: RunKey | Mapping[str, Any]) -> str:
    """The name of a run's method in folders, tables and figures: that of its variant, else its own name.

    The run may also be given as the `spec` in the header of its trace.
    """
    if isinstance(run, RunKey):
        return run.variant or label(run.method)
    return run.get("variant") or label(run["method"])


def _folder(name: str) -> str:
    """The folder for a name: never empty, `.`, `..` or a path. Different names have different folders."""
    quoted = quote(name, safe=" @+,=~")
    return quoted.replace(".", "%2E") or "%" if not quoted.strip(".") else quoted


# --- recording -------------------------------------------------------------------------------------
# Recordings: losses and seconds that are looked up instead of training on data.
#
# A learner that answers from a recording has `recording`, the name of the tasks that it knows (`hpobench` for
# `hpobench:vehicle`), and `recorded(ref)`, which opens one of them as a `RecordedTask`. A run gets its facts
# and its fold from there instead of from data. Such a learner runs on the virtual clock.


# Predicted seconds can be 0 or less. The virtual clock would not move in such a trial, and a run might never
# end.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """One task of a recording, opened."""

    facts: TaskFacts  # its `sha256` is the recording's
    n_folds: int
    train_rows: int  # the learner's space depends on it
    constant_loss: float  # of a predictor that uses no feature
    open_fold: Callable[[int], RecordedFold]

    def fold(self, number: int) -> Fold:
        """A fold with empty arrays, whose learner looks up results in the recording."""
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
    """A learner that looks up results in a recording."""

    recording: str  # its tasks are `recording:name`

    def recorded(self, ref: DataRef) -> RecordedTask:
        """Opens a task. A UserError names what is missing, and how to get it."""


def is_recorded(learner: Learner) -> TypeGuard[RecordedLearner]:
    return getattr(learner, "recording", None) is not None


def check_recording(learner: str, recording: str | None, ref: DataRef) -> None:
    """Check that a task fits a learner: a recording fits only its own learner, and data only learners that
    train.

    `recording` is that of the learner; None if it has none.
    """
    if recording is not None and not (ref.recorded_folds and ref.source == recording):
        remedy = (
            "give --surrogate FILE"
            if recording == "surrogate"
            else f"give --task '{recording}:*' or one of these (see cfo-bench tasks)"
        )
        raise UserError(f"learner {learner!r} has no recorded results of task {ref.task!r}: {remedy}")
    if recording is None and ref.recorded_folds:
        raise UserError(
            f"task {ref.task!r} is recorded, and learner {learner!r} does not use its recording: "
            f"give the --learner that cfo-bench tasks show {ref.task} names"
        )
