"""A surrogate: models of loss, seconds and failure that replace a learner on one task.

With x the encoded configuration and rows, and f a fold of a seed:

    loss(x, f)    = best − scale + offset(f) + exp(y),  y = trees(x) + scatter of this x in this fold
    seconds(x, f) = exp(trees(x) + scatter of this x in this fold)

The scatter is the part of the recorded trials that no model explains. It is drawn by a hash of seed, fold and
x: the same configuration always has the same loss. y stays within the recorded range, except for lucky trials
slightly below its low end. A recorded fold has its recorded offset; that of another fold is drawn with the
spread of the recorded offsets.
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

# No prediction is longer than this many times the longest recorded trial.
SECONDS_BEYOND = 10.0
# The largest distance of a lucky trial below every recorded y.
LUCK = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """The models of one learner on one task."""

    learner: str
    task: str
    space: Space
    start: Config
    cost_related: tuple[str, ...]
    learner_options: Mapping[str, Any]
    # From the headers of the recorded runs.
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
    # The models, and the scatter around them.
    loss: Trees
    loss_scatter: Scatter
    log_seconds: Trees
    seconds_scatter: Scatter
    failure: Trees | None  # the log-odds; None if no recorded trial failed
    best: float
    scale: float
    least_y: float
    most_y: float
    least_seconds: float
    longest_seconds: float
    offsets: Mapping[tuple[int, int], float]  # of each recorded fold, by (seed, fold)
    offset_spread: float
    validate_share: float  # the share of a trial's seconds that validation takes
    failed_share: float  # the share of its predicted seconds after which a failing trial fails
    cover: Cover
    quality: Mapping[str, Any]  # as `surrogate fit` prints it

    @property
    def encoding(self) -> Encoding:
        return Encoding(self.space, self.train_rows)

    def offset(self, seed: int, fold: int) -> float:
        """The difference of a fold's losses from the mean of the recorded folds."""
        recorded = self.offsets.get((seed, fold))
        if recorded is not None:
            return recorded
        words = np.frombuffer(_digest(self, seed, fold)[:16], dtype=np.uint32).tolist()
        drawn = float(np.random.default_rng(words).normal()) * self.offset_spread
        # No fold is so easy that a loss falls below half of the best recorded loss.
        return max(drawn, -0.5 * abs(self.best))

    def from_y(self, y: float, offset: float) -> float:
        """The loss of a prediction y. Like all losses of cfo-bench, it is not negative."""
        return max(self.best - self.scale + offset + math.exp(y), 0.0)


class ModelledFold:
    """One fold of a surrogate. A look-up takes well under a millisecond."""

    optimum = None  # unknown

    def __init__(self, surrogate: Surrogate, fold: int, seed: int) -> None:
        self.surrogate, self.fold = surrogate, fold
        self.full_rows = surrogate.train_rows if surrogate.trains_on_parts else None
        self._offset = surrogate.offset(seed, fold)
        self._key = _digest(surrogate, seed, fold)
        self._encoding = surrogate.encoding
        self._loss_scatter = surrogate.loss_scatter.drawer()
        self._seconds_scatter = surrogate.seconds_scatter.drawer()

    def of_seed(self, seed: int) -> ModelledFold:
        """The same fold with another seed."""
        return ModelledFold(self.surrogate, self.fold, seed)

    def look_up(self, config: Config, rows: int | None) -> Answer:
        surrogate = self.surrogate
        vector = np.array(self._encoding.encode(config, rows), dtype=np.float32)
        drawn = hashlib.blake2b(vector.tobytes(), digest_size=24, key=self._key).digest()
        log_seconds = surrogate.log_seconds.predict(vector)
        log_seconds += self._seconds_scatter.draw(log_seconds, _probability(drawn[:8]))
        seconds = math.exp(min(log_seconds, math.log(surrogate.longest_seconds * SECONDS_BEYOND)))
        seconds = max(seconds, surrogate.least_seconds)
        if surrogate.failure is not None:
            log_odds = surrogate.failure.predict(vector)
            if _probability(drawn[16:]) < 1.0 / (1.0 + math.exp(-max(min(log_odds, 500.0), -500.0))):
                error = "the surrogate predicts that it fails"
                return Answer(None, seconds * surrogate.failed_share, 0.0, error)
        y = min(max(surrogate.loss.predict(vector), surrogate.least_y), surrogate.most_y)
        y += self._loss_scatter.draw(y, _probability(drawn[8:16]))
        loss = surrogate.from_y(_bounded(y, surrogate.least_y, surrogate.most_y), self._offset)
        validate_seconds = seconds * surrogate.validate_share
        return Answer(loss, seconds - validate_seconds, validate_seconds)


