"""The paper's network: fully connected, ReLU, two hidden layers, five hyperparameters.

torch is imported only when a fold is prepared: a synthetic learner shares the space, and needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import OptionError
from cfo_bench.learners.dense import DenseObjective, DenseRows
from cfo_bench.learners.evaluation import check_deadline
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem, Trial
from cfo_bench.space import Config, Float, Int, Space

# --- network ---------------------------------------------------------------------------------------
# A network of two hidden ReLU layers, trained by Adam with backpropagation written out by hand.
#
# Multiplying two small layers with a batch of 128 rows takes microseconds; the usual loop with a DataLoader,
# autograd and an optimizer would spend most of its time on overhead. Here all parameters are one flat
# tensor, and so are the gradients: each layer is a view of it, and Adam is one call. Rows are gathered and
# random bits for dropout are drawn for many batches at a time. All random numbers come from one numpy
# generator.


BETAS, EPSILON = (0.9, 0.999), 1e-8

# Numbers that are gathered and drawn at a time: as much as stays in a core's cache.
_BLOCK_NUMBERS = 2**18
# Multiplications between two checks of the deadline while predicting: some 30 ms on one core.
_CHUNK_PRODUCTS = 2**29


class DivergedError(Exception):
    """A weight or a loss is no longer a finite number."""


class Head(Protocol):
    """What the outputs mean. `gradient_` turns them, in place, into the gradient of the summed loss."""

    def gradient_(self, outputs: Tensor, target: Tensor) -> None: ...

    def summed_loss(self, outputs: Tensor, target: Tensor) -> Tensor: ...


class SquaredError:
    """One output, the number itself; half of the squared error."""

    def gradient_(self, outputs: Tensor, target: Tensor) -> None:
        outputs.sub_(target)

    def summed_loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(outputs, target, reduction="sum") / 2


class Logistic:
    """One output, the logit of class 1."""

    def gradient_(self, outputs: Tensor, target: Tensor) -> None:
        outputs.sigmoid_().sub_(target)

    def summed_loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(outputs, target, reduction="sum")


class Softmax:
    """An output for each class; the target is a column of class numbers."""

    def gradient_(self, outputs: Tensor, target: Tensor) -> None:
        torch.softmax(outputs, dim=1, out=outputs)
        outputs.scatter_add_(1, target, outputs.new_tensor(-1.0).expand(target.shape))

    def summed_loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, target[:, 0], reduction="sum")


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows of features, and a column of targets."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained, and for how long: see docs/learners.md for why.

    After each epoch the loss on the stopping examples is computed. Training stops when it has not improved
    by the share `min_improvement` for `patience` epochs, or after `max_epochs`; the best network is kept.
    """

    batch_size: int
    dropout: float
    learning_rate: float
    max_epochs: int
    patience: int
    min_improvement: float


