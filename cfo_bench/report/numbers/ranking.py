"""What is compared over tasks: methods that are all compared on all of these tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.method_styles import in_order
from cfo_bench.report.numbers.scores import TIE_FACTOR, TaskScores, keep_most
from cfo_bench.report.numbers.significance import (
    FEWEST_TASKS,
    LEVEL,
    Pair,
    against,
    friedman,
    in_words,
    pairwise,
    tied_ranks,
)

# --- joint ranking ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Joint:
    """What is compared over tasks: methods that all are compared on all these tasks."""

    methods: list[str]
    tasks: list[TaskScores]
    left_out: list[str]  # methods that are compared on too few tasks

    def scores(self) -> Array:
        """Final scaled scores, one row a task and one column a method; imputed where all runs failed."""
        return np.array(
            [[_number(task.methods[method].counted_score) for method in self.methods] for task in self.tasks]
        ).reshape(len(self.tasks), len(self.methods))

    def ranks_at(self, share: float) -> Array:
        """The ranks at a share of each task's budget, one row a task and one column a method."""
        found: Array = self.ranks_over(np.array([share]))[0]
        return found

    def ranks_over(self, shares: Array) -> Array:
        """The same for many shares, which are the first axis.

        A method that comes to the score of a better one within TIE_FACTOR of the time ties with it: which of
        two methods is there a little sooner is chance.
        """
        soon = np.minimum(TIE_FACTOR * shares, 1.0)
        return tied_ranks(self._scores_over(shares), self._scores_over(soon))

    def _scores_over(self, shares: Array) -> Array:
        """Scaled scores so far; NaN where a method has no result yet, or never."""
        found = np.full((len(shares), len(self.tasks), len(self.methods)), np.nan)
        for row, task in enumerate(self.tasks):
            for column, method in enumerate(self.methods):
                if (curve := task.methods[method].curve) is not None:
                    losses = curve.over(shares * task.budget_seconds)
                    found[:, row, column] = task.scale.score(losses)
        return found


