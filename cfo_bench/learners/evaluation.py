"""Code that the objectives of all learners share, whatever their library.

A trial fits a model and validates it. Its result is a loss, a timeout, a lack of memory, or a failure. A
trial may train on fewer rows; `RowLevels` caches their data.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.learners.scoring import metric_of
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem, Result, Status, Trial
from cfo_bench.space import Config

Model = TypeVar("Model")


class OutOfTime(Exception):
    """Raised in a training when the deadline passes before the model is ready."""


def check_deadline(deadline: Deadline) -> None:
    """Stop a training that is out of time. Call this in each round, batch or chunk.

    Parameters
    ----------
    deadline : Deadline
        The deadline of the trial.

    Raises
    ------
    OutOfTime
        If the deadline has passed.
    """
    if deadline.passed():
        raise OutOfTime


class FitAndPredict(ABC, Generic[Model]):
    """An objective whose trial has two timed steps: `_fit` a model, then `_predict` with it.

    A subclass implements these two methods. An exception becomes a result with the status `failed`, `memory`
    or (OutOfTime) `timeout`.

    Parameters
    ----------
    fold : Fold
        The data to train and validate on.
    """

    def __init__(self, fold: Fold) -> None:
        self._fold, self._metric = fold, metric_of(fold)
        self._last: Model | None = None

    @abstractmethod
    def _fit(self, trial: Trial, deadline: Deadline) -> Model:
        """The model of `trial.config`, trained on `trial.rows` rows."""

    @abstractmethod
    def _predict(self, model: Model, x: Any, deadline: Deadline) -> Array:
        """The input of a metric: probabilities of class 1, rows of probabilities, or numbers."""

    def fitted(self, config: Config) -> Model:
        """The model of a configuration, trained on all rows of the fold without a deadline."""
        return self._fit(Trial(0, config), Deadline(WallClock()))

    def _valid_x(self, model: Model) -> Any:
        """The features of the validation part, in the form that the model takes."""
        return self._fold.valid_x

    def _test_x(self, model: Model) -> Any:
        """The features of the test part, in the form that the model takes."""
        return self._fold.test_x

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        """The result of training and validating the configuration of a trial."""
        return attempt(lambda: self._fit_and_validate(trial, deadline), deadline)

    def _fit_and_validate(self, trial: Trial, deadline: Deadline) -> Result:
        started = deadline.now()
        self._last = model = self._fit(trial, deadline)
        fitted = deadline.now()
        predicted = self._predict(model, self._valid_x(model), deadline)
        loss = self._metric.loss(self._fold.valid_y, predicted, self._fold.valid_weight)
        return Result.ok(loss, fitted - started, deadline.now() - fitted)

    def test_loss(self) -> float:
        """The loss on the test part of the model that was evaluated last."""
        assert self._last is not None and self._fold.test_y is not None
        predicted = self._predict(self._last, self._test_x(self._last), Deadline(WallClock()))
        return self._metric.loss(self._fold.test_y, predicted, self._fold.test_weight)


def attempt(fit_and_validate: Callable[[], Result], deadline: Deadline) -> Result:
    """The result of a training. An exception becomes a result too, so that it never ends the run.

    Parameters
    ----------
    fit_and_validate : callable
        Takes nothing and returns the result of the trial.
    deadline : Deadline
        The deadline of the trial, whose clock also times a training that fails.

    Returns
    -------
    Result
        The result of the call; or one with the status `timeout` (after OutOfTime), `memory` or `failed`.
    """
    started = deadline.now()
    try:
        return fit_and_validate()
    except OutOfTime:
        return Result(Status.TIMEOUT, fit_seconds=deadline.now() - started)
    except Exception as error:
        return Result(status_of(error), fit_seconds=deadline.now() - started, error=one_line(error))


def status_of(error: Exception) -> Status:
    # C++ raises "std::bad_alloc", xgboost "bad_malloc: Failed to allocate", torch "can't allocate memory".
    starved = isinstance(error, MemoryError) or re.search(r"bad_m?alloc|memory", str(error), re.IGNORECASE)
    return Status.MEMORY if starved else Status.FAILED


def one_line(error: Exception) -> str:
    """The first line of an error, without the time and source file that some libraries put before it."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    reason = re.sub(r"^\[[^\]]*\] (\S+:\d+: )?", "", first.strip())
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__


# --- fewer rows ------------------------------------------------------------------------------------


# Data is cached for this many numbers of rows; Hyperband and BOHB have at most about as many levels.
KEPT_LEVELS = 8

Data = TypeVar("Data")


class RowLevels(Generic[Data]):
    """A learner's training data for any number of rows, cached for the most recent numbers.

    `build` takes the indices of the rows, or None for all of them. The data of all rows is built in the
    constructor, before the first trial, and always kept.
    """

    def __init__(self, fold: Fold, seed: int, build: Callable[[Array | None], Data]) -> None:
        order = shuffled_order(fold, seed)
        self._n_rows, self._on_all = fold.n_rows, build(None)
        self._on_first = lru_cache(maxsize=KEPT_LEVELS)(lambda rows: build(order[:rows]))

    def on(self, rows: int | None) -> Data:
        """The data of the first `rows` rows in the shuffled order; None means all rows."""
        if rows is None or rows >= self._n_rows:
            return self._on_all
        return self._on_first(rows)


def shuffled_order(fold: Fold, seed: int) -> Array:
    """Indices of all training rows in random order, the same for the same fold and seed.

    For any r, each class has about the same share of the first r rows as of all rows. A trial on r rows
    trains on the first r.

    Parameters
    ----------
    fold : Fold
        The data.
    seed : int
        The seed of the order.

    Returns
    -------
    numpy.ndarray
        The indices.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(fold.n_rows)
    if fold.problem is Problem.REGRESSION:
        return shuffled
    # Each class is spread evenly over [0, 1), with its own offset, so that the classes interleave.
    place = np.empty(fold.n_rows)
    labels = fold.train_y[shuffled]
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        place[members] = (np.arange(len(members)) + rng.uniform()) / len(members)
    return shuffled[np.argsort(place, kind="stable")]


def training_part(fold: Fold, rows: Array | None) -> tuple[Array, Array]:
    """Features and targets of these training rows; for None, of all rows, without a copy."""
    if rows is None:
        return fold.train_x, fold.train_y
    return fold.train_x[rows], fold.train_y[rows]


def training_weight(fold: Fold, rows: Array | None) -> Array | None:
    """The weights of these training rows, of all for None. The result None means equal weights."""
    return fold.train_weight if fold.train_weight is None or rows is None else fold.train_weight[rows]
