"""Results made by hand, small enough that every number of their report can be worked out on paper.

Three tasks, three methods, a budget of 100 seconds that every run spends. A trial is (second it
ended, loss, cost): three quarters of the cost are fit, one is validation, and the method takes
0.25 s to ask and 0.25 s to be told. The configuration of trial i has 4 (i+1) trees and 8 (i+1) leaves.

    alpha   binary: constant 0.5, tuned forest 0.25, so that score = (0.5 - loss) / 0.25
      cfo   fold 0: 0.375 at 1, 0.0625 at 10     fold 1: 0.4375 at 2, 0.1875 at 20
      rs            0.375 at 1, 0.125 at 40              0.4375 at 2, 0.125 at 80
      bohb          0.375 at 1, 0.25 at 50               0.4375 at 2, 0.25 at 60
    beta    regression: score = r2 = 1 - loss
      cfo           0.875 at 1, 0.375 at 5               0.875 at 1, 0.625 at 5
      rs            0.875 at 1, 0.375 at 30              the same
      bohb          0.875 at 1                           the same
    gamma   multiclass: constant 1, no forest, so that score = 1 - loss
      cfo           0.75 at 1, 0.25 at 10                0.75 at 1, 0.5 at 10     fold 2: 0.125 at 10
      rs            0.75 at 1, 0.5 at 20                 0.75 at 1, 0.5 at 50     not run
      bohb          0.75 at 1, 0.25 at 25                no trial ends well       0.75 at 1
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cfo_bench.records import Problem
from cfo_bench.report.reading.load import load
from cfo_bench.results.run import Run
from tests.conftest import WriteRun
from tests.helpers.traces import Trials

COST = 0.5

CONSTANT = {"alpha": 0.5, "beta": 1.0, "gamma": 1.0}
PROBLEM = {"alpha": Problem.BINARY, "beta": Problem.REGRESSION, "gamma": Problem.MULTICLASS}
ROWS = {"alpha": 1000, "beta": 500, "gamma": 200}

RUNS: dict[tuple[str, str], list[Trials]] = {
    # The third trial of the first is dear, and in vain.
    ("alpha", "cfo"): [
        [(1, 0.375, COST), (10, 0.0625, 4), (60, 0.25, 20)],
        [(2, 0.4375, COST), (20, 0.1875, 8)],
    ],
    ("alpha", "rs"): [[(1, 0.375, COST), (40, 0.125, COST)], [(2, 0.4375, COST), (80, 0.125, COST)]],
    ("alpha", "bohb"): [[(1, 0.375, COST), (50, 0.25, COST)], [(2, 0.4375, COST), (60, 0.25, COST)]],
    ("alpha", "tuned-rf"): [[(3, 0.25, COST)], [(3, 0.25, COST)]],
    ("beta", "cfo"): [[(1, 0.875, COST), (5, 0.375, COST)], [(1, 0.875, COST), (5, 0.625, COST)]],
    ("beta", "rs"): [[(1, 0.875, COST), (30, 0.375, COST)]] * 2,
    ("beta", "bohb"): [[(1, 0.875, COST)]] * 2,
    ("gamma", "cfo"): [
        [(1, 0.75, COST), (10, 0.25, COST)],
        [(1, 0.75, COST), (10, 0.5, COST)],
        [(1, 0.75, COST), (10, 0.125, COST)],
    ],
    ("gamma", "rs"): [[(1, 0.75, COST), (20, 0.5, COST)], [(1, 0.75, COST), (50, 0.5, COST)]],
    ("gamma", "bohb"): [[(1, 0.75, COST), (25, 0.25, COST)], [(90, None, 80)], [(1, 0.75, COST)]],
}


@pytest.fixture
def by_hand(write_run: WriteRun, tmp_path: Path) -> list[Run]:
    """The digests of the results that are told above."""
    for (task, method), folds in RUNS.items():
        for fold, trials in enumerate(folds):
            write_run(
                task,
                method,
                fold,
                trials,
                problem=PROBLEM[task],
                constant_loss=CONSTANT[task],
                n_rows=ROWS[task],
            )
    return load(tmp_path / "results").runs


@pytest.fixture
def many_tasks(write_run: WriteRun, tmp_path: Path) -> list[Run]:
    """Eight tasks of all problems with an odd name, enough for statistics; cfo is the best on all of them."""
    problems = list(Problem)
    names = [
        "car",
        "adult",
        "BNG_pbc",
        "poker",
        "shuttle",
        "house_16H",
        "<b>$x_1$</b>",
        "a task with a long, long name",
    ]
    for at, task in enumerate(names):
        for place, method in enumerate(("cfo", "rs", "bohb", "mine")):
            for fold in range(2):
                loss = 0.1 + 0.05 * place + 0.01 * fold + 0.001 * at
                write_run(
                    task,
                    method,
                    fold,
                    [(1, 0.45, COST), (3 + place, 0.4, 1), (20 + 10 * place + at, loss, 2 + place)],
                    problem=problems[at % 3],
                    constant_loss=0.5,
                    n_rows=100 * (at + 1),
                )
    return load(tmp_path / "results").runs
