"""The models of loss and of seconds that every surrogate has, and the scale of losses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.recordings.surrogate import Trees, constant
from cfo_bench.surrogates.trials import Trials


@dataclass(frozen=True, slots=True, eq=False)
class LossScale:
    """The scale on which trees predict losses: y = log(loss − offset − best + scale).

    The logarithm stretches the losses near the best, where methods differ.
    """

    best: float
    scale: float
    offsets: Array  # of each fold

    def to_y(self, losses: Array, folds: Array) -> Array:
        above = losses - self.offsets[folds] - self.best
        # A left-out trial may be better than every trial of the fit.
        return np.log(np.maximum(above, -0.95 * self.scale) + self.scale)

    def to_loss(self, y: Array, folds: Array) -> Array:
        return np.exp(y) - self.scale + self.best + self.offsets[folds]


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """The two models that every surrogate has."""

    scale: LossScale
    loss: Trees
    log_seconds: Trees


def fit_models(trials: Trials, chosen: Array) -> Models:
    """The models of the chosen trials."""
    scored = chosen & np.isfinite(trials.losses)
    scale = _scale(trials, scored)
    y = scale.to_y(trials.losses[scored], trials.folds[scored])
    timed = chosen & ~trials.failed
    taken = Durations(trials.seconds[timed], trials.was_cut_off[timed])
    return Models(
        scale,
        fit_numbers(trials.vectors[scored], y),
        fit_log_seconds(trials.vectors[timed], taken),
    )


def _scale(trials: Trials, scored: Array) -> LossScale:
    """The offsets of the folds are estimated first, then the best loss and the scale."""
    losses, folds = trials.losses[scored], trials.folds[scored]
    offsets = _offsets(losses, trials.methods[scored], folds, len(trials.fold_keys))
    level = losses - offsets[folds]
    best, low, middle = float(level.min()), float(np.quantile(level, 0.1)), float(np.median(level))
    scale = max(low - best, 0.02 * (middle - best), 1e-6 * abs(best), 1e-9)
    return LossScale(best, scale, offsets)


def _offsets(losses: Array, methods: Array, folds: Array, n_folds: int) -> Array:
    """The difference of the good losses of each fold from those of the other folds, method by method.

    The level of a run, the 5 % quantile of its losses, is modelled as the level of its method plus the offset
    of its fold, by least squares over all runs. Runs are compared, not configurations, because every search
    samples where its own fold is good.
    """
    names, number = np.unique(methods, return_inverse=True)
    runs = sorted(set(zip(number.tolist(), folds.tolist(), strict=True)))
    levels = [float(np.quantile(losses[(number == m) & (folds == f)], 0.05)) for m, f in runs]
    table = np.zeros((len(runs), len(names) + n_folds))
    for row, (m, f) in enumerate(runs):
        table[row, m] = table[row, len(names) + f] = 1.0
    # The minimum-norm solution: folds that share no method then have the same level on average.
    solution = np.linalg.lstsq(table, np.array(levels), rcond=None)[0][len(names) :]
    present = np.unique(folds)
    offsets = np.zeros(n_folds)
    offsets[present] = solution[present] - solution[present].mean()
    return offsets


# --- trees: fitted by xgboost, stored as plain arrays ---------------------------------------------

ROUNDS = 160
_SETTINGS: dict[str, Any] = {
    "tree_method": "hist",
    "max_depth": 7,
    "eta": 0.06,
    "subsample": 0.7,
    "colsample_bynode": 0.7,
    "min_child_weight": 4,
    "lambda": 2.0,
    "nthread": 1,  # with one thread, sums have a fixed order, so the same trials give the same file
    "seed": 0,
    "verbosity": 0,
}
# The scatter of log-seconds around their model, for the likelihood of trials that were cut off.
_SCATTER = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Durations:
    """The durations of trials. A trial that was cut off would have taken longer."""

    seconds: Array
    was_cut_off: Array

    def __getitem__(self, chosen: Array) -> Durations:
        return Durations(self.seconds[chosen], self.was_cut_off[chosen])


def fit_numbers(vectors: Array, targets: Array, rounds: int = ROUNDS) -> Trees:
    """Trees that predict a number."""
    if len(targets) == 0 or np.ptp(targets) == 0:
        return constant(float(targets[0]) if len(targets) else 0.0)
    centre = float(np.mean(targets))
    objective = {"objective": "reg:squarederror", "base_score": 0.0}
    return _train(vectors, {"label": targets - centre}, objective, rounds, centre)


def fit_log_seconds(vectors: Array, taken: Durations, rounds: int = ROUNDS) -> Trees:
    """Trees that predict the logarithm of seconds, from trials that ended and trials that were cut off.

    They are fitted by the likelihood of an accelerated failure time model: a trial that was cut off
    contributes only the information that it would have taken longer.
    """
    logs = np.log(taken.seconds)
    ended = logs[~taken.was_cut_off]
    if len(ended) == 0 or (np.ptp(logs) == 0 and not np.any(taken.was_cut_off)):
        return constant(float(np.mean(logs)) if len(logs) else 0.0)
    centre = float(np.mean(ended))
    relative = np.exp(logs - centre)
    bounds = {
        "label_lower_bound": relative,
        "label_upper_bound": np.where(taken.was_cut_off, np.inf, relative),
    }
    objective = {
        "objective": "survival:aft",
        "base_score": 1.0,  # seconds: its logarithm is 0
        "aft_loss_distribution": "normal",
        "aft_loss_distribution_scale": _SCATTER,
        # The curvature of each trial is 1/scatter²; scaled with it, leaves are as large as for other targets.
        "min_child_weight": _SETTINGS["min_child_weight"] / _SCATTER**2,
        "lambda": _SETTINGS["lambda"] / _SCATTER**2,
    }
    return _train(vectors, bounds, objective, rounds, centre)


def fit_chance(vectors: Array, happened: Array, rounds: int = ROUNDS // 2) -> Trees:
    """Trees that predict the log-odds of an event that occurred in some of the trials."""
    share = float(np.mean(happened))
    log_odds = float(np.log(share / (1 - share)))
    return _train(
        vectors,
        {"label": happened.astype(float)},
        {"objective": "binary:logistic", "base_score": share, "min_child_weight": 1},
        rounds,
        log_odds,
    )


def _train(
    vectors: Array, labels: dict[str, Array], objective: dict[str, Any], rounds: int, centre: float
) -> Trees:
    """Trees around the centre, which corresponds to the objective's `base_score`."""
    import xgboost

    data = xgboost.DMatrix(vectors)
    for name, values in labels.items():
        data.set_float_info(name, values)
    booster = xgboost.train({**_SETTINGS, **objective}, data, rounds)
    return _trees_of(json.loads(bytes(booster.save_raw("json"))), centre)


