"""The joint ranking: methods that are all compared on the same tasks, and the tests of their ranks.

It is computed once for each learner. Everything that compares methods over tasks uses it: the answer, the
statistics, the order of columns, the colours of figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

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
    corrected_t,
    friedman,
    of_leader,
    pairwise,
    tied_ranks,
    triangle_step_up,
)

# At most this many of the best methods are drawn in colour, with their confidence intervals.
MOST_LEADERS = 4
# With at most this many methods, all lines are in colour, and only the leaders have intervals.
MOST_COLOURED = 8


@dataclass(frozen=True)
class Ranking:
    """Methods that are all compared on all of these tasks. Both are empty if no two methods can be ranked."""

    methods: list[str]  # by mean rank
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

        A method that reaches the score of a better one within TIE_FACTOR of its time ties with it, because
        small differences in time are chance.
        """
        soon = np.minimum(TIE_FACTOR * shares, 1.0)
        return tied_ranks(self._scores_over(shares), self._scores_over(soon))

    def _scores_over(self, shares: Array) -> Array:
        """Scaled scores so far; NaN where a method has no result yet, or none at all."""
        scores = np.full((len(shares), len(self.tasks), len(self.methods)), np.nan)
        for row, task in enumerate(self.tasks):
            for column, method in enumerate(self.methods):
                if (curve := task.methods[method].curve) is not None:
                    losses = curve.over(shares * task.budget_seconds)
                    scores[:, row, column] = task.scale.score(losses)
        return scores

    @cached_property
    def best_first(self) -> list[str]:
        """All methods by mean rank, then by wins; those without a rank last. The order of equal methods has
        no meaning.
        """
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
        return tuple(dict.fromkeys([*methods[:MOST_LEADERS], *({self.baseline} & set(methods))]))

    @cached_property
    def tests(self) -> RankTests:
        return RankTests(self.methods, self.final_ranks, self.scores, self.baseline)

    @cached_property
    def lead(self) -> Lead | None:
        """The best methods, tested over tasks, or over the folds of a single task; None without ranks."""
        if len(self.tasks) == 1:
            return _lead_on_task(self.tasks[0], self.methods, self.final_ranks)
        return self.tests.lead if self.tasks else None


def rank(scores: Sequence[TaskScores], baseline: str) -> Ranking:
    """The joint ranking of one learner's tasks, with the methods and tasks that `keep_most` selects."""
    tasks: dict[str, set[str]] = {method: set() for task in scores for method in task.methods}
    for task in scores:
        if len(task.compared) > 1:
            for method in task.compared:
                tasks[method].add(task.task)
    kept, shared = keep_most(tasks)
    if len(kept) < 2:
        return Ranking([], [], in_order(tasks), scores, baseline)
    ranked = [task for task in scores if task.task in shared]
    ranking = Ranking(in_order(kept), ranked, in_order(set(tasks) - kept), scores, baseline)
    return replace(ranking, methods=[method for method in ranking.best_first if method in kept])


def _number(value: float | None) -> float:
    return math.nan if value is None else value


@dataclass(frozen=True)
class RankTests:
    """Tests of differences between methods over tasks. Arrays have one row per task and one column per
    method.
    """

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
    def lead(self) -> Lead:
        """The leaders by mean rank, with the p of Wilcoxon's test over tasks."""
        has_test = len(self.ranks) >= FEWEST_TASKS
        of_all = self.friedman or (self.pairs[0] if has_test and len(self.methods) == 2 else None)
        return Lead.of(
            self.methods,
            self.ranks,
            lambda leader: {pair.other: pair.p_corrected for pair in self.pairs_of(leader)},
            len(self.ranks),
            p=of_all.p if of_all and has_test else None,
        )

    def pairs_of(self, leader: str) -> list[Pair]:
        """Wilcoxon's test of a leader against each other method."""
        return of_leader(self.scores, self.methods, leader)


@dataclass(frozen=True, slots=True)
class Lead:
    """The methods with the best mean rank, and whether they are significantly better than the others.

    The leader is known only after the runs. Therefore each p is corrected by `triangle_step_up`, also if the
    leader is the baseline. If methods share the best mean rank, a claim holds for all of them.
    """

    leaders: tuple[str, ...]
    others: tuple[str, ...]
    p_of_others: Mapping[str, float]  # corrected; empty if there are too few tasks or folds for a test
    tasks: int
    test: str  # of all methods together: Friedman, or Wilcoxon for two methods; no claim depends on it
    p: float | None  # of that test

    @classmethod
    def of(
        cls,
        methods: Sequence[str],
        ranks: Array,
        p_against: Callable[[str], Mapping[str, float]],
        n: int,
        p: float | None = None,
    ) -> Self:
        """The leaders by these ranks. `p_against` tests one of them over `n` tasks, or over `n` folds."""
        means = dict(zip(methods, ranks.mean(axis=0).tolist(), strict=True))
        best = min(means.values())
        leaders = tuple(method for method in methods if means[method] <= best + 1e-9)
        others = tuple(method for method in methods if method not in leaders)
        tests = [p_against(leader) for leader in leaders] if n >= FEWEST_TASKS else []
        p_of_others = {other: max(test[other] for test in tests) for other in others if tests}
        all_at_once = "Friedman" if len(methods) > 2 else "Wilcoxon"
        return cls(leaders, others, p_of_others, len(ranks), all_at_once, p)

    @property
    def not_significant(self) -> tuple[str, ...]:
        """The others that the leaders are not significantly better than."""
        return tuple(other for other in self.others if self.p_of_others.get(other, 1.0) >= LEVEL)


def _lead_on_task(task: TaskScores, methods: Sequence[str], ranks: Array) -> Lead:
    """The leaders on a single task, with the p of `corrected_t` over its folds."""
    known = {method: task.methods[method].fold_losses for method in methods}
    # A method without any result counts as the worst other one, or the constant predictor.
    worst = np.max([by_fold or (task.constant_loss,) * task.n_folds for by_fold in known.values()], axis=0)
    losses = {method: np.array(known[method]) if known[method] else worst for method in methods}

    def p_against(leader: str) -> dict[str, float]:
        differences = {method: losses[method] - losses[leader] for method in methods if method != leader}
        p = [
            corrected_t(by_fold, task.folds_of_data) if by_fold.mean() > 0 else 1.0
            for by_fold in differences.values()
        ]
        return dict(zip(differences, triangle_step_up(p), strict=True))

    return Lead.of(methods, ranks, p_against, task.n_folds)
