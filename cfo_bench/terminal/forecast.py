"""How long the rest of the runs will take."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.engines.listener import Active
from cfo_bench.records import RunSpec


class Forecast:
    """Budgets that are left over runs at once; on the virtual clock, which says nothing, the pace so far."""

    def __init__(self, specs: Sequence[RunSpec], side_by_side: int, now: float) -> None:
        self._is_virtual = specs[0].clock == "virtual"
        self._side_by_side, self._most_at_once = side_by_side, 0
        self._runs_left = len(specs)
        self._budget_left = sum(spec.budget_seconds for spec in specs)
        self._began_at, self._ran = now, 0

    def ended(self, spec: RunSpec, ran: bool) -> None:
        """`ran`: it is not one that was done before."""
        self._runs_left -= 1
        self._budget_left -= spec.budget_seconds
        self._ran += ran

    def saw(self, at_once: int) -> None:
        """So many are under way: it may be fewer than was asked for that fit, or that come."""
        self._most_at_once = max(self._most_at_once, at_once)

    def seconds_left(self, active: Sequence[Active], now: float) -> float:
        at_once = min(self._most_at_once or self._side_by_side, self._runs_left) or 1
        if self._is_virtual:
            return (now - self._began_at) / max(self._ran, 1) * self._runs_left
        spent = [min(one.elapsed(), one.job.spec.budget_seconds) for one in active]
        longest = max(
            (one.job.spec.budget_seconds - gone for one, gone in zip(active, spent, strict=True)), default=0.0
        )
        return max((self._budget_left - sum(spent)) / at_once, longest)
