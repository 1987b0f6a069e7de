"""Learners that misbehave on demand, for `--learner path/to/learners.py:Name` on a synthetic task."""

from __future__ import annotations

import ctypes
import os
import time

from cfo_bench.clock import Deadline
from cfo_bench.records import Fold, Problem, Result, Trial
from cfo_bench.space import Config, Float, Int, Space


class Faulty:
    """A trial takes `seconds`, and its loss is (x - 700)². Trial number `at` meets the `fault`."""

    problems = (Problem.REGRESSION,)
    cost_related = ("x",)
    virtual = False

    def __init__(self, *, fault: str = "none", at: int = 3, every: int = 0, seconds: float = 0.01) -> None:
        self._fault, self._at, self._every, self._seconds = fault, at, every, seconds

    def space(self, n_rows: int) -> Space:
        return Space([Int("x", 1, 1_000_000, log=True), Float("y", 0.5, 2.0)])

    def start(self, space: Space) -> Config:
        return {"x": 1, "y": 1.0}

    def prepare(self, fold: Fold, threads: int, seed: int) -> Faulty:
        return self

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        if trial.number == self._at or (self._every and trial.number % self._every == self._at):
            return getattr(self, self._fault)()
        began = deadline.now()
        time.sleep(self._seconds)
        return Result.ok(((trial.config["x"] - 700) / 700) ** 2, deadline.now() - began)

    def test_loss(self) -> float:
        return 0.0

    def none(self) -> Result:
        return Result.ok(0.5)

    def sleeps(self) -> Result:
        time.sleep(600)
        return Result.ok(-1.0)

    def busy_in_c(self) -> Result:
        """One call that neither lets go of the interpreter nor looks at signals for minutes."""
        return Result.ok(-1.0 - sum(range(10**12)))

    def overdue(self) -> Result:
        """Ends a little past a budget of 1 s by itself, with the best loss of all."""
        time.sleep(1.05)
        return Result.ok(-1.0)

    def raises(self) -> Result:
        raise RuntimeError("no such\nluck")

    def no_number(self) -> Result:
        return Result.ok(float("nan"))

    def takes_all_memory(self) -> Result:
        return Result.ok(float(len(bytearray(2**36))))

    def out_of_memory_in_cpp(self) -> Result:
        """What a C++ library does that can't allocate and does not catch it."""
        os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
        os.abort()

    def segfaults(self) -> Result:
        return Result.ok(float(len(ctypes.string_at(0))))

    def exits(self) -> Result:
        os._exit(3)


class Classifier(Faulty):
    """Takes what the synthetic tasks are not."""

    problems = (Problem.BINARY,)
