"""How long the rest of the runs will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cfo_bench.engines.listener import Active
from cfo_bench.records import RunSpec
from cfo_bench.run_id import run_id


class Forecast:
    """Budgets that are left over runs at once; on the virtual clock, which says nothing, the pace so far.

    `spent_seconds` are those that runs had spent before, by their ids: a run that is resumed, or has a longer
    budget now, does not spend them again.
    """

    def __init__(
        self,
        specs: Sequence[RunSpec],
        side_by_side: int,
        now: float,
        spent_seconds: Mapping[str, float] | None = None,
    ) -> None:
        self._is_virtual = specs[0].clock == "virtual"
        self._side_by_side, self._most_at_once = side_by_side, 0
        self._spent = spent_seconds or {}
        self._runs_left = len(specs)
        self._budget_left = sum(map(self._left_at_first, specs))
        self._began_at, self._ran = now, 0

    def ended(self, spec: RunSpec, ran: bool) -> None:
        """`ran`: it is not one that was done before."""
        self._runs_left -= 1
        self._budget_left -= self._left_at_first(spec)
        self._ran += ran

    def saw(self, at_once: int) -> None:
        """So many are under way: it may be fewer than was asked for that fit, or that come."""
        self._most_at_once = max(self._most_at_once, at_once)

    def seconds_left(self, active: Sequence[Active], now: float) -> float:
        at_once = min(self._most_at_once or self._side_by_side, self._runs_left) or 1
        if self._is_virtual:
            return (now - self._began_at) / max(self._ran, 1) * self._runs_left
        at_first = [self._left_at_first(one.job.spec) for one in active]
        left = [
            min(before, max(one.job.spec.budget_seconds - one.elapsed(), 0.0))
            for one, before in zip(active, at_first, strict=True)
        ]
        return max((self._budget_left - sum(at_first) + sum(left)) / at_once, max(left, default=0.0))

    def _left_at_first(self, spec: RunSpec) -> float:
        return spec.budget_seconds - self._spent.get(run_id(spec), 0.0)
