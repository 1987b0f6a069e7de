"""BoTorch's Gaussian processes: expected improvement, also per second, and methods that choose the rows.

Every input of a model is scaled from its range to [0, 1], by its logarithm if the learner declares that; a
choice without an order has one column for each value. BoTorch maximises, so models are fitted to −loss.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfo_bench.optimizers.options import check_count, check_counts, check_flag
from cfo_bench.optimizers.packaged import CostCooling, FiniteLosses, Packaged, encoded, plain
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Float, Param, Space

LARGEST_LOSS = 1e100  # its square is still a finite number
SHORTEST_SECONDS = 1e-6
# The number of random configurations to choose from if all proposals of the acquisition were tried.
RANDOM_CANDIDATES = 64


@dataclass(frozen=True, slots=True)
class Proposal:
    """A configuration, as the values that a package receives, and the number of rows (None: all)."""

    values: tuple[Any, ...]
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    proposal: Proposal
    loss: float
    seconds: float


class BoTorchMethod(Packaged[Proposal]):
    """Random configurations first, then those that maximise an acquisition function.

    A suggestion draws from generators made from the seed and the number of the trial, so that a replay asks
    the same.

    n_initial_points  random configurations before the model, the start included
    n_candidates      points from which the starts of the search for the maximum are drawn
    n_restarts        searches for the maximum
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_initial_points: int = 10,
        n_candidates: int = 256,
        n_restarts: int = 4,
    ) -> None:
        check_counts(n_initial_points=n_initial_points, n_candidates=n_candidates, n_restarts=n_restarts)
        super().__init__(space, start, seed)
        self._n_initial, self._n_candidates, self._n_restarts = n_initial_points, n_candidates, n_restarts
        self._losses = FiniteLosses[tuple[Proposal, float]](LARGEST_LOSS)
        self._observations: list[Observation] = []
        self._tried: set[Proposal] = set()
        if self.searched and type(self) not in _WARM:
            _WARM.add(type(self))
            _warm_up(type(self))

    @abstractmethod
    def promising(self, seed: int) -> Proposal:
        """A proposal made with a model of the observations."""

    def initial_rows(self, number: int) -> int | None:
        """The number of rows of an initial trial; None: all."""
        return None

    def begin(self) -> Proposal:
        return self._asked_for(Proposal(tuple(self.first_values.values()), self.initial_rows(0)))

    def suggest(self) -> tuple[Mapping[str, Any], Proposal]:
        if self._asked < self._n_initial or len(self._observations) < 2:
            [values] = self._random_values(1)
            proposal = Proposal(values, self.initial_rows(self._asked))
        else:
            seed = int(np.random.SeedSequence([self.seed, self._asked]).generate_state(1)[0])
            with _own_torch(seed):
                proposal = self.promising(seed)
        names = (param.name for param in self.searched)
        return dict(zip(names, proposal.values, strict=True)), self._asked_for(proposal)

    def learn(self, token: Proposal, result: Result) -> None:
        seconds = max(result.seconds, SHORTEST_SECONDS)
        for (proposal, spent), loss in self._losses.admit((token, seconds), result):
            self._observations.append(Observation(proposal, loss, spent))

    def rows_of(self, token: Proposal) -> int | None:
        return token.rows

    def _asked_for(self, proposal: Proposal) -> Proposal:
        self._tried.add(proposal)
        return proposal

    def _random_values(self, n: int) -> list[tuple[Any, ...]]:
        """Configurations drawn uniformly on the learner's scale."""
        shares = np.random.default_rng([self.seed, self._asked]).random((n, len(self.searched))).tolist()
        return [
            tuple(encoded(param, param.at(share)) for param, share in zip(self.searched, point, strict=True))
            for point in shares
        ]

    # --- the data and the optimum of a model --------------------------------------------------

    def _inputs(self) -> Any:
        """The configurations of the observations as rows of a unit cube."""
        return _tensor([_shares(self.searched, seen.proposal.values) for seen in self._observations])

    def _gains(self) -> Any:
        """A column of standardised −loss."""
        return _standardised(_tensor([[-seen.loss] for seen in self._observations]))

    def _log_seconds(self) -> Any:
        return _tensor([[math.log(seen.seconds)] for seen in self._observations])

    def _maxima(self, acquisition: Any, bounds: Any, seed: int) -> list[list[float]]:
        """Local maxima of an acquisition function, the highest first."""
        from botorch.optim import optimize_acqf

        points, heights = optimize_acqf(
            acquisition,
            bounds,
            q=1,
            num_restarts=self._n_restarts,
            raw_samples=self._n_candidates,
            options={"seed": seed},
            return_best_only=False,
        )
        assert heights is not None  # they are returned by default
        order = heights.flatten().argsort(descending=True, stable=True)
        maxima: list[list[float]] = points.squeeze(1)[order].tolist()
        return maxima

    def _cube(self) -> Any:
        """The bounds of the inputs."""
        return _bounds(len(_shares(self.searched, list(self.first_values.values()))))

    def _untried(self, proposals: Sequence[Proposal]) -> Proposal:
        """The first untried proposal, or else a random one with as many rows as the first."""
        random = [Proposal(values, proposals[0].rows) for values in self._random_values(RANDOM_CANDIDATES)]
        return next(
            (proposal for proposal in [*proposals, *random] if proposal not in self._tried), proposals[0]
        )


