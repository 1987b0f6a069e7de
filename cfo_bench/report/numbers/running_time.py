"""Speed-ups: how many times faster the baseline reaches a target than another method.

The time to a target is an expected running time. Over the runs of a task, it is all the seconds spent until
the target or the end of the run, divided by the number of runs that reached the target: the time one would
wait if runs were repeated until one succeeds. If no run reached it, the seconds spent are a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.digest import Digest, Steps

# Targets: the other method's own final loss, and shares of the way from the loss at the start to the best.
OWN_FINAL = "its own final loss"
FRACTIONS = (0.5, 0.9, 0.99)
TARGETS = (OWN_FINAL, *(f"{fraction:.0%} of the way" for fraction in FRACTIONS))

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class RunningTime:
    """The expected time to a target; a lower bound if no run `reached` it."""

    seconds: float
    reached: int
    runs: int


@dataclass(frozen=True, slots=True)
class Factor:
    """A task and target: how many times longer the method takes than the baseline.

    `bound` is "at least" when only the baseline reached the target, "at most" when only the method
    did, "neither" when none did and the factor is 1, and empty when both did.
    """

    task: str
    method: str
    target: str
    time: RunningTime
    baseline_time: RunningTime
    factor: float
    bound: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Geometric mean of the factors over tasks, with a 95 % bootstrap interval over tasks (not for one)."""

    method: str
    target: str
    tasks: int
    factor: float
    low: float | None
    high: float | None
    only_baseline: int
    only_method: int
    neither: int


def factors(results: LearnerResults) -> list[Factor]:
    """One factor for each task that the baseline has, each other method and each target."""
    found = []
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
        for method, own in runs.items():
            goals = [[_final(results, one) for one in own]]
            goals += [[start - share * (start - best) for start, best in ways] for share in FRACTIONS]
            for target, losses in zip(TARGETS, goals, strict=True):
                found.append(
                    _factor(
                        task.task,
                        method,
                        target,
                        _running_time(results, own, losses),
                        _running_time(results, base, losses),
                    )
                )
    return found


def summaries(found: Sequence[Factor]) -> list[Summary]:
    """One for each method and target, in the order of the factors."""
    groups: dict[tuple[str, str], list[Factor]] = {}
    for one in found:
        groups.setdefault((one.method, one.target), []).append(one)
    return [_summary(method, target, group) for (method, target), group in groups.items()]


def _ways(results: LearnerResults, runs: Sequence[Sequence[Digest]]) -> list[tuple[float, float]]:
    """For each run (fold and seed) of the task, the loss at the start and the best of all methods."""
    ways = []
    for same in zip(*runs, strict=True):
        steps = [found for one in same if (found := results.steps(one)).seconds]
        constant = same[0].constant_loss
        start = max((found.losses[0] for found in steps), default=constant)
        best = min((found.losses[-1] for found in steps), default=constant)
        ways.append((start, best))
    return ways


def _final(results: LearnerResults, one: Digest) -> float:
    losses = results.steps(one).losses
    return losses[-1] if losses else one.constant_loss


def _running_time(results: LearnerResults, runs: Sequence[Digest], goals: Sequence[float]) -> RunningTime:
    times = [_time_to(results.steps(one), goal) for one, goal in zip(runs, goals, strict=True)]
    spent = sum(one.elapsed if time is None else time for one, time in zip(runs, times, strict=True))
    reached = sum(time is not None for time in times)
    return RunningTime(spent / max(reached, 1), reached, len(runs))


def _time_to(steps: Steps, loss: float) -> float | None:
    """When a run first had this loss or a lower one."""
    return next(
        (seconds for seconds, own in zip(steps.seconds, steps.losses, strict=True) if own <= loss), None
    )


def _factor(task: str, method: str, target: str, time: RunningTime, base: RunningTime) -> Factor:
    if not time.reached and not base.reached:
        return Factor(task, method, target, time, base, 1.0, "neither")
    bound = "" if time.reached and base.reached else "at least" if base.reached else "at most"
    # Without this a time of 0, of a clock that is too coarse, would make the factor infinite.
    tick = 1e-9
    return Factor(task, method, target, time, base, max(time.seconds, tick) / max(base.seconds, tick), bound)


def _summary(method: str, target: str, group: Sequence[Factor]) -> Summary:
    logs = np.log([one.factor for one in group])
    low = high = None
    if len(group) > 1:
        rng = np.random.default_rng(len(group))
        means = logs[rng.integers(len(group), size=(RESAMPLES, len(group)))].mean(axis=1)
        low, high = (float(np.exp(q)) for q in np.quantile(means, (0.025, 0.975)))
    bounds = [one.bound for one in group]
    return Summary(
        method,
        target,
        len(group),
        float(np.exp(logs.mean())),
        low,
        high,
        bounds.count("at least"),
        bounds.count("at most"),
        bounds.count("neither"),
    )
