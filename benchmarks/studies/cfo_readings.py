"""What CFO's open choices come to: the figures of docs/readings.md.

    python benchmarks/studies/cfo_readings.py [SECONDS] [FOLDER TASK...]

The base of the logarithm, on the synthetic learner and for SECONDS (8) a run on real XGBoost (0 leaves that
out), with the bundled data or with tasks of a folder; ranges that touch 0; floats beside a small dimension.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.studies.tuned_race import Problem, problems
from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.learners.synthetic import BOOSTING, SyntheticObjective
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.optimizers.cfo import CFO
from cfo_bench.optimizers.cfo_tuned import CFOTuned
from cfo_bench.records import Result
from cfo_bench.results.run import read_runs
from cfo_bench.space import Categorical, Config, Float, Int, Param, Space

SCALES = ("log2", "ln")
RULES = ("alg3", "with_floats")
TASKS, FOLDS = ("breast_cancer", "diabetes", "digits", "iris", "wine"), "0,1"
SMALL: dict[str, Param] = {
    "yes or no": Categorical("k", ("yes", "no")),
    "four choices": Categorical("k", ("a", "b", "c", "d")),
    "1 to 2": Int("k", 1, 2),
    "1 to 4": Int("k", 1, 4),
    "1 to 10": Int("k", 1, 10),
}


def synthetic_regret(scale: Any, seed: int, n_rows: int = 100_000, budget: float = 600.0) -> float:
    """The best loss above the optimum, as a share of the start's."""
    space, start, clock = boosting_space(n_rows), boosting_start(), VirtualClock()
    objective = SyntheticObjective(BOOSTING, space, start, n_rows, seed)
    search, losses = CFO(space, start, seed, scale=scale), []
    while clock.now() < budget:
        trial = search.ask()
        result = objective.evaluate(trial, Deadline(clock, budget))
        clock.account(result.fit_seconds + result.validate_seconds)
        if clock.now() <= budget:
            losses.append(result.value)
        search.tell(trial, result)
    return (min(losses) - objective.best_loss) / (losses[0] - objective.best_loss)