class BoTorchEI(BoTorchMethod):
    """Log expected improvement."""

    def acquisition(self) -> Any:
        from botorch.acquisition import LogExpectedImprovement

        gains = self._gains()
        return LogExpectedImprovement(_process(self._inputs(), gains), best_f=gains.max())

    def promising(self, seed: int) -> Proposal:
        maxima = self._maxima(self.acquisition(), self._cube(), seed)
        return self._untried([Proposal(_values(self.searched, point)) for point in maxima])


class BoTorchEIPS(BoTorchEI):
    """Log expected improvement minus the predicted logarithm of the seconds: improvement per second.

    cooling         let the seconds count less and less as the budget is spent, as in gp-cooled
    budget_seconds  the budget of the run, which sets it
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        cooling: bool = False,
        budget_seconds: float | None = None,
        **options: Any,
    ) -> None:
        check_flag("cooling", cooling)
        super().__init__(space, start, seed, **options)
        # With another budget it would cool at another rate: a finished run can't be extended.
        self.knows_budget = cooling
        self._cooling = CostCooling(budget_seconds if cooling else None, self._n_initial)

    def learn(self, token: Proposal, result: Result) -> None:
        self._cooling.count(result)
        super().learn(token, result)

    def acquisition(self) -> Any:
        cost = _process(self._inputs(), self._log_seconds())
        return _per_second(super().acquisition(), cost, self._cooling.exponent)


# --- methods that choose the rows ------------------------------------------------------------------


class RowChoosing(BoTorchMethod):
    """Models of loss and seconds with one more input, the number of rows, which the acquisition chooses.

    The input is 1 for all rows, 0 for `min_rows`, and logarithmic between these. If there are at most
    `min_rows` rows, or their number isn't known, every trial is on all rows. The initial configurations are
    on four numbers of rows in turn, the fewest first.

    min_rows  the fewest rows of a trial
    n_rows    rows of the training part; a run sets it
    """

    INITIAL_PLACES = (0.0, 1 / 3, 2 / 3, 1.0)

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        min_rows: int = 10_000,
        n_rows: int | None = None,
        **options: Any,
    ) -> None:
        check_count("min_rows", min_rows)
        self._n_rows = n_rows
        self._octaves = math.log2(max(n_rows / min_rows, 1.0)) if n_rows else 0.0
        super().__init__(space, start, seed, **options)

    @property
    def is_on_all_rows(self) -> bool:
        """Whether every trial is on all rows."""
        return self._octaves == 0.0

    def rows_at(self, place: float) -> int | None:
        """The number of rows for an input; None: all."""
        if self._n_rows is None or self.is_on_all_rows:
            return None
        rows = round(self._n_rows * 2.0 ** ((place - 1.0) * self._octaves))
        return rows if rows < self._n_rows else None

    def place_of(self, rows: int | None) -> float:
        """The input for a number of rows."""
        if rows is None or self._n_rows is None:
            return 1.0
        return 1.0 + math.log2(rows / self._n_rows) / self._octaves

    def initial_rows(self, number: int) -> int | None:
        return self.rows_at(self.INITIAL_PLACES[number % len(self.INITIAL_PLACES)])

    def _inputs(self) -> Any:
        import torch

        places = _tensor([[self.place_of(seen.proposal.rows)] for seen in self._observations])
        return torch.cat([super()._inputs(), places], dim=1)


class Fabolas(RowChoosing):
    """The configuration and rows with the most information per second about the optimum on all rows.

    incumbent_every  train the predicted optimum on all rows after this many trials on part of them
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        incumbent_every: int = 3,
        **options: Any,
    ) -> None:
        check_count("incumbent_every", incumbent_every)
        self._incumbent_every, self._since_incumbent = incumbent_every, 0
        super().__init__(space, start, seed, **options)

    def promising(self, seed: int) -> Proposal:
        from botorch.models import SingleTaskMultiFidelityGP

        inputs, gains = self._inputs(), self._gains()
        rows_column = inputs.shape[1] - 1
        loss = _fitted(
            SingleTaskMultiFidelityGP(
                inputs,
                gains,
                data_fidelities=[rows_column],
                linear_truncated=False,
                covar_module=_matern(rows_column, list(range(rows_column))),
            )
        )
        if self._since_incumbent >= self._incumbent_every and (optimum := self._predicted_optimum(loss)):
            self._since_incumbent = 0
            return optimum
        bounds = _bounds(rows_column + 1)
        if self.is_on_all_rows:
            bounds[0, rows_column] = 1.0
        cost = _process(inputs, self._log_seconds())
        maxima = self._maxima(_information_per_second(loss, cost, bounds), bounds, seed)
        proposal = self._untried(
            [Proposal(_values(self.searched, point), self.rows_at(point[rows_column])) for point in maxima]
        )
        self._since_incumbent += proposal.rows is not None
        return proposal

    def _predicted_optimum(self, loss: Any) -> Proposal | None:
        """Among the configurations tried only on part of the rows, the one with the lowest predicted loss on
        all rows; None if there is none."""
        import torch

        optima = [Proposal(seen.proposal.values) for seen in self._observations]
        places = [place for place, optimum in enumerate(optima) if optimum not in self._tried]
        if not places:
            return None
        inputs = self._inputs()[places]
        inputs[:, -1] = 1.0
        with torch.no_grad():
            best = int(loss.posterior(inputs).mean.argmax())
        return optima[places[best]]


