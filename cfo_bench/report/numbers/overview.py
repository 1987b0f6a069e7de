"""The answer at the top of the page and on the terminal: the best method, at which moments, and by how much.

The answer claims no more than the runs support: methods that tie share a win, a difference is called
significant only by a test, no winner is named on few tasks or folds, and everything left out is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from cfo_bench.report.contents import MOST_NAMES, Table, plural, some
from cfo_bench.report.numbers.ranking import Lead, Ranking
from cfo_bench.report.numbers.scores import LEAST_SECONDS, TIE_FACTOR, Cell, TaskScores
from cfo_bench.report.numbers.significance import LEVEL, in_words, p_in_words, too_few
from cfo_bench.results.best_so_far import REACHES

# The moments at which the methods are ranked, as shares of each task's budget.
MOMENTS = (0.01, 0.1, 1.0)

# With fewer tasks no winner is named, except on a single task; with fewer folds none is named, unless the
# tasks are enough for a test.
FEWEST_TASKS, FEWEST_FOLDS = 3, 2


@dataclass(frozen=True, slots=True)
class Standing:
    """One method over all tasks of a learner. Ranks and gaps are over the tasks of the joint ranking."""

    method: str
    results: int  # tasks on which it has a result
    wins: int  # tasks on which it reaches the best score first, alone or tied
    ties: int  # of these, the tasks where it shares the win
    reached: int  # tasks on which it reaches the best score
    failed: int  # tasks on which it was run without a result; it ranks last on them
    mean_rank: float | None  # None if it is not in the joint ranking
    ranks_at: Mapping[float, float | None]  # mean rank at each of MOMENTS
    mean_gap_percent: float | None  # how far it ends below the best score
    slowdown: float | None  # its time to the best score over the least, geometric mean over tasks
    never_reached: int  # tasks where it is charged the budget; if any, `slowdown` is a lower bound
    mean_normalised: float | None  # its scaled score, if the baseline's is 100


@dataclass(frozen=True, slots=True)
class Overview:
    """The standings, the best mean rank first."""

    learner: str
    tasks: int
    ranked: int  # tasks of the joint ranking
    baseline: str
    standings: list[Standing]
    compared: int  # tasks on which two methods or more are compared
    folds: int  # the least number of folds of a ranked task
    over: str  # the folds and seeds of a task's mean, in words
    score_is: str  # the kind of score by which the methods are compared
    tested: int  # ranked tasks that are compared by test scores
    clock: str
    lead: Lead | None  # None if nothing is ranked
    best_is: str  # the property of the leaders: the best mean rank, or the best mean score of a single task
    only_task: str  # the task, if all ranks are on one task; else empty
    seen: list[str]  # the result on each task, one sentence each
    left_out: list[str]  # exclusions and failures, with numbers

    @property
    def verdict(self) -> str:
        """The recommended method, with the p of its differences."""
        if not self.standings:
            return "Only reference methods have runs here: run two methods to compare."
        if len(self.standings) < 2:
            return (
                f"Only {self.standings[0].method} has results here: run a second method to compare it with."
            )
        if not any(standing.results for standing in self.standings):
            return "No method has a result here, so nothing is compared."
        if self.lead is None and not self.compared:
            return "No two methods have runs in common here, so nothing is compared."
        if not self._has_winner:
            return f"No method beats the constant predictor on any of {plural(self.tasks, 'task')}."
        if self.lead is None:
            return "The methods can't be ranked: too few tasks have runs of all of them."
        return (
            f"{self._claim(self.lead)}{f' This applies to {self.only_task} only.' if self.only_task else ''}"
        )

    def _claim(self, lead: Lead) -> str:
        """The methods that the leaders are significantly better than, and those that they are not."""
        if lead.others and not lead.p_of_others:
            return self._without_test(lead)
        where = f" on {self.only_task}" if self.only_task else ""
        leaders, is_shared = in_words(lead.leaders), len(lead.leaders) > 1
        if not lead.others:
            return f"No method leads{where}: {leaders} share the {self.best_is}."
        order = [standing.method for standing in self.standings if standing.method in lead.others]
        worse = [method for method in order if method not in lead.not_significant]
        equal = [method for method in order if method in lead.not_significant]
        not_better = f"not significantly better than {self._with_p(lead, equal)}"
        if not worse:
            has = "share" if is_shared else "has"
            return f"No significant lead{where}: {leaders} {has} the {self.best_is}, {not_better}."
        start = (
            f"Use {' or '.join(lead.leaders)}{where}: they share the {self.best_is}. Each is significantly"
            if is_shared
            else f"Use {leaders}{where}: {self.best_is}. Significantly"
        )
        return f"{start} better than {self._with_p(lead, worse)}{f'; {not_better}' if equal else ''}."

    def _without_test(self, lead: Lead) -> str:
        too_few_units = too_few(*((self.folds, "fold") if self.only_task else (self.ranked, "task")))
        if self.folds < FEWEST_FOLDS or (not self.only_task and self.ranked < FEWEST_TASKS):
            return f"{too_few_units}{'' if self.only_task else f', with {self.over} each'}."
        has = "has" if len(lead.leaders) == 1 else "share"
        return f"{in_words(lead.leaders)} {has} the {self.best_is}; {too_few_units}."

    def _with_p(self, lead: Lead, methods: Sequence[str]) -> str:
        """Methods with their p, such as `rs (p = 0.008) and cfo (p = 0.031)`; of many, the first names and
        a bound on their p.
        """
        if len(methods) <= MOST_NAMES:
            return in_words([f"{method} ({p_in_words(lead.p_of_others[method])})" for method in methods])
        p = [lead.p_of_others[method] for method in methods]
        is_bound_above = max(p) < LEVEL
        bound = p_in_words(max(p) if is_bound_above else min(p)).replace("=", "≤" if is_bound_above else "≥")
        return f"{some(methods)} ({bound})"

    @property
    def details(self) -> str:
        """Sentences after the verdict: the leaders at earlier moments, the wins, the kind of score."""
        if self.lead is None:
            return self._wins() if self._has_winner else ""
        if not any(standing.results for standing in self.standings):
            return ""
        return " ".join(filter(None, [self._moments(self.lead), *self._results(), self._by_test()]))

    @property
    def sentence(self) -> str:
        return " ".join(filter(None, [self.verdict, self.details]))

    def _by_test(self) -> str:
        by = "by the test score of what each method selected on validation"
        if self.tested == self.ranked:
            return f"Compared {by}."
        if self.tested:
            return (
                f"{self.tested} of {plural(self.ranked, 'task')} are compared {by}, the others by validation."
            )
        return ""

    def _results(self) -> list[str]:
        """The result on each task if there are few tasks, otherwise the methods that win most of them."""
        if self.tasks < FEWEST_TASKS:
            return self.seen
        return [self._wins()] if self._has_winner else []

    @property
    def _has_winner(self) -> bool:
        return any(standing.wins for standing in self.standings)

    def _wins(self) -> str:
        most = max(standing.wins for standing in self.standings)
        winners = [standing for standing in self.standings if standing.wins == most]
        where = f"{most} of {plural(self.tasks, 'task')}"
        if len(winners) > 1:
            names = in_words([standing.method for standing in winners])
            tied = ", ties counted" if any(standing.ties for standing in winners) else ""
            return f"{names} tie for the most wins: each reaches the best score first on {where}{tied}."
        [winner] = winners
        tied = f" ({winner.ties} of them tied)" if winner.ties else ""
        return f"{winner.method} reaches the best score first on {where}{tied}."

    def _moments(self, lead: Lead) -> str:
        """The methods with the best mean rank at the moments before the end."""
        if self.ranked < FEWEST_TASKS:
            return ""
        early: dict[tuple[str, ...], list[str]] = {}
        for share in MOMENTS[:-1]:
            early.setdefault(self._leaders_at(share), []).append(f"{100 * share:.0f} %")
        n_ranked = sum(standing.mean_rank is not None for standing in self.standings)
        return " ".join(
            f"At {in_words(shares)} of the budget "
            f"{'all methods' if len(names) == n_ranked else in_words(names)} "
            f"{'had' if len(names) == 1 else 'shared'} the best mean rank{', too' * (names == lead.leaders)}."
            for names, shares in early.items()
        )

    def _leaders_at(self, share: float) -> tuple[str, ...]:
        """The methods with the best mean rank at a moment."""
        ranks = {
            standing.method: rank
            for standing in self.standings
            if (rank := standing.ranks_at[share]) is not None
        }
        best = min(ranks.values(), default=math.nan)
        return tuple(name for name, rank in ranks.items() if rank <= best + 1e-9)

    def table(self) -> Table:
        columns = (
            "method",
            "mean rank",
            *(f"rank at {share:.0%}" for share in MOMENTS[:-1]),
            "tasks won",
            "of these tied",
            "reaches the best",
            "gap to the best %",
            "slower by ×",
            "never reached",
            f"scaled score ({self.baseline} = 100)",
            "tasks with a result",
            "tasks failed",
        )
        rows = [
            [
                standing.method,
                _rounded(standing.mean_rank, 3),
                *(_rounded(standing.ranks_at[share], 3) for share in MOMENTS[:-1]),
                standing.wins,
                standing.ties,
                standing.reached,
                _rounded(standing.mean_gap_percent, 3),
                _rounded(standing.slowdown, 3),
                standing.never_reached,
                _rounded(standing.mean_normalised, 2),
                standing.results,
                standing.failed,
            ]
            for standing in self.standings
        ]
        note = (
            f"One row for each method, over {plural(self.tasks, 'task')}, {self.over} each, by the "
            f"{self.score_is}. Mean rank: 1 is best, and equal scores share a rank. Tasks won: it was the "
            f"first to reach the best score, or {100 * REACHES:g} % of it. Methods that need at most "
            f"×{TIE_FACTOR:g} the least time, or one trial more, tie: they share the win. "
            "Gap: how far its final score is below the best. Ranks and gaps are means over the "
            f"{plural(self.ranked, 'task')} on which the methods can be ranked together. Slower by ×: how "
            "many times longer than the fastest method it took to reach the best score (geometric mean over "
            "tasks; only if it reached it on half of them or more). On a task where it never did (the number "
            "of them: never reached), its budget counts as its time, so the true factor is larger. Scaled "
            f"scores are explained above the optimality table. Here {self.baseline} has 100: it is the "
            "baseline, with which the other methods are compared."
        )
        return Table("overview", "Which method wins", note, columns, rows)


def overview(
    learner: str, scores: Sequence[TaskScores], cells: Mapping[tuple[str, str], Cell], ranking: Ranking
) -> Overview:
    """The standings of all methods; `scores` are of one learner, one for each task."""
    ranks = {share: ranking.ranks_at(share) for share in MOMENTS[:-1]} | {1.0: ranking.final_ranks}
    bases = [task.normalised(ranking.baseline) for task in scores]
    standings = []
    for method in ranking.best_first:
        on_tasks = [task.methods[method] for task in scores if method in task.methods]
        at = ranking.methods.index(method) if method in ranking.methods else None
        mean_ranks = {s: None if at is None else float(ranks[s][:, at].mean()) for s in MOMENTS}
        slowdown, never_reached = _slowdown(scores, cells, method)
        gaps = [] if at is None else [cells[task.task, method].gap_percent for task in ranking.tasks]
        standings.append(
            Standing(
                method=method,
                results=sum(scored.final_score is not None for scored in on_tasks),
                wins=ranking.wins(method),
                ties=sum(method in task.winners and len(task.winners) > 1 for task in scores),
                reached=sum(scored.seconds_to_best is not None for scored in on_tasks),
                failed=sum(scored.has_failed for scored in on_tasks),
                mean_rank=mean_ranks[1.0],
                ranks_at=mean_ranks,
                mean_gap_percent=_mean(gaps),
                slowdown=slowdown,
                never_reached=never_reached,
                mean_normalised=_mean([base.get(method) for base in bases]),
            )
        )
    ranked = ranking.tasks or scores
    only_task = ranking.tasks[0] if len(ranking.tasks) == 1 else None
    return Overview(
        learner=learner,
        tasks=len(scores),
        ranked=len(ranking.tasks),
        baseline=ranking.baseline,
        standings=standings,
        compared=sum(len(task.compared) > 1 for task in scores),
        folds=min((task.n_folds for task in ranked), default=0),
        over=_over(ranked),
        score_is=in_words(sorted({task.score_is for task in ranked})) if ranked else "",
        tested=sum(task.by_test for task in ranking.tasks),
        clock=scores[0].clock if scores else "wall",
        lead=ranking.lead,
        best_is=_best_mean(only_task) if only_task else _best_rank(standings, ranking),
        only_task=only_task.task if only_task else "",
        seen=[_seen(task) for task in scores],
        left_out=[*_left_out_runs(scores), *_left_out_ranks(scores, ranking), *_failures(scores)],
    )


def _over(tasks: Sequence[TaskScores]) -> str:
    """The folds and seeds in words: those of all tasks, or of the tasks with the fewest and most folds."""
    different = list(dict.fromkeys(task.over for task in sorted(tasks, key=lambda task: task.n_folds)))
    return " to ".join(dict.fromkeys((different[0], different[-1]))) if different else ""


def _best_rank(standings: Sequence[Standing], ranking: Ranking) -> str:
    ranks = [standing.mean_rank for standing in standings if standing.mean_rank is not None]
    return f"best mean rank ({min(ranks):.2f} of {len(ranking.methods)} methods)" if ranks else ""


def _best_mean(task: TaskScores) -> str:
    losses = [method.final_loss for method in task.methods.values() if method.final_loss is not None]
    score = f"{task.native(min(losses)):.4f}" if losses else "none"
    return f"best mean {task.part} {task.metric_name} ({score} over {task.over})"


def _seen(task: TaskScores) -> str:
    """The result on one task."""
    metric = task.metric_name
    if not task.leaders:
        return f"On {task.task} no method has a result."
    best = task.methods[task.leaders[0]]
    losses = [method.final_loss for method in task.methods.values() if method.final_loss is not None]
    score, kind = task.native(min(losses)), task.part
    if not task.beats_constant:
        return (
            f"On {task.task} no method beats the constant predictor: the best {kind} {metric} is {score:.4f}."
        )
    time = f"{task.best_seconds:.2g}" if (task.best_seconds or 0.0) < 10 else f"{task.best_seconds:.0f}"
    if len(task.compared) < 2:
        return f"On {task.task} only {best.method} is compared, with a {kind} {metric} of {score:.4f}."
    if len(task.leaders) > 1:
        return (
            f"On {task.task} {in_words(task.leaders)} tie for the best {kind} {metric}, {score:.4f}, after "
            f"{time} s."
        )
    return f"On {task.task} {best.method} reaches the best {kind} {metric} first, {score:.4f} after {time} s."


def _slowdown(
    scores: Sequence[TaskScores], cells: Mapping[tuple[str, str], Cell], method: str
) -> tuple[float | None, int]:
    """The factor by which a method reaches the best score later than the fastest one, and the number of
    tasks on which it never reaches that score.

    None if it reaches the best score on less than half of the tasks, because a factor that mostly consists of
    budgets would read as "nearly as fast".
    """
    ratios, never_reached = [], 0
    tasks = [task for task in scores if method in task.compared and len(task.compared) > 1]
    for task in tasks:
        never_reached += task.methods[method].seconds_to_best is None
        if task.best_seconds is not None and task.best_seconds >= LEAST_SECONDS:
            ratio = cells[task.task, method].cost_ratio
            ratios.append(task.budget_seconds / task.best_seconds if ratio is None else ratio)
    if not ratios or 2 * never_reached > len(tasks):
        return None, never_reached
    return math.exp(fmean(map(math.log, ratios))), never_reached


def _mean(values: Sequence[float | None]) -> float | None:
    finite = [value for value in values if value is not None and math.isfinite(value)]
    return fmean(finite) if finite else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


# --- exclusions and failures: a line for each reason ----------------------------------------------


def _left_out_runs(scores: Sequence[TaskScores]) -> list[str]:
    lines = []
    n_runs = sum(method.runs for task in scores for method in task.methods.values())
    n_compared = sum(len(task.shared) * len(task.compared) for task in scores if len(task.compared) > 1)
    if n_compared < n_runs and any(len(task.methods) > 1 for task in scores):
        lines.append(
            f"{n_compared} of {plural(n_runs, 'run')} are compared: those on folds and seeds that all "
            "compared methods of the task have"
        )
    apart = [task.task for task in scores if len(task.methods) > 1 and len(task.compared) < 2]
    if apart:
        lines.append(f"nothing is compared where no fold and seed has enough methods: {some(apart)}")
    most_runs = {
        task.task: max((method.runs for method in task.methods.values()), default=0) for task in scores
    }
    short = [
        f"{method.method} on {task.task} ({method.runs} of {most_runs[task.task]})"
        for task in scores
        for method in task.methods.values()
        if not method.is_compared and len(task.compared) > 1
    ]
    if short:
        lines.append(f"left out, as they share too few runs with the other methods: {some(short)}")
    return lines


def _left_out_ranks(scores: Sequence[TaskScores], ranking: Ranking) -> list[str]:
    if not ranking.tasks or (not ranking.left_out and len(ranking.tasks) == len(scores)):
        return []
    n_methods = len(ranking.methods) + len(ranking.left_out)
    names = f" (without {in_words(ranking.left_out)})" if ranking.left_out else ""
    missing = [task.task for task in scores if task not in ranking.tasks]
    where = f" (without {some(missing)})" if missing else ""
    return [
        f"ranks are over {len(ranking.methods)} of {plural(n_methods, 'method')}{names} and "
        f"{len(ranking.tasks)} of {plural(len(scores), 'task')}{where}"
    ]


def _failures(scores: Sequence[TaskScores]) -> list[str]:
    lines = []
    pairs = [(task, method) for task in scores for method in task.methods.values()]
    failed = [f"{method.method} on {task.task}" for task, method in pairs if method.has_failed]
    if failed:
        lines.append(f"no run has a result, so it ranks last there: {some(failed)}")
    imputed = [
        f"{method.method} on {task.task} ({method.imputed} of {len(task.shared)})"
        for task, method in pairs
        if method.imputed
    ]
    if imputed:
        lines.append(
            "runs without a result count as the constant predictor or the worst other method, whichever is "
            "worse: " + some(imputed)
        )
    useless = [task.task for task in scores if task.leaders and not task.beats_constant]
    if useless:
        lines.append(f"no method beats the constant predictor, so none wins: {some(useless)}")
    return lines
