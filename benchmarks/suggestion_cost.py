"""Processor time of ask and tell of each method after a number of trials, with nine hyperparameters, on one
thread.

    python benchmarks/suggestion_cost.py          at 200 trials
    python benchmarks/suggestion_cost.py --full   at 10, 100 and 300, and what was switched off in packages

They are of processor time, which busy neighbours do not change. A figure is the mean of the last fifth of
the trials up to there, and of ten at least. Gaussian processes and SMAC would take minutes to get so far:
all trials up to there are random initial ones, and what is timed comes after them: one fit and suggestion,
or one training of SMAC's forest and its eight configurations. The other methods go all the way; one that
takes longer than its share of the time is cut, and has no figure from there on. What was switched off in
packages is timed with and without it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.figures import figure
from cfo_bench.learners.synthetic import BOOSTING, SyntheticObjective
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Optimizer, Result

N_ROWS = 30_000
SPACE, START = boosting_space(N_ROWS), boosting_start()
OBJECTIVE = SyntheticObjective(BOOSTING, SPACE, START, N_ROWS, 0)
CHECKPOINTS, FULL_CHECKPOINTS = (200,), (10, 100, 300)
SECONDS_A_METHOD, FULL_SECONDS_A_METHOD = 10.0, 30.0
MOST_MS = {("cfo-tuned", 200): 5.0}


def evaluate(config: dict[str, Any], rows: int | None) -> Result:
    used = rows or N_ROWS
    return Result.ok(OBJECTIVE.loss(config, used), OBJECTIVE.cost(config, used))


def one_trial(method: Optimizer) -> float:
    """Seconds of one ask and tell; the evaluation is beside the clock."""
    began = time.process_time()
    trial = method.ask()
    asked = time.process_time() - began
    result = evaluate(trial.config, trial.rows)
    began = time.process_time()
    method.tell(trial, result)
    return asked + time.process_time() - began


def built(name: str, **options: Any) -> Any:
    """The method; one that chooses the rows is given their number."""
    settings = METHODS.options(name, options)
    if "n_rows" in settings:
        settings["n_rows"] = N_ROWS
    return METHODS.load(name)(SPACE, START, 0, **settings)


def all_the_way(name: str, checkpoints: Sequence[int], most_seconds: float) -> list[float]:
    """The mean of the last fifth of the trials, at least ten, at each checkpoint reached in the time.

    Some methods fit a model at every eighth trial or so.
    """
    method = built(name)
    seconds: list[float] = []
    while len(seconds) < checkpoints[-1] and sum(seconds) < most_seconds:
        seconds.append(one_trial(method))
    latest = (seconds[n - max(10, n // 5) : n] for n in checkpoints if n <= len(seconds))
    return [sum(part) / len(part) for part in latest]


def after_random_trials(name: str, checkpoints: Sequence[int]) -> list[float]:
    """The mean of the trials after so many random ones, which all are the method's initial configurations."""
    option, n_timed = INITIAL_TRIALS[name]
    seconds: list[float] = []
    for n in checkpoints:
        method = built(name, **{option: n})
        spent_on(method, n)
        seconds.append(spent_on(method, n_timed) / n_timed)
    return seconds


def spent_on(method: Optimizer, n: int) -> float:
    return sum(one_trial(method) for _ in range(n))


# Methods that would take minutes to get so far: their option for the number of initial trials, and the trials
# that are timed after these. SMAC trains its forest for each eight configurations.
INITIAL_TRIALS = {
    **dict.fromkeys(("boca", "botorch-ei", "botorch-eips", "fabolas"), ("n_initial_points", 1)),
    **dict.fromkeys(("gp-cooled", "gpei", "gpeips"), ("n_initial_points", 1)),
    "optuna-gp": ("n_startup_trials", 1),
    "smac": ("n_initial", 8),
}
# One or two of each family of methods.
OF_FAMILIES = ("nevergrad:NGOpt", "nevergrad:NgIohTuned", "optuna:QMCSampler")


def searches() -> list[str]:
    """The methods with a name of their own that search."""
    return sorted(name for name, row in METHODS.builtin.items() if row.learner is None and name != "study")


def mean_seconds(name: str, checkpoints: Sequence[int], most_seconds: float) -> list[float]:
    """Of ask + tell at each checkpoint; a method that was cut has fewer. Imports are not counted."""
    option = INITIAL_TRIALS.get(name)
    spent_on(built(name, **({option[0]: 2} if option else {})), 4)  # packages import at first use
    if option:
        return after_random_trials(name, checkpoints)
    return all_the_way(name, checkpoints, most_seconds)


def smac_forest(option: str, value: int | None) -> tuple[float, float]:
    """40 trials of SMAC with an option of its forest as smac has it, and as we do."""
    from cfo_bench.optimizers.smac import SMAC

    class Theirs(dict[str, Any]):
        """smac's options, with one that nobody can set."""

        def __setitem__(self, key: str, setting: Any) -> None:
            super().__setitem__(key, value if key == option else setting)

    def once(ours: bool) -> float:
        method = SMAC(SPACE, START, 0, challengers=1000)
        if not ours:
            method._model._rf_opts = Theirs(method._model._rf_opts)
            method._model._rf_opts[option] = value
        return spent_on(method, 40)

    return once(False), once(True)


SWITCHED_OFF: dict[str, Callable[[], tuple[float, float]]] = {
    "smac: threads of the forest, 40 trials": lambda: smac_forest("n_jobs", -1),
    "smac: memory for 2^20 leaves a tree, 40 trials": lambda: smac_forest("max_leaf_nodes", 2**20),
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="more trials, and what was switched off")
    is_full = parser.parse_args().full
    checkpoints = FULL_CHECKPOINTS if is_full else CHECKPOINTS
    most_seconds = FULL_SECONDS_A_METHOD if is_full else SECONDS_A_METHOD
    good = True
    for name in [*searches(), *OF_FAMILIES]:
        if METHODS.row(name).missing:
            print(f"{name} needs {METHODS.row(name).missing}")
            continue
        means = mean_seconds(name, checkpoints, most_seconds)
        for n, mean in zip(checkpoints, means, strict=False):  # a slow method has fewer
            good &= figure(f"{name} at {n} trials", 1e3 * mean, "ms", at_most=MOST_MS.get((name, n)))
    if is_full:
        print("switched off: seconds (processor time) before and after")
        for what, measure in SWITCHED_OFF.items():
            before, after = measure()
            print(f"  {what:<68} {before:7.2f} {after:7.2f}   ×{before / after:.1f}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
