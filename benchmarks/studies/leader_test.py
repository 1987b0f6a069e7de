"""How often does a report claim a false lead, and how often does it find a true one?

    python benchmarks/studies/leader_test.py [DRAWS]

Scores are drawn for methods whose true means are known, and tested as a report does: the method with the best
mean rank against each other one, by Wilcoxon's test and the triangle step-up. Beside it is Holm's correction
for the leader's own pairs, which ignores that the leader was chosen after the runs. An effect is in standard
deviations of a score. 2,000 draws take about ten minutes on one core; their standard error is at most 0.5 %
where 5 % are false.

false     draws in which the leader is called better than a method that is as good or better
all       draws in which the truly best method leads, and is called better than each worse one
share     worse methods that a truly best leader is called better than
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.ranking import RankTests
from cfo_bench.report.numbers.significance import LEVEL, against, tied_ranks

DRAWS = 2000

Noise = Callable[[np.random.Generator, tuple[int, int]], Array]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.normal(size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Lognormal, with a standard deviation of 1."""
    noise: Array = (rng.lognormal(size=shape) - np.exp(0.5)) / 2.161
    return noise


def coarse(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Halves, so that many scores are equal."""
    noise: Array = np.round(2 * rng.normal(size=shape)) / 2
    return noise


def with_copies(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The first five methods are nearly the same one."""
    noise = rng.normal(size=shape)
    noise[:, 1:5] = noise[:, :1] + 0.05 * noise[:, 1:5]
    return noise


def with_failures(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A method fails on a tenth of the tasks: it counts as the worst score there."""
    noise = rng.normal(size=shape)
    return np.where(rng.random(shape) < 0.1, noise.min(axis=1, keepdims=True), noise)


@dataclass(frozen=True)
class Design:
    """Methods with true means, the best ones first."""

    name: str
    means: tuple[float, ...]
    tasks: int
    noise: Noise = normal

    def scores(self, rng: np.random.Generator) -> Array:
        return np.array(self.means) + self.noise(rng, (self.tasks, len(self.means)))


NULLS = [
    Design(f"{methods} equal methods, {tasks} tasks", (0.0,) * methods, tasks)
    for methods, tasks in ((2, 6), (2, 20), (6, 10), (6, 20), (15, 20))
] + [
    Design("6 equal methods, 20 tasks, skewed", (0.0,) * 6, 20, skewed),
    Design("6 equal methods, 20 tasks, many ties", (0.0,) * 6, 20, coarse),
    Design("6 equal methods, 20 tasks, a tenth fails", (0.0,) * 6, 20, with_failures),
    Design("8 methods, 5 of them near-copies, 20 tasks", (0.0,) * 8, 20, with_copies),
    Design("2 equally best of 6, 4 sd ahead, 20 tasks", (4.0,) * 2 + (0.0,) * 4, 20),
    Design("10 equally best of 14, 4 sd ahead, 20 tasks", (4.0,) * 10 + (0.0,) * 4, 20),
]
LEADS = [
    Design("6 methods, 10 tasks, 2 sd ahead", (2.0,) + (0.0,) * 5, 10),
    Design("6 methods, 20 tasks, 1 sd ahead", (1.0,) + (0.0,) * 5, 20),
    Design("15 methods, 20 tasks, 1 sd ahead", (1.0,) + (0.0,) * 14, 20),
    Design("6 methods, 20 tasks, 1 sd ahead, a tenth fails", (1.0,) + (0.0,) * 5, 20, with_failures),
]


@dataclass
class Tally:
    """Counts over draws of one procedure."""

    false: int = 0
    all_listed: int = 0
    share_listed: float = 0.0

    def add(self, means: dict[str, float], leader: str, beaten: set[str]) -> None:
        worse = {name for name, mean in means.items() if mean < means[leader]}
        self.false += bool(beaten - worse)
        if worse and means[leader] == max(means.values()):
            self.all_listed += worse <= beaten
            self.share_listed += len(worse & beaten) / len(worse)

    def percent(self, draws: int) -> str:
        return " ".join(
            f"{100 * count / draws:6.1f}" for count in (self.false, self.all_listed, self.share_listed)
        )


def tallies(design: Design, draws: int) -> tuple[Tally, Tally]:
    """The triangle step-up, and Holm's correction for the leader's pairs."""
    step_up, own_pairs = Tally(), Tally()
    rng = np.random.default_rng(0)
    names = [f"m{at}" for at in range(len(design.means))]
    means = dict(zip(names, design.means, strict=True))
    for _ in range(draws):
        scores = design.scores(rng)
        lead = RankTests(names, tied_ranks(scores), scores, "").lead
        leader = lead.leaders[0]
        step_up.add(means, leader, set(lead.others) - set(lead.not_significant))
        own_pairs.add(
            means,
            leader,
            {
                pair.method
                for pair in against(scores, names, leader)
                if pair.p_corrected < LEVEL and pair.direction < 0
            },
        )
    return step_up, own_pairs


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    print(f"{'percent of ' + f'{draws:,} draws':<50}  triangle step-up        Holm, own pairs")
    print(f"{'':<50} {' false    all  share':<24}{' false    all  share'}", flush=True)
    for design in (*NULLS, *LEADS):
        step_up, own_pairs = tallies(design, draws)
        print(f"{design.name:<50} {step_up.percent(draws)}    {own_pairs.percent(draws)}", flush=True)


if __name__ == "__main__":
    main()
