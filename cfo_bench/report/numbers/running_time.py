"""Speed-ups: how many times faster the baseline reaches a target than another method.

The time to a target is an expected running time. Over the runs of a task, it is all the seconds spent until
the target, divided by the number of runs that reached the target: the time one would wait if runs were
repeated until one succeeds. A run that never reached it is charged its budget, even if it ended sooner: the
time that was left would not have brought it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.records import Problem
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import LEAST_SECONDS, MethodScores, TaskScores
from cfo_bench.results.best_so_far import reaching_loss
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import Run

# --- optimality cells ------------------------------------------------------------------------------
# The optimality table of a task as in the paper, and scores in percent of the baseline's.


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the optimality table, as numbers and as the paper prints it."""

    task: str
    method: str
    outcome: str  # best, slower, worse, missing (no result) or left out
    score: float | None  # scaled; of the best, the task's best score, which a method that ties may miss a bit
    seconds: float | None
    cost_ratio: float | None  # its time to the best score over the least; None if that is too short
    gap_percent: float | None  # how far it ends below the best score; None if that is 0

    @property
    def text(self) -> str:
        if self.outcome == "best":
            return f"**{self.score:.4f} ({_seconds(self.seconds or 0.0)}s)**"
        if self.outcome == "slower":
            return "slower" if self.cost_ratio is None else f"×{self.cost_ratio:.1f}"
        if self.outcome == "missing":
            return "no result"
        if self.outcome == "left out":
            return "left out"
        return "worse" if self.gap_percent is None else f"-{self.gap_percent:.1f}%"