class Boca(RowChoosing):
    """The highest confidence bound on all rows, evaluated on the cheapest rows with an uncertain loss.

    n_levels  numbers of rows to choose from, besides all rows
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_levels: int = 12,
        **options: Any,
    ) -> None:
        check_count("n_levels", n_levels)
        super().__init__(space, start, seed, **options)
        self._places = [1.0] if self.is_on_all_rows else np.linspace(0.0, 1.0, n_levels + 1)[:-1].tolist()

    def promising(self, seed: int) -> Proposal:
        import torch
        from botorch.acquisition import UpperConfidenceBound
        from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
        from botorch.models import SingleTaskGP
        from gpytorch.constraints import GreaterThan
        from gpytorch.kernels import RBFKernel, ScaleKernel
        from gpytorch.priors import LogNormalPrior

        inputs, gains = self._inputs(), self._gains()
        width = inputs.shape[1] - 1
        over_space = _matern(width, list(range(width)))
        over_rows = RBFKernel(
            active_dims=[width],
            lengthscale_prior=LogNormalPrior(0.0, 1.0),
            lengthscale_constraint=GreaterThan(2.5e-2),
        )
        kernel = ScaleKernel(over_space * over_rows)
        model = _fitted(SingleTaskGP(inputs, gains, covar_module=kernel, outcome_transform=None))
        # β_t = d/2 · log(2ℓt + 1), where ℓ is the diameter of the space in lengthscales of the kernel.
        diameter = float((1.0 / over_space.lengthscale).sum())
        beta = 0.5 * len(self.searched) * math.log(2.0 * diameter * len(gains) + 1.0)
        bound = FixedFeatureAcquisitionFunction(
            UpperConfidenceBound(model, beta=beta), d=width + 1, columns=[width], values=[1.0]
        )
        proposals = [Proposal(_values(self.searched, p)) for p in self._maxima(bound, self._cube(), seed)]
        chosen = self._untried(proposals)
        if self.is_on_all_rows:
            return chosen
        shares = _shares(self.searched, chosen.values)
        points = _tensor([[*shares, place] for place in [*self._places, 1.0]])
        cost = _process(inputs, self._log_seconds())
        with torch.no_grad():
            deviation = model.posterior(points).variance.sqrt().squeeze(-1)
            log_cost = cost.posterior(points).mean.squeeze(-1)
            # ξ(z): the information that fewer rows lack; γ(z): the uncertainty that is worth a trial.
            correlation = torch.exp(-0.5 * ((1.0 - points[:, -1]) / over_rows.lengthscale.squeeze()) ** 2)
            missing = (1.0 - correlation**2).clamp_min(0.0).sqrt()
            cost_share = torch.exp((log_cost - log_cost[-1]) / (len(self.searched) + 3.0))
            threshold = kernel.outputscale.sqrt() * missing * cost_share
        is_enough = (
            (deviation > threshold) & (missing > missing.max() / math.sqrt(beta)) & (log_cost < log_cost[-1])
        )
        cheapest_first = log_cost[:-1].argsort(stable=True).tolist()
        place = next((self._places[at] for at in cheapest_first if is_enough[at]), 1.0)
        proposal = Proposal(chosen.values, self.rows_at(place))
        return chosen if proposal in self._tried else proposal


# The methods that were warmed up in this process.
_WARM: set[type[BoTorchMethod]] = set()


def _warm_up(method: type[BoTorchMethod]) -> None:
    """Make a suggestion with a model before the clock starts: BoTorch and torch import modules at first use,
    which takes as long as a suggestion.
    """
    search = method(
        Space([Float("x", 0.0, 1.0)]), {"x": 0.0}, n_initial_points=1, n_candidates=2, n_restarts=1
    )
    for loss in range(3):  # a model needs two results
        search.tell(search.ask(), Result.ok(float(loss)))


# --- the inputs of a model -------------------------------------------------------------------------


def _shares(params: Sequence[Param], values: Sequence[Any]) -> list[float]:
    """The input of a configuration."""
    row: list[float] = []
    for param, value in zip(params, values, strict=True):
        if not isinstance(param, Categorical):
            low, high, number = (
                map(math.log, (param.low, param.high, value)) if param.log else (param.low, param.high, value)
            )
            row.append((number - low) / (high - low))
        elif param.ordered:
            row.append(value / (len(param.choices) - 1))
        else:
            row += [float(value == index) for index in range(len(param.choices))]
    return row


def _values(params: Sequence[Param], row: Sequence[float]) -> tuple[Any, ...]:
    """The configuration for an input, or the nearest one."""
    values: list[Any] = []
    columns = iter(row)
    for param in params:
        if not isinstance(param, Categorical):
            share = next(columns)
            values.append(
                plain(
                    param,
                    param.low * (param.high / param.low) ** share
                    if param.log
                    else param.low + share * (param.high - param.low),
                )
            )
        elif param.ordered:
            values.append(round(next(columns) * (len(param.choices) - 1)))
        else:
            values.append(int(np.argmax([next(columns) for _ in param.choices])))
    return tuple(values)


def _tensor(rows: Sequence[Sequence[float]]) -> Any:
    import torch

    return torch.tensor(rows, dtype=torch.float64)


def _bounds(width: int) -> Any:
    return _tensor([[0.0] * width, [1.0] * width])


def _standardised(column: Any) -> Any:
    """Mean 0 and standard deviation 1; zeros if all are equal."""
    centred = column - column.mean()
    largest = float(centred.abs().max())
    if largest <= 1e-12 * float(column.abs().max()):
        return centred * 0.0
    centred = centred / largest
    return centred / centred.std()


# --- models and acquisitions -----------------------------------------------------------------------


@contextmanager
def _own_torch(seed: int) -> Iterator[None]:
    """A context in which torch draws from a generator with this seed, on one thread, because more threads
    round sums differently. Afterwards both are restored.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def _matern(width: int, columns: list[int] | None = None) -> Any:
    """A Matérn 5/2 kernel with a lengthscale per column, and BoTorch's prior for this width."""
    from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior

    return get_covar_module_with_dim_scaled_prior(
        ard_num_dims=width, use_rbf_kernel=False, active_dims=columns
    )


