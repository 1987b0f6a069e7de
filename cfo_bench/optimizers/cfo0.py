"""CFO-0: CFO with ZOGD, the zeroth-order gradient step, in place of FLOW².

The paper names neither its smoothing μ nor its step h; here μ is δ, and `step` chooses h.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Mapping
from typing import Any, Literal, get_args

from cfo_bench.optimizers.cfo import CFO, CFOThread, StepSettings
from cfo_bench.optimizers.geometry import Point
from cfo_bench.optimizers.options import check_choice
from cfo_bench.space import Space

Step = Literal["rms", "literal", "sign"]


class CFO0Thread(CFOThread):
    """Algorithm 2 with ZOGD's iteration in place of lines 4-9."""

    _reached: tuple[Point, float]

    def __init__(self, rule: str, settings: StepSettings, *args: Any) -> None:
        super().__init__(settings, *args)
        self.rule = rule
        self.slopes: deque[float] = deque(maxlen=32)

    def step(self) -> Generator[Point, float, bool]:
        """f at x + δu gives the slope g along u; then a step down that slope, always accepted."""
        u = self.direction()
        self.asking = "PLUS"
        plus = self.moved(self.delta, u)
        loss_plus = yield plus
        self._reached = (plus, loss_plus)
        if loss_plus < math.inf:
            self.asking = "MOVE"
            moved = self.moved(-self.length(loss_plus), u)
            # A move that ends at plus or x is not evaluated again.
            self.x = next((known for known in (plus, self.x) if moved.is_same_as(known)), moved)
            self.loss = yield self.x
            if self.loss < loss_plus:
                self._reached = (self.x, self.loss)
        return self._reached[1] < self.round_best_loss

    def length(self, loss_plus: float) -> float:
        """h·g, the signed length of the move against u."""
        slope = (loss_plus - self.loss) / self.delta
        if self.rule == "sign" or math.isinf(slope):  # infinite if f(x) failed: the lower side is known then
            return math.copysign(self.delta, slope) if slope else 0.0
        if self.rule == "literal":
            return self.delta * slope
        self.slopes.append(slope)
        rms = math.hypot(*self.slopes) / math.sqrt(len(self.slopes))
        return self.delta * slope / rms if rms else 0.0

    def reached(self) -> tuple[Point, float]:
        return self._reached


class CFO0(CFO):
    """CFO with ZOGD. It has CFO's options, and one of its own:

    step   `rms`: δ·g over the root mean square of the last 32 slopes g;
           `literal`: h = μ = δ; `sign`: δ towards the lower side
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        step: Step = "rms",
        **options: Any,
    ) -> None:
        check_choice("step", step, get_args(Step))
        self._step = step
        super().__init__(space, start, seed, **options)

    def _thread(self, settings: StepSettings, *args: Any) -> CFO0Thread:
        return CFO0Thread(self._step, settings, *args)
