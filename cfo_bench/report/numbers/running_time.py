"""Speed-ups: how many times faster the baseline reaches a target than another method.

The time to a target is an expected running time: the sum of the seconds of a task's runs until the target,
divided by the number of runs that reached it. It is the expected wait if runs were repeated until one reaches
the target. A run that never reached it is charged its budget, even if it ended sooner, because it would not
have reached the target in the remaining time either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import LEAST_SECONDS
from cfo_bench.report.numbers.significance import bootstrap_bounds
from cfo_bench.results.best_so_far import reaching_loss
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import Run

# Targets: the other method's own final loss, or one that equals it within 0.05 %; and shares of the way from
# the loss at the start to the best.
OWN_FINAL = "its own final loss"
FRACTIONS = (0.5, 0.9, 0.99)
TARGETS = (OWN_FINAL, *(f"{fraction:.0%} of the way" for fraction in FRACTIONS))

# With fewer tasks, a bootstrap interval is little more than the range of the factors.
FEWEST_FOR_INTERVAL = 6

ONLY_BASELINE, ONLY_METHOD = "only the baseline reached it", "only the method reached it"
NEITHER, NO_TIME = "neither reached it", "too fast to time"


@dataclass(frozen=True, slots=True)
class RunningTime:
    """The expected time to a target; if no run `reached` it, the sum of the budgets of all runs."""

    seconds: float
    reached: int
    runs: int


@dataclass(frozen=True, slots=True)
class Factor:
    """For a task and target, the method's time divided by that of the baseline."""

    task: str
    method: str
    target: str
    time: RunningTime
    baseline_time: RunningTime
    factor: float | None  # None if neither reached the target, or one of the times is too short
    who: str  # ONLY_BASELINE, ONLY_METHOD or NEITHER; if both reached it, empty, or NO_TIME without a factor


@dataclass(frozen=True, slots=True)
class Summary:
    """Geometric mean of the factors over tasks, with a 95 % bootstrap interval over tasks.

    There is no interval over fewer than FEWEST_FOR_INTERVAL tasks.
    """

    method: str
    target: str
    tasks: int  # the number of tasks with a factor
    factor: float | None
    low: float | None
    high: float | None
    only_baseline: int
    only_method: int
    neither: int


def factors(results: LearnerResults) -> list[Factor]:
    """One factor for each task that the baseline has, each other method and each target."""
    all_factors = []
    for task in results.scores:
        runs = {
            method: results.compared[task.task, method]
            for method in results.methods
            if (task.task, method) in results.compared
        }
        base = runs.pop(results.baseline, None)
        if base is None:
            continue
        ways = _ways(results, [base, *runs.values()])
        worst = [
            max(_final(results, run, run.constant_loss) for run in same)
            for same in zip(base, *runs.values(), strict=True)
        ]
        on_the_way = [[start - share * (start - best) for start, best in ways] for share in FRACTIONS]
        base_on_the_way = [_running_time(results, base, losses) for losses in on_the_way]
        for method, of_method in runs.items():
            # A run without a result counts as the worst of all runs, or as the constant predictor if that is
            # worse.
            own_final = [
                reaching_loss(
                    _final(results, run, max(last, run.constant_loss)),
                    run.header.zero_loss,
                )
                for run, last in zip(of_method, worst, strict=True)
            ]
            goals = [own_final, *on_the_way]
            base_times = [_running_time(results, base, own_final), *base_on_the_way]
            for target, losses, base_time in zip(TARGETS, goals, base_times, strict=True):
                time = _running_time(results, of_method, losses)
                all_factors.append(_factor(task.task, method, target, time, base_time))
    return all_factors


def summaries(all_factors: Sequence[Factor]) -> list[Summary]:
    """One summary for each method and target, in the order of the factors."""
    groups: dict[tuple[str, str], list[Factor]] = {}
    for factor in all_factors:
        groups.setdefault((factor.method, factor.target), []).append(factor)
    return [_summary(method, target, group) for (method, target), group in groups.items()]


def _ways(results: LearnerResults, runs: Sequence[Sequence[Run]]) -> list[tuple[float, float]]:
    """For each fold and seed of the task, the highest first loss and the lowest final loss of all methods."""
    ways = []
    for same in zip(*runs, strict=True):
        scored = [incumbents for run in same if (incumbents := results.incumbents(run)).seconds]
        constant = same[0].constant_loss
        start = max((incumbents.losses[0] for incumbents in scored), default=constant)
        best = min((incumbents.losses[-1] for incumbents in scored), default=constant)
        ways.append((start, best))
    return ways


def _final(results: LearnerResults, run: Run, otherwise: float) -> float:
    """The final loss of a run, `otherwise` if it has no result."""
    losses = results.incumbents(run).losses
    return losses[-1] if losses else otherwise


def _running_time(results: LearnerResults, runs: Sequence[Run], goals: Sequence[float]) -> RunningTime:
    times = [_time_to(results.incumbents(run), goal) for run, goal in zip(runs, goals, strict=True)]
    spent = sum(run.budget_seconds if time is None else time for run, time in zip(runs, times, strict=True))
    reached = sum(time is not None for time in times)
    return RunningTime(spent / max(reached, 1), reached, len(runs))


def _time_to(incumbents: Incumbents, target: float) -> float | None:
    """The time at which a run first had this loss or a lower one. On the test part, a loss may rise again."""
    pairs = zip(incumbents.seconds, incumbents.losses, strict=True)
    return next((second for second, loss in pairs if loss <= target), None)


def _factor(task: str, method: str, target: str, time: RunningTime, base: RunningTime) -> Factor:
    if not time.reached and not base.reached:
        return Factor(task, method, target, time, base, None, NEITHER)
    who = "" if time.reached and base.reached else ONLY_BASELINE if base.reached else ONLY_METHOD
    if min(time.seconds, base.seconds) < LEAST_SECONDS:
        return Factor(task, method, target, time, base, None, who or NO_TIME)
    return Factor(task, method, target, time, base, time.seconds / base.seconds, who)


def _summary(method: str, target: str, group: Sequence[Factor]) -> Summary:
    logs = np.log([factor.factor for factor in group if factor.factor is not None])
    n = len(logs)
    low = high = None
    if n >= FEWEST_FOR_INTERVAL:
        low, high = (float(np.exp(bound)) for bound in bootstrap_bounds(logs))
    who = [factor.who for factor in group]
    return Summary(
        method=method,
        target=target,
        tasks=n,
        factor=float(np.exp(logs.mean())) if n else None,
        low=low,
        high=high,
        only_baseline=who.count(ONLY_BASELINE),
        only_method=who.count(ONLY_METHOD),
        neither=who.count(NEITHER),
    )
