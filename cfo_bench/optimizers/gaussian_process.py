"""GPEI and GPEIPS: scikit-optimize's Gaussian process with expected improvement, or that per second.

As in the paper, every positive hyperparameter is searched by its logarithm, whatever its `log` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cfo_bench.optimizers.option_checks import check_choice, check_count, check_number
from cfo_bench.optimizers.packaged import FiniteLosses, Packaged, encoded, seed_of, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space

SkoptPoint = list[Any]

# The largest loss that is told: its square is still a finite number.
LARGEST_LOSS = 1e100
SHORTEST_SECONDS = 1e-9
# Less than the logarithm of the shortest seconds.
BELOW_ALL_LOGARITHMS = -30.0


class GPEI(Packaged[SkoptPoint]):
    """Expected improvement.

    `n_initial_points` random configurations come before the model, the start included. `xi` is the
    least improvement that counts; `acq_optimizer` says how the most promising point is found:
    "lbfgs" from `n_restarts` of `n_candidates` random points, or "sampling", the best of these.
    """

    acquisition = "EI"

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_initial_points: int = 10,
        xi: float = 0.01,
        acq_optimizer: str = "lbfgs",
        n_candidates: int = 10_000,
        n_restarts: int = 5,
    ) -> None:
        for option, count in (
            ("n_initial_points", n_initial_points),
            ("n_candidates", n_candidates),
            ("n_restarts", n_restarts),
        ):
            check_count(option, count)
        check_choice("acq_optimizer", acq_optimizer, ("lbfgs", "sampling"))
        check_number("xi", xi, 0)
        super().__init__(space, start)
        self._losses = FiniteLosses[tuple[SkoptPoint, float]](LARGEST_LOSS)
        if not self.searched:
            return
        with silence():
            from skopt import Optimizer

        dimensions = [_dimension(param) for param in self.searched]
        only_categories = all(type(dimension).__name__ == "Categorical" for dimension in dimensions)
        self._optimizer = Optimizer(
            dimensions,
            base_estimator=_quick_regressor(dimensions, seed_of(seed)),
            n_initial_points=n_initial_points,
            acq_func=self.acquisition,
            # The kernel for categories alone has no gradient.
            acq_optimizer="sampling" if only_categories else acq_optimizer,
            acq_func_kwargs={"xi": xi},
            acq_optimizer_kwargs={"n_points": n_candidates, "n_restarts_optimizer": n_restarts, "n_jobs": 1},
            random_state=seed_of(seed),
            # Every model holds matrices of the square of the trials so far, and only the last is used.
            model_queue_size=1,
        )

    def begin(self) -> SkoptPoint:
        return [encoded(param, self.start[param.name]) for param in self.searched]

    def suggest(self) -> tuple[Mapping[str, Any], SkoptPoint]:
        point = self._optimizer.ask()
        return dict(zip((param.name for param in self.searched), point, strict=True)), point

    def learn(self, token: SkoptPoint, result: Result) -> None:
        seconds = result.fit_seconds + result.validate_seconds
        due = self._losses.admit((token, seconds), result)
        for i, ((point, spent), loss) in enumerate(due, start=1):
            self._optimizer.tell(point, self.observation(loss, spent), fit=i == len(due))

    def observation(self, loss: float, seconds: float) -> Any:
        return loss


class GPEIPS(GPEI):
    """Expected improvement per second: a second Gaussian process models the logarithm of the seconds.

    scikit-optimize takes the least of all losses *and* logarithms of seconds for the best loss so far
    (`np.min(self.yi)` of pairs), so that after a trial of milliseconds nothing could ever improve. It
    is told losses shifted below all logarithms, which changes nothing else: improvements are differences.
    """

    acquisition = "EIps"
    _shift: float | None = None

    def observation(self, loss: float, seconds: float) -> Any:
        if self._shift is None:
            self._shift = BELOW_ALL_LOGARITHMS - loss
        return loss + self._shift, max(seconds, SHORTEST_SECONDS)


def _dimension(param: Param) -> Any:
    from skopt import space as skopt_space

    # Told to normalise, as it does for GPEI by itself: for GPEIPS it forgets to.
    if isinstance(param, Categorical):
        if param.ordered:
            return skopt_space.Integer(0, len(param.choices) - 1, transform="normalize", name=param.name)
        return skopt_space.Categorical(range(len(param.choices)), transform="onehot", name=param.name)
    kind = skopt_space.Integer if isinstance(param, Int) else skopt_space.Real
    prior = "log-uniform" if param.low > 0 else "uniform"
    return kind(param.low, param.high, prior=prior, transform="normalize", name=param.name)


def _quick_regressor(dimensions: Sequence[Any], seed: int) -> Any:
    """scikit-optimize's own choice of Gaussian process, with the variances of many points worked out by BLAS.

    Its three-fold einsum takes a sixth of the whole suggestion at 300 trials.
    """
    import numpy as np
    from skopt.learning import GaussianProcessRegressor
    from skopt.utils import cook_estimator

    class QuickRegressor(GaussianProcessRegressor):  # type: ignore[misc]
        def predict(self, X: Any, return_std: bool = False, **others: Any) -> Any:
            if not return_std or others:  # with gradients: one point at a time, where it does not matter
                return super().predict(X, return_std=return_std, **others)
            k = self.kernel_(X, self.X_train_)
            mean = self.y_train_std_ * k.dot(self.alpha_) + self.y_train_mean_
            variance = self.kernel_.diag(X) - ((k @ self.K_inv_) * k).sum(axis=1)
            return mean, self.y_train_std_ * np.sqrt(np.maximum(variance, 0.0))

    return QuickRegressor(**cook_estimator("GP", space=dimensions, random_state=seed).get_params(deep=False))
