"""The base of FLOW², CFO and CFO-0: search threads behind one `ask` and `tell`.

A search thread is a generator that yields points to evaluate and receives their losses, so that each
algorithm can be written as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Generator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from cfo_bench.errors import Exhausted
from cfo_bench.optimizers.geometry import Geometry, Point, Vector
from cfo_bench.optimizers.options import check_count
from cfo_bench.records import Result, Trial
from cfo_bench.space import Config, Space, Value

Proposals = Generator[Point, float, None]
Cache = dict[tuple[Value, ...], float]


class SearchThread:
    """One direct search: its incumbent `x` with `loss`, its step `delta`, and its kind of step, `asking`.

    The loss of a configuration that was evaluated before is taken from the `cache` at no cost, and counts as
    an iteration.
    """

    delta: float

    def __init__(self, geometry: Geometry, x0: Point, rng: np.random.Generator, cache: Cache) -> None:
        self.geometry = geometry
        self.x0 = self.x = x0
        self.loss = math.inf
        self.rng = rng
        self.cache = cache
        self.asking = "INIT"
        self.evaluated = 0
        self.repeats = 0
        self._barren_rounds = self._evaluated_before_round = 0
        self._proposals = self.proposals()
        self._last_loss: float | None = None

    def proposals(self) -> Proposals:
        """The algorithm: yields a point and receives its loss, until it raises Exhausted."""
        raise NotImplementedError

    def direction(self) -> Vector:
        """u, uniform on the unit sphere."""
        z = self.rng.standard_normal(self.geometry.d).tolist()
        norm = math.hypot(*z)
        return [c / norm for c in z]

    def moved(self, length: float, u: Vector) -> Point:
        """Proj(x + length·u)."""
        vector = [x + length * c for x, c in zip(self.x.vector, u, strict=True)]
        return self.geometry.project(vector, self.x, self.rng)

    def around_x0(self, taken: Container[tuple[Value, ...]] = ()) -> Point:
        """Proj(x0 + z) with z ~ N(0, I), drawn again while it is `taken`, at most a hundred times."""
        for _ in range(100):
            z = self.rng.standard_normal(self.geometry.d).tolist()
            vector = [x + c for x, c in zip(self.x0.vector, z, strict=True)]
            point = self.geometry.project(vector, self.x0, self.rng)
            if point.values not in taken:
                break
        return point

    def is_stuck(self, n_threshold: int) -> bool:
        """Whether 10·N repeats occurred in a row. N is capped: 2^(d-1) at d = 20 would loop for minutes."""
        return self.repeats >= 10 * min(n_threshold, 1024)

    def begin_restart(self) -> None:
        """Begins another round; Exhausted after three rounds in a row without a new configuration."""
        self._barren_rounds = self._barren_rounds + 1 if self.evaluated == self._evaluated_before_round else 0
        if self._barren_rounds == 3:
            raise Exhausted("three restarts found no new configuration: all in reach are evaluated")
        self._evaluated_before_round = self.evaluated
        self.repeats = 0
        self.asking = "RESET"

    def next_point(self) -> Point:
        """The next point that is not in the cache. Losses of points in the cache are sent back
        immediately.
        """
        point = next(self._proposals) if self._last_loss is None else self._proposals.send(self._last_loss)
        while (known := self.cache.get(point.values)) is not None:
            self.repeats += 1
            point = self._proposals.send(known)
        self.repeats = 0
        self.evaluated += 1
        return point

    def receive(self, point: Point, loss: float, seconds: float) -> None:
        """Receive the result of a point. A cost-aware search also uses the seconds."""
        self.cache[point.values] = loss
        self._last_loss = loss


Thread = TypeVar("Thread", bound=SearchThread)


class LocalSearch(Generic[Thread]):
    """`ask` and `tell` for `parallel` search threads, with one running trial each.

    The first thread starts from `start`, and each other thread from another point near it. They share the
    cache. `ask` returns the same trial again while every thread waits for a result. An exhausted thread is
    not asked again; while the others wait, `ask` raises Exhausted until one of them has a result.
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int,
        parallel: int,
        geometry: Geometry,
        thread: Callable[[Geometry, Point, np.random.Generator, Cache], Thread],
    ) -> None:
        check_count("parallel", parallel)
        x0 = geometry.encode(space.check(start))
        cache: Cache = {}
        self.threads = [
            thread(geometry, x0, np.random.default_rng([seed, i]), cache) for i in range(parallel)
        ]
        starts = {x0.values}
        for scout in self.threads[1:]:
            scout.x = scout.around_x0(taken=starts)
            starts.add(scout.x.values)
        self.best: tuple[Config, float] | None = None
        self._geometry = geometry
        self._waiting: list[tuple[Trial, Point] | None] = [None] * parallel
        self._exhausted: dict[int, str] = {}
        self._asked = 0

    def ask(self) -> Trial:
        """The next configuration to evaluate.

        Returns
        -------
        Trial
            The trial, to be given back to `tell` with its result.

        Raises
        ------
        Exhausted
            If nothing new is left to evaluate.
        """
        for index, waiting in enumerate(self._waiting):
            if waiting is None and index not in self._exhausted:
                try:
                    point = self.threads[index].next_point()
                except Exhausted as reason:
                    self._exhausted[index] = str(reason)
                    continue
                trial = Trial(self._asked, self._geometry.config(point), None, index)
                self._asked += 1
                self._waiting[index] = (trial, point)
                return trial
        first = self._waiting[0]
        if self._exhausted or first is None:
            raise Exhausted(next(iter(self._exhausted.values())))
        return first[0]

    def tell(self, trial: Trial, result: Result) -> None:
        """Take the result of a trial.

        Parameters
        ----------
        trial : Trial
            A trial that `ask` returned.
        result : Result
            Its result.
        """
        waiting = self._waiting[trial.thread]
        if waiting is None or waiting[0].number != trial.number:
            raise ValueError(f"got the result of trial {trial.number}, which is not waiting for one")
        loss = result.value
        self.threads[trial.thread].receive(waiting[1], loss, result.seconds)
        self._waiting[trial.thread] = None
        if self.best is None or loss < self.best[1]:
            self.best = (trial.config, loss)