def real_losses(scale: str, seconds: float, tasks: Sequence[str]) -> dict[tuple[str, int], float]:
    """The best loss on each task and fold."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cfo_bench", "run", "-q", "--folds", FOLDS, "--jobs", "1"]
        command += [word for name in tasks for word in ("--task", name)]
        command += ["--method", "cfo", "--option", f"scale={scale}", "--budget", f"{seconds}"]
        subprocess.run([*command, "--results", folder], check=True, stdout=subprocess.DEVNULL)
        runs = read_runs(sorted(Path(folder).rglob("*.jsonl")))
        return {(run.task, run.fold): run.incumbents.losses[-1] for run in runs if run.incumbents.losses}


def best(search: CFO | CFOTuned, loss: Callable[[Config], float], trials: int) -> float:
    for _ in range(trials):
        trial = search.ask()
        search.tell(trial, Result.ok(loss(trial.config)))
    assert search.best is not None
    return float(search.best[1])


def quadratic(low: float, high: float, seed: int, **options: Any) -> float:
    space = Space([Float("x", low, high), Float("y", low, high)])

    def loss(config: Config) -> float:
        return math.hypot(config["x"] - 637.1, config["y"] - 213.7) ** 2 / 1e6

    return best(CFO(space, {"x": low, "y": low}, seed, **options), loss, 300)


def beside(param: Param, method: type[CFO] | type[CFOTuned], seed: int, **options: Any) -> float:
    values = param.choices if isinstance(param, Categorical) else range(int(param.low), int(param.high) + 1)
    space = Space([Float("a", 1e-3, 1e3), Float("b", 1e-3, 1e3), param])

    def loss(config: Config) -> float:
        away = math.log2(config["a"] / 7.3) ** 2 + math.log2(config["b"] / 0.2) ** 2
        return away / 100 + 0.1 * (config["k"] != values[1])

    return best(method(space, {"a": 1e-3, "b": 1e-3, "k": values[0]}, seed, **options), loss, 3000)


def restarts(
    problem: Problem, rule: Any, seed: int, budget: float, max_trials: int
) -> tuple[int, int, float]:
    """The restarts, the trials and the best loss of one run."""
    search = CFO(problem.space, problem.start, seed, delta_lower=rule)
    objective, clock, n_trials = problem.objective(seed), VirtualClock(), 0
    while clock.now() < budget and n_trials < max_trials:
        trial = search.ask()
        result = objective.evaluate(trial, Deadline(clock, budget))
        clock.account(result.fit_seconds + result.validate_seconds)
        search.tell(trial, result)
        n_trials += 1
    assert search.best is not None
    return search.threads[0].r, n_trials, search.best[1]


def compare_rules(what: str, chosen: Sequence[Problem], seeds: int, budgets: float, max_trials: int) -> None:
    """Both rules for the end of a round, within so many times the budget of each problem."""
    first, second = (
        [
            restarts(problem, rule, seed, budgets * problem.budget, max_trials)
            for problem in chosen
            for seed in range(seeds)
        ]
        for rule in RULES
    )
    same = sum(a == b for a, b in zip(first, second, strict=True))
    for rule, runs in zip(RULES, (first, second), strict=True):
        n_restarts, n_trials, losses = zip(*runs, strict=True)
        print(
            f"  {what}, {rule}: {statistics.mean(n_restarts):.2g} restarts, {statistics.median(n_trials):g} "
            f"trials, mean loss {statistics.mean(losses):.6g}; {same} of {len(runs)} runs are the same",
            flush=True,
        )


def compare(what: str, log2: Sequence[float], ln: Sequence[float]) -> None:
    better = sum(one < other for one, other in zip(log2, ln, strict=True))
    worse = sum(one > other for one, other in zip(log2, ln, strict=True))
    means = f"means {statistics.mean(log2):.4f} and {statistics.mean(ln):.4f}"
    print(f"{what}: log2 better in {better}, ln in {worse} of {len(log2)}; {means}", flush=True)


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    tasks: Sequence[str] = TASKS
    if len(sys.argv) > 2:
        os.environ["CFO_BENCH_DATA"], tasks = sys.argv[2], sys.argv[3:]
    regrets = [[synthetic_regret(scale, seed) for seed in range(20)] for scale in SCALES]
    compare("synthetic learner, 600 virtual seconds, regret (the start's is 1)", *regrets)
    print("\na quadratic, median loss after 300 trials, 20 seeds")
    for name, low, options in (
        ("0 to 1000, linear_span 10", 0.0, {}),
        ("0 to 1000, raw units", 0.0, {"linear_span": None}),
        ("1 to 1000, by its logarithm", 1.0, {}),
    ):
        print(f"  {name:28}{statistics.median(quadratic(low, 1000.0, s, **options) for s in range(20)):.2g}")
    print("\ntwo floats beside a small dimension, median loss after 3,000 trials, 10 seeds")
    for name, param in SMALL.items():
        columns = [
            f"cfo {rule} {statistics.median(beside(param, CFO, s, delta_lower=rule) for s in range(10)):.1g}"
            for rule in RULES
        ]
        tuned = statistics.median(beside(param, CFOTuned, s) for s in range(10))
        print(f"  {name:14}{'  '.join(columns)}  cfo-tuned {tuned:.1g}", flush=True)
    print("\nboth rules for the end of a round")
    for problem in problems("tune", ["synthetic"], 1):
        compare_rules(f"{problem.name}, 6,000 virtual seconds", [problem], 20, 10, 10**6)
        compare_rules(f"{problem.name}, 20,000 trials", [problem], 10, math.inf, 20_000)
    if "CFO_BENCH_YAHPO" in os.environ:
        instances = list(problems("tune", ["yahpo"], 3))
        compare_rules("YAHPO's XGBoost, the cost of 60 random configurations", instances, 20, 1, 10**6)
        compare_rules("YAHPO's XGBoost, of 600 of them", instances[::2], 4, 10, 10**6)
    if seconds:
        first, second = (real_losses(scale, seconds, tasks) for scale in SCALES)
        both = sorted(first.keys() & second.keys())
        compare(
            f"\nreal XGBoost, {seconds:g} seconds a run, best loss on {len(tasks)} tasks",
            [first[one] for one in both],
            [second[one] for one in both],
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
