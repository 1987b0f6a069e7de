"""SMAC's multi-fidelity facade: Hyperband over training rows, with configurations from SMAC's forest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfo_bench.optimizers.config_space import configuration
from cfo_bench.optimizers.row_levels import budget_range, levels, rows_at
from cfo_bench.optimizers.smac_forest import SMAC
from cfo_bench.space import Space


class SMACFidelity(SMAC):
    """Hyperband over training rows; its configurations come from SMAC's random forest.

    n_initial                random configurations before the model, the start among them; at least as many
                             as the first bracket has
    eta                      each level has so many times the rows of the one before, and so many times
                             fewer trials
    min_rows                 the fewest rows of a level
    n_rows                   rows of the training part; a run tells it
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        eta: int = 3,
        min_rows: int = 10_000,
        n_rows: int | None = None,
        **options: Any,
    ) -> None:
        self._levels, self._eta = levels(n_rows, min_rows, eta), eta
        super().__init__(space, start, seed, **options)

    def facade(self) -> Any:
        from smac import MultiFidelityFacade

        return MultiFidelityFacade

    def scenario(self, **settings: Any) -> Any:
        least, most = budget_range(self._levels)
        return super().scenario(min_budget=least, max_budget=most, **settings)

    def initial_design(self, scenario: Any, n_initial: int) -> Any:
        """The start and random points. smac's `additional_configs` would put the start last; told before
        the first ask, it would leave Hyperband's first bracket with two configurations.
        """
        from smac.initial_design.random_design import RandomInitialDesign

        start = configuration(self._space, self.searched, self.start)

        class StartFirst(RandomInitialDesign):
            def _select_configurations(self) -> list[Any]:
                return [start, *super()._select_configurations()][: max(self._n_configs, 1)]

        # Without a result smac draws from a generator that gives the initial configurations again.
        first_bracket = self._eta ** (len(self._levels) - 1)
        return StartFirst(scenario, n_configs=max(n_initial, first_bracket))

    def intensifier(self, scenario: Any) -> dict[str, Any]:
        return {"intensifier": self.facade().get_intensifier(scenario, eta=self._eta)}

    def begin(self) -> Any:
        return self._facade.ask()  # the start, which its initial design has first

    def rows_of(self, token: Any) -> int | None:
        return rows_at(token.budget, self._levels)
