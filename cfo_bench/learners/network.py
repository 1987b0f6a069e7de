"""A network of two hidden ReLU layers, trained by Adam with backpropagation written out by hand.

Multiplying two small layers with a batch of 128 rows takes microseconds; the usual loop with a DataLoader,
autograd and an optimizer would spend most of its time on overhead. Here all parameters are one flat tensor,
and so are the gradients. Each layer is a view of both, and Adam is one call. Rows are gathered, and random
bits for dropout are drawn, for many batches at a time. All random numbers come from one numpy generator.
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

from cfo_bench.clock import Deadline
from cfo_bench.learners.evaluation import check_deadline
from cfo_bench.metrics import Array

BETAS, EPSILON = (0.9, 0.999), 1e-8

# The number of values that are gathered and drawn at a time; they fit into the cache of a core.
_BLOCK_NUMBERS = 2**18
# Multiplications between two checks of the deadline while predicting: about 30 ms on one core.
_CHUNK_PRODUCTS = 2**29


class DivergedError(Exception):
    """A weight or a loss is no longer a finite number."""


class Head(Protocol):
    """The meaning of the outputs. `gradient_` replaces them, in place, by the gradient of the summed loss."""

    def gradient_(self, outputs: Tensor, target: Tensor) -> None: ...

    def summed_loss(self, outputs: Tensor, target: Tensor) -> Tensor: ...


class SquaredError:
    """One output: the predicted number. The loss is half of the squared error."""

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
    """How a network is trained, and for how long; docs/learners.md gives the reasons.

    After each epoch the loss on the stopping examples is computed. Training stops if it has not improved by
    the share `min_improvement` for `patience` epochs, or after `max_epochs`. The best network is kept.
    """

    batch_size: int
    dropout: float
    learning_rate: float
    max_epochs: int
    patience: int
    min_improvement: float


class Network:
    """Layers as views of one flat tensor of parameters; each computes rows times weights plus biases."""

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
        """He normal weights, which keep the variance through ReLUs; zero biases."""
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
            raise DivergedError(f"the weights are not finite after epoch {epoch}")
        if not len(stopping):
            continue
        loss = network.mean_loss(stopping, head, deadline)
        if not math.isfinite(loss):
            raise DivergedError(f"the loss on the rows for early stopping is {loss} after epoch {epoch}")
        if loss < best_loss * (1 - recipe.min_improvement):
            best_loss, best_epoch, best_parameters = loss, epoch, network.parameters.clone()
        elif epoch - best_epoch >= recipe.patience:
            break
    network.parameters.copy_(best_parameters)
    return epoch


@contextmanager
def _denormals_flushed() -> Iterator[None]:
    """Inside, denormal numbers become 0.

    The moments of weights that no longer learn fall below 1e-38, where a core computes a hundred times
    slower.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _batches(
    examples: Examples, network: Network, recipe: Recipe, rng: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor, Tensor | None, Tensor | None]]:
    """The batches of an epoch in a new order: rows, targets, and masks of the kept neurons of both layers."""
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
    """A mask of kept neurons, which draws each one from 16 random bits."""
    bits = torch.from_numpy(rng.bit_generator.random_raw(-(-n // 4)).view(np.int16))[:n]
    kept = torch.empty(n)
    return torch.lt(bits, _kept_of_65536(dropout) - 2**15, out=kept)


def _kept_of_65536(dropout: float) -> int:
    return round((1 - dropout) * 2**16)


class _Stepper:
    """Gradient and Adam for one batch at a time, in reused buffers."""

    def __init__(self, network: Network, head: Head, recipe: Recipe) -> None:
        size = recipe.batch_size
        _, n_1, n_2, n_outputs = network.widths
        self._layers, self._head, self._recipe = network.layers, head, recipe
        # Kept values are scaled up, so that the expectation of a neuron is the same as without dropout.
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
        e2.mul_(torch.sign(h2, out=a2))  # the gradient is 0 where ReLU or dropout set the value to 0
        torch.addmm(dw2, h1.t(), e2, beta=0, alpha=scale, out=dw2)
        torch.sum(e2, 0, out=db2)
        torch.addmm(e1, e2, w2.t(), beta=0, alpha=scale, out=e1)
        e1.mul_(torch.sign(h1, out=a1))
        torch.mm(x.t(), e1, out=dw1)
        torch.sum(e1, 0, out=db1)
        self._adam()

    def _adam(self) -> None:
        # torch.optim.Adam(fused=True) calls this; its own bookkeeping takes longer than a small step.
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
