"""The joint ranking: methods that are all compared on the same tasks, and whether their ranks differ.

It is computed once for each learner. Everything that compares methods over tasks reads it: the answer, the
statistics, the order of columns, the colours of figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.method_styles import in_order
from cfo_bench.report.numbers.scores import TIE_FACTOR, TaskScores, keep_most
from cfo_bench.report.numbers.significance import (
    FEWEST_TASKS,
    LEVEL,
    Friedman,
    Pair,
    against,
    friedman,
    in_words,
    pairwise,
    tied_ranks,
)

# The best methods, up to this number, are drawn in colour, with their confidence intervals.
MOST_LEADERS = 4
# Up to this number of methods all lines are in colour, and only the intervals are for the leaders.
MOST_COLOURED = 8


@dataclass(frozen=True)
class Ranking:
    """Methods that are all compared on all of these tasks. Both are empty if no two methods can be ranked."""

    methods: list[str]
    tasks: list[TaskScores]
    left_out: list[str]  # methods that are compared on too few tasks
    all_tasks: Sequence[TaskScores]
    baseline: str

    @cached_property
    def scores(self) -> Array:
        """Final scaled scores, one row per task and one column per method; imputed where all runs failed."""
        return np.array(
            [[_number(task.methods[method].counted_score) for method in self.methods] for task in self.tasks]
        ).reshape(len(self.tasks), len(self.methods))

    @cached_property
    def final_ranks(self) -> Array:
        """The ranks at the end of the budget, one row per task and one column per method."""
        return self.ranks_at(1.0)

    def ranks_at(self, share: float) -> Array:
        """The ranks at a share of each task's budget."""
        ranks: Array = self.ranks_over(np.array([share]))[0]
        return ranks

    def ranks_over(self, shares: Array) -> Array:
        """The ranks at many shares of the budget, which are the first axis.

        A method that reaches the score of a better one within TIE_FACTOR of the time ties with it: which of
        two methods is a little faster is chance.
        """
        soon = np.minimum(TIE_FACTOR * shares, 1.0)
        return tied_ranks(self._scores_over(shares), self._scores_over(soon))

    def _scores_over(self, shares: Array) -> Array:
        """Scaled scores so far; NaN where a method has no result yet, or never."""
        scores = np.full((len(shares), len(self.tasks), len(self.methods)), np.nan)
        for row, task in enumerate(self.tasks):
            for column, method in enumerate(self.methods):
                if (curve := task.methods[method].curve) is not None:
                    losses = curve.over(shares * task.budget_seconds)
                    scores[:, row, column] = task.scale.score(losses)
        return scores

    @cached_property
    def best_first(self) -> list[str]:
        """All methods by mean rank, as in the overview; those without a rank last."""
        means = self.final_ranks.mean(axis=0) if self.tasks else ()
        ranks = dict(zip(self.methods, means, strict=True))
        methods = in_order({method for task in self.all_tasks for method in task.methods})
        return sorted(methods, key=lambda method: (ranks.get(method, math.inf), -self.wins(method)))

    def wins(self, method: str) -> int:
        """The number of tasks on which the method reaches the best score first, alone or tied."""
        return sum(method in task.winners for task in self.all_tasks)

    @cached_property
    def highlighted(self) -> tuple[str, ...]:
        """The methods that a figure with many lines shows in colour: the best, and the baseline."""
        methods = self.best_first
        return tuple(in_order({*methods[:MOST_LEADERS], *({self.baseline} & set(methods))}))

    @cached_property
    def tests(self) -> RankTests:
        return RankTests(self.methods, self.final_ranks, self.scores, self.baseline)


def rank(scores: Sequence[TaskScores], baseline: str) -> Ranking:
    """The joint ranking of one learner's tasks: the methods and tasks that keep most, see `keep_most`."""
    tasks: dict[str, set[str]] = {method: set() for task in scores for method in task.methods}
    for task in scores:
        if len(task.compared) > 1:
            for method in task.compared:
                tasks[method].add(task.task)
    kept, shared = keep_most(tasks)
    if len(kept) < 2:
        return Ranking([], [], in_order(tasks), scores, baseline)
    ranked = [task for task in scores if task.task in shared]
    return Ranking(in_order(kept), ranked, in_order(set(tasks) - kept), scores, baseline)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


