"""The paper's network: fully connected, ReLU, two hidden layers, five hyperparameters.

torch is imported only when a fold is prepared, because a synthetic learner has the same space and needs no
torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import OptionError
from cfo_bench.learners.dense import DenseObjective, DenseRows
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem, Trial
from cfo_bench.space import Config, Float, Int, Space

if TYPE_CHECKING:
    from cfo_bench.learners.network import Examples, Head, Network, Recipe

# More neurons take longer to multiply. Smaller batches mean more updates per epoch, each too small to keep a
# core busy. The learning rate also changes the number of epochs, but not monotonically.
COST_RELATED = ("neurons_1", "neurons_2", "batch_size")


def network_space() -> Space:
    """The paper's five hyperparameters, whatever the number of rows."""
    return Space(
        [
            Int("neurons_1", 4, 2048, log=True),
            Int("neurons_2", 4, 2048, log=True),
            Int("batch_size", 8, 128, log=True),
            Float("dropout", 0.2, 0.5, log=True),
            Float("learning_rate", 1e-6, 1e-2, log=True),
        ]
    )


def network_start() -> Config:
    """The cheapest corner: the fewest neurons, the largest batches."""
    return {"neurons_1": 4, "neurons_2": 4, "batch_size": 128, "dropout": 0.2, "learning_rate": 1e-2}


class DNN:
    """The paper does not state how long a network trains; these options set it (reasons: docs/learners.md).

    After each epoch the loss on some training rows that were set aside is computed. The model is the
    network with the lowest such loss.

    max_epochs            training stops after this many epochs
    patience              training also stops after this many epochs in which the best loss did not improve
    early_stopping_share  the share of the training rows that is set aside for early stopping
    min_improvement       the share by which this loss has to decrease to count as improved
    """

    problems = tuple(Problem)
    cost_related = COST_RELATED
    virtual = False

    def __init__(
        self,
        *,
        max_epochs: int = 100,
        patience: int = 10,
        early_stopping_share: float = 0.1,
        min_improvement: float = 1e-3,
    ) -> None:
        for name, count in (("max_epochs", max_epochs), ("patience", patience)):
            if count < 1:
                raise OptionError(f"{name} = {count!r} of learner 'dnn': give a whole number from 1 on")
        for name, share in (
            ("early_stopping_share", early_stopping_share),
            ("min_improvement", min_improvement),
        ):
            if not 0 <= share < 1:
                raise OptionError(f"{name} = {share!r} of learner 'dnn': give a share from 0 on and below 1")
        self.max_epochs, self.patience = max_epochs, patience
        self.early_stopping_share, self.min_improvement = early_stopping_share, min_improvement

    def space(self, n_rows: int) -> Space:
        return network_space()

    def start(self, space: Space) -> Config:
        return network_start()

    def recipe(self, config: Config) -> Recipe:
        from cfo_bench.learners.network import Recipe

        return Recipe(
            batch_size=config["batch_size"],
            dropout=config["dropout"],
            learning_rate=config["learning_rate"],
            max_epochs=self.max_epochs,
            patience=self.patience,
            min_improvement=self.min_improvement,
        )

    def prepare(self, fold: Fold, threads: int, seed: int) -> DNNObjective:
        return DNNObjective(self, fold, threads, seed)


@dataclass(frozen=True, slots=True)
class _Model:
    """A trained network, its training rows, and the mean and deviation of a numeric target."""

    network: Network
    rows: DenseRows
    mean: float
    deviation: float


class DNNObjective(DenseObjective[_Model]):
    def __init__(self, learner: DNN, fold: Fold, threads: int, seed: int) -> None:
        import torch

        torch.set_num_threads(threads)
        super().__init__(fold, seed)
        self._learner, self._seed = learner, seed
        self._warm_up()

    def _warm_up(self) -> None:
        """Executes the first operations of torch, which are slow, so that no trial has to wait for them."""
        rows = self._dense.on(None)
        few = DenseRows(rows.encoder, rows.train_x[:8], rows.train_y[:8], rows.valid_x[:8])
        deadline = Deadline(WallClock())
        self._predict(self._train(network_start(), few, deadline), few.valid_x, deadline)

    def _fit(self, trial: Trial, deadline: Deadline) -> _Model:
        return self._train(trial.config, self._dense.on(trial.rows), deadline)

    def _train(self, config: Config, rows: DenseRows, deadline: Deadline) -> _Model:
        from cfo_bench.learners.network import Network, train

        n_rows = len(rows.train_y)
        # Any consecutive part of the shuffled order contains each class in its share.
        n_stopping = min(round(self._learner.early_stopping_share * n_rows), n_rows - 1)
        n_fitting = n_rows - n_stopping
        mean, deviation = self._target_scale(rows.train_y[:n_fitting])
        target = (rows.train_y - mean) / deviation
        network = Network((rows.encoder.width, config["neurons_1"], config["neurons_2"], self._n_outputs))
        train(
            network,
            self._head(),
            self._examples(rows.train_x[:n_fitting], target[:n_fitting]),
            self._examples(rows.train_x[n_fitting:], target[n_fitting:]),
            self._learner.recipe(config),
            self._seed,
            deadline,
        )
        return _Model(network, rows, mean, deviation)

    def _predict(self, model: _Model, x: Array, deadline: Deadline) -> Array:
        import torch

        outputs = model.network.predict(torch.from_numpy(x), deadline)
        if self._fold.problem is Problem.MULTICLASS:
            return _softmax(outputs)
        first: Array = outputs[:, 0].astype(np.float64)
        if self._fold.problem is Problem.BINARY:
            return 1 / (1 + np.exp(-first))
        return first * model.deviation + model.mean

    def _target_scale(self, y: Array) -> tuple[float, float]:
        """Mean and standard deviation of a numeric target; 0 and 1 for classes."""
        if self._fold.problem is not Problem.REGRESSION:
            return 0.0, 1.0
        return float(np.mean(y)), float(np.std(y)) or 1.0

    @property
    def _n_outputs(self) -> int:
        return self._fold.n_classes if self._fold.problem is Problem.MULTICLASS else 1

    def _head(self) -> Head:
        from cfo_bench.learners.network import Logistic, Softmax, SquaredError

        heads: dict[Problem, type[Head]] = {
            Problem.BINARY: Logistic,
            Problem.MULTICLASS: Softmax,
            Problem.REGRESSION: SquaredError,
        }
        return heads[self._fold.problem]()

    def _examples(self, x: Array, y: Array) -> Examples:
        import torch

        from cfo_bench.learners.network import Examples

        kind = np.int64 if self._fold.problem is Problem.MULTICLASS else np.float32
        return Examples(torch.from_numpy(x), torch.from_numpy(y.astype(kind)[:, None]))


def _softmax(outputs: Array) -> Array:
    """Probabilities in double precision: float32 cannot distinguish a probability of 1 - 1e-8 from 1."""
    exponentials = np.exp(outputs.astype(np.float64) - outputs.max(axis=1, keepdims=True))
    shares: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares
