"""The scores of every method on a task, as records: what tables and figures read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

from cfo_bench.metrics import METRICS, Array
from cfo_bench.report.numbers.curves import Curve
from cfo_bench.report.numbers.estimates import Estimate, estimate
from cfo_bench.report.numbers.metric_names import METRIC_BOUNDS, METRIC_NAMES

Run = tuple[int, int]  # fold and seed

# A shorter time can't be told from 0, so no factor is made of it.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Turns a loss into a score and back; `by` says what a score of 1 is."""

    by: str
    zero_loss: float
    one_loss: float

    @overload
    def score(self, loss: float) -> float: ...
    @overload
    def score(self, loss: Array) -> Array: ...
    def score(self, loss: float | Array) -> float | Array:
        return (self.zero_loss - loss) / (self.zero_loss - self.one_loss)

    def loss(self, score: float) -> float:
        return self.zero_loss - score * (self.zero_loss - self.one_loss)


@dataclass(frozen=True, slots=True)
class MethodScores:
    """A method on a task."""

    method: str
    folds: tuple[int, ...]  # those that it was run on
    curve: Curve | None  # None if no run that is compared has a result
    final_loss: float | None
    final_score: float | None  # scaled
    seconds_to_best: float | None  # to the task's best score; None if it does not end with it
    imputed: int = 0  # runs without a result, which count as the worse of constant and worst other method
    runs: int = 0  # its own
    is_compared: bool = True  # False: it has so few of the task's runs that it is left out there
    counted_score: float | None = None  # scaled; if no run has a result, what these are imputed with
    seconds_to_final: float | None = None  # to its own final score
    fold_losses: tuple[float, ...] = ()  # final losses, by fold, seeds averaged
    # If scores are on the test part: final losses of the runs with a result on both parts, also by fold.
    validation_losses: tuple[float, ...] = ()
    test_losses: tuple[float, ...] = ()

    @property
    def has_failed(self) -> bool:
        """It was to be compared, and no run has a result: it ranks last."""
        return self.is_compared and self.curve is None


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Every method on one task. The means are over the (fold, seed) in `shared`."""

    learner: str
    task: str
    problem: str
    metric: str
    budget_seconds: float
    scale: ScoreScale
    methods: Mapping[str, MethodScores]
    best_score: float | None  # scaled
    leaders: tuple[str, ...]  # the methods that reach the best score first; several if they tie
    shared: tuple[Run, ...] = ()
    constant_loss: float = math.nan  # mean over the folds
    clock: str = "wall"
    by_test: bool = False  # losses are on the test part, which no method has seen

    @property
    def compared(self) -> list[str]:
        """The methods that are compared, those without a result among them."""
        return [name for name, found in self.methods.items() if found.is_compared]

    @property
    def beats_constant(self) -> bool:
        """Whether any method has a lower loss than the constant predictor."""
        losses = [found.final_loss for found in self.methods.values() if found.final_loss is not None]
        return min(losses, default=math.inf) < self.constant_loss

    @property
    def winners(self) -> tuple[str, ...]:
        """The leaders, if they beat another method and the constant predictor."""
        return self.leaders if len(self.compared) > 1 and self.beats_constant else ()

    @property
    def best_seconds(self) -> float | None:
        """The least time to the best score."""
        times = [self.methods[name].seconds_to_best for name in self.leaders]
        return min((time for time in times if time is not None), default=None)

    @property
    def n_folds(self) -> int:
        return len({fold for fold, _ in self.shared})

    @property
    def over(self) -> str:
        """What the means are over, in words."""
        return over_folds(self.shared)

    @property
    def score_is(self) -> str:
        """What the losses and scores are measured on, in words."""
        return "test score" if self.by_test else "validation score (on which trials were selected)"

    @property
    def seconds_label(self) -> str:
        """What an axis of seconds is called."""
        return "virtual seconds" if self.clock == "virtual" else "wall-clock seconds"

    @property
    def metric_name(self) -> str:
        """The metric as people write it."""
        return METRIC_NAMES[self.metric]

    def native(self, loss: float) -> float:
        """A loss as the task's metric."""
        return METRICS[self.metric].to_score(loss)

    def estimate(self, losses: Sequence[float]) -> Estimate:
        """The mean over folds in the task's metric; `losses` has one a fold.

        Its interval ends where the metric does: there is no AUC above 1.
        """
        found = estimate([self.native(loss) for loss in losses])
        if found.low is None or found.high is None:
            return found
        least, most = METRIC_BOUNDS[self.metric]
        return replace(found, low=max(found.low, least), high=min(found.high, most))


def over_folds(runs: Sequence[Run]) -> str:
    """Such as `3 folds (5 seeds averaged)`."""
    folds = len({fold for fold, _ in runs})
    seeds = max((sum(fold == one for one, _ in runs) for fold, _ in runs), default=0)
    text = f"{folds} fold{'s' * (folds != 1)}"
    return f"{text} ({seeds} seeds averaged)" if seeds > 1 else text
