"""A method of the golden runs that fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.plugins import Result, Space, Trial


class GivesUp:
    """Random draws; the method raises when it is asked for trial 3."""

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int) -> None:
        self._space, self._number = space, -1
        self._rng = np.random.default_rng(seed)

    def ask(self) -> Trial:
        self._number += 1
        if self._number == 3:
            raise RuntimeError("no idea")
        return Trial(self._number, self._space.sample(self._rng))

    def tell(self, trial: Trial, result: Result) -> None:
        pass