def joint(scores: Sequence[TaskScores]) -> Joint:
    """The methods and tasks of a joint ranking: those that keep most, see `keep_most`."""
    having: dict[str, set[str]] = {method: set() for task in scores for method in task.methods}
    for task in scores:
        if len(task.compared) > 1:
            for method in task.compared:
                having[method].add(task.task)
    kept, shared = keep_most(having)
    if len(kept) < 2:
        return Joint([], [], in_order(having))
    return Joint(
        in_order(kept), [task for task in scores if task.task in shared], in_order(set(having) - kept)
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


# --- leaders ---------------------------------------------------------------------------------------
# The methods that a figure with many lines shows in colour: the best few, and the baseline.


# So many of the best are shown in colour, with their confidence intervals.
MOST_LEADERS = 4
# Up to so many methods all lines are in colour, and only the intervals are for the leaders.
MOST_COLOURED = 8


def best_first(scores: Sequence[TaskScores]) -> list[str]:
    """All methods by mean rank, as in the overview; those without a rank last."""
    both = joint(scores)
    means = both.ranks_at(1.0).mean(axis=0) if both.tasks else ()
    ranks = dict(zip(both.methods, means, strict=True))
    methods = in_order({method for task in scores for method in task.methods})
    return sorted(methods, key=lambda method: (ranks.get(method, math.inf), -wins(scores, method)))


def leaders(scores: Sequence[TaskScores], baseline: str) -> tuple[str, ...]:
    """The first methods of the overview; and the baseline if it has runs."""
    methods = best_first(scores)
    return tuple(in_order({*methods[:MOST_LEADERS], *({baseline} & set(methods))}))


def wins(scores: Sequence[TaskScores], method: str) -> int:
    """The tasks on which the method reaches the best score first, alone or tied."""
    return sum(method in task.winners for task in scores)


# --- lead ------------------------------------------------------------------------------------------
# Whether the methods with the best mean rank are shown to be better than the others: what the answer claims.
#
# The leader is known only after the runs. So it is compared with the others as one pair among all pairs of
# methods, or, if it is the baseline, which was chosen before, as one of the pairs with the baseline. These
# are the rows of the report's two tables of pairs, with the same p.


@dataclass(frozen=True, slots=True)
class Lead:
    """What the tests say of the methods with the best mean rank."""

    leaders: tuple[str, ...]  # those with the best mean rank; several if they share it
    others: tuple[str, ...]
    not_shown: tuple[str, ...]  # the others that one of the leaders is not shown to be better than
    tasks: int
    test: str  # of all methods at once: Friedman, or Wilcoxon for two methods
    p: float | None  # of that test; None if none was made, for lack of tasks or of others
    largest_p: float | None  # of the pairs of leaders with others, after Holm's correction
    can_be_shown: bool  # whether so many tasks can show that a leader is better than another method

    @property
    def sentence(self) -> str:
        """Empty if all methods share the best mean rank: then nobody leads."""
        if not self.others:
            return ""
        is_shared = len(self.leaders) > 1
        if self.p is None:
            what = "A lead over the others" if is_shared else "The lead"
            return f"{what} is not shown: {self.tasks} tasks are too few for a test, it takes {FEWEST_TASKS}."
        tested = f"({self.test}'s p = {self.p:.2g} over {self.tasks} tasks)"
        if self.p >= LEVEL:
            differ = f"he methods are not shown to differ {tested}."
            return f"T{differ}" if is_shared else f"The lead is not shown: t{differ}"
        if self.not_shown:
            return f"The methods differ {tested}, but {self._missing}."
        if self.test == "Wilcoxon":
            return f"The lead is shown {tested}."
        lead = "Their lead over each of the others" if is_shared else "The lead over each of the others"
        p = f"Wilcoxon's p after Holm is at most {self.largest_p:.2g}"
        return f"{lead} is shown ({p}, over {self.tasks} tasks)."

    @property
    def _missing(self) -> str:
        if not self.can_be_shown:
            methods = len(self.leaders) + len(self.others)
            return f"no lead is shown: {self.tasks} tasks are too few to show one among {methods} methods"
        if self.not_shown == self.others and len(self.others) > 1:
            return "a lead over any of the others is not shown"
        return f"a lead over {in_words(self.not_shown)} is not shown"


def lead(task_ranks: Array, scores: Array, methods: Sequence[str], baseline: str) -> Lead:
    """Friedman's test of all methods, then Wilcoxon's of each leader against each other, with Holm."""
    means = task_ranks.mean(axis=0)
    best = float(means.min())
    leaders = tuple(name for name, mean in zip(methods, means, strict=True) if mean <= best + 1e-9)
    others = tuple(name for name in methods if name not in leaders)
    n = len(scores)
    test = "Friedman" if len(methods) > 2 else "Wilcoxon"
    if n < FEWEST_TASKS or not others:
        return Lead(leaders, others, others, n, test, None, None, False)
    pairs = {
        leader: against(scores, methods, leader) if leader == baseline else _of(leader, scores, methods)
        for leader in leaders
    }
    overall = friedman(task_ranks)
    all_at_once = pairs[leaders[0]][0].p if overall is None else overall.p
    not_won = [pair for leader, own in pairs.items() for pair in own if pair.winner != leader]
    unproven = {name for pair in not_won for name in (pair.one, pair.other)}
    with_others = [pair for own in pairs.values() for pair in own if {pair.one, pair.other} & set(others)]
    return Lead(
        leaders=leaders,
        others=others,
        not_shown=tuple(name for name in others if name in unproven or all_at_once >= LEVEL),
        tasks=n,
        test=test,
        p=all_at_once,
        largest_p=max(pair.p_holm for pair in with_others),
        can_be_shown=all(pair.least_p_holm < LEVEL for pair in with_others),
    )


def _of(leader: str, scores: Array, methods: Sequence[str]) -> list[Pair]:
    return [pair for pair in pairwise(scores, methods) if leader in (pair.one, pair.other)]
