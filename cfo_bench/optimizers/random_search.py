"""Random search: the start first, then draws from the space, each on its declared scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.optimizers.option_checks import check_count
from cfo_bench.records import Result, Trial
from cfo_bench.space import Space


class RandomSearch:
    """Draws every configuration from the space, each hyperparameter on its own scale.

    parallel   trials at once
    """

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int = 0, *, parallel: int = 1) -> None:
        check_count("parallel", parallel)
        self._space = space
        self._start = space.check(start)
        self._rng = np.random.default_rng(seed)
        self._asked = 0

    def ask(self) -> Trial:
        config = self._space.sample(self._rng) if self._asked else self._start
        self._asked += 1
        return Trial(self._asked - 1, config)

    def tell(self, trial: Trial, result: Result) -> None:
        pass
