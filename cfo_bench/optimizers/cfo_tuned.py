"""cfo-tuned: CFO's direct search, in which a small model chooses among the steps. It is not the paper's.

What stays as in CFO: the search starts at the low-cost start; it has one incumbent and one step δ; a trial is
a step away from the incumbent, which moves there if the loss is strictly lower; δ shrinks when nothing near
improves. It knows neither the task nor the budget.

What differs: the search first climbs away from the cheap start by making the model larger; and of many steps
that are drawn, the one that a model of the losses and the costs so far thinks best is tried, instead of the
first. docs/tuned-protocol.md says on what this was chosen and tested.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Any

import numpy as np

from cfo_bench.errors import Exhausted
from cfo_bench.metrics import Array
from cfo_bench.optimizers.flow2 import FLOW2Thread
from cfo_bench.optimizers.geometry import LINEAR_SPAN, Geometry, Point
from cfo_bench.optimizers.local_search import LocalSearch, Proposals
from cfo_bench.optimizers.model_process import Lengths, SmallProcess, log_expected_improvement, standardised
from cfo_bench.optimizers.options import check_names, check_number
from cfo_bench.space import Space, Value

# --- search history --------------------------------------------------------------------------------
# What a search was told so far, as its model wants it: points in a unit cube, losses, seconds.


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


# --- cfo tuned -------------------------------------------------------------------------------------


# Before there are so many results a model says nothing.
FEWEST_RESULTS = 4
# Steps that the model chooses from, each with its opposite: CFO's, in octaves and in all dimensions at once,
# and sparse ones, along few dimensions and in shares of their ranges. While results are fewer than 2d, only
# CFO's: a change of all dimensions at once leads away from a cheap start sooner.
OCTAVE_STEPS, SPARSE_STEPS = 12, 48
# A sparse step is this times δ·√d long, in shares of the ranges, or half of that. And the chance that a
# dimension takes part in one.
SHARE_OF_RANGE, CHANCE = 0.15, 0.3
# A climb may be expected to take that share of the seconds so far, and it ends with one that gains less than
# that share of the largest gain.
CLIMB_SHARE, LEAST_GAIN = 0.5, 0.5
# A trial that is short against this share of the seconds so far is taken for nearly free.
FREE_SHARE = 0.3
# A trial may be expected to take so many times the incumbent's seconds, or that share of all so far.
LARGEST_RISE, LARGEST_SHARE = 2.0, 0.1
# δ at which a round ends: no step of whole numbers is left, and floats are known to a few thousandths.
LEAST_DELTA = 0.002
# How far a restart is from the best point, in shares of the ranges.
RESTART_SHARE = 0.1
# The lengths of the model are fitted again after so many suggestions: that takes as long as a few of them.
REFIT_AFTER = 8


class TunedThread(FLOW2Thread):
    """One search. Its `delta` is 1 at first: a factor of the lengths of both kinds of steps."""

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
        barren_rounds, evaluated_before = 0, 0
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
                self.n = 2 * d  # all steps of this length were tried before
            if self.loss < self.best_loss:
                self.best, self.best_loss = self.x, self.loss
            is_stuck = self.is_stuck(2 * d)
            if self.n >= 2 * d or is_stuck:
                self.n = 0
                self.delta /= 2
            if self.delta < LEAST_DELTA or is_stuck:
                barren_rounds = barren_rounds + 1 if self.evaluated == evaluated_before else 0
                if barren_rounds == 3:
                    raise Exhausted("three restarts met no new configuration: all within reach are evaluated")
                evaluated_before = self.evaluated
                self.repeats, self.delta = 0, 1.0
                self.asking = "RESET"
                self.x = self.around_best()
                self.loss = yield self.x

    def attempt(self, point: Point, asking: str) -> Generator[Point, float, bool]:
        """One evaluation; whether the incumbent moved there."""
        self.asking = asking
        loss = yield point
        if loss < self.loss:
            self.x, self.loss = point, loss
            return True
        return False

    # --- the climb ----------------------------------------------------------------------------

    def uphill(self) -> Point | None:
        """The incumbent with every cost-related hyperparameter one octave dearer, while that is worth trying.

        The low-cost start is a model that is far too small. Twice as many trees with twice as many leaves
        help at once, where a random direction has to find out first. But each such trial takes two to four
        times as long as the last: it waits until it is short against the time that was spent.
        """
        if not self._is_climbing or not math.isfinite(self.loss):
            return None
        point = self.geometry.project(
            [x + up for x, up in zip(self.x.vector, self._uphill, strict=True)], self.x, self.rng
        )
        if point.values in self.cache or point.values in self.history.under_way:
            self._is_climbing = False  # at the far end of all ranges, or another thread climbs there
            return None
        if len(self.history) < 2:
            return point  # nothing is known of costs yet, and the start is cheap
        history = self.history
        seconds = history.seconds_at(history.cube.rows(history.cube.vector(point)[None]))
        return point if seconds[0] <= CLIMB_SHARE * history.spent_seconds else None

    def climb(self, point: Point) -> Generator[Point, float, None]:
        """It ends with the first that gains clearly less than the best did: then other steps pay more."""
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
        """Not around the start, as in the paper: the model has seen what lies between."""
        z = self.rng.standard_normal(self.geometry.d) * RESTART_SHARE * self.history.cube.widths
        vector = (np.array(self.best.vector) + z).tolist()
        return self.geometry.project(vector, self.best, self.rng)

    # --- the model ----------------------------------------------------------------------------

    def may_ask_model(self) -> bool:
        """Whether there are results to learn from, and trials take so long that the model is worth it.

        A method reads no clock, and a run must be the same when it is replayed: the model is paid by a price
        list out of a share of the seconds that trials took. Trials of milliseconds leave it silent.
        """
        history = self.history
        if len(history) < FEWEST_RESULTS or not history.has_a_loss:
            return False
        if self._overhead is None:
            return True
        price = price_seconds(len(history), self.geometry.d)
        if history.model_seconds + price > self._overhead * history.spent_seconds:
            return False
        history.model_seconds += price
        return True

    def most_promising(self) -> Point | None:
        """The new configuration with the most expected improvement for its cost; None if there is none.

        How dear a trial may be depends on the time that is left, which nobody knows. The best guess for it is
        of the order of the time that has gone by: a trial that is short against it costs next to nothing, a
        long one has to promise as many times more as it is longer. So the search is frugal at first, but not
        for good. A prediction far from what was tried may be wrong: so steps up in cost are limited.
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
        for place in np.argsort(-score, kind="stable").tolist():
            point = self.configured(vectors[place])
            if point.values not in self.cache and point.values not in history.under_way:
                return point
        return None

    def candidates(self) -> Array:
        """Vectors a step away from the incumbent; of choices without an order, the index."""
        if len(self.history) < 2 * self.geometry.d:
            steps = self.octave_steps(OCTAVE_STEPS + SPARSE_STEPS)
        else:
            steps = np.concatenate([self.octave_steps(OCTAVE_STEPS), self.sparse_steps()])
        steps = np.concatenate([steps, -steps])
        here = self.history.cube.vector(self.x)
        found: Array = here + steps
        for i, param in self.geometry.unordered.items():
            # There is no small step to another choice: in some candidates another one is drawn.
            changes = self.rng.random(len(steps)) < CHANCE
            others = (here[i] + self.rng.integers(1, len(param.choices), size=len(steps))) % len(
                param.choices
            )
            found[:, i] = np.where(changes, others, here[i])
        return self.geometry.snapped(found)

    def octave_steps(self, number: int) -> Array:
        """δ·√d octaves in a random direction."""
        d = self.geometry.d
        return _of_length(self.delta * math.sqrt(d), self.rng.standard_normal((number, d)))

    def sparse_steps(self) -> Array:
        """Along few dimensions, and of two lengths: the model knows which suits."""
        d, rng = self.geometry.d, self.rng
        takes_part = rng.random((SPARSE_STEPS, d)) < CHANCE
        takes_part[np.arange(SPARSE_STEPS), rng.integers(d, size=SPARSE_STEPS)] |= ~takes_part.any(axis=1)
        z = np.where(takes_part, rng.standard_normal((SPARSE_STEPS, d)), 0.0)
        lengths = rng.choice((0.5, 1.0), size=(SPARSE_STEPS, 1)) * self.delta * SHARE_OF_RANGE * math.sqrt(d)
        found: Array = _of_length(lengths, z) * self.history.cube.widths
        return found

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
        """The model of the loss, with lengths as good as so many results can tell."""
        groups, n = self.history.cube.groups, len(self.history)
        if n < 2 * self.geometry.d:
            return self._lengths.share_one(rows, losses, groups)
        if self._suggestions % REFIT_AFTER == 0:
            self._lengths.refit(rows, losses, groups)
        self._suggestions += 1
        return SmallProcess(rows, losses, groups, self._lengths.values)

    # --- what all threads share ---------------------------------------------------------------

    def next_point(self) -> Point:
        point = super().next_point()
        self.history.under_way.add(point.values)
        return point

    def receive(self, point: Point, loss: float, seconds: float) -> None:
        super().receive(point, loss, seconds)
        self.history.add(point, loss, seconds)


def _of_length(length: float | Array, z: Array) -> Array:
    found: Array = z * (length / np.linalg.norm(z, axis=1, keepdims=True))
    return found


def price_seconds(n_results: int, d: int) -> float:
    """What a suggestion of the model is taken to cost: a little more than was measured on a slow machine."""
    return 2e-3 + d * (1.6e-4 + 3.2e-6 * min(n_results, MOST_RESULTS))


class CFOTuned(LocalSearch[TunedThread]):
    """CFO's search with a small Gaussian process that chooses among its steps.

    parallel      search threads, each with one trial at a time; all learn from the results of all
    cost_related  hyperparameters whose values in the start are low-cost; a run names its learner's, and
                  without a run (null) none is known: then there is no climb
    overhead      the share of the trials' seconds that the model may take; it is silent where trials are
                  too short for that, or their seconds are not told. null: it always speaks
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
        named = tuple(cost_related or ())
        check_names("cost_related", named, (param.name for param in space))
        geometry = Geometry(space, "log2", LINEAR_SPAN)
        history = History(geometry)
        super().__init__(
            *(space, start, seed, parallel, geometry),
            lambda *args: TunedThread(history, overhead, named, *args),
        )
