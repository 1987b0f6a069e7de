"""FLOW², Algorithm 1: randomised direct search with a constant step."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from functools import partial
from typing import Any

from cfo_bench.errors import Exhausted
from cfo_bench.optimizers.geometry import LINEAR_SPAN, Geometry, Point, Scale
from cfo_bench.optimizers.local_search import LocalSearch, Proposals, SearchThread
from cfo_bench.optimizers.options import check_length
from cfo_bench.space import Space


class FLOW2Thread(SearchThread):
    """Algorithm 1 with the step `delta`."""

    def __init__(self, delta: float, *args: Any) -> None:
        super().__init__(*args)
        self.delta = delta

    def proposals(self) -> Proposals:
        self.loss = yield self.x  # Alg. 1, line 2
        d = self.geometry.d
        while d and not self.is_stuck(2 ** (d - 1)):  # line 3
            yield from self.step()
        raise Exhausted(f"no new configuration within a step of {self.delta:g} of the incumbent")

    def step(self) -> Generator[Point, float, bool]:
        """One iteration, at most two evaluations; returns whether the incumbent moved."""
        u = self.direction()  # Alg. 1, line 4; Alg. 2, line 4
        self.asking = "PLUS"
        plus = self.moved(self.delta, u)  # Alg. 2, line 5
        loss_plus = yield plus
        if loss_plus < self.loss:  # Alg. 1, line 5; Alg. 2, line 6
            self.x, self.loss = plus, loss_plus
            return True
        self.asking = "MINUS"
        minus = self.moved(-self.delta, u)
        loss_minus = yield minus
        if loss_minus < self.loss:  # Alg. 1, line 6; Alg. 2, line 7
            self.x, self.loss = minus, loss_minus
            return True
        return False


class FLOW2(LocalSearch[FLOW2Thread]):
    """FLOW², Algorithm 1.

    parallel      search threads, each with one trial at a time
    step          μ, the constant step; null: √d, the step that CFO starts with
    scale         the logarithm in whose units steps are taken: `log2` or `ln`
    linear_span   length of a range that contains 0 or negative numbers, in units of μ; null: its own length
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        parallel: int = 1,
        step: float | None = None,
        scale: Scale = "log2",
        linear_span: float | None = LINEAR_SPAN,
    ) -> None:
        check_length("step", step)
        geometry = Geometry(space, scale, linear_span)
        delta = math.sqrt(geometry.d) if step is None else step
        super().__init__(space, start, seed, parallel, geometry, partial(FLOW2Thread, delta))
