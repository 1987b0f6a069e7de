"""A sampler as OptunaHub packages have them: it is given its space, and lies in a folder of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import optunahub

if TYPE_CHECKING:
    from collections.abc import Callable

    from optuna.distributions import BaseDistribution


class Halves(optunahub.samplers.SimpleBaseSampler):
    """Draws every number from one half of its range.

    Args:
        search_space:
            The hyperparameters.
        upper:
            Whether it is the upper half. A second sentence.
        seed:
            Seed for random number generator.
    """

    def __init__(
        self,
        search_space: dict[str, BaseDistribution] | None = None,
        *,
        upper: bool = False,
        callback: Callable[[int], int] | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(search_space, seed=seed)
        self._upper = upper
        self._rng = np.random.default_rng(seed)

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
        return {name: self._draw(distribution) for name, distribution in search_space.items()}

    def _draw(self, distribution: Any) -> Any:
        share = self._rng.uniform(0.5, 1) if self._upper else self._rng.uniform(0, 0.5)
        if not hasattr(distribution, "low"):
            return distribution.choices[int(share * len(distribution.choices))]
        low, high = distribution.low, distribution.high
        value = low * (high / low) ** share if distribution.log else low + share * (high - low)
        return round(value) if isinstance(low, int) else float(value)
