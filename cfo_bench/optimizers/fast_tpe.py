"""optuna's TPE with the same suggestions in a fraction of the time.

For each hyperparameter of each suggestion optuna reads, sorts and encodes all trials again, and it calls a
Python function for each value of the normal distribution. Here a trial is encoded once, trials are sorted
once for each suggestion, and the normal distribution is that of normal_distribution.

optuna has no public place for this: `_sample` and what it calls are its own business, and may change with a
version: see `COMPARED_VERSIONS` in optuna_samplers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
from optuna.samplers import TPESampler
from optuna.samplers._tpe import _truncnorm
from optuna.samplers._tpe.sampler import default_gamma
from optuna.trial import FrozenTrial, TrialState

from cfo_bench.metrics import Array
from cfo_bench.optimizers.normal_distribution import each, log_normal_cdf

# optuna's model looks the functions of the normal distribution up here, by their names.
_FUNCTIONS = vars(_truncnorm)
_OPTUNA: Mapping[str, Callable[..., Array]] = dict(_FUNCTIONS)
_LOG_NDTR_OF_ONE = _FUNCTIONS["_log_ndtr_single"].__wrapped__  # without its cache
# Up to so many numbers, a call for each takes less time than numpy's calls for all of them.
_FEW = 150


class FastTPESampler(TPESampler):
    """For a study with one loss, in which every trial has all hyperparameters and is told its loss."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._told = ToldTrials()

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        super().after_trial(study, trial, state, values)
        if state is TrialState.COMPLETE and values is not None:
            self._told.add(trial, values[0])

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: Any
    ) -> Any:
        if self._told.count < self._n_startup_trials:
            return super().sample_independent(study, trial, param_name, param_distribution)
        return self._sample(study, trial, {param_name: param_distribution})[param_name]

    def _sample(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, Any]
    ) -> dict[str, Any]:
        with quick_normal_distribution():
            good, bad = (
                self._parzen_estimator_cls(
                    {name: self._told.values(name, rows) for name in search_space},
                    search_space,
                    self._parzen_estimator_parameters,
                )
                for rows in self._told.split()
            )
            candidates = good.sample(self._rng.rng, self._n_ei_candidates)
            best = self._compare(candidates, self._compute_acquisition_func(candidates, good, bad))
        return {name: one.to_external_repr(best[name]) for name, one in search_space.items()}


class ToldTrials:
    """The losses of the trials that were told, and their hyperparameters as numbers, by a trial's number."""

    def __init__(self) -> None:
        self.count = 0
        self._losses = _nothing(64)
        self._columns: dict[str, Array] = {}
        self._parts: tuple[Array, Array] | None = None

    def add(self, trial: FrozenTrial, loss: float) -> None:
        number = trial.number
        while number >= len(self._losses):
            more = _nothing(len(self._losses))
            self._losses = np.append(self._losses, more)
            self._columns = {name: np.append(column, more) for name, column in self._columns.items()}
        self._losses[number] = loss
        for name, value in trial.params.items():
            column = self._columns.setdefault(name, _nothing(len(self._losses)))
            column[number] = trial.distributions[name].to_internal_repr(value)
        self.count += 1
        self._parts = None

    def values(self, name: str, rows: Array) -> Array:
        return self._columns[name][rows]

    def split(self) -> tuple[Array, Array]:
        """The numbers of the trials with the lowest losses, as many as optuna takes, and of all others."""
        if self._parts is None:
            told = np.flatnonzero(~np.isnan(self._losses))
            best_first = told[np.argsort(self._losses[told], kind="stable")]
            n_good = default_gamma(self.count)
            self._parts = np.sort(best_first[:n_good]), np.sort(best_first[n_good:])
        return self._parts


def _nothing(length: int) -> Array:
    return np.full(length, np.nan)


@contextmanager
def quick_normal_distribution() -> Iterator[None]:
    """optuna's model has no other place to give it functions that are faster."""
    quick = {"_log_ndtr": _log_ndtr, "erf": _erf, "_log_gauss_mass": _log_gauss_mass, "logpdf": _logpdf}
    own = {name: _FUNCTIONS[name] for name in quick}
    _FUNCTIONS.update(quick)
    try:
        yield
    finally:
        _FUNCTIONS.update(own)


def _log_ndtr(x: Array) -> Array:
    if x.size > _FEW:
        return log_normal_cdf(x)
    return each(_LOG_NDTR_OF_ONE, x.ravel()).reshape(x.shape)


def _erf(x: Array) -> Array:
    # From so many numbers on, optuna has an approximation in numpy.
    return _OPTUNA["erf"](x) if x.size >= 2000 else each(math.erf, x.ravel()).reshape(x.shape)


def _log_gauss_mass(a: Array, b: Array) -> Array:
    """The common case without masks: all intervals have 0 in them, as those from bound to bound have."""
    if (a > 0).any() or (b <= 0).any():
        return _OPTUNA["_log_gauss_mass"](a, b)
    return np.log1p(-(0.5 + 0.5 * _erf(a / 2**0.5)) - (0.5 + 0.5 * _erf(-b / 2**0.5)))


def _logpdf(x: Array, a: Array, b: Array, loc: Array, scale: Array) -> Array:
    """The common case without masks: all numbers are within their bounds."""
    z = (x - loc) / scale
    if not ((a < b) & (z >= a) & (z <= b)).all():
        return _OPTUNA["logpdf"](x, a, b, loc, scale)
    return _OPTUNA["_norm_logpdf"](z) - _log_gauss_mass(a, b) - np.log(scale)