class Network:
    """Layers as views of one flat tensor of parameters; rows times weights plus biases."""

    def __init__(self, widths: tuple[int, int, int, int]) -> None:
        self.widths = widths
        self.parameters = torch.zeros(sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths)))
        self.layers = self.views(self.parameters)

    def views(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """(weights, biases) of each layer, as parts of a tensor of all parameters."""
        views, at = [], 0
        for inputs, outputs in pairwise(self.widths):
            weights = flat[at : at + inputs * outputs].view(inputs, outputs)
            at += inputs * outputs
            views.append((weights, flat[at : at + outputs]))
            at += outputs
        return views

    def initialise(self, rng: np.random.Generator) -> None:
        """He's normal weights, which keep the variance through ReLUs; no biases."""
        for weights, biases in self.layers:
            drawn = rng.standard_normal(weights.shape, dtype=np.float32)
            weights.copy_(torch.from_numpy(drawn)).mul_((2 / weights.shape[0]) ** 0.5)
            biases.zero_()

    def outputs(self, x: Tensor, deadline: Deadline) -> Iterator[Tensor]:
        """Outputs of chunks of rows, in order."""
        products = sum(inputs * outputs for inputs, outputs in pairwise(self.widths))
        (w1, b1), (w2, b2), (w3, b3) = self.layers
        for chunk in torch.split(x, max(64, _CHUNK_PRODUCTS // products)):
            check_deadline(deadline)
            hidden = torch.addmm(b1, chunk, w1).relu_()
            hidden = torch.addmm(b2, hidden, w2).relu_()
            yield torch.addmm(b3, hidden, w3)

    def predict(self, x: Tensor, deadline: Deadline) -> Array:
        with torch.inference_mode():
            predicted: Array = torch.cat(list(self.outputs(x, deadline))).numpy()
            return predicted

    def mean_loss(self, examples: Examples, head: Head, deadline: Deadline) -> float:
        total, at = 0.0, 0
        for outputs in self.outputs(examples.x, deadline):
            target = examples.y[at : at + len(outputs)]
            total += float(head.summed_loss(outputs, target))
            at += len(outputs)
        return total / len(examples)


def train(
    network: Network,
    head: Head,
    fitting: Examples,
    stopping: Examples,
    recipe: Recipe,
    seed: int,
    deadline: Deadline,
) -> int:
    """Trains a network and returns the number of epochs it took. Raises OutOfTime or DivergedError.

    Without stopping examples it trains for all epochs.
    """
    with torch.inference_mode(), _denormals_flushed():
        return _train(network, head, fitting, stopping, recipe, np.random.default_rng(seed), deadline)


def _train(
    network: Network,
    head: Head,
    fitting: Examples,
    stopping: Examples,
    recipe: Recipe,
    rng: np.random.Generator,
    deadline: Deadline,
) -> int:
    network.initialise(rng)
    stepper = _Stepper(network, head, recipe)
    best_loss, best_epoch, best_parameters = float("inf"), 0, network.parameters
    for epoch in range(1, recipe.max_epochs + 1):
        for batch in _batches(fitting, network, recipe, rng):
            check_deadline(deadline)
            stepper.step(*batch)
        if not network.parameters.sum().isfinite():
            raise DivergedError(f"the weights are no finite numbers after epoch {epoch}")
        if not len(stopping):
            continue
        loss = network.mean_loss(stopping, head, deadline)
        if not math.isfinite(loss):
            raise DivergedError(f"the loss on the stopping rows is {loss} after epoch {epoch}")
        if loss < best_loss * (1 - recipe.min_improvement):
            best_loss, best_epoch, best_parameters = loss, epoch, network.parameters.clone()
        elif epoch - best_epoch >= recipe.patience:
            break
    network.parameters.copy_(best_parameters)
    return epoch


@contextmanager
def _denormals_flushed() -> Iterator[None]:
    """Tiny numbers become 0.

    Moments of weights that no longer learn fall below 1e-38, where a core computes a hundred times slower.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _batches(
    examples: Examples, network: Network, recipe: Recipe, rng: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor, Tensor | None, Tensor | None]]:
    """An epoch in a new order: rows, targets, and which neurons of both layers are kept."""
    _, n_1, n_2, _ = network.widths
    size = recipe.batch_size
    block = size * max(1, _BLOCK_NUMBERS // sum(network.widths) // size)
    for rows in torch.split(torch.from_numpy(rng.permutation(len(examples))), block):
        x, y = torch.split(examples.x[rows], size), torch.split(examples.y[rows], size)
        if recipe.dropout == 0:
            for batch in zip(x, y, strict=True):
                yield *batch, None, None
        else:
            kept = _kept_neurons(rng, len(rows) * (n_1 + n_2), recipe.dropout)
            first, second = torch.split(kept, [len(rows) * n_1, len(rows) * n_2])
            yield from zip(
                x,
                y,
                torch.split(first.view(-1, n_1), size),
                torch.split(second.view(-1, n_2), size),
                strict=True,
            )


def _kept_neurons(rng: np.random.Generator, n: int, dropout: float) -> Tensor:
    """Ones with the probability of being kept, and zeros, from 16 random bits each."""
    bits = torch.from_numpy(rng.bit_generator.random_raw(-(-n // 4)).view(np.int16))[:n]
    kept = torch.empty(n)
    return torch.lt(bits, _kept_of_65536(dropout) - 2**15, out=kept)


def _kept_of_65536(dropout: float) -> int:
    return round((1 - dropout) * 2**16)


class _Stepper:
    """Gradient and Adam, a batch at a time, in buffers that are made once."""

    def __init__(self, network: Network, head: Head, recipe: Recipe) -> None:
        size = recipe.batch_size
        _, n_1, n_2, n_outputs = network.widths
        self._layers, self._head, self._recipe = network.layers, head, recipe
        # What is kept is scaled up, so that a neuron's expectation is that of the whole layer.
        self._scale = 1.0 if recipe.dropout == 0 else 2**16 / _kept_of_65536(recipe.dropout)
        self._hidden = torch.empty(size, n_1), torch.empty(size, n_2), torch.empty(size, n_outputs)
        self._errors = torch.empty(size, n_1), torch.empty(size, n_2)
        self._active = torch.empty(size, n_1), torch.empty(size, n_2)
        self._parameters = network.parameters
        self._gradient = torch.zeros_like(network.parameters)
        self._gradients = network.views(self._gradient)
        self._moments = torch.zeros_like(network.parameters), torch.zeros_like(network.parameters)
        self._steps = torch.zeros(())

    def step(self, x: Tensor, y: Tensor, kept_1: Tensor | None, kept_2: Tensor | None) -> None:
        n, scale = len(x), self._scale
        h1, h2, out, e1, e2, a1, a2 = (buffer[:n] for buffer in (*self._hidden, *self._errors, *self._active))
        (w1, b1), (w2, b2), (w3, b3) = self._layers
        (dw1, db1), (dw2, db2), (dw3, db3) = self._gradients

        torch.addmm(b1, x, w1, out=h1).relu_()
        if kept_1 is not None:
            h1.mul_(kept_1)
        torch.addmm(b2, h1, w2, alpha=scale, out=h2).relu_()
        if kept_2 is not None:
            h2.mul_(kept_2)
        torch.addmm(b3, h2, w3, alpha=scale, out=out)
        self._head.gradient_(out, y)
        out.mul_(1 / n)

        torch.addmm(dw3, h2.t(), out, beta=0, alpha=scale, out=dw3)
        torch.sum(out, 0, out=db3)
        torch.addmm(e2, out, w3.t(), beta=0, alpha=scale, out=e2)
        e2.mul_(torch.sign(h2, out=a2))  # the gradient passes where ReLU and dropout let the value pass
        torch.addmm(dw2, h1.t(), e2, beta=0, alpha=scale, out=dw2)
        torch.sum(e2, 0, out=db2)
        torch.addmm(e1, e2, w2.t(), beta=0, alpha=scale, out=e1)
        e1.mul_(torch.sign(h1, out=a1))
        torch.mm(x.t(), e1, out=dw1)
        torch.sum(e1, 0, out=db1)
        self._adam()

    def _adam(self) -> None:
        # The call under torch.optim.Adam(fused=True), whose own bookkeeping takes longer than a small step.
        self._steps += 1
        first, second = self._moments
        torch._fused_adam_(
            [self._parameters],
            [self._gradient],
            [first],
            [second],
            [],
            [self._steps],
            lr=self._recipe.learning_rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )


# --- dnn -------------------------------------------------------------------------------------------


# More neurons take longer to multiply; smaller batches are more updates an epoch, each too small to
# keep a core busy. The learning rate changes the number of epochs too, but not in one direction.
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
    """The paper doesn't say how long a network trains; these options do (docs/learners.md says why).

    After each epoch the loss on some training rows that were set aside is computed. The model is the
    network with the lowest such loss.

    max_epochs            training stops after so many epochs
    patience              or after so many epochs without an improvement of that loss
    early_stopping_share  the share of the training rows that is set aside
    min_improvement       the share by which the loss has to fall to count as improved
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
        """The first operations of torch are slow: they are done here, so that no trial pays for them."""
        rows = self._dense.on(None)
        few = DenseRows(rows.encoder, rows.train_x[:8], rows.train_y[:8], rows.valid_x[:8])
        deadline = Deadline(WallClock())
        self._predict(self._train(network_start(), few, deadline), few.valid_x, deadline)

    def _fit(self, trial: Trial, deadline: Deadline) -> _Model:
        return self._train(trial.config, self._dense.on(trial.rows), deadline)

    def _train(self, config: Config, rows: DenseRows, deadline: Deadline) -> _Model:

        n_rows = len(rows.train_y)
        # Any stretch of the shuffled order holds each class in its share.
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
        return outputs[:, 0].astype(np.float64) * model.deviation + model.mean

    def _target_scale(self, y: Array) -> tuple[float, float]:
        """Mean and standard deviation of a quantity; classes stay as they are."""
        if self._fold.problem is not Problem.REGRESSION:
            return 0.0, 1.0
        return float(np.mean(y)), float(np.std(y)) or 1.0

    @property
    def _n_outputs(self) -> int:
        return self._fold.n_classes if self._fold.problem is Problem.MULTICLASS else 1

    def _head(self) -> Head:

        heads: dict[Problem, type[Head]] = {
            Problem.BINARY: Logistic,
            Problem.MULTICLASS: Softmax,
            Problem.REGRESSION: SquaredError,
        }
        return heads[self._fold.problem]()

    def _examples(self, x: Array, y: Array) -> Examples:
        import torch

        kind = np.int64 if self._fold.problem is Problem.MULTICLASS else np.float32
        return Examples(torch.from_numpy(x), torch.from_numpy(y.astype(kind)[:, None]))


def _softmax(outputs: Array) -> Array:
    """Probabilities in double precision: a float32 can't tell a probability of 1 - 1e-8 from 1."""
    exponentials = np.exp(outputs.astype(np.float64) - outputs.max(axis=1, keepdims=True))
    shares: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares
