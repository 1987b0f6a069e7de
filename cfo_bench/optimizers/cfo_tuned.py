"""cfo-tuned: CFO's direct search, in which a small model chooses among the steps. It is not the paper's.

As in CFO, the search starts at the low-cost start; it has one incumbent and one step δ; a trial is a step
away from the incumbent, which moves there if the loss is strictly lower; δ shrinks when nothing near
improves. It has no information about the task or the budget.

There are two differences from CFO. The search first climbs away from the cheap start by making the model
larger. And it draws many steps and tries the one that a model of the losses and costs so far rates best.
docs/tuned-protocol.md describes the data on which both were chosen and tested.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping
from typing import Any

import numpy as np

from cfo_bench.errors import Exhausted
from cfo_bench.metrics import Array
from cfo_bench.optimizers.flow2 import FLOW2Thread
from cfo_bench.optimizers.geometry import LINEAR_SPAN, Geometry, Point
from cfo_bench.optimizers.local_search import LocalSearch, Proposals
from cfo_bench.optimizers.options import check_names, check_number
from cfo_bench.optimizers.tuned_model import (
    MOST_RESULTS,
    History,
    Lengths,
    SmallProcess,
    log_expected_improvement,
    standardised,
)
from cfo_bench.space import Space

# With fewer results the model is not used.
FEWEST_RESULTS = 4
# The numbers of steps from which the model chooses, each with its opposite: steps of CFO, in octaves and in
# all dimensions together, and sparse steps, along few dimensions and in shares of their ranges. With fewer
# than 2d results, all steps are those of CFO, because a change of all dimensions together leads away from a
# cheap start sooner.
OCTAVE_STEPS, SPARSE_STEPS = 12, 48
# The length of a sparse step, in shares of the ranges: this times δ·√d, or half as much. And the probability
# that a dimension is part of the step.
SHARE_OF_RANGE, CHANCE = 0.15, 0.3
# The largest predicted cost of a climbing trial, as a share of the seconds so far; and the share of the
# largest gain below which a gain ends the climb.
CLIMB_SHARE, LEAST_GAIN = 0.5, 0.5
# A trial that is short compared with this share of the seconds so far counts as nearly free.
FREE_SHARE = 0.3
# The largest predicted cost of a trial: this many times the incumbent's seconds, or this share of all seconds
# so far.
LARGEST_RISE, LARGEST_SHARE = 2.0, 0.1
# The δ at which a round ends: integers have no finer step, and floats are known to a few thousandths.
LEAST_DELTA = 0.002
# The distance of a restart from the best point, in shares of the ranges.
RESTART_SHARE = 0.1
# The lengths of the model are refitted after this many suggestions: a refit takes as long as a few of them.
REFIT_AFTER = 8


class TunedThread(FLOW2Thread):
    """One search. Its `delta`, 1 at first, is a factor of the lengths of both kinds of steps."""

    def __init__(
        self, history: History, overhead: float | None, cost_related: Collection[str], *args: Any
    ) -> None:
        super().__init__(1.0, *args)
        self.history, self._overhead = history, overhead
        self.n = 0
        self.best, self.best_loss = self.x, math.inf
        self._lengths = Lengths(self.geometry.d, self.rng)
        self._suggestions = 0
        self._uphill = self.geometry.away_from_near_end(self.x0, cost_related)
        self._is_climbing, self._largest_gain = any(self._uphill), 0.0

    def proposals(self) -> Proposals:
        d = self.geometry.d
        self.loss = yield self.x
        if d == 0:
            raise Exhausted("every hyperparameter has a single value: there is nothing to search")
        while True:
            if (point := self.uphill()) is not None:
                yield from self.climb(point)
            elif not self.may_ask_model():
                improved = yield from self.step()  # CFO's: a random direction, then its opposite
                self.n = 0 if improved else self.n + 1
            elif (point := self.most_promising()) is not None:
                improved = yield from self.attempt(point, "RANKED")
                self.n = 0 if improved else self.n + 1
            else:
                self.n = 2 * d  # all steps of this length have been evaluated
            if self.loss < self.best_loss:
                self.best, self.best_loss = self.x, self.loss
            is_stuck = self.is_stuck(2 * d)
            if self.n >= 2 * d or is_stuck:
                self.n = 0
                self.delta /= 2
            if self.delta < LEAST_DELTA or is_stuck:
                self.begin_restart()
                self.delta = 1.0
                self.x = self.around_best()
                self.loss = yield self.x

    def attempt(self, point: Point, asking: str) -> Generator[Point, float, bool]:
        """Evaluate a point; returns whether the incumbent moved to it."""
        self.asking = asking
        loss = yield point
        if loss < self.loss:
            self.x, self.loss = point, loss
            return True
        return False

    # --- the climb ----------------------------------------------------------------------------

    def uphill(self) -> Point | None:
        """The incumbent with every cost-related hyperparameter one octave more expensive, during the climb.

        The low-cost start is a model that is far too small. Twice as many trees with twice as many leaves
        improve it immediately, and a random direction rarely contains this change. But each such trial takes
        two to four times as long as the previous one, so it is tried only if it is short compared with the
        seconds spent so far.
        """
        if not self._is_climbing or not math.isfinite(self.loss):
            return None
        point = self.geometry.project(
            [x + up for x, up in zip(self.x.vector, self._uphill, strict=True)], self.x, self.rng
        )
        if point.values in self.cache or point.values in self.history.running:
            self._is_climbing = False  # all ranges end here, or another thread evaluates the point
            return None
        if len(self.history) < 2:
            return point  # costs are not known yet, and the start is cheap
        history = self.history
        seconds = history.seconds_at(history.cube.rows(history.cube.vector(point)[None]))
        return point if seconds[0] <= CLIMB_SHARE * history.spent_seconds else None

    def climb(self, point: Point) -> Generator[Point, float, None]:
        """One trial of the climb, which ends when a gain is clearly smaller than the largest so far."""
        loss_before = self.loss
        self._is_climbing = yield from self.attempt(point, "CLIMB")
        gain = loss_before - self.loss
        self._largest_gain = max(self._largest_gain, gain)
        if gain < LEAST_GAIN * self._largest_gain:
            self._is_climbing = False
        if gain > 0:
            self.n = 0

    def moved(self, length: float, u: list[float]) -> Point:
        """CFO's step: with δ = 1 its length is √d, in octaves."""
        return super().moved(length * math.sqrt(self.geometry.d), u)

    def around_best(self) -> Point:
        """A restart near the best point. The paper restarts near the start, but here the model has results
        from the region between the two.
        """
        z = self.rng.standard_normal(self.geometry.d) * RESTART_SHARE * self.history.cube.widths
        vector = (np.array(self.best.vector) + z).tolist()
        return self.geometry.project(vector, self.best, self.rng)

    # --- the model ----------------------------------------------------------------------------

    def may_ask_model(self) -> bool:
        """Whether there are enough results, and trials are long compared with the seconds of the model.

        A method does not read the clock, so that a replay gives the same run. Therefore an estimate of the
        model's seconds is charged against a share of the trials' seconds. With trials of milliseconds the
        model is not used.
        """
        history = self.history
        if len(history) < FEWEST_RESULTS or not history.has_a_loss:
            return False
        if self._overhead is None:
            return True
        seconds = model_seconds(len(history), self.geometry.d)
        if history.model_seconds + seconds > self._overhead * history.spent_seconds:
            return False
        history.model_seconds += seconds
        return True

    def most_promising(self) -> Point | None:
        """The new configuration with the most expected improvement for its cost; None if there is none.

        The acceptable cost of a trial depends on the remaining time, which is unknown. The best guess is the
        time spent so far: a trial that is short compared with it is nearly free, and a long trial needs a
        proportionally higher expected improvement. Therefore the search is frugal at first, but not forever.
        Predictions far from evaluated points may be wrong, so increases of the cost are limited.
        """
        history, vectors = self.history, self.candidates()
        rows = history.cube.rows(vectors)
        rows_here = history.cube.rows(history.cube.vector(self.x)[None])
        known, losses = history.modelled()
        scaled = standardised(losses)
        mean, deviation = self.process(known, scaled).predict(rows)
        improvement = log_expected_improvement(mean, deviation, float(scaled.min()))
        seconds, seconds_here = np.split(history.seconds_at(np.concatenate([rows, rows_here])), [len(rows)])
        score = improvement - np.log(seconds + FREE_SHARE * history.spent_seconds)
        most = max(LARGEST_RISE * float(seconds_here[0]), LARGEST_SHARE * history.spent_seconds)
        score[seconds > most] = -np.inf
        for index in np.argsort(-score, kind="stable").tolist():
            point = self.configured(vectors[index])
            if point.values not in self.cache and point.values not in history.running:
                return point
        return None

    def candidates(self) -> Array:
        """Vectors one step from the incumbent; an unordered choice is represented by its index."""
        if len(self.history) < 2 * self.geometry.d:
            steps = self.octave_steps(OCTAVE_STEPS + SPARSE_STEPS)
        else:
            steps = np.concatenate([self.octave_steps(OCTAVE_STEPS), self.sparse_steps()])
        steps = np.concatenate([steps, -steps])
        here = self.history.cube.vector(self.x)
        vectors: Array = here + steps
        for i, param in self.geometry.unordered.items():
            # No step to another choice is small, so some candidates draw another choice.
            changes = self.rng.random(len(steps)) < CHANCE
            shifts = self.rng.integers(1, len(param.choices), size=len(steps))
            vectors[:, i] = np.where(changes, (here[i] + shifts) % len(param.choices), here[i])
        return self.geometry.snapped(vectors)

    def octave_steps(self, number: int) -> Array:
        """δ·√d octaves in a random direction."""
        d = self.geometry.d
        return _of_length(self.delta * math.sqrt(d), self.rng.standard_normal((number, d)))

    def sparse_steps(self) -> Array:
        """Steps along few dimensions, of two lengths."""
        d, rng = self.geometry.d, self.rng
        takes_part = rng.random((SPARSE_STEPS, d)) < CHANCE
        takes_part[np.arange(SPARSE_STEPS), rng.integers(d, size=SPARSE_STEPS)] |= ~takes_part.any(axis=1)
        z = np.where(takes_part, rng.standard_normal((SPARSE_STEPS, d)), 0.0)
        lengths = rng.choice((0.5, 1.0), size=(SPARSE_STEPS, 1)) * self.delta * SHARE_OF_RANGE * math.sqrt(d)
        steps: Array = _of_length(lengths, z) * self.history.cube.widths
        return steps

    def configured(self, vector: Array) -> Point:
        """The point of a candidate."""
        moved, unordered = vector.tolist(), self.geometry.unordered
        for i in unordered:
            moved[i] = self.x.vector[i]
        point = self.geometry.project(moved, self.x, self.rng)
        values = list(point.values)
        for i, param in unordered.items():
            point.vector[i] = float(vector[i])
            values[i] = param.choices[int(vector[i])]
        return Point(point.vector, tuple(values))

    def process(self, rows: Array, losses: Array) -> SmallProcess:
        """The model of the loss. With few results all its lengths are equal."""
        groups, n = self.history.cube.groups, len(self.history)
        if n < 2 * self.geometry.d:
            return self._lengths.share_one(rows, losses, groups)
        if self._suggestions % REFIT_AFTER == 0:
            self._lengths.refit(rows, losses, groups)
        self._suggestions += 1
        return SmallProcess(rows, losses, groups, self._lengths.values)

    # --- the shared history -------------------------------------------------------------------

    def next_point(self) -> Point:
        point = super().next_point()
        self.history.running.add(point.values)
        return point

    def receive(self, point: Point, loss: float, seconds: float) -> None:
        super().receive(point, loss, seconds)
        self.history.add(point, loss, seconds)


