"""A method, a learner, a task source and a section of the report, as small as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.plugins import (
    Config,
    Deadline,
    Float,
    Fold,
    LearnerResults,
    Problem,
    Result,
    Section,
    SectionContent,
    Space,
    Status,
    Table,
    TaskTrials,
    Trial,
)


class Dice:
    """The start first, and then one of `sides` configurations after the other, by chance."""

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int, *, sides: int = 6) -> None:
        self._rng = np.random.default_rng(seed)
        self._faces = [space.check(start), *(space.sample(self._rng) for _ in range(sides))]
        self._asked = 0

    def ask(self) -> Trial:
        face = self._rng.integers(len(self._faces)) if self._asked else 0
        self._asked += 1
        return Trial(self._asked - 1, dict(self._faces[face]))

    def tell(self, trial: Trial, result: Result) -> None:
        pass


class Parabola:
    """The loss is (x − 3)², and a trial takes x seconds of the virtual clock."""

    problems = tuple(Problem)
    cost_related = ("x",)
    virtual = True

    def space(self, n_rows: int) -> Space:
        return Space([Float("x", 1.0, 5.0)])

    def start(self, space: Space) -> Config:
        return {"x": 1.0}

    def prepare(self, fold: Fold, threads: int, seed: int) -> ParabolaObjective:
        return ParabolaObjective()


class ParabolaObjective:
    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        if deadline.passed():
            return Result(Status.TIMEOUT)
        x = trial.config["x"]
        return Result.ok((x - 3) ** 2, fit_seconds=0.9 * x, validate_seconds=0.1 * x)

    def test_loss(self) -> float:
        raise NotImplementedError("a parabola has no test part")


class Boxes:
    """One task: how many pips two dice show."""

    def names(self) -> list[str]:
        return ["two-dice"]

    def load(self, name: str) -> tuple[Any, str]:
        import pandas as pd

        pips = np.random.default_rng(0).integers(1, 7, (200, 2))
        return pd.DataFrame({"first": pips[:, 0], "second": pips[:, 1], "sum": pips.sum(axis=1) * 0.5}), "sum"


class Pips(Section):
    """The number of trials of each run, and plots of the trials of the first one."""

    name = "pips"
    title = "How often the dice were thrown"

    def build(self, results: LearnerResults) -> SectionContent:
        rows = [[run.task, run.method, run.n_trials] for run in results.runs]
        first = results.runs[0]
        return SectionContent(
            tables=(Table("pips", "Throws", "One row for each run.", ("task", "method", "throws"), rows),),
            trials=(TaskTrials("the first throws", {first.method: first}),),
        )