def _bounded(y: float, least: float, most: float) -> float:
    """y, at most `most`. Below `least` it approaches `least - LUCK`, so that lucky trials never tie."""
    return least - LUCK * (1.0 - math.exp(y - least)) if y < least else min(y, most)


def _probability(digest: bytes) -> float:
    """Eight bytes of a hash as a number in [0, 1)."""
    return int.from_bytes(digest, "little") / 2.0**64


def _digest(surrogate: Surrogate, seed: int, fold: int) -> bytes:
    """A hash of learner, task, seed and fold."""
    return hashlib.sha256(f"{surrogate.learner}\0{surrogate.task}\0{seed}\0{fold}".encode()).digest()


# --- scatter and cover -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """The distance of recorded trials from a model that was not fitted to them.

    `spread` is its standard deviation where the model predicts `at`, interpolated linearly; `quantiles`
    describes the shape of the distribution, at equal steps of probability.
    """

    at: Array
    spread: Array
    quantiles: Array

    def drawer(self) -> Drawer:
        return Drawer(self.at.tolist(), self.spread.tolist(), self.quantiles.tolist())


@dataclass(frozen=True, slots=True)
class Drawer:
    """A scatter as lists, which are faster than arrays for one number at a time."""

    at: list[float]
    spread: list[float]
    quantiles: list[float]

    def draw(self, prediction: float, probability: float) -> float:
        """The quantile of the distance from the prediction at this probability."""
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
    """A sample of the recorded configurations. A prediction far from all of them is an extrapolation.

    The distance is the root of a mean of squares over all numbers of a vector, weighted by their importance
    for loss and seconds.
    """

    vectors: Array
    weights: Array  # their sum is 1
    radius: float

    def are_far(self, vectors: Array) -> Array:
        """For each row, whether no recorded configuration is within the radius."""
        scale = np.sqrt(self.weights)
        references = self.vectors * scale
        are_far = np.empty(len(vectors), dtype=bool)
        for i, vector in enumerate(vectors * scale):
            are_far[i] = np.min(np.sum((references - vector) ** 2, axis=1)) > self.radius**2
        return are_far


# --- trees -----------------------------------------------------------------------------------------
# Boosted trees as plain arrays: a prediction needs no package but numpy.
#
# The nodes of all trees are in one array. An inner node sends a vector whose number `feature` is below
# `threshold` to `child`, and any other vector to the node after `child`. A leaf is its own child, and adds
# `value`.

MOST_DEPTH = 64
# No fitted leaf has a larger value.
MOST_VALUE = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The prediction is the intercept plus, for each tree, the value of the leaf that a vector reaches."""

    intercept: float
    depth: int  # every vector reaches a leaf in this many steps
    roots: Array  # the first node of each tree
    feature: Array
    threshold: Array  # infinite at a leaf
    child: Array
    value: Array  # 0 at an inner node

    def predict(self, vector: Array) -> float:
        """The prediction for one float32 vector. The sum is exact, and therefore the same on every
        machine.
        """
        node = self.roots
        feature, threshold, child = self.feature, self.threshold, self.child
        for _ in range(self.depth):
            node = child.take(node) + (vector.take(feature.take(node)) >= threshold.take(node))
        return self.intercept + math.fsum(self.value.take(node).tolist())

    def predict_all(self, vectors: Array) -> Array:
        """The predictions for one vector per row."""
        predictions = np.full(len(vectors), self.intercept)
        rows = np.arange(len(vectors))
        for root in self.roots:
            node = np.full(len(vectors), root)
            for _ in range(self.depth):
                node = self.child[node] + (vectors[rows, self.feature[node]] >= self.threshold[node])
            predictions += self.value[node]
        return predictions


