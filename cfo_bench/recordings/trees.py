"""Boosted trees as plain arrays: a prediction needs no package but numpy.

The nodes of all trees stand one after the other. An inner node sends a vector whose number `feature` is
below `threshold` to `child`, and any other to the node behind it. A leaf is its own child, and adds `value`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array

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
