"""CFO: FLOW² with an adaptive step and randomised restarts (Algorithms 2 and 3).

The paper leaves some choices open. Each is an option, whose default is the paper's text
(docs/readings.md). Our improvements are a separate method, `cfo-tuned`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.optimizers.flow2 import FLOW2Thread
from cfo_bench.optimizers.geometry import LINEAR_SPAN, Geometry, Point, Scale
from cfo_bench.optimizers.local_search import LocalSearch, Proposals
from cfo_bench.optimizers.options import check_choice, check_flag, check_length
from cfo_bench.space import Space

Threshold = Literal["2^(d-1)", "d", "2d"]
Stall = Literal["consecutive", "cumulative"]
DeltaLower = Literal["alg3", "with_floats", "unit_consistent"]

_THRESHOLDS: dict[Threshold, Callable[[int], int]] = {
    "2^(d-1)": lambda d: 2 ** (d - 1),
    "d": lambda d: d,
    "2d": lambda d: 2 * d,
}


@dataclass(frozen=True, slots=True)
class StepSettings:
    """The options of Algorithm 2, checked, for a space of d dimensions."""

    delta_init: float
    n_threshold: int
    is_consecutive: bool
    delta_lower: DeltaLower
    redraw: bool

    @classmethod
    def of(
        cls,
        d: int,
        delta_init: float | None,
        n_threshold: int | Threshold,
        stall: Stall,
        delta_lower: DeltaLower,
        redraw: bool,
    ) -> StepSettings:
        check_length("delta_init", delta_init)
        check_choice("stall", stall, get_args(Stall))
        check_choice("delta_lower", delta_lower, get_args(DeltaLower))
        check_flag("redraw", redraw)
        return cls(
            delta_init=math.sqrt(d) if delta_init is None else delta_init,
            n_threshold=_threshold(n_threshold, d),
            is_consecutive=stall == "consecutive",
            delta_lower=delta_lower,
            redraw=redraw,
        )


class CFOThread(FLOW2Thread):
    """Algorithm 2. Its k' is `k_best`, its l^r-best `round_best_loss` at the point `round_best`."""

    def __init__(self, settings: StepSettings, *args: Any) -> None:
        super().__init__(settings.delta_init, *args)
        self.settings = settings
        self.r = self.n = 0

    def begin_round(self) -> None:
        # k' and the round's best are reset too: a round whose trials all fail must not keep the old ones.
        self.k = self.k_best = 0
        self.round_best, self.round_best_loss = self.x, math.inf

    def proposals(self) -> Proposals:
        settings = self.settings
        self.begin_round()  # Alg. 2, line 2
        self.loss = yield self.x
        if self.geometry.d == 0:
            raise Exhausted("every hyperparameter has a single value: there is nothing to search")
        while True:  # line 3; the caller checks the budget
            improved = yield from self.step()  # lines 4-9
            if not improved:
                self.n += 1
            elif settings.is_consecutive:
                self.n = 0
            point, loss = self.reached()
            if loss < self.round_best_loss:  # line 10
                self.round_best, self.round_best_loss, self.k_best = point, loss, self.k
            self.k += 1  # line 12
            is_round_over = self.is_stuck(settings.n_threshold)
            if self.n >= settings.n_threshold:  # line 13
                self.n = 0
                self.delta /= math.sqrt(self.k / max(self.k_best, 1))  # line 14
                is_round_over |= self.delta <= self.delta_lower()  # line 15
            if is_round_over:
                self.begin_restart()
                self.n = 0
                self.x = self.around_x0(self.cache if settings.redraw else ())  # line 17
                self.begin_round()  # line 16
                self.r += 1  # line 18
                self.delta = self.r + settings.delta_init
                self.loss = yield self.x

    def reached(self) -> tuple[Point, float]:
        """The point and loss that line 10 compares with the round's best."""
        return self.x, self.loss

    def delta_lower(self) -> float:
        """Algorithm 3 at the round's incumbent. The other rules ignore dimensions with two values, and
        include the bound for floats if the space has a float.
        """
        rule, geometry = self.settings.delta_lower, self.geometry
        steps = geometry.finest_steps(self.round_best, least_values=2 if rule == "alg3" else 3)
        bounds = []
        if not steps or (geometry.has_floats and rule != "alg3"):
            bounds.append(0.01)  # Alg. 3, line 4
        for finest, width in steps:
            if rule == "unit_consistent":
                bounds.append(math.sqrt(geometry.d) * finest)
            else:
                bounds.append(self.settings.delta_init * (finest / width))  # Alg. 3, line 3
        return min(bounds)


