"""The quality of a surrogate, measured on the trials of a method that was left out of the fit.

A random part of the trials would give too good a value, because the trials of one search are close together.
A surrogate is used for another search, so each method is left out in turn and predicted from the others.

Ranks are correlated within a fold, and averaged over folds with their trials as weights. If only the left-out
method has runs on a fold, the offset of the fold is unknown: the median difference is subtracted before
errors are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.recordings.surrogate import Cover
from cfo_bench.surrogates.boosting import Models, fit_models
from cfo_bench.surrogates.fitting import FEWEST_TRIALS, cover_of, thinned
from cfo_bench.surrogates.trials import Trials

# Below one of these rank correlations a surrogate is refused.
LEAST_LOSS_RANK, LEAST_SECONDS_RANK = 0.3, 0.5
# The number of trials of each method in the pooled correlation, so that no method outweighs the others.
_TRIALS_PER_METHOD = 150
_SPACE_SAMPLE = 500


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The predictions of the trials of a method by a surrogate of the other methods."""

    method: str
    trials: int  # that have a loss
    loss_rank: float | None  # rank correlation of predicted and recorded losses; None: too few, or all equal
    loss_error: float  # median distance of the predicted loss
    near_rank: float | None  # `loss_rank` of the method's best tenth
    near_error: float
    seconds_rank: float | None
    seconds_factor: float  # exp of the median absolute error of log-seconds
    far_share: float  # the share of its trials that are far from every trial of the other methods


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a surrogate."""

    left_out: Sequence[LeftOut]
    by: str  # the unit that was left out: "method", or "part" if all trials are of one method
    loss_rank: float | None  # over the trials of all methods, each predicted without its method
    seconds_rank: float | None
    far_of_space: float  # share of the space that is far from every recorded configuration

    @property
    def is_enough(self) -> bool:
        return all(
            rank is not None and rank >= least
            for rank, least in ((self.loss_rank, LEAST_LOSS_RANK), (self.seconds_rank, LEAST_SECONDS_RANK))
        )

    def in_words(self) -> str:
        """The two rank correlations on which acceptance depends."""
        return ", ".join(
            f"{name} {'unknown' if rank is None else f'{rank:.2f}'}"
            for name, rank in (("losses", self.loss_rank), ("seconds", self.seconds_rank))
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def quality_of(trials: Trials, models: Models) -> Quality:
    """Fits one surrogate for each left-out method; `models` are those of all trials."""
    used = thinned(trials)
    groups, by = _groups(trials)
    scored = np.isfinite(trials.losses)
    rng = np.random.default_rng(0)
    left_out: list[LeftOut] = []
    pooled: list[_Predicted] = []
    for name in sorted(set(groups.tolist())):
        seen, hidden = used & (groups != name), used & (groups == name) & scored
        if np.count_nonzero(seen & scored) < FEWEST_TRIALS or not np.any(hidden):
            continue
        others = fit_models(trials, seen)
        vectors, folds, truth = trials.vectors[hidden], trials.folds[hidden], trials.losses[hidden]
        losses = others.scale.to_loss(others.loss.predict_all(vectors), folds)
        for fold in set(folds.tolist()) - set(trials.folds[seen & scored].tolist()):
            losses[folds == fold] -= np.median((losses - truth)[folds == fold])
        seconds = np.exp(others.log_seconds.predict_all(vectors))
        predicted = _Predicted(losses, truth, seconds, trials.seconds[hidden], folds)
        far = cover_of(trials.vectors[seen], others).are_far(_some(vectors, rng))
        left_out.append(_measured(str(name), predicted, float(np.mean(far))))
        pooled.append(predicted[rng.permutation(len(truth))[:_TRIALS_PER_METHOD]])
    together = _Predicted.of_all(pooled)
    return Quality(
        left_out=left_out,
        by=by,
        loss_rank=within_folds(together.losses, together.truth, together.folds),
        seconds_rank=within_folds(together.seconds, together.took, together.folds),
        far_of_space=_far_of_space(trials, cover_of(trials.vectors[used], models)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Predicted:
    """Left-out trials: predicted and recorded losses, predicted and recorded seconds."""

    losses: Array
    truth: Array
    seconds: Array
    took: Array
    folds: Array

    def __getitem__(self, chosen: Array) -> _Predicted:
        return _Predicted(*(getattr(self, name)[chosen] for name in self.__slots__))

    @classmethod
    def of_all(cls, parts: Sequence[_Predicted]) -> _Predicted:
        nothing = np.empty(0)
        return cls(
            *(np.concatenate([nothing, *(getattr(part, name) for part in parts)]) for name in cls.__slots__)
        )


def _groups(trials: Trials) -> tuple[Array, str]:
    """The groups that are left out in turn: methods; if there is only one, fifths of its trials."""
    if len(set(trials.methods.tolist())) > 1:
        return trials.methods, "method"
    fifth = (np.arange(len(trials)) * 5) // max(len(trials), 1)
    return np.array([f"part {number + 1} of 5" for number in fifth]), "part"


def _measured(name: str, trials: _Predicted, far_share: float) -> LeftOut:
    near = trials[trials.truth <= np.quantile(trials.truth, 0.1)]
    return LeftOut(
        method=name,
        trials=len(trials.truth),
        loss_rank=within_folds(trials.losses, trials.truth, trials.folds),
        loss_error=float(np.median(np.abs(trials.losses - trials.truth))),
        near_rank=within_folds(near.losses, near.truth, near.folds),
        near_error=float(np.median(np.abs(near.losses - near.truth))),
        seconds_rank=within_folds(trials.seconds, trials.took, trials.folds),
        seconds_factor=float(np.exp(np.median(np.abs(np.log(trials.seconds) - np.log(trials.took))))),
        far_share=far_share,
    )


def _far_of_space(trials: Trials, cover: Cover) -> float:
    """The share of far configurations among those drawn as by random search, on all rows."""
    rng = np.random.default_rng(0)
    drawn = [trials.space.sample(rng) for _ in range(_SPACE_SAMPLE)]
    vectors = trials.encoding.encode_all(drawn, [None] * len(drawn))
    return float(np.mean(cover.are_far(vectors)))


def _some(vectors: Array, rng: np.random.Generator) -> Array:
    return vectors[rng.permutation(len(vectors))[:_SPACE_SAMPLE]]


def within_folds(first: Array, second: Array, folds: Array) -> float | None:
    """The rank correlation within each fold, averaged with trials as weights; None if no fold has one."""
    ranks, weights = [], []
    for fold in np.unique(folds):
        on_fold = folds == fold
        rank = rank_correlation(first[on_fold], second[on_fold])
        if rank is not None:
            ranks.append(rank)
            weights.append(int(on_fold.sum()))
    return float(np.average(ranks, weights=weights)) if ranks else None


def rank_correlation(first: Array, second: Array) -> float | None:
    """Spearman's; None for fewer than five pairs, or if all numbers of a side are the same."""
    if len(first) < 5 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])
