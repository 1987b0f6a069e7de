"""What share of a run's time is spent in ask, fit, validate and tell, according to its trace?

    python benchmarks/overhead.py

The rest is spent by the harness: on the live page, the line in the trace, and the loop itself. A trial
sorts numbers; how often is measured when the run starts, so that another process slows down trials and
harness alike. There are up to three attempts, since a short burst of other work is not our doing.
Exits with 1 when a share is too low.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.figures import figure
from cfo_bench.clock import Deadline
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.records import Fold, Problem, Result, Trial
from cfo_bench.results.run import read_run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import Config, Space

# milliseconds a trial, seconds of the run, the least share that will do
CASES = ((1.5, 4.0, 0.96), (50.0, 4.0, 0.995))
TRIES = 3


class Busy:
    """A learner with the space of XGBoost; every trial takes `milliseconds`, whatever its configuration."""

    problems = tuple(Problem)
    cost_related = ("n_estimators",)
    virtual = False

    def __init__(self, *, milliseconds: float = 1.5) -> None:
        self._seconds = milliseconds / 1e3
        self._numbers = np.random.default_rng(0).random(4000)

    def space(self, n_rows: int) -> Space:
        return boosting_space(n_rows)

    def start(self, space: Space) -> Config:
        return boosting_start()

    def prepare(self, fold: Fold, threads: int, seed: int) -> Busy:
        once = statistics.median(timeit.repeat(lambda: np.sort(self._numbers), number=10, repeat=300)) / 10
        self._sorts = round(self._seconds / once)
        return self

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        began = deadline.now()
        for _ in range(self._sorts):
            np.sort(self._numbers)
        return Result.ok(1 / (1 + trial.config["n_estimators"]), deadline.now() - began)

    def test_loss(self) -> float:
        raise NotImplementedError


def best_of_a_few(method: str, milliseconds: float, budget: float, least: float) -> tuple[float, float]:
    """The first attempt that has the least share inside, or the best of all."""
    found = []
    for _ in range(TRIES):
        found.append(measure(method, milliseconds, budget))
        if found[-1][0] >= least:
            break
    return max(found)


def measure(method: str, milliseconds: float, budget: float) -> tuple[float, float]:
    """The share inside, and the seconds outside of each trial."""
    with tempfile.TemporaryDirectory() as folder:
        trials, elapsed = run(Path(folder), method, milliseconds, budget)
    inside = sum(
        one.ask_seconds + one.fit_seconds + one.validate_seconds + (one.tell_seconds or 0.0) for one in trials
    )
    return inside / elapsed, (elapsed - inside) / len(trials)


def run(folder: Path, method: str, milliseconds: float, budget: float) -> tuple[Sequence[TrialRecord], float]:
    command = [sys.executable, "-m", "cfo_bench", "run", "-q", "--task", "synthetic-30k", "--folds", "0"]
    command += ["--learner", f"{Path(__file__).resolve()}:Busy"]
    command += ["--learner-option", f"milliseconds={milliseconds}"]
    command += ["--method", method, "--budget", f"{budget}", "--results", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    [path] = folder.rglob("*.jsonl")
    finished = read_run(path)
    assert finished is not None and finished.end is not None
    return finished.trials, finished.end.elapsed


def main() -> int:
    good = True
    for milliseconds, budget, least in CASES:
        for method in ("rs", "cfo"):
            share, outside = best_of_a_few(method, milliseconds, budget, least)
            what = f"{method}, trials of {milliseconds:g} ms"
            good &= figure(f"{what}: share inside these four", 100 * share, "%", at_least=100 * least)
            figure(f"{what}: time outside them, per trial", 1e6 * outside, "µs")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
