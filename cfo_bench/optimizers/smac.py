"""SMAC 2: model-based search with a random forest, on all rows or (multi-fidelity facade) on part of them."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cfo_bench.errors import Exhausted
from cfo_bench.optimizers.options import check_counts
from cfo_bench.optimizers.packaged import (
    FiniteLosses,
    OnLevels,
    Packaged,
    budget_range,
    configuration,
    configuration_space,
    rows_at,
    silence,
)
from cfo_bench.records import Result, Status
from cfo_bench.space import Space

# smac needs a limit of trials; runs have their own.
_NO_LIMIT = 10**9
# smac computes log(loss - least + 1e-10). With larger losses, 1e-10 would be lost to rounding.
LARGEST_LOSS = 1e5


class SMAC(Packaged[Any]):
    """SMAC's random forest with expected improvement.

    n_initial                Sobol points after the start and before the model
    retrain_after            the model is trained again after this many configurations
    challengers              random configurations, of which the most promising are taken
    local_search_iterations  local searches from the best of these
    n_trees                  trees of the model
    parallel                 trials at once
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_initial: int = 10,
        retrain_after: int = 8,
        challengers: int = 10_000,
        local_search_iterations: int = 10,
        n_trees: int = 10,
        parallel: int = 1,
    ) -> None:
        check_counts(
            n_initial=n_initial,
            retrain_after=retrain_after,
            challengers=challengers,
            local_search_iterations=local_search_iterations,
            n_trees=n_trees,
        )
        super().__init__(space, start, seed, parallel)
        self._losses = FiniteLosses[tuple[Any, Result]](LARGEST_LOSS)
        if not self.searched:
            return
        # Without a handler, Python prints smac's warnings on stderr.
        if not logging.getLogger("smac").handlers:
            logging.getLogger("smac").addHandler(logging.NullHandler())
        with silence():
            from smac.main.config_selector import ConfigSelector

            Facade = self.facade()
        self._space = configuration_space(self.searched, self.seed)
        # smac writes files when it is built, even if it never saves anything.
        with silence(), tempfile.TemporaryDirectory() as folder:
            scenario = self.scenario(
                configspace=self._space,
                deterministic=True,
                n_trials=_NO_LIMIT,
                seed=self.seed,
                output_directory=Path(folder),
            )
            self._model = Facade.get_model(scenario, n_trees=n_trees)
            # For ten trees on a few hundred rows, starting threads takes longer than they save.
            self._model._rf_opts["n_jobs"] = 1
            maximizer = Facade.get_acquisition_maximizer(
                scenario, challengers=challengers, local_search_iterations=local_search_iterations
            )
            _keep_order(maximizer._local_search)
            self._facade = Facade(
                scenario,
                model=self._model,
                initial_design=self.initial_design(scenario, n_initial),
                acquisition_maximizer=maximizer,
                config_selector=ConfigSelector(scenario, retrain_after=retrain_after),
                logging_level=False,
                overwrite=True,
                **self.intensifier(scenario),
            )

    def facade(self) -> Any:
        from smac import HyperparameterOptimizationFacade

        return HyperparameterOptimizationFacade

    def scenario(self, **settings: Any) -> Any:
        from smac import Scenario

        return Scenario(**settings)

    def initial_design(self, scenario: Any, n_initial: int) -> Any:
        return self.facade().get_initial_design(scenario, n_configs=n_initial)

    def intensifier(self, scenario: Any) -> dict[str, Any]:
        """The `intensifier` argument of the facade, if it is not the default of the facade."""
        return {}

    def begin(self) -> Any:
        from smac.runhistory import TrialInfo

        return TrialInfo(configuration(self._space, self.searched, self.start), seed=0)

    def suggest(self) -> tuple[Mapping[str, Any], Any]:
        self._model._rf_opts["max_leaf_nodes"] = self.most_leaves()
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        try:
            info = self._facade.ask()
        except (StopIteration, ConfigurationSpaceExhaustedException):
            raise Exhausted("smac finds no configuration that it has not asked for before") from None
        return dict(info.config), info

    def most_leaves(self) -> int:
        """The bound on the leaves of a tree: the number of trials, which no tree can exceed.

        scikit-learn reserves memory for as many leaves as the bound allows; smac's bound is a million.
        """
        return max(2, self._asked)

    def learn(self, token: Any, result: Result) -> None:
        from smac.runhistory import StatusType, TrialValue

        statuses = {Status.OK: StatusType.SUCCESS, Status.MEMORY: StatusType.MEMORYOUT}
        for (info, outcome), loss in self._losses.admit((token, result), result):
            status = statuses.get(outcome.status, StatusType.CRASHED)
            self._facade.tell(info, TrialValue(cost=loss, time=outcome.seconds, status=status), save=False)


class SMACFidelity(OnLevels[Any], SMAC):
    """Hyperband over training rows; its configurations come from SMAC's random forest.

    n_initial  random configurations before the model, the start among them; at least as many as the first
               bracket has
    """

    def facade(self) -> Any:
        from smac import MultiFidelityFacade

        return MultiFidelityFacade

    def scenario(self, **settings: Any) -> Any:
        least, most = budget_range(self._levels)
        return super().scenario(min_budget=least, max_budget=most, **settings)

    def initial_design(self, scenario: Any, n_initial: int) -> Any:
        """The start and random points. smac's `additional_configs` would put the start last; a start that is
        passed by tell before the first ask would leave Hyperband's first bracket with two configurations.
        """
        from smac.initial_design.random_design import RandomInitialDesign

        start = configuration(self._space, self.searched, self.start)

        class StartFirst(RandomInitialDesign):
            def _select_configurations(self) -> list[Any]:
                return [start, *super()._select_configurations()][: max(self._n_configs, 1)]

        # Before the first result, smac draws from a generator that repeats the initial configurations.
        first_bracket = self._eta ** (len(self._levels) - 1)
        return StartFirst(scenario, n_configs=max(n_initial, first_bracket))

    def intensifier(self, scenario: Any) -> dict[str, Any]:
        return {"intensifier": self.facade().get_intensifier(scenario, eta=self._eta)}

    def begin(self) -> Any:
        return self._facade.ask()  # the start, which is first in its initial design

    def rows_of(self, token: Any) -> int | None:
        return rows_at(token.budget, self._levels)


def _keep_order(local_search: Any) -> None:
    """Sort the starting points of the local searches, so that a seed gives the same trials in every process.

    They come from a `set`, whose order differs between processes and determines the random numbers of each
    search.
    """
    from_set = local_search._get_init_points_from_previous_configs
    local_search._get_init_points_from_previous_configs = lambda *args: sorted(from_set(*args), key=repr)
