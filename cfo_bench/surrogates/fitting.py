"""Fits a surrogate to the trials of one learner on one task; `recordings/surrogate.py` has its formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.recordings.surrogate import Cover, Scatter, Surrogate, Trees, constant
from cfo_bench.surrogates.boosting import (
    Durations,
    LossScale,
    Models,
    fit_chance,
    fit_log_seconds,
    fit_numbers,
)
from cfo_bench.surrogates.trials import Trials

# If there are more trials than this, the best tenth and a random sample of the others are used.
MOST_TRIALS = 20_000
# A surrogate needs this many trials with a loss.
FEWEST_TRIALS = 30

_PARTS = 4  # for the scatter: each part of the trials is predicted by a model of the other parts
_KNOTS = 8
_QUANTILES = 257
_FACTORS = np.arange(0.1, 1.21, 0.1)  # candidate factors by which the scatter of losses is scaled
_DRAWS = 15
_FEWEST_FAILURES = 10  # with fewer, every configuration has the same probability of failure


def fit(trials: Trials, models: Models, quality: Mapping[str, Any]) -> Surrogate:
    """The surrogate with models of `thinned` trials; `quality` is stored with it."""
    chosen = thinned(trials)
    scored = chosen & np.isfinite(trials.losses)
    y = models.scale.to_y(trials.losses[scored], trials.folds[scored])
    offsets = {key: float(models.scale.offsets[i]) for i, key in enumerate(trials.fold_keys)}
    loss_scatter, seconds_scatter = _scatters(trials, chosen, models.scale)
    failed = trials.failed[chosen]
    header, data = trials.header, trials.header.data
    return Surrogate(
        learner=trials.learner,
        task=trials.task,
        space=trials.space,
        start=trials.space.check(header.start or {}),
        cost_related=tuple(header.cost_related or ()),
        learner_options=dict(header.spec.learner_options),
        problem=header.problem,
        metric=header.metric,
        n_rows=data.rows or 0,
        n_features=data.features or 0,
        n_classes=data.classes or 0,
        n_folds=header.spec.n_folds,
        train_rows=data.train_rows,
        constant_loss=header.constant_loss,
        data_sha256=data.sha256,
        trains_on_parts=trials.on_parts,
        loss=models.loss,
        loss_scatter=loss_scatter,
        log_seconds=models.log_seconds,
        seconds_scatter=seconds_scatter,
        failure=_failure(trials.vectors[chosen], failed),
        best=models.scale.best,
        scale=models.scale.scale,
        least_y=float(y.min()),
        most_y=float(y.max()),
        least_seconds=float(trials.seconds[~trials.failed].min()),
        longest_seconds=float(trials.seconds.max()),
        offsets=offsets,
        offset_spread=float(np.std(models.scale.offsets, ddof=1)) if len(offsets) > 1 else 0.0,
        validate_share=min(max(trials.validate_share, 0.0), 0.99),
        failed_share=_failed_share(trials, models.log_seconds),
        cover=cover_of(trials.vectors[chosen], models),
        quality=quality,
    )


def thinned(trials: Trials) -> Array:
    """The trials that are used: all, or the best tenth and a sample of the others."""
    chosen = np.ones(len(trials), dtype=bool)
    if len(trials) <= MOST_TRIALS:
        return chosen
    kept = trials.losses <= np.nanquantile(trials.losses, 0.1)
    others = np.flatnonzero(~kept)
    share = max(MOST_TRIALS - int(kept.sum()), MOST_TRIALS // 2)
    left_out = np.random.default_rng(0).permutation(others)[share:]
    chosen[left_out] = False
    return chosen


def _scatters(trials: Trials, chosen: Array, scale: LossScale) -> tuple[Scatter, Scatter]:
    """The scatter of losses and seconds around predictions by models of other trials."""
    part = np.random.default_rng(0).integers(_PARTS, size=len(trials))
    scored = chosen & np.isfinite(trials.losses)
    ended = scored & ~trials.was_cut_off
    timed = chosen & ~trials.failed
    y = np.full(len(trials), np.nan)
    y[scored] = scale.to_y(trials.losses[scored], trials.folds[scored])
    predicted, predicted_seconds = np.full(len(trials), np.nan), np.full(len(trials), np.nan)
    for number in range(_PARTS):
        hidden = part == number
        if not np.any(scored & hidden) or not np.any(scored & ~hidden):
            continue
        trees = fit_numbers(trials.vectors[scored & ~hidden], y[scored & ~hidden])
        predicted[scored & hidden] = trees.predict_all(trials.vectors[scored & hidden])
        others = timed & ~hidden
        taken = Durations(trials.seconds[others], trials.was_cut_off[others])
        trees = fit_log_seconds(trials.vectors[others], taken)
        predicted_seconds[ended & hidden] = trees.predict_all(trials.vectors[ended & hidden])
    seen, timed_and_seen = np.isfinite(predicted), np.isfinite(predicted_seconds)
    logs = np.log(trials.seconds)
    methods = np.unique(trials.methods, return_inverse=True)[1]
    runs = methods * len(trials.fold_keys) + trials.folds
    return (
        _calibrated(scatter(predicted[seen], y[seen]), predicted[seen], y[seen], runs[seen]),
        scatter(predicted_seconds[timed_and_seen], logs[timed_and_seen]),
    )


def scatter(predicted: Array, truth: Array) -> Scatter:
    """The distribution of the truth around predictions: its spread along them, and its shape."""
    rest = truth - predicted
    order = np.argsort(predicted, kind="stable")
    groups = [group for group in np.array_split(order, _KNOTS) if len(group) > 1]
    at = np.array([predicted[group].mean() for group in groups] or [0.0])
    spread = np.array([np.sqrt(np.mean(rest[group] ** 2)) for group in groups] or [0.0])
    at, first = np.unique(at, return_index=True)
    spread = spread[first]
    local = np.interp(predicted, at, spread)
    shape = rest / np.where(local > 0, local, 1.0)
    if not len(shape):
        shape = np.zeros(2)
    return Scatter(at, spread, np.quantile(shape, np.linspace(0, 1, _QUANTILES)))


def _calibrated(losses: Scatter, predicted: Array, truth: Array, runs: Array) -> Scatter:
    """The scatter of losses, scaled so that the simulated best loss of a run equals the recorded one on
    average.

    A search keeps its luckiest trial: if the spread is a little too wide near the best, every long simulated
    search ends better than the recorded one.
    """
    rng = np.random.default_rng(0)
    local = np.interp(predicted, losses.at, losses.spread)
    steps = np.linspace(0, 1, len(losses.quantiles))
    drawn = [local * np.interp(rng.random(len(truth)), steps, losses.quantiles) for _ in range(_DRAWS)]
    members = [np.flatnonzero(runs == run) for run in np.unique(runs)]
    best = np.array([truth[trials].min() for trials in members])
    off = []
    for factor in _FACTORS:
        simulated = [[(predicted + factor * draw)[trials].min() for trials in members] for draw in drawn]
        off.append(abs(float(np.mean(np.median(simulated, axis=0) - best))))
    return Scatter(losses.at, losses.spread * _FACTORS[int(np.argmin(off))], losses.quantiles)


def _failure(vectors: Array, failed: Array) -> Trees | None:
    failures = int(failed.sum())
    if failures == 0:
        return None
    if failures < _FEWEST_FAILURES or failures == len(failed):
        share = failures / (len(failed) + 1)
        return constant(float(np.log(share / (1 - share))))
    return fit_chance(vectors, failed)


def _failed_share(trials: Trials, log_seconds: Trees) -> float:
    """The median share of its predicted seconds after which a trial failed."""
    if not np.any(trials.failed):
        return 1.0
    predicted = np.exp(log_seconds.predict_all(trials.vectors[trials.failed]))
    return float(np.clip(np.median(trials.seconds[trials.failed] / predicted), 1e-3, 1.0))


# --- the cover: configurations near which a surrogate does not extrapolate ------------------------

# A configuration farther than this from all recorded ones is an extrapolation: a fifth of the ranges.
RADIUS = 0.2
_MOST = 1000
_SAMPLE = 400


def cover_of(vectors: Array, models: Models) -> Cover:
    """The cover of the recorded configurations, given as vectors."""
    weights = _weights(vectors, models)
    return Cover(_thinned(vectors * np.sqrt(weights), vectors), weights, RADIUS)


def _weights(vectors: Array, models: Models) -> Array:
    """The importance of each number of a vector: the change in the predictions if its column is shuffled."""
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
    """A sample of the recorded configurations: each of the others is within a quarter of the radius of a
    sampled one.
    """
    kept: list[int] = []
    left = np.random.default_rng(0).permutation(len(scaled))
    while len(left) and len(kept) < _MOST:
        chosen = int(left[0])
        kept.append(chosen)
        distance = np.sqrt(np.sum((scaled[left] - scaled[chosen]) ** 2, axis=1))
        left = left[distance > RADIUS / 4]
    return np.asarray(vectors[np.sort(kept)])
