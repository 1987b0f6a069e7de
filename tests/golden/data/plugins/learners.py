"""Learners of the golden runs, written against the contract of `cfo_bench.plugins`."""

from __future__ import annotations

import time

from cfo_bench.plugins import Config, Deadline, Fold, Int, Problem, Result, Space, Trial


class Slow:
    """On the virtual clock a trial takes x seconds; in reality it takes `pause` seconds.

    A test can stop such a run in the middle, and its trials are still the same every time.
    """

    problems = (Problem.REGRESSION,)
    cost_related = ("x",)
    virtual = True

    def __init__(self, *, pause: float = 0.0) -> None:
        self._pause = pause

    def space(self, n_rows: int) -> Space:
        return Space([Int("x", 1, 1000, log=True), Int("y", 1, 1000, log=True)])

    def start(self, space: Space) -> Config:
        return {"x": 1, "y": 10}

    def prepare(self, fold: Fold, threads: int, seed: int) -> Slow:
        return self

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        time.sleep(self._pause)
        x, y = trial.config["x"], trial.config["y"]
        return Result.ok(((x - 70) / 100) ** 2 + ((y - 30) / 100) ** 2, float(x), 0.5)

    def test_loss(self) -> float:
        return 0.0


class Faulty(Slow):
    """In real time, without a pause. Trial 1 raises, trial 2 hangs, trial 3 wants too much memory."""

    virtual = False

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        if trial.number == 1:
            raise RuntimeError("no such luck")
        if trial.number == 2:
            time.sleep(600)
        if trial.number == 3:
            return Result.ok(float(len(bytearray(2**36))))
        if trial.number == 4:
            return Result.ok(float("nan"))
        return super().evaluate(trial, deadline)