@dataclass(frozen=True)
class RankTests:
    """Tests whether methods differ over tasks. Arrays have one row per task and one column per method."""

    methods: Sequence[str]
    ranks: Array
    scores: Array
    baseline: str

    @cached_property
    def friedman(self) -> Friedman | None:
        """Friedman's test of all methods; None for fewer than three."""
        return friedman(self.ranks)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Wilcoxon's test of each pair of methods."""
        return pairwise(self.scores, self.methods)

    @cached_property
    def baseline_pairs(self) -> list[Pair]:
        """Wilcoxon's test of each method against the baseline; empty if the baseline is not ranked."""
        if self.baseline not in self.methods:
            return []
        return against(self.scores, self.methods, self.baseline)

    @cached_property
    def lead(self) -> Lead | None:
        """The methods with the best mean rank, and whether they are significantly better; None without ranks.

        The leader is known only after the runs. So it is compared with the others as one pair among all
        pairs of methods, or, if it is the baseline, which was chosen before, as one of the pairs with the
        baseline. These are the rows of the report's two tables of pairs, with the same p.
        """
        n = len(self.ranks)
        if not n:
            return None
        means = self.ranks.mean(axis=0)
        best = float(means.min())
        leaders = tuple(name for name, mean in zip(self.methods, means, strict=True) if mean <= best + 1e-9)
        others = tuple(name for name in self.methods if name not in leaders)
        test = "Friedman" if len(self.methods) > 2 else "Wilcoxon"
        if n < FEWEST_TASKS or not others:
            return Lead(leaders, others, others, n, test, None, None, False)
        pairs = {leader: self._pairs_with(leader) for leader in leaders}
        p = pairs[leaders[0]][0].p if self.friedman is None else self.friedman.p
        not_won = [
            pair for leader, with_leader in pairs.items() for pair in with_leader if pair.winner != leader
        ]
        unproven = {name for pair in not_won for name in (pair.one, pair.other)}
        with_others = [
            pair
            for with_leader in pairs.values()
            for pair in with_leader
            if {pair.one, pair.other} & set(others)
        ]
        return Lead(
            leaders=leaders,
            others=others,
            not_significant=tuple(name for name in others if name in unproven or p >= LEVEL),
            tasks=n,
            test=test,
            p=p,
            largest_p=max(pair.p_holm for pair in with_others),
            has_enough_tasks=all(pair.least_p_holm < LEVEL for pair in with_others),
        )

    def _pairs_with(self, leader: str) -> list[Pair]:
        if leader == self.baseline:
            return self.baseline_pairs
        return [pair for pair in self.pairs if leader in (pair.one, pair.other)]


@dataclass(frozen=True, slots=True)
class Lead:
    """The methods with the best mean rank, and the result of the tests about them."""

    leaders: tuple[str, ...]  # those with the best mean rank; several if they share it
    others: tuple[str, ...]
    not_significant: tuple[str, ...]  # the others that one of the leaders is not significantly better than
    tasks: int
    test: str  # of all methods at once: Friedman, or Wilcoxon for two methods
    p: float | None  # of that test; None without a test, for lack of tasks or of others
    largest_p: float | None  # of the pairs of leaders with others, after Holm's correction
    has_enough_tasks: bool  # whether a lead over each of the others can be significant at all

    @property
    def sentence(self) -> str:
        """Empty if all methods share the best mean rank: then no method leads."""
        if not self.others:
            return ""
        is_shared = len(self.leaders) > 1
        if self.p is None:
            lead = "a lead over the others" if is_shared else "the lead"
            return (
                f"{self.tasks} tasks are too few to test whether {lead} is significant: at least "
                f"{FEWEST_TASKS} are needed."
            )
        test = f"({self.test}'s p = {self.p:.2g} over {self.tasks} tasks)"
        if self.p >= LEVEL:
            what = "The differences among the methods are" if is_shared else "The lead is"
            return f"{what} not significant {test}."
        if self.not_significant:
            return f"The methods differ significantly {test}, but {self._exception}."
        if self.test == "Wilcoxon":
            return f"The lead is significant {test}."
        lead = "Their lead over each of the others" if is_shared else "The lead over each of the others"
        p = f"Wilcoxon's p after Holm's correction is at most {self.largest_p:.2g}"
        return f"{lead} is significant ({p}, over {self.tasks} tasks)."

    @property
    def _exception(self) -> str:
        if not self.has_enough_tasks:
            n_methods = len(self.leaders) + len(self.others)
            return (
                f"no lead is significant: {self.tasks} tasks are too few for significant differences between "
                f"two of {n_methods} methods"
            )
        if self.not_significant == self.others and len(self.others) > 1:
            return "the lead over any of the others is not significant"
        return f"the lead over {in_words(self.not_significant)} is not significant"
