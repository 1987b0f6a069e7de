"""A surrogate: models of loss, seconds and failure that stand for a learner on one task.

With x the encoded configuration and rows, and f a fold of a seed:

    loss(x, f)    = best − scale + offset(f) + exp(y),  y = trees(x) + scatter of this x in this fold
    seconds(x, f) = exp(trees(x) + scatter of this x in this fold)

The scatter is what no model could tell of the recorded trials. It is drawn by a hash of seed, fold and x: the
same configuration has the same loss whenever it is asked for. y stays within what was recorded, but for a
little luck. The offset of a recorded fold is the recorded one; that of another fold is drawn with the spread
of the recorded ones.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.records import Answer
from cfo_bench.space import Categorical, Config, Param, Space

# --- encoding --------------------------------------------------------------------------------------
# A configuration and its training rows as the numbers that a surrogate's models are given.
#
# A number is its place on its scale, from 0 to 1: on the logarithm of a positive one, as CFO searches it. An
# ordered choice is its place among the choices. Of choices without an order each has a number of its own, 1
# for the one that was taken. The last number is the share of the training rows, as a logarithm to the base 2:
# 0 for all of them.


# The smallest share of the training rows that is told from smaller ones: 2 to the power of this.
LEAST_ROWS_LOG2 = -20.0


class Encoding:
    """How the configurations of one space become vectors."""

    def __init__(self, space: Space, train_rows: int) -> None:
        self.names = [name for param in space for name in _names(param)] + ["rows"]
        self._train_rows = train_rows
        self._steps = [_step(param) for param in space]

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, config: Mapping[str, Any], rows: int | None) -> list[float]:
        """The vector of a configuration. A value past the bounds counts as the bound."""
        found: list[float] = []
        for name, places, is_log, low, span in self._steps:
            value = config[name]
            if places is not None:
                found += places[_key(value)]
            else:
                at = math.log(value) if is_log else value
                share = (at - low) / span
                found.append(0.0 if share < 0.0 else 1.0 if share > 1.0 else share)
        share_of_rows = 1.0 if rows is None else rows / self._train_rows
        found.append(0.0 if share_of_rows >= 1.0 else max(math.log2(share_of_rows), LEAST_ROWS_LOG2))
        return found

    def encode_all(self, configs: list[dict[str, Any]], rows: list[int | None]) -> Array:
        """One row a configuration."""
        vectors = [self.encode(config, own) for config, own in zip(configs, rows, strict=True)]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), len(self))


_Step = tuple[str, dict[Any, list[float]] | None, bool, float, float]


def _step(param: Param) -> _Step:
    """What `encode` needs of a hyperparameter, so that a look-up decides nothing again."""
    if isinstance(param, Categorical):
        last = len(param.choices) - 1
        if param.ordered:
            places = {_key(choice): [i / last if last else 0.0] for i, choice in enumerate(param.choices)}
        else:
            places = {
                _key(choice): [float(i == j) for j in range(last + 1)]
                for i, choice in enumerate(param.choices)
            }
        return param.name, places, False, 0.0, 1.0
    is_log = param.low > 0
    low = math.log(param.low) if is_log else float(param.low)
    high = math.log(param.high) if is_log else float(param.high)
    return param.name, None, is_log, low, (high - low) or 1.0


def _key(value: Any) -> tuple[type, Any]:
    return type(value), value  # 1 is not True


def _names(param: Param) -> list[str]:
    if isinstance(param, Categorical) and not param.ordered:
        return [f"{param.name}={choice}" for choice in param.choices]
    return [param.name]


# --- trees -----------------------------------------------------------------------------------------
# Boosted trees as plain arrays: a prediction needs no package but numpy.
#
# The nodes of all trees stand one after the other. An inner node sends a vector whose number `feature` is
# below `threshold` to `child`, and any other to the node behind it. A leaf is its own child, and adds
# `value`.


MOST_DEPTH = 64
# A leaf of a larger value is not one that was fitted.
MOST_VALUE = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The sum over trees of the leaf that a vector comes to, plus the intercept."""

    intercept: float
    depth: int  # so many steps bring every vector to a leaf
    roots: Array  # the first node of each tree
    feature: Array
    threshold: Array  # infinite at a leaf
    child: Array
    value: Array  # 0 at an inner node

    def predict(self, vector: Array) -> float:
        """The prediction for one float32 vector: exact sums, so that every machine finds the same."""
        node = self.roots
        feature, threshold, child = self.feature, self.threshold, self.child
        for _ in range(self.depth):
            node = child.take(node) + (vector.take(feature.take(node)) >= threshold.take(node))
        return self.intercept + math.fsum(self.value.take(node).tolist())

    def predict_all(self, vectors: Array) -> Array:
        """The same for one vector a row, tree by tree."""
        found = np.full(len(vectors), self.intercept)
        rows = np.arange(len(vectors))
        for root in self.roots:
            node = np.full(len(vectors), root)
            for _ in range(self.depth):
                node = self.child[node] + (vectors[rows, self.feature[node]] >= self.threshold[node])
            found += self.value[node]
        return found


