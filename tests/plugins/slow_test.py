"""A learner whose test takes a second, of which nothing may be seen on the run's clock."""

from __future__ import annotations

import time

from cfo_bench.clock import Deadline
from cfo_bench.records import Fold, Problem, Result, Trial
from cfo_bench.space import Config, Int, Space


class SlowTest:
    """Trial k has the loss (k - 2)², and so three incumbents; one tested at x has the test loss x / 10."""

    problems = tuple(Problem)
    cost_related = ("x",)
    virtual = False

    def space(self, n_rows: int) -> Space:
        return Space([Int("x", 1, 1000)])

    def start(self, space: Space) -> Config:
        return {"x": 1}

    def prepare(self, fold: Fold, threads: int, seed: int) -> SlowTest:
        self._last = 0
        return self

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        self._last = trial.config["x"]
        return Result.ok(float((trial.number - 2) ** 2))

    def test_loss(self) -> float:
        time.sleep(1)
        return self._last / 10
