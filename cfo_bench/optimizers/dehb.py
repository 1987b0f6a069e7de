"""DEHB: Hyperband over training rows, whose configurations come from differential evolution.

The package searches a unit cube. Its vectors are converted to configurations here, because with ConfigSpace
1.2 the package's own conversion fails at bounds on a log scale.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.optimizers.options import check_count, check_number
from cfo_bench.optimizers.packaged import OnLevels, budget_range, encoded, rows_at, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space

# DEHB only compares losses, and treats a trial with an infinite loss as not evaluated.
LARGEST_LOSS = sys.float_info.max


class DEHB(OnLevels[dict[str, Any]]):
    """The package's own brackets and populations, through its ask and tell.

    mutation_factor  the share of the difference of two configurations that is added to a third
    crossover_prob   the probability of each hyperparameter to come from that mutant, not from the parent
    population_size  configurations of the population if all rows are the only level
    parallel         trials at once
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        mutation_factor: float = 0.5,
        crossover_prob: float = 0.5,
        population_size: int = 20,
        parallel: int = 1,
        **options: Any,
    ) -> None:
        check_number("mutation_factor", mutation_factor, 0, 2)
        check_number("crossover_prob", crossover_prob, 0, 1)
        check_count("population_size", population_size)
        check_number("population_size", population_size, 4)
        super().__init__(space, start, seed, parallel=parallel, **options)
        if not self.searched:
            return
        least, most = budget_range(self._levels)
        # With one level, a bracket of Hyperband has one configuration, too few for evolution.
        clip = population_size if len(self._levels) == 1 else None
        with silence():
            self._dehb = _quiet()(
                dimensions=len(self.searched),
                min_fidelity=least,
                max_fidelity=most,
                eta=self._eta,
                mutation_factor=mutation_factor,
                crossover_prob=crossover_prob,
                min_clip=clip,
                max_clip=clip,
                seed=self.seed,
                n_workers=1,  # no worker is started, since only ask and tell are called
                save_freq="end",
            )

    def begin(self) -> dict[str, Any]:
        """The start replaces the first configuration of the first bracket."""
        job = self._dehb.ask()
        vector = np.array([_share_below(param, self.start[param.name]) for param in self.searched])
        self._dehb.config_repository.configs[job["config_id"]].config = vector
        return {**job, "config": vector}

    def suggest(self) -> tuple[Mapping[str, Any], dict[str, Any]]:
        job = self._dehb.ask()
        shares = zip(self.searched, job["config"], strict=True)
        return {param.name: _value_at(param, float(share)) for param, share in shares}, job

    def learn(self, token: dict[str, Any], result: Result) -> None:
        outcome = {"fitness": min(result.value, LARGEST_LOSS), "cost": result.seconds}
        self._dehb.tell(token, outcome)
        self._dehb.clean_inactive_brackets()  # as in the package's own loop; otherwise each ask takes longer

    def rows_of(self, token: dict[str, Any]) -> int | None:
        return rows_at(float(token["fidelity"]), self._levels)


def _value_at(param: Param, share: float) -> Any:
    """The value, or the index of a choice, below which this share of the scale lies."""
    below_one = min(share, math.nextafter(1.0, 0.0))
    return int(below_one * len(param.choices)) if isinstance(param, Categorical) else param.at(below_one)


def _share_below(param: Param, value: Any) -> float:
    """The share of the scale that is below a value: the inverse of `_value_at`."""
    if isinstance(param, Categorical):
        return float((encoded(param, value) + 0.5) / len(param.choices))
    past = 0.5 if isinstance(param, Int) else 0.0
    low, high = param.low - past, param.high + past
    if param.log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return float((value - low) / (high - low))


def _quiet() -> Any:
    """DEHB without its messages on the terminal and its log files in the current folder."""
    from dehb import DEHB as PackageDEHB

    class QuietDEHB(PackageDEHB):  # type: ignore[misc]
        def _setup_logger(self, kwargs: Any) -> None:
            self.output_path = Path()
            self.logger = logging.Logger("cfo_bench.dehb", logging.CRITICAL + 1)

    return QuietDEHB
