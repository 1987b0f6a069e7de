"""FLAML's implementations of CFO and BlendSearch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.optimizers.options import check_flag, check_names
from cfo_bench.optimizers.optuna_samplers import no_announcements
from cfo_bench.optimizers.packaged import Packaged, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space

# `suggest` returns None for a configuration it has suggested before, and when the search has converged.
# After this many in a row the method is exhausted, as in FLAML's own `tune.run`.
_PATIENCE = 100


class FlamlCFO(Packaged[tuple[str, dict[str, Any]]]):
    """FLOW² with restarts, on scales normalised to [0, 1].

    cost_related  the hyperparameters that determine the cost, as the run's learner declares them; null: all
    cat_hp_cost   FLAML's relative cost of each choice, as in {kind: [1, 2, 5]}; null: not known
    """

    searcher = "CFO"
    settings: Mapping[str, Any] = MappingProxyType({})  # other arguments of the searcher

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        cost_related: list[str] | None = None,
        cat_hp_cost: dict[str, list[float]] | None = None,
    ) -> None:
        super().__init__(space, start, seed)
        self._suggested = 0
        check_names("cost_related", cost_related or (), self.start)
        _check_costs(cat_hp_cost or {}, self.searched)
        if not self.searched:
            return
        with silence(), no_announcements():
            from flaml.tune.searcher import blendsearch

            first = self.first_values
            self._searcher = getattr(blendsearch, self.searcher)(
                metric="loss",
                mode="min",
                space={param.name: _domain(param) for param in self.searched},
                # The complete start is evaluated first, as by every method. Only the values of cost-related
                # hyperparameters are passed as low-cost: FLAML begins each new local search with these
                # values, and would begin all searches at the start if all values were passed.
                points_to_evaluate=[first],
                low_cost_partial_config={
                    name: value
                    for name, value in first.items()
                    if cost_related is None or name in cost_related
                },
                cat_hp_cost=cat_hp_cost,
                seed=self.seed,
                # Not time_total_s: with this name, FLAML would read the clock, and no run could be replayed.
                cost_attr="seconds",
                **self.settings,
            )

    def begin(self) -> tuple[str, dict[str, Any]]:
        return self._next()

    def suggest(self) -> tuple[Mapping[str, Any], tuple[str, dict[str, Any]]]:
        token = self._next()
        return token[1], token

    def learn(self, token: tuple[str, dict[str, Any]], result: Result) -> None:
        name, config = token
        # An infinite loss, as FLAML's own AutoML reports a training that failed: never an improvement.
        outcome = {"loss": result.value, "seconds": result.seconds, "config": config, "training_iteration": 0}
        # Both calls, as in FLAML's own `tune.run`; the second alone leads to other configurations.
        self._searcher.on_trial_result(name, outcome)
        self._searcher.on_trial_complete(name, outcome)

    def _next(self) -> tuple[str, dict[str, Any]]:
        for _ in range(_PATIENCE):
            name = str(self._suggested)
            self._suggested += 1
            config = self._searcher.suggest(name)
            if config is not None:
                return name, config
        raise Exhausted(f"FLAML suggested nothing new {_PATIENCE} times in a row")


class BlendSearch(FlamlCFO):
    """FLAML's local searches, started where optuna's TPE finds promising points.

    experimental  FLAML's switch of that name: its TPE is multivariate then
    """

    searcher = "BlendSearch"

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        experimental: bool = False,
        **options: Any,
    ) -> None:
        check_flag("experimental", experimental)
        self.settings = {"experimental": experimental}
        super().__init__(space, start, seed, **options)


def _check_costs(cat_hp_cost: Mapping[str, Any], params: Sequence[Param]) -> None:
    n_choices = {param.name: len(param.choices) for param in params if isinstance(param, Categorical)}
    for name, costs in cat_hp_cost.items():
        is_list = isinstance(costs, list) and len(costs) == n_choices.get(name)
        if not (is_list and all(isinstance(cost, int | float) and cost > 0 for cost in costs)):
            raise OptionError(
                f"cat_hp_cost {name}: {costs!r}: give a number above 0 for each choice of a categorical "
                f"hyperparameter ({', '.join(n_choices) or 'the space has none'})"
            )


def _domain(param: Param) -> Any:
    from flaml.tune.sample import choice, lograndint, loguniform, randint, uniform

    if isinstance(param, Categorical):
        domain = choice(range(len(param.choices)))
        domain.ordered = param.ordered  # if it is not set, FLAML treats numbers as ordered
        return domain
    if isinstance(param, Int):  # FLAML excludes the upper bound
        return (lograndint if param.log else randint)(param.low, param.high + 1)
    return (loguniform if param.log else uniform)(param.low, param.high)