def _trees_of(model: dict[str, Any], centre: float) -> Trees:
    """The trees of xgboost's JSON, without its base score."""
    roots, parts, depth, n_nodes = [], [], 0, 0
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        part, tree_depth = _flat(tree, n_nodes)
        roots.append(n_nodes)
        parts.append(part)
        depth = max(depth, tree_depth)
        n_nodes += len(part["feature"])
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Trees(centre, depth, np.array(roots, dtype=np.int32), **arrays)


def _flat(tree: dict[str, Any], first: int) -> tuple[dict[str, Array], int]:
    """The nodes of a tree in an order in which the two children of a node are neighbours."""
    left, right = tree["left_children"], tree["right_children"]
    order, depths, at = [0], [0], 0
    feature, threshold, child, value = [], [], [], []
    while at < len(order):
        node = order[at]
        if left[node] < 0:
            feature.append(0)
            threshold.append(np.inf)
            child.append(first + at)
            value.append(tree["split_conditions"][node])
        else:
            feature.append(tree["split_indices"][node])
            threshold.append(tree["split_conditions"][node])
            child.append(first + len(order))
            value.append(0.0)
            order += [left[node], right[node]]
            depths += [depths[at] + 1] * 2
        at += 1
    return {
        "feature": np.array(feature, dtype=np.int32),
        "threshold": np.array(threshold, dtype=np.float32),
        "child": np.array(child, dtype=np.int32),
        "value": np.array(value, dtype=np.float64),
    }, max(depths)
