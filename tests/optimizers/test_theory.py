"""What the paper proves of FLOW², sampled; and for each statement, broken FLOW²s that it must tell apart.

The hyperparameters have ranges across 0, so that they are searched as they are and the space is R^d.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfo_bench.optimizers.cfo import CFO
from cfo_bench.optimizers.cfo0 import CFO0
from cfo_bench.optimizers.flow2 import FLOW2, FLOW2Thread
from cfo_bench.optimizers.geometry import Geometry, Point
from cfo_bench.optimizers.local_search import LocalSearch
from cfo_bench.records import Result
from cfo_bench.space import Float, Space

Vector = np.ndarray
Function = Callable[[Vector], float]


@dataclass
class Iteration:
    """x_k with its loss, the step δ and the round, and what was evaluated in the iteration."""

    x: Vector
    loss: float
    delta: float
    round: int
    evaluated: list[Vector] = field(default_factory=list)


def euclidean(d: int) -> Space:
    return Space([Float(f"x{i}", -1e4, 1e4) for i in range(d)])


def iterations(method: LocalSearch[Any], f: Function) -> Iterator[Iteration]:
    """Each iteration once it is over; restarts are evaluations of none."""
    thread = method.threads[0]
    under_way = None
    while True:
        trial = method.ask()
        x = np.array(list(trial.config.values()))
        if thread.asking in ("PLUS", "RESET") and under_way:
            yield under_way
            under_way = None
        if thread.asking == "PLUS":
            under_way = Iteration(
                np.array(thread.x.vector), thread.loss, thread.delta, getattr(thread, "r", 0)
            )
        if under_way:
            under_way.evaluated.append(x)
        method.tell(trial, Result.ok(f(x)))


Thread = type[FLOW2Thread]


def search(thread: Thread, x0: Vector, step: float, seed: int) -> LocalSearch[FLOW2Thread]:
    """FLOW² with these threads, in raw units."""
    space = euclidean(len(x0))
    start = {f"x{i}": float(x) for i, x in enumerate(x0)}
    return LocalSearch(space, start, seed, 1, Geometry(space, "log2", None), partial(thread, step))


def flow2(thread: Thread, f: Function, x0: Vector, step: float, n: int, seed: int) -> list[Iteration]:
    """The first n iterations, and one more for the incumbent that they lead to."""
    run = iterations(search(thread, x0, step, seed), f)
    return [next(run) for _ in range(n + 1)]


def c(d: int) -> float:
    """c_d of Proposition 1, the mean of |u_1| over the unit sphere."""
    return 2 * math.gamma(d / 2) / ((d - 1) * math.gamma((d - 1) / 2) * math.sqrt(math.pi))


# --- Properties 1 to 3 ------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    d=st.integers(2, 5),  # with d = 1 points are met again, and iterations pass that ask nothing
    seed=st.integers(0, 2**32),
    method=st.sampled_from([FLOW2, CFO]),
    failures=st.floats(0, 0.5),
)
def test_the_incumbent_is_the_best_near_the_last_and_costs_two_evaluations(d, seed, method, failures) -> None:
    rng = np.random.default_rng(seed)
    known: dict[bytes, float] = {}

    def f(x: Vector) -> float:
        """No structure at all, and some trials fail."""
        known[x.tobytes()] = math.inf if rng.random() < failures else float(rng.standard_normal())
        return known[x.tobytes()]

    start = {f"x{i}": 0.0 for i in range(d)}
    check_properties(iterations(method(euclidean(d), start, seed, linear_span=None), f), known)


def check_properties(run: Iterator[Iteration], known: dict[bytes, float]) -> None:
    before, best = None, math.inf
    for now in (next(run) for _ in range(30)):
        if before and before.round == now.round:
            best = min([best, *(known[x.tobytes()] for x in before.evaluated)])
            assert now.loss <= best  # Property 1
            assert np.linalg.norm(now.x - before.x) <= before.delta * (1 + 1e-9)  # Property 2
        else:
            best = now.loss
        assert len(now.evaluated) <= 2  # Property 3
        before = now


def test_zeroth_order_steps_do_not_keep_property_1() -> None:
    """The check above can tell: CFO-0 accepts what is worse."""
    start = {"x0": 0.0, "x1": 0.0}
    method = CFO0(euclidean(2), start, seed=0, linear_span=None)
    run = iterations(method, lambda x: float(np.sum(np.sin(3 * x) + 0.1 * x**2)))

    losses = [next(run).loss for _ in range(40)]

    assert any(later > earlier for earlier, later in itertools.pairwise(losses))


# --- Proposition 1, Theorems 1 and 2 ----------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3, 5, 9])
@pytest.mark.parametrize("step", [0.1, 0.5])
def test_an_iteration_gains_what_proposition_1_says(d: int, step: float) -> None:
    check_proposition_1(FLOW2Thread, d, step)


def check_proposition_1(thread: Thread, d: int, step: float) -> None:
    curvature = np.linspace(0.5, 2.0, d)  # L = 2
    x0 = np.linspace(1.0, 2.0, d)
    gradient = float(np.linalg.norm(curvature * x0))

    def f(x: Vector) -> float:
        return float(curvature @ x**2) / 2

    ends = [flow2(thread, f, x0, step, 1, seed)[-1].loss for seed in range(1200)]
    gain = f(x0) - np.array(ends)

    error = gain.std() / math.sqrt(len(gain))
    assert gain.mean() >= step * c(d) * gradient - 2.0 * step**2 / 2 - 4 * error
    # f is convex, so that no direction gains more than its slope: c_d is not just any lower bound.
    assert gain.mean() <= step * c(d) * gradient + 4 * error


def iterations_for(way: float, d: int) -> int:
    """K such that FLOW² with the step 1/√K goes this way down a slope: c_d·δ in each of K iterations."""
    return math.ceil((way / c(d)) ** 2)


@pytest.mark.parametrize("d", [2, 5, 9])
@pytest.mark.parametrize("way", [8.0, 10.0])
def test_a_convex_loss_falls_as_theorem_1_says(d: int, way: float) -> None:
    check_theorem_1(FLOW2Thread, d, way)


def check_theorem_1(thread: Thread, d: int, way: float) -> None:
    """A cone with a round tip: its slope is nearly 1 everywhere, so that the theorem leaves little room."""
    n = iterations_for(way, d)
    step, radius = 1 / math.sqrt(n), 16.0
    x0 = np.full(d, radius / math.sqrt(d))

    def f(x: Vector) -> float:
        return math.sqrt(1 + float(x @ x)) - 1  # L = 1

    runs = [flow2(thread, f, x0, step, n, seed) for seed in range(8)]

    bound = math.exp(-step * c(d) * n / radius) * f(x0) + step * radius / (2 * c(d))
    assert np.mean([run[-1].loss for run in runs]) <= bound


@pytest.mark.parametrize("d", [2, 5, 9])
def test_the_gradient_vanishes_as_theorem_2_says(d: int) -> None:
    check_theorem_2(FLOW2Thread, d, way=11.0)


def check_theorem_2(thread: Thread, d: int, way: float) -> None:
    """A cone with ripples, 8 away from its tip: the budget is enough to get there, and half of it is not."""
    n = iterations_for(way, d)
    step = 1 / math.sqrt(n)
    x0 = np.full(d, 8.0 / math.sqrt(d))

    def height(r: Vector | float) -> Any:
        return np.sqrt(1 + np.square(r)) + 0.2 * np.cos(r)  # not convex: h'' < 0 at r = 2π

    def slope(r: float) -> float:
        return abs(r / math.sqrt(1 + r * r) - 0.2 * math.sin(r))

    most_curved = 1.2  # L: h'' ≤ 1 + 0.2, and h'/r is less
    lowest = float(height(np.linspace(0, 10, 100_001)).min())

    def f(x: Vector) -> float:
        return float(height(float(np.linalg.norm(x))))

    runs = [flow2(thread, f, x0, step, n, seed) for seed in range(8)]

    gradients = np.mean([[slope(float(np.linalg.norm(k.x))) for k in run[:n]] for run in runs], axis=0)
    bound = (height(8.0) - lowest + most_curved * n * step**2 / 2) / (c(d) * (n - 1) * step)
    assert bound < 0.95  # less than the slope where it starts: who stays there does not pass
    assert gradients.min() <= bound


# --- Theorem 3, and its form for a factorised cost --------------------------------------------


def monotone_beyond(level: Function, best: float) -> Function:
    """A loss that is lowest where `level` is `best` and, past it, rises with the level whatever else x is.

    Before it, the loss falls towards the best level, with ripples.
    """

    def f(x: Vector) -> float:
        ahead = best - level(x)
        return -ahead if ahead < 0 else ahead + 0.3 * min(ahead, 1.0) * (1 + math.sin(float(np.sum(x))))

    return f


def spent(run: list[Iteration], cost: Function) -> list[float]:
    """What the first 1, 2, 3 … iterations have cost."""
    return list(np.cumsum([sum(cost(x) for x in k.evaluated) for k in run]))


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("step", [0.2, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_lipschitz_cost_stays_under_the_bound_of_theorem_3(d: int, step: float, seed: int) -> None:
    check_theorem_3(FLOW2Thread, d, step, seed)


def check_theorem_3(thread: Thread, d: int, step: float, seed: int) -> None:
    def cost(x: Vector) -> float:
        return 5.0 + abs(float(np.sum(x)))  # Lipschitz: U = √d in the Euclidean norm

    start, best = 5.0, 20.0
    gap, most = best - start, math.sqrt(d) * step  # γ and D
    run = flow2(thread, monotone_beyond(cost, best), np.zeros(d), step, 150, seed)

    for before, now in itertools.pairwise(run):
        assert cost(now.x) <= cost(before.x) + most + 1e-9  # Proposition 2
        assert cost(now.x) <= best + most + 1e-9  # Proposition 3
    for n, total in enumerate(spent(run[:-1], cost), start=1):
        if n <= math.ceil(gap / most):
            assert total <= n * (best + start) + 2 * n * most
        else:
            assert total <= 2 * n * best + 4 * n * most - (gap / most - 1) * gap
    assert cost(run[-1].x) > best - 3 * most  # it came to where the bound bites


@pytest.mark.parametrize("signs", [(1, 1), (1, 1, -1), (1, 0, -1, 0, 1)])
@pytest.mark.parametrize("step", [0.2, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_factorised_cost_stays_under_the_bound_of_appendix_b(signs, step: float, seed: int) -> None:
    check_appendix_b(FLOW2Thread, signs, step, seed)


def check_appendix_b(thread: Thread, signs: tuple[int, ...], step: float, seed: int) -> None:
    def level(x: Vector) -> float:
        return float(np.dot(signs, x))

    def cost(x: Vector) -> float:
        return math.exp(level(x))  # Π e^{±x_i} over the cost-related dimensions

    start, best = 1.0, math.exp(6.0)
    ratio, most = best / start, math.exp(step * math.sqrt(np.dot(signs, signs)))  # γ and C
    run = flow2(thread, monotone_beyond(level, 6.0), np.zeros(len(signs)), step, 150, seed)

    for before, now in itertools.pairwise(run):
        assert cost(now.x) <= cost(before.x) * most * (1 + 1e-9)  # Proposition 4
        assert cost(now.x) <= best * most * (1 + 1e-9)  # Proposition 5
    climb = (ratio - 1) / (ratio * (most - 1))
    for n, total in enumerate(spent(run[:-1], cost), start=1):
        if n <= math.ceil(math.log(ratio) / math.log(most)):
            assert total <= best * 2 * climb * most
        else:
            bound = n * most + climb - math.log(ratio) / math.log(most) * most + most
            assert total <= best * 2 * most * bound
    assert level(run[-1].x) > 6.0 - 3 * math.log(most)


# --- broken FLOW²s, and the statements that must fail for them --------------------------------


class NeverMoves(FLOW2Thread):
    def step(self) -> Generator[Point, float, bool]:
        x, loss = self.x, self.loss
        yield from super().step()
        self.x, self.loss = x, loss
        return False


class PlusOnly(FLOW2Thread):
    def step(self) -> Generator[Point, float, bool]:
        self.asking = "PLUS"
        plus = self.moved(self.delta, self.direction())
        loss_plus = yield plus
        if loss_plus < self.loss:
            self.x, self.loss = plus, loss_plus
            return True
        return False


class HalfStep(FLOW2Thread):
    """Half the step that it is given; a check reads the right one from `delta`."""

    def moved(self, length: float, u: list[float]) -> Point:
        return super().moved(length / 2, u)


class DoubleStep(FLOW2Thread):
    def moved(self, length: float, u: list[float]) -> Point:
        return super().moved(2 * length, u)


class AcceptsWorse(FLOW2Thread):
    def step(self) -> Generator[Point, float, bool]:
        self.asking = "PLUS"
        self.x = self.moved(self.delta, self.direction())
        self.loss = yield self.x
        return True


class ThirdEvaluation(FLOW2Thread):
    """Where neither side is better, it looks twice as far."""

    def step(self) -> Generator[Point, float, bool]:
        moved = yield from super().step()
        if not moved:
            self.asking = "FURTHER"
            yield self.moved(2 * self.delta, self.direction())
        return moved


def check_properties_of(thread: Thread) -> None:
    known: dict[bytes, float] = {}
    rng = np.random.default_rng(0)

    def f(x: Vector) -> float:
        known[x.tobytes()] = float(rng.standard_normal())
        return known[x.tobytes()]

    check_properties(iterations(search(thread, np.zeros(3), 1.0, 0), f), known)


def check_costs_of_theorem_3(thread: Thread) -> None:
    for seed in range(4):
        check_theorem_3(thread, 2, 1.0, seed)


def check_costs_of_appendix_b(thread: Thread) -> None:
    for seed in range(4):
        check_appendix_b(thread, (1, 1), 1.0, seed)


MUTANTS: list[tuple[str, Callable[[Thread], None], Thread]] = [
    (f"{name}, {mutant.__name__}", check, mutant)
    for name, check, mutants in [
        ("properties", check_properties_of, [DoubleStep, AcceptsWorse, ThirdEvaluation]),
        (
            "proposition 1",
            partial(check_proposition_1, d=5, step=0.1),
            [NeverMoves, PlusOnly, HalfStep, DoubleStep, AcceptsWorse],
        ),
        (
            "theorem 1",
            partial(check_theorem_1, d=5, way=10.0),
            [NeverMoves, PlusOnly, HalfStep, AcceptsWorse],
        ),
        (
            "theorem 2",
            partial(check_theorem_2, d=5, way=11.0),
            [NeverMoves, PlusOnly, HalfStep, AcceptsWorse],
        ),
        ("theorem 3", check_costs_of_theorem_3, [NeverMoves, DoubleStep, AcceptsWorse]),
        ("appendix B", check_costs_of_appendix_b, [NeverMoves, DoubleStep, AcceptsWorse]),
    ]
    for mutant in mutants
]


@pytest.mark.parametrize(("check", "mutant"), [row[1:] for row in MUTANTS], ids=[row[0] for row in MUTANTS])
def test_the_statement_fails_for_a_broken_flow2(check: Callable[[Thread], None], mutant: Thread) -> None:
    with pytest.raises(AssertionError):
        check(mutant)