def constant(value: float) -> Trees:
    """No tree: the same prediction for all."""
    nothing = np.empty(0, dtype=np.int32)
    numbers = np.empty(0, dtype=np.float32)
    return Trees(value, 0, nothing, nothing, numbers, nothing, np.empty(0, dtype=np.float64))


def problem_with(trees: Trees, n_features: int) -> str | None:
    """Why trees from a file can't be used; None if they can."""
    n_nodes = len(trees.feature)
    if not math.isfinite(trees.intercept) or not 0 <= trees.depth <= MOST_DEPTH:
        return "intercept or depth is out of range"
    if not len(trees.threshold) == len(trees.child) == len(trees.value) == n_nodes:
        return "the arrays of nodes have different lengths"
    at = np.arange(n_nodes)
    is_leaf = trees.child == at
    # A child stands behind its parent, so that no path is a circle.
    if np.any(~is_leaf & ((trees.child <= at) | (trees.child >= n_nodes - 1))):
        return "a node has a child that is not there"
    if np.any(~is_leaf & ~np.isfinite(trees.threshold)) or np.any(is_leaf & (trees.threshold != np.inf)):
        return "a threshold is no number"
    if np.any((trees.feature < 0) | (trees.feature >= n_features)):
        return "a node asks for a number that no configuration has"
    if np.any((trees.roots < 0) | (trees.roots >= n_nodes)):
        return "a tree starts at a node that is not there"
    if not np.all(np.abs(trees.value) <= MOST_VALUE):
        return "a leaf has a value out of range"
    return None


# --- surrogate -------------------------------------------------------------------------------------


# No prediction is longer than so many times the longest trial that was recorded.
SECONDS_BEYOND = 10.0
# How much lower than every recorded y a lucky trial can be.
LUCK = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """How far recorded trials lie from a model that did not see them.

    `spread` is their standard deviation where the model predicts `at`, on a line between those;
    `quantiles` has the shape of the distribution, at equal steps of probability.
    """

    at: Array
    spread: Array
    quantiles: Array

    def drawer(self) -> Drawer:
        return Drawer(self.at.tolist(), self.spread.tolist(), self.quantiles.tolist())


