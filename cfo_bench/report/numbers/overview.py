"""Which method wins, when, and by how much: the answer at the top of the page and on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from scipy import stats

from cfo_bench.report.contents import Table
from cfo_bench.report.numbers.scores import TaskScores, normalised

# The moments at which the methods are ranked, as shares of each task's budget.
MOMENTS = (0.01, 0.1, 1.0)


@dataclass(frozen=True, slots=True)
class Standing:
    """One method over all tasks of a learner. Ranks and gaps are over the tasks that every method has."""

    method: str
    results: int  # tasks on which it has a result
    wins: int  # tasks on which it is the first to reach the best score
    reached: int  # tasks on which it reaches the best score
    mean_rank: float | None
    ranks_at: Mapping[float, float | None]  # mean rank at each of MOMENTS
    mean_gap_percent: float | None  # how far it ends below the best score
    slowdown: float | None  # its time to the best score over the winner's, geometric mean where it gets there
    mean_normalised: float | None  # its score, if the baseline's is 100


@dataclass(frozen=True, slots=True)
class Overview:
    """The standings, the best mean rank first. `ranked` counts the tasks where every method has a result."""

    learner: str
    tasks: int
    ranked: int
    baseline: str
    standings: list[Standing]

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if len(self.standings) < 2:
            only = self.standings[0].method if self.standings else "no method"
            return f"Only {only} has results here: run a second method to compare it with."
        first = max(self.standings, key=lambda one: (one.wins, -(one.mean_rank or math.inf)))
        where = f"{first.wins} of {_plural(self.tasks, 'task')}"
        text = f"{first.method} is the first to reach the best score on {where}"
        ranked = [one for one in self.standings if one.mean_rank is not None]
        if ranked:
            lead = ranked[0]
            text += f"; {'it' if lead is first else lead.method} has the best mean rank, {lead.mean_rank:.2f}"
            early = min(ranked, key=lambda one: one.ranks_at[MOMENTS[0]] or math.inf)
            if early.ranks_at[MOMENTS[0]] is not None:
                text += f", and {'leads' if early is lead else early.method + ' leads'} at 1 % of the budget"
                text += " already" if early is lead else ""
        return text + "."

    def table(self) -> Table:
        columns = (
            "method",
            "tasks won",
            "reaches the best",
            "mean rank",
            *(f"rank at {share:.0%}" for share in MOMENTS[:-1]),
            "gap to the best %",
            "slower by ×",
            f"score ({self.baseline} = 100)",
            "tasks with a result",
        )
        rows = [
            [
                one.method,
                one.wins,
                one.reached,
                _rounded(one.mean_rank, 3),
                *(_rounded(one.ranks_at[share], 3) for share in MOMENTS[:-1]),
                _rounded(one.mean_gap_percent, 3),
                _rounded(one.slowdown, 3),
                _rounded(one.mean_normalised, 2),
                one.results,
            ]
            for one in self.standings
        ]
        note = (
            f"One row a method, over {_plural(self.tasks, 'task')}. Won: the first to reach the best score. "
            "Ranks (1 is best) of the mean loss at shares of the budget, and the gap, are over the "
            f"{self.ranked} where every method has a result. Slower: geometric mean of its time to the best "
            "score over the winner's, where it gets there."
        )
        return Table("overview", "Who wins", note, columns, rows)


def overview(learner: str, scores: Sequence[TaskScores], baseline: str) -> Overview:
    """The standings of all methods; `scores` are of one learner, one for each task."""
    methods = sorted({method for task in scores for method in task.methods})
    ranked = [task for task in scores if all(_final(task, method) is not None for method in methods)]
    # With one method there is nothing to rank.
    ranks = {share: _mean_ranks(ranked if len(methods) > 1 else [], methods, share) for share in MOMENTS}
    bases = [normalised(task, baseline) for task in scores]
    standings = [
        Standing(
            method=method,
            results=sum(_final(task, method) is not None for task in scores),
            wins=sum(task.best_method == method for task in scores),
            reached=sum(_reached(task, method) is not None for task in scores),
            mean_rank=ranks[1.0][method],
            ranks_at={share: ranks[share][method] for share in MOMENTS},
            mean_gap_percent=_mean([_gap_percent(task, method) for task in ranked]),
            slowdown=_slowdown(scores, method),
            mean_normalised=_mean([base[method] for base in bases if method in base]),
        )
        for method in methods
    ]
    standings.sort(key=lambda one: (one.mean_rank or math.inf, -one.wins, one.method))
    return Overview(learner, len(scores), len(ranked), baseline, standings)


def _final(task: TaskScores, method: str) -> float | None:
    found = task.methods.get(method)
    return found.final_loss if found else None


def _reached(task: TaskScores, method: str) -> float | None:
    found = task.methods.get(method)
    return found.seconds_to_best if found else None


def _mean_ranks(tasks: Sequence[TaskScores], methods: Sequence[str], share: float) -> dict[str, float | None]:
    """Mean over tasks of the rank at a share of the budget. A method without a loss by then ranks last."""
    if not tasks:
        return dict.fromkeys(methods)
    losses = np.array([[_loss_at(task, method, share) for method in methods] for task in tasks])
    means = stats.rankdata(np.where(np.isnan(losses), np.inf, losses), axis=1).mean(axis=0)
    return dict(zip(methods, means.tolist(), strict=True))


def _loss_at(task: TaskScores, method: str, share: float) -> float:
    found = task.methods[method].curve
    return math.nan if found is None else found.at(share * task.budget_seconds)


def _gap_percent(task: TaskScores, method: str) -> float:
    score, best = task.methods[method].final_score, task.best_score
    return 100 * (best - score) / abs(best) if score is not None and best else math.nan


def _slowdown(scores: Sequence[TaskScores], method: str) -> float | None:
    ratios = [
        seconds / task.best_seconds
        for task in scores
        if (seconds := _reached(task, method)) is not None and task.best_seconds
    ]
    return math.exp(fmean(map(math.log, ratios))) if ratios else None


def _mean(values: Sequence[float]) -> float | None:
    finite = [value for value in values if math.isfinite(value)]
    return fmean(finite) if finite else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _plural(n: int, word: str) -> str:
    return f"{n} {word}{'s' * (n != 1)}"