def _process(inputs: Any, outputs: Any) -> Any:
    from botorch.models import SingleTaskGP

    return _fitted(SingleTaskGP(inputs, outputs, covar_module=_matern(inputs.shape[1])))


def _fitted(model: Any) -> Any:
    from botorch.fit import fit_gpytorch_mll
    from gpytorch.mlls import ExactMarginalLogLikelihood

    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _per_second(log_improvement: Any, log_seconds: Any, exponent: float) -> Any:
    from botorch.acquisition import AcquisitionFunction

    class ImprovementPerSecond(AcquisitionFunction):
        def forward(self, points: Any) -> Any:
            return log_improvement(points) - exponent * log_seconds.posterior(points).mean.flatten(-2).sum(-1)

    return ImprovementPerSecond(log_improvement.model)


def _information_per_second(loss: Any, log_seconds: Any, bounds: Any) -> Any:
    """Multi-fidelity max-value entropy search; the last input column is the number of rows."""
    import torch
    from botorch.acquisition.cost_aware import InverseCostWeightedUtility
    from botorch.acquisition.max_value_entropy_search import qMultiFidelityMaxValueEntropy
    from botorch.models.deterministic import GenericDeterministicModel

    def on_all_rows(points: Any) -> Any:
        return torch.cat([points[..., :-1], torch.ones_like(points[..., -1:])], dim=-1)

    # The optimum is the best of random points on all rows.
    width = bounds.shape[1]
    candidates = on_all_rows(torch.rand(1000, width, dtype=torch.float64))
    seconds = GenericDeterministicModel(
        lambda points: log_seconds.posterior(points).mean.clamp(-15.0, 15.0).exp()
    )
    return qMultiFidelityMaxValueEntropy(
        loss,
        candidates,
        cost_aware_utility=InverseCostWeightedUtility(seconds),
        project=on_all_rows,
    )