@dataclass(frozen=True, slots=True)
class Drawer:
    """The same as lists, which are faster for one number at a time."""

    at: list[float]
    spread: list[float]
    quantiles: list[float]

    def draw(self, prediction: float, probability: float) -> float:
        """The distance from the prediction that this share of trials stays below."""
        step = bisect_right(self.at, prediction)
        if step == 0:
            spread = self.spread[0]
        elif step == len(self.at):
            spread = self.spread[-1]
        else:
            low, high = self.at[step - 1], self.at[step]
            share = (prediction - low) / (high - low)
            spread = (1.0 - share) * self.spread[step - 1] + share * self.spread[step]
        place = probability * (len(self.quantiles) - 1)
        below = min(int(place), len(self.quantiles) - 2)
        rest = place - below
        return spread * ((1.0 - rest) * self.quantiles[below] + rest * self.quantiles[below + 1])


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """The recorded configurations, thinned out: what is not near one of them is extrapolated.

    The distance is the root of a weighted mean of squares over all numbers of a vector; each weighs as much
    as it matters to loss and seconds.
    """

    vectors: Array
    weights: Array  # their sum is 1
    radius: float

    def are_far(self, vectors: Array) -> Array:
        """For each row whether no recorded configuration is within the radius."""
        scale = np.sqrt(self.weights)
        references = self.vectors * scale
        found = np.empty(len(vectors), dtype=bool)
        for i, vector in enumerate(vectors * scale):
            found[i] = np.min(np.sum((references - vector) ** 2, axis=1)) > self.radius**2
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """What a file holds of one learner on one task."""

    learner: str
    task: str
    space: Space
    start: Config
    cost_related: tuple[str, ...]
    learner_options: Mapping[str, Any]
    # Of the recorded runs' headers.
    problem: str
    metric: str
    n_rows: int
    n_features: int
    n_classes: int
    n_folds: int
    train_rows: int
    constant_loss: float
    data_sha256: str
    trains_on_parts: bool  # trials on a part of the rows were recorded
    # The models, and what they can't tell.
    loss: Trees
    loss_scatter: Scatter
    log_seconds: Trees
    seconds_scatter: Scatter
    failure: Trees | None  # the log-odds; None: no recorded trial failed
    best: float
    scale: float
    least_y: float
    most_y: float
    least_seconds: float
    longest_seconds: float
    offsets: Mapping[tuple[int, int], float]  # of each recorded fold, by (seed, fold)
    offset_spread: float
    validate_share: float  # of a trial's seconds
    failed_share: float  # of its seconds after which a failing trial failed
    cover: Cover
    quality: Mapping[str, Any]  # as `fit` printed it

    @property
    def encoding(self) -> Encoding:
        return Encoding(self.space, self.train_rows)

    def offset(self, seed: int, fold: int) -> float:
        """How much the losses of a fold differ from the mean of the recorded ones."""
        recorded = self.offsets.get((seed, fold))
        if recorded is not None:
            return recorded
        words = np.frombuffer(_digest(self, seed, fold)[:16], dtype=np.uint32).tolist()
        drawn = float(np.random.default_rng(words).normal()) * self.offset_spread
        # No fold is so easy that a loss falls below half of the best one recorded.
        return max(drawn, -0.5 * abs(self.best))

    def from_y(self, y: float, offset: float) -> float:
        """The loss of a model's prediction."""
        return max(self.best - self.scale + offset + math.exp(y), 0.0)  # as all losses of cfo-bench are


class ModelledFold:
    """One fold of a surrogate: it answers for a configuration in well under a millisecond."""

    optimum = None  # nobody knows it

    def __init__(self, surrogate: Surrogate, fold: int, seed: int) -> None:
        self.surrogate, self.fold = surrogate, fold
        self.full_rows = surrogate.train_rows if surrogate.trains_on_parts else None
        self._offset = surrogate.offset(seed, fold)
        self._key = _digest(surrogate, seed, fold)
        self._encoding = surrogate.encoding
        self._loss_scatter = surrogate.loss_scatter.drawer()
        self._seconds_scatter = surrogate.seconds_scatter.drawer()

    def of_seed(self, seed: int) -> ModelledFold:
        """The fold of this number, of another seed."""
        return ModelledFold(self.surrogate, self.fold, seed)

    def look_up(self, config: Config, rows: int | None) -> Answer:
        one = self.surrogate
        vector = np.array(self._encoding.encode(config, rows), dtype=np.float32)
        drawn = hashlib.blake2b(vector.tobytes(), digest_size=24, key=self._key).digest()
        log_seconds = one.log_seconds.predict(vector)
        log_seconds += self._seconds_scatter.draw(log_seconds, _probability(drawn[:8]))
        seconds = math.exp(min(log_seconds, math.log(one.longest_seconds * SECONDS_BEYOND)))
        seconds = max(seconds, one.least_seconds)
        if one.failure is not None:
            log_odds = one.failure.predict(vector)
            if _probability(drawn[16:]) < 1.0 / (1.0 + math.exp(-max(min(log_odds, 500.0), -500.0))):
                return Answer(None, seconds * one.failed_share, 0.0, "the surrogate predicts that it fails")
        y = min(max(one.loss.predict(vector), one.least_y), one.most_y)
        y += self._loss_scatter.draw(y, _probability(drawn[8:16]))
        loss = one.from_y(_bounded(y, one.least_y, one.most_y), self._offset)
        validate_seconds = seconds * one.validate_share
        return Answer(loss, seconds - validate_seconds, validate_seconds)


def _bounded(y: float, least: float, most: float) -> float:
    """Not above the most; below the least it comes closer and closer to a little less, without ever tying."""
    return least - LUCK * (1.0 - math.exp(y - least)) if y < least else min(y, most)


def _probability(digest: bytes) -> float:
    """Eight bytes of a hash as a number in [0, 1)."""
    return int.from_bytes(digest, "little") / 2.0**64


def _digest(one: Surrogate, seed: int, fold: int) -> bytes:
    """Another one for each learner, task, seed and fold."""
    return hashlib.sha256(f"{one.learner}\0{one.task}\0{seed}\0{fold}".encode()).digest()
