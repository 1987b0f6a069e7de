"""Whether the methods with the best mean rank are shown to be better than the others: what the answer claims.

The leader is known only after the runs. So it is compared with the others as one pair among all pairs of
methods, or, if it is the baseline, which was chosen before, as one of the pairs with the baseline. These are
the rows of the report's two tables of pairs, with the same p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.significance import (
    FEWEST_TASKS,
    LEVEL,
    Pair,
    against,
    friedman,
    in_words,
    pairwise,
)


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