def _of_length(length: float | Array, z: Array) -> Array:
    steps: Array = z * (length / np.linalg.norm(z, axis=1, keepdims=True))
    return steps


def model_seconds(n_results: int, d: int) -> float:
    """The estimated seconds of a suggestion of the model: a little more than on a slow machine."""
    return 2e-3 + d * (1.6e-4 + 3.2e-6 * min(n_results, MOST_RESULTS))


class CFOTuned(LocalSearch[TunedThread]):
    """CFO's search with a small Gaussian process that chooses among its steps.

    parallel      search threads, each with one trial at a time, which share all results
    cost_related  the hyperparameters that determine the cost, as the run's learner declares them; null: none
                  is known, and there is no climb
    overhead      the share of the trials' seconds that the model may take; the model is not used if trials
                  are too short for this, or if their seconds are not reported; null: always used
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        parallel: int = 1,
        cost_related: list[str] | None = None,
        overhead: float | None = 0.03,
    ) -> None:
        if overhead is not None:
            check_number("overhead", overhead, 0)
        names = tuple(cost_related or ())
        check_names("cost_related", names, (param.name for param in space))
        geometry = Geometry(space, "log2", LINEAR_SPAN)
        history = History(geometry)
        super().__init__(
            *(space, start, seed, parallel, geometry),
            lambda *args: TunedThread(history, overhead, names, *args),
        )
