"""Where something was recorded: the configurations near which a surrogate does not extrapolate."""

from __future__ import annotations

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.recordings.surrogate import Cover
from cfo_bench.surrogates.models import Models

# A configuration farther than this from all recorded ones is extrapolated: a fifth of the ranges.
RADIUS = 0.2
_MOST = 1000
_SAMPLE = 400


def cover_of(vectors: Array, models: Models) -> Cover:
    """The cover of the recorded configurations, given as vectors."""
    weights = _weights(vectors, models)
    return Cover(_thinned(vectors * np.sqrt(weights), vectors), weights, RADIUS)


def _weights(vectors: Array, models: Models) -> Array:
    """How much each number of a vector matters: what the predictions change if its column is shuffled."""
    rng = np.random.default_rng(0)
    sample = vectors[rng.permutation(len(vectors))[:_SAMPLE]]
    shares = np.zeros(vectors.shape[1])
    for trees in (models.loss, models.log_seconds):
        whole = trees.predict_all(sample)
        changes = np.zeros(vectors.shape[1])
        for column in range(vectors.shape[1]):
            shuffled = sample.copy()
            shuffled[:, column] = rng.permutation(sample[:, column])
            changes[column] = np.mean((trees.predict_all(shuffled) - whole) ** 2)
        if changes.sum() > 0:
            shares += changes / changes.sum()
    if shares.sum() == 0:
        return np.full(vectors.shape[1], 1 / vectors.shape[1])
    return np.asarray(shares / shares.sum())


def _thinned(scaled: Array, vectors: Array) -> Array:
    """Recorded configurations so that each of the others is within a quarter of the radius of one."""
    kept: list[int] = []
    left = np.random.default_rng(0).permutation(len(scaled))
    while len(left) and len(kept) < _MOST:
        one = int(left[0])
        kept.append(one)
        distance = np.sqrt(np.sum((scaled[left] - scaled[one]) ** 2, axis=1))
        left = left[distance > RADIUS / 4]
    return np.asarray(vectors[np.sort(kept)])
