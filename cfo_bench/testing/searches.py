"""Short searches of a method, in spaces of every kind, without training. They do not need pytest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from cfo_bench.errors import Exhausted
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Optimizer, Result, Trial
from cfo_bench.space import Categorical, Config, Float, Int, Space

# The kinds of spaces, each with the start of a search.
SPACES: dict[str, tuple[Space, Config]] = {
    "integers": (Space([Int("i", 1, 50), Int("j", -5, 5), Int("k", 0, 9)]), {"i": 1, "j": 0, "k": 9}),
    "floats": (Space([Float("x", -1.0, 1.0), Float("y", 0.5, 2.0)]), {"x": 0.25, "y": 1.0}),
    "logarithms": (
        Space([Int("i", 4, 32768, log=True), Float("x", 1e-10, 1.0, log=True)]),
        {"i": 4, "x": 1e-10},
    ),
    "categories": (
        Space([Categorical("c", ["a", "b", None, True]), Categorical("o", [1, 2, 4, 8], ordered=True)]),
        {"c": "a", "o": 1},
    ),
    "mixed": (
        Space(
            [
                Int("i", 1, 1000, log=True),
                Float("x", 0.0, 1.0),
                Categorical("c", "abc"),
                Float("fixed", 2.0, 2.0),
                Float("y", 1e-3, 10.0, log=True),
            ]
        ),
        {"i": 1, "x": 0.0, "c": "b", "fixed": 2.0, "y": 10.0},
    ),
    "one dimension": (Space([Float("x", 0.01, 100.0)]), {"x": 1.0}),
    "thirty dimensions": (
        Space([Float(f"x{i}", 0.1, 10.0) for i in range(20)] + [Int(f"k{i}", 1, 100) for i in range(10)]),
        {**{f"x{i}": 1.0 for i in range(20)}, **{f"k{i}": 10 for i in range(10)}},
    ),
    "single values": (Space([Float("x", 1.0, 1.0), Categorical("c", ["a"])]), {"x": 1.0, "c": "a"}),
}

# The contribution of each category to the loss; True and None are also categories.
_SCORES = {"a": 0.3, "b": 0.1, "c": 0.2, None: 0.5, True: 0.0}


def loss(config: Config) -> float:
    """A loss for a configuration of any of the spaces."""
    return sum(
        abs(_SCORES[value] if value in _SCORES and type(value) is not int else math.atan(value - 3))
        for value in config.values()
    )


def build(method: str, options: Mapping[str, Any], kind: str, seed: int) -> Optimizer:
    """A registered method, or a class in a file, in a space of this kind."""
    space, start = SPACES[kind]
    built: Optimizer = METHODS.load(method)(space, dict(start), seed, **METHODS.options(method, options))
    return built


def search(optimizer: Optimizer, trials: int, results: Sequence[Result] = ()) -> list[tuple[Trial, Result]]:
    """The trials of a search, fewer if the method is exhausted, each with the result that the method
    received.

    The given results are used in turn; if none are given, the result is the `loss` of the configuration.
    """
    trials_with_results = []
    answers = itertools.cycle(results)
    for _ in range(trials):
        try:
            trial = optimizer.ask()
        except Exhausted:
            break
        result = next(answers) if results else Result.ok(loss(trial.config), 0.01, 0.001)
        optimizer.tell(trial, result)
        trials_with_results.append((trial, result))
    return trials_with_results
