"""GPEI, GPEIPS, gp-cooled: scikit-optimize's Gaussian process with expected improvement, also per second.

As in the paper, every positive hyperparameter is searched by its logarithm, whatever its `log`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from cfo_bench.optimizers.options import check_choice, check_counts, check_number
from cfo_bench.optimizers.packaged import CostCooling, FiniteLosses, Packaged, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space

SkoptPoint = list[Any]
XiUnit = Literal["spread", "loss"]

# The largest loss: its square is still a finite number.
LARGEST_LOSS = 1e100
SHORTEST_SECONDS = 1e-9
# Below the logarithm of the shortest seconds.
BELOW_ALL_LOGARITHMS = -30.0


class GPEI(Packaged[SkoptPoint]):
    """Expected improvement.

    n_initial_points  random configurations before the model, the start included
    xi                the smallest improvement that counts
    xi_unit           its unit: `spread`, the interquartile range of the losses so far, or `loss`
    acq_optimizer     how the most promising point is found: `lbfgs`, from n_restarts of n_candidates random
                      points, or `sampling`, the best of these
    n_candidates      random points to choose from
    n_restarts        descents from the best of them
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
        xi_unit: XiUnit = "spread",
        acq_optimizer: str = "lbfgs",
        n_candidates: int = 10_000,
        n_restarts: int = 5,
    ) -> None:
        check_counts(n_initial_points=n_initial_points, n_candidates=n_candidates, n_restarts=n_restarts)
        check_choice("acq_optimizer", acq_optimizer, ("lbfgs", "sampling"))
        check_choice("xi_unit", xi_unit, get_args(XiUnit))
        check_number("xi", xi, 0)
        super().__init__(space, start, seed)
        self._losses = FiniteLosses[tuple[SkoptPoint, float]](LARGEST_LOSS)
        self._xi, self._is_xi_of_spread = xi, xi_unit == "spread"
        self._observed: list[float] = []  # the losses so far
        if not self.searched:
            return
        with silence():
            from skopt import Optimizer
            from skopt.utils import cook_estimator

        dimensions = [_dimension(param) for param in self.searched]
        only_categories = all(type(dimension).__name__ == "Categorical" for dimension in dimensions)
        self._optimizer = Optimizer(
            dimensions,
            base_estimator=cook_estimator("GP", space=dimensions, random_state=self.seed),
            n_initial_points=n_initial_points,
            acq_func=self.acquisition,
            # A kernel of categories only has no gradient.
            acq_optimizer="sampling" if only_categories else acq_optimizer,
            acq_func_kwargs={"xi": xi},
            acq_optimizer_kwargs={"n_points": n_candidates, "n_restarts_optimizer": n_restarts, "n_jobs": 1},
            random_state=self.seed,
            # Each model contains matrices with as many rows and columns as trials, and only the last one is
            # used.
            model_queue_size=1,
        )

    def begin(self) -> SkoptPoint:
        return list(self.first_values.values())

    def suggest(self) -> tuple[Mapping[str, Any], SkoptPoint]:
        point = self._optimizer.ask()
        return dict(zip((param.name for param in self.searched), point, strict=True)), point

    def learn(self, token: SkoptPoint, result: Result) -> None:
        due = self._losses.admit((token, result.seconds), result)
        for i, ((point, spent), loss) in enumerate(due, start=1):
            self._observed.append(loss)
            if self._is_xi_of_spread:  # before the tell, which computes the next point
                self._optimizer.acq_func_kwargs["xi"] = self._xi * _interquartile_range(self._observed)
            self._optimizer.tell(point, self.observation(loss, spent), fit=i == len(due))

    def observation(self, loss: float, seconds: float) -> Any:
        """What scikit-optimize receives: the loss."""
        return loss


class GPEIPS(GPEI):
    """Expected improvement per second: a second Gaussian process models the logarithm of the seconds.

    scikit-optimize takes the minimum of all losses *and* logarithms of seconds for the best loss so far
    (`np.min(self.yi)` of pairs), so that after a trial of milliseconds nothing could improve any more. So
    losses are shifted below all logarithms, which changes nothing else: improvements are differences.
    """

    acquisition = "EIps"
    _shift: float | None = None

    def observation(self, loss: float, seconds: float) -> Any:
        if self._shift is None:
            self._shift = BELOW_ALL_LOGARITHMS - loss
        return loss + self._shift, max(seconds, SHORTEST_SECONDS)


class GPCooled(GPEIPS):
    """Expected improvement per unit of cost, where the cost counts less and less: CArBO's EI-cool.

    The improvement is divided by seconds^α. α falls from 1, when the initial points are evaluated, to 0, when
    the budget is spent: cheap configurations come first, and good ones later. Only the seconds of trials
    count, since a method has no clock.

    budget_seconds    the budget of the run, which sets it; null: α stays 1, as in gpeips
    """

    # With another budget it would have asked for other configurations: a finished run can't be extended.
    knows_budget = True

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_initial_points: int = 10,
        budget_seconds: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(space, start, seed, n_initial_points=n_initial_points, **options)
        self.cooling = CostCooling(budget_seconds, n_initial_points)
        self._log_seconds: list[float] = []  # of every observation, in order

    def learn(self, token: SkoptPoint, result: Result) -> None:
        self.cooling.count(result)
        # The model of log-seconds is fitted to α times the logarithms, and so predicts α times as much.
        alpha = self.cooling.exponent
        for pair, logarithm in zip(self._optimizer.yi, self._log_seconds, strict=True):
            pair[1] = alpha * logarithm
        super().learn(token, result)

    def observation(self, loss: float, seconds: float) -> Any:
        shifted, seconds = super().observation(loss, seconds)
        self._log_seconds.append(math.log(seconds))
        return shifted, seconds**self.cooling.exponent


def _interquartile_range(losses: Sequence[float]) -> float:
    """The spread of the middle half of the losses, which is robust to a few bad trials."""
    low, high = np.percentile(losses, (25, 75))
    return float(high - low)


def _dimension(param: Param) -> Any:
    from skopt import space as skopt_space

    # Normalised explicitly: scikit-optimize does this itself for GPEI, but not for GPEIPS.
    if isinstance(param, Categorical):
        if param.ordered:
            return skopt_space.Integer(0, len(param.choices) - 1, transform="normalize", name=param.name)
        return skopt_space.Categorical(range(len(param.choices)), transform="onehot", name=param.name)
    kind = skopt_space.Integer if isinstance(param, Int) else skopt_space.Real
    prior = "log-uniform" if param.low > 0 else "uniform"
    return kind(param.low, param.high, prior=prior, transform="normalize", name=param.name)