def constant(value: float) -> Trees:
    """No trees: the same prediction for every vector."""
    integers = np.empty(0, dtype=np.int32)
    thresholds, values = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.float64)
    return Trees(value, 0, integers, integers, thresholds, integers, values)


def problem_with(trees: Trees, n_features: int) -> str | None:
    """The reason why the trees of a file cannot be used; None if they can."""
    n_nodes = len(trees.feature)
    if not math.isfinite(trees.intercept) or not 0 <= trees.depth <= MOST_DEPTH:
        return "intercept or depth is out of range"
    if not len(trees.threshold) == len(trees.child) == len(trees.value) == n_nodes:
        return "the arrays of nodes have different lengths"
    at = np.arange(n_nodes)
    is_leaf = trees.child == at
    # A child comes after its parent, so that no path is a cycle.
    if np.any(~is_leaf & ((trees.child <= at) | (trees.child >= n_nodes - 1))):
        return "a node has a child that is not there"
    if np.any(~is_leaf & ~np.isfinite(trees.threshold)) or np.any(is_leaf & (trees.threshold != np.inf)):
        return "a threshold is not a number"
    if np.any((trees.feature < 0) | (trees.feature >= n_features)):
        return "a node asks for a number that no configuration has"
    if np.any((trees.roots < 0) | (trees.roots >= n_nodes)):
        return "a tree starts at a node that is not there"
    if not np.all(np.abs(trees.value) <= MOST_VALUE):
        return "a leaf has a value out of range"
    return None


# --- encoding --------------------------------------------------------------------------------------
# A configuration and its number of training rows as the inputs of the models.
#
# A number is its position on its scale, from 0 to 1; the scale of a positive one is logarithmic, as in CFO.
# An ordered choice is its position among the choices. Unordered choices have one number each, which is 1 for
# the selected choice. The last number is the base-2 logarithm of the share of the training rows.

# Shares of the training rows below 2 to the power of this are treated as equal.
LEAST_ROWS_LOG2 = -20.0


class Encoding:
    """Encodes the configurations of one space as vectors."""

    def __init__(self, space: Space, train_rows: int) -> None:
        self.names = [name for param in space for name in _names(param)] + ["rows"]
        self._train_rows = train_rows
        self._steps = [_step(param) for param in space]

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, config: Mapping[str, Any], rows: int | None) -> list[float]:
        """The vector of a configuration. A value outside the bounds counts as the bound."""
        vector: list[float] = []
        for name, places, is_log, low, span in self._steps:
            value = config[name]
            if places is not None:
                vector += places[_key(value)]
            else:
                share = ((math.log(value) if is_log else value) - low) / span
                vector.append(0.0 if share < 0.0 else 1.0 if share > 1.0 else share)
        share_of_rows = 1.0 if rows is None else rows / self._train_rows
        vector.append(0.0 if share_of_rows >= 1.0 else max(math.log2(share_of_rows), LEAST_ROWS_LOG2))
        return vector

    def encode_all(self, configs: list[dict[str, Any]], rows: list[int | None]) -> Array:
        """One row per configuration."""
        vectors = [self.encode(config, n_rows) for config, n_rows in zip(configs, rows, strict=True)]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), len(self))


_Step = tuple[str, dict[Any, list[float]] | None, bool, float, float]


def _step(param: Param) -> _Step:
    """Name, vectors of the choices, whether the scale is logarithmic, lower end and length of the scale."""
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
