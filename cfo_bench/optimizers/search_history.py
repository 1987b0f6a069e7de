"""What a search was told so far, as its model wants it: points in a unit cube, losses, seconds."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.optimizers.geometry import Geometry, Point
from cfo_bench.space import Value

# The model sees no more results than these: half of them the best, half the latest. Beyond that a
# suggestion would cost more with every trial, and old bad results say nothing of where the search is.
MOST_RESULTS = 120
# Seconds below which costs are taken for equal: a clock can't tell them apart.
LEAST_SECONDS = 1e-6
# Keeps the slopes of the cost small until there are results that show them.
RIDGE = 0.05


class UnitCube:
    """Vectors as rows of a unit cube: each dimension divided by its range, each choice without an order by
    itself.

    Two different choices are one unit apart, whichever they are. `groups` says to which dimension a column
    belongs.
    """

    def __init__(self, geometry: Geometry) -> None:
        lower, upper = np.array(geometry.ranges).reshape(-1, 2).T
        self._lower, self.widths = lower, upper - lower
        self._unordered = geometry.unordered
        self._numbers = [i for i in range(geometry.d) if i not in self._unordered]
        self.groups = np.array(
            [*self._numbers, *(i for i, param in self._unordered.items() for _ in param.choices)], dtype=int
        )

    def vector(self, point: Point) -> Array:
        """The point's vector, with the index of its choice where choices have no order."""
        found = np.array(point.vector)
        for i, param in self._unordered.items():
            found[i] = param.choices.index(point.values[i])
        return found

    def rows(self, vectors: Array) -> Array:
        columns = [((vectors - self._lower) / self.widths)[:, self._numbers]]
        for i, param in self._unordered.items():
            # Two such rows differ in two columns, by √½ each.
            columns.append((vectors[:, [i]] == np.arange(len(param.choices))) * math.sqrt(0.5))
        return np.concatenate(columns, axis=1)


class History:
    """The results of all threads of a search, and what else they share."""

    def __init__(self, geometry: Geometry) -> None:
        self.cube = UnitCube(geometry)
        self.under_way: set[tuple[Value, ...]] = set()
        self.spent_seconds = 0.0  # in trials
        self.model_seconds = 0.0  # of the model, by its price list
        self._losses: list[float] = []
        self._ranked: list[tuple[float, int]] = []  # losses with their place, the best first
        # Points and log-seconds that the model has not looked at yet: short trials can't wait for that.
        self._new: list[tuple[Point, float]] = []
        columns = len(self.cube.groups)
        self._rows = np.empty((0, columns))
        self._log_seconds_at_start = 0.0
        self._gram, self._moment = RIDGE * np.eye(columns), np.zeros(columns)

    def __len__(self) -> int:
        return len(self._losses)

    @property
    def has_a_loss(self) -> bool:
        return bool(self._ranked) and math.isfinite(self._ranked[0][0])

    def add(self, point: Point, loss: float, seconds: float) -> None:
        self.under_way.discard(point.values)
        self.spent_seconds += seconds
        insort(self._ranked, (loss, len(self._losses)))
        self._losses.append(loss)
        self._new.append((point, math.log(max(seconds, LEAST_SECONDS))))

    def _look_at_new(self) -> None:
        if not self._new:
            return
        rows = self.cube.rows(np.array([self.cube.vector(point) for point, _ in self._new]))
        log_seconds = np.array([one for _, one in self._new])
        if not len(self._rows):
            self._log_seconds_at_start = float(log_seconds[0])
        self._rows = np.concatenate([self._rows, rows])
        self._new = []
        away = rows - self._rows[0]
        self._gram += away.T @ away
        self._moment += (log_seconds - self._log_seconds_at_start) @ away

    def seconds_at(self, rows: Array) -> Array:
        """The predicted seconds of trials: the cost of a model is close to a product of powers.

        So its logarithm is a linear function, here of the way from the first trial, by ridge regression.
        """
        self._look_at_new()
        slopes = np.linalg.solve(self._gram, self._moment)
        log_seconds = self._log_seconds_at_start + (rows - self._rows[0]) @ slopes
        found: Array = np.exp(np.clip(log_seconds, -30.0, 30.0))
        return found

    def modelled(self) -> tuple[Array, list[float]]:
        """The rows and losses that the model sees. A failed trial counts as the worst of them."""
        self._look_at_new()
        places: Sequence[int] = range(len(self))
        if len(self) > MOST_RESULTS:
            best = {place for _, place in self._ranked[: MOST_RESULTS // 2]}
            latest = (place for place in reversed(places) if place not in best)
            rest = [place for place, _ in zip(latest, range(MOST_RESULTS - len(best)), strict=False)]
            places = sorted([*best, *rest])
        losses = [self._losses[place] for place in places]
        worst = max(loss for loss in losses if math.isfinite(loss))
        return self._rows[list(places)], [min(loss, worst) for loss in losses]