def _seconds(value: float) -> str:
    """Whole seconds, as in the paper; two digits for less than ten seconds."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def optimality(scores: TaskScores) -> list[Cell]:
    """best: reaches the best score first, or ties; slower: reaches it later; worse: does not reach it."""
    return [_cell(scores, found) for found in scores.methods.values()]


def _cell(scores: TaskScores, found: MethodScores) -> Cell:
    seconds, least = found.seconds_to_best, scores.best_seconds
    outcome, ratio, gap = "worse", None, None
    if not found.is_compared:
        outcome = "left out"
    elif found.method in scores.leaders:
        outcome, ratio, gap = "best", 1.0, 0.0
    elif seconds is not None:
        outcome, gap = "slower", 0.0
        ratio = seconds / least if least and least >= LEAST_SECONDS else None
    else:
        outcome = "missing" if found.final_score is None else "worse"
        if found.counted_score is not None and scores.best_score:
            gap = 100 * (scores.best_score - found.counted_score) / abs(scores.best_score)
    score = scores.best_score if outcome == "best" else found.final_score
    return Cell(scores.task, found.method, outcome, score, seconds, ratio, gap)


def normalised(scores: TaskScores, baseline: str) -> dict[str, float]:
    """100 × scaled score / the baseline's, for every method that is compared.

    Empty if the baseline's score is not above 0: then the ratio means nothing.
    """
    base = scores.methods.get(baseline)
    if base is None or base.final_score is None or base.final_score <= 0:
        return {}
    return {
        method: 100 * found.counted_score / base.final_score
        for method, found in scores.methods.items()
        if found.counted_score is not None
    }


# --- running time ----------------------------------------------------------------------------------


# Targets: the other method's own final loss, or what equals it within 0.05 %; and shares of the way from the
# loss at the start to the best.
OWN_FINAL = "its own final loss"
FRACTIONS = (0.5, 0.9, 0.99)
TARGETS = (OWN_FINAL, *(f"{fraction:.0%} of the way" for fraction in FRACTIONS))

RESAMPLES = 2000
# With fewer tasks a bootstrap interval is little more than the least and the largest factor.
FEWEST_FOR_INTERVAL = 6

ONLY_BASELINE, ONLY_METHOD = "only the baseline reached it", "only the method reached it"
NEITHER, NO_TIME = "neither reached it", "too fast to time"


@dataclass(frozen=True, slots=True)
class RunningTime:
    """The expected time to a target; if no run `reached` it, the budgets of all runs, spent in vain."""

    seconds: float
    reached: int
    runs: int


@dataclass(frozen=True, slots=True)
class Factor:
    """A task and target: how many times longer the method takes than the baseline."""

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
    tasks: int  # with a factor
    factor: float | None
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
        worst = [
            max(_final(results, one, one.constant_loss) for one in same)
            for same in zip(base, *runs.values(), strict=True)
        ]
        on_the_way = [[start - share * (start - best) for start, best in ways] for share in FRACTIONS]
        base_on_the_way = [_running_time(results, base, losses) for losses in on_the_way]
        for method, own in runs.items():
            # A run without a result counts as the worst of all, or the constant if that is worse.
            own_final = [
                reaching_loss(
                    _final(results, one, max(last, one.constant_loss)),
                    _zero_loss(task, one.constant_loss),
                )
                for one, last in zip(own, worst, strict=True)
            ]
            goals = [own_final, *on_the_way]
            base_times = [_running_time(results, base, own_final), *base_on_the_way]
            for target, losses, base_time in zip(TARGETS, goals, base_times, strict=True):
                time = _running_time(results, own, losses)
                found.append(_factor(task.task, method, target, time, base_time))
    return found


def _zero_loss(task: TaskScores, constant_loss: float) -> float:
    """The loss of a scaled score of 0 on a fold whose constant predictor has this loss."""
    return task.scale.zero_loss if task.problem == Problem.REGRESSION else constant_loss


def summaries(found: Sequence[Factor]) -> list[Summary]:
    """One for each method and target, in the order of the factors."""
    groups: dict[tuple[str, str], list[Factor]] = {}
    for one in found:
        groups.setdefault((one.method, one.target), []).append(one)
    return [_summary(method, target, group) for (method, target), group in groups.items()]


def _ways(results: LearnerResults, runs: Sequence[Sequence[Run]]) -> list[tuple[float, float]]:
    """For each run (fold and seed) of the task, the loss at the start and the best of all methods."""
    ways = []
    for same in zip(*runs, strict=True):
        steps = [found for one in same if (found := results.incumbents(one)).seconds]
        constant = same[0].constant_loss
        start = max((found.losses[0] for found in steps), default=constant)
        best = min((found.losses[-1] for found in steps), default=constant)
        ways.append((start, best))
    return ways


def _final(results: LearnerResults, one: Run, otherwise: float) -> float:
    """The final loss of a run, `otherwise` if it has no result."""
    losses = results.incumbents(one).losses
    return losses[-1] if losses else otherwise


def _running_time(results: LearnerResults, runs: Sequence[Run], goals: Sequence[float]) -> RunningTime:
    times = [_time_to(results.incumbents(one), goal) for one, goal in zip(runs, goals, strict=True)]
    spent = sum(one.budget_seconds if time is None else time for one, time in zip(runs, times, strict=True))
    reached = sum(time is not None for time in times)
    return RunningTime(spent / max(reached, 1), reached, len(runs))


def _time_to(steps: Incumbents, loss: float) -> float | None:
    """When a run first had this loss or a lower one. On the test part a loss may rise again."""
    for second, own in zip(steps.seconds, steps.losses, strict=True):
        if own <= loss:
            return second
    return None


def _factor(task: str, method: str, target: str, time: RunningTime, base: RunningTime) -> Factor:
    if not time.reached and not base.reached:
        return Factor(task, method, target, time, base, None, NEITHER)
    who = "" if time.reached and base.reached else ONLY_BASELINE if base.reached else ONLY_METHOD
    if min(time.seconds, base.seconds) < LEAST_SECONDS:
        return Factor(task, method, target, time, base, None, who or NO_TIME)
    return Factor(task, method, target, time, base, time.seconds / base.seconds, who)


def _summary(method: str, target: str, group: Sequence[Factor]) -> Summary:
    logs = np.log([one.factor for one in group if one.factor is not None])
    n = len(logs)
    low = high = None
    if n >= FEWEST_FOR_INTERVAL:
        rng = np.random.default_rng(n)
        means = logs[rng.integers(n, size=(RESAMPLES, n))].mean(axis=1)
        low, high = (float(np.exp(q)) for q in np.quantile(means, (0.025, 0.975)))
    who = [one.who for one in group]
    return Summary(
        method,
        target,
        n,
        float(np.exp(logs.mean())) if n else None,
        low,
        high,
        who.count(ONLY_BASELINE),
        who.count(ONLY_METHOD),
        who.count(NEITHER),
    )