class CFO(LocalSearch[CFOThread]):
    """Cost-frugal optimisation, as the paper describes it.

    Parameters
    ----------
    space : Space
        the hyperparameters and their ranges
    start : mapping of str to value
        a cheap configuration, where the search begins
    seed : int, default 0
        the same seed and the same losses give the same search
    mode : str, default "paper"
        `paper`; `tuned` is the method `cfo-tuned`
    parallel : int, default 1
        search threads, each with one trial at a time
    scale : {"log2", "ln"}, default "log2"
        the logarithm in whose units steps are taken: `log2` or `ln`
    delta_init : float, optional
        the first step; null: √d
    n_threshold : int or {"2^(d-1)", "d", "2d"}, default "2^(d-1)"
        iterations without improvement before δ shrinks: `2^(d-1)`, `d`, `2d` or a number
    stall : {"consecutive", "cumulative"}, default "consecutive"
        whether these iterations are `consecutive`, as in the paper's text, or `cumulative`, as in its
        pseudocode
    delta_lower : {"alg3", "with_floats", "unit_consistent"}, default "alg3"
        where a round ends: `alg3`, the paper's rule; `with_floats`, at most 0.01 in a space with floats; or
        `unit_consistent`, √d times the finest step
    redraw : bool, default False
        draw another restart point if it was evaluated before
    linear_span : float, optional
        length of a range that contains 0 or negative numbers, in units of δ; null: its own length

    Attributes
    ----------
    best : tuple of dict and float, or None
        the best configuration so far and its loss; None before the first result

    Raises
    ------
    SpaceError
        if `start` is not a configuration of the space
    OptionError
        if an option has a wrong value

    Examples
    --------
    >>> from cfo_bench import CFO, Float, Result, Space
    >>> cfo = CFO(Space([Float("x", 0.5, 8.0)]), {"x": 1.0}, seed=0)
    >>> for _ in range(40):
    ...     trial = cfo.ask()
    ...     cfo.tell(trial, Result.ok(loss=abs(trial.config["x"] - 3.0)))
    >>> cfo.best[1] < 0.1
    True
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        mode: str = "paper",
        parallel: int = 1,
        scale: Scale = "log2",
        delta_init: float | None = None,
        n_threshold: int | Threshold = "2^(d-1)",
        stall: Stall = "consecutive",
        delta_lower: DeltaLower = "alg3",
        redraw: bool = False,
        linear_span: float | None = LINEAR_SPAN,
    ) -> None:
        if mode != "paper":
            raise OptionError(
                f"mode {mode!r}: this method is the paper's CFO; `tuned` is the method cfo-tuned"
            )
        geometry = Geometry(space, scale, linear_span)
        settings = StepSettings.of(geometry.d, delta_init, n_threshold, stall, delta_lower, redraw)
        super().__init__(space, start, seed, parallel, geometry, lambda *args: self._thread(settings, *args))

    def _thread(self, settings: StepSettings, *args: Any) -> CFOThread:
        return CFOThread(settings, *args)


def _threshold(given: int | Threshold, d: int) -> int:
    if isinstance(given, str) and given in _THRESHOLDS:
        return _THRESHOLDS[given](max(d, 1))
    if isinstance(given, int) and not isinstance(given, bool) and given >= 1:
        return given
    raise OptionError(
        f"n_threshold {given!r}: choose from {', '.join(_THRESHOLDS)}, or give a whole number from 1 on"
    )
