"""The runs of one learner and their scores: what the sections of a report are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb
from statistics import fmean
from typing import Any

from cfo_bench.metrics import METRICS
from cfo_bench.report.contents import plural, some
from cfo_bench.report.method_styles import in_order
from cfo_bench.report.numbers.ranking import Joint, best_first, joint, leaders
from cfo_bench.report.numbers.scores import (
    Run,
    TaskScores,
    incumbents,
    keep_most,
    over_folds,
    run_steps,
    score_tasks,
    validation_steps,
)
from cfo_bench.report.numbers.significance import LEVEL, holm, least_p
from cfo_bench.report.reading.digest import Digest, Steps, run_names
from cfo_bench.report.reading.references import Reference
from cfo_bench.results.best_so_far import reaching_loss
from cfo_bench.results.compared import NOT_COMPARED

# --- learner results -------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnerResults:
    """One learner's runs. The other methods are compared with the `baseline`."""

    learner: str
    digests: Sequence[Digest]
    baseline: str = "cfo"
    full_rows_only: bool = False
    references: Sequence[Reference] = ()  # published scores of others
    importance: bool = False  # whether the importance of hyperparameters is asked for

    @cached_property
    def scores(self) -> list[TaskScores]:
        return score_tasks(self.digests, self.full_rows_only)

    @cached_property
    def methods(self) -> list[str]:
        """The methods that are compared, in the order of tables: all but references and studies."""
        return in_order({one.method for one in self.digests} - set(NOT_COMPARED))

    @cached_property
    def best_first(self) -> list[str]:
        """The same by mean rank: the order of columns in tables that are wider than a screen."""
        return best_first(self.scores)

    @cached_property
    def joint(self) -> Joint:
        """The methods and tasks of all comparisons over tasks."""
        return joint(self.scores)

    @cached_property
    def leaders(self) -> tuple[str, ...]:
        """The methods that figures with many lines show in colour."""
        return leaders(self.scores, self.baseline)

    @cached_property
    def by_task(self) -> dict[str, list[Digest]]:
        found: dict[str, list[Digest]] = {}
        for one in self.digests:
            found.setdefault(one.task, []).append(one)
        return found

    @cached_property
    def compared(self) -> dict[tuple[str, str], list[Digest]]:
        """The runs that the means are over, by task and method; not of a method that is left out there."""
        shared = {(task.task, method): set(task.shared) for task in self.scores for method in task.compared}
        found: dict[tuple[str, str], list[Digest]] = {}
        for one in sorted(self.digests, key=lambda one: (one.fold, one.seed)):
            if (one.fold, one.seed) in shared.get((one.task, one.method), ()):
                found.setdefault((one.task, one.method), []).append(one)
        return found

    @cached_property
    def _by_test(self) -> set[str]:
        return {task.task for task in self.scores if task.by_test}

    @cached_property
    def _steps(self) -> dict[int, Steps]:
        return {
            id(one): run_steps(one, self.full_rows_only, one.task in self._by_test) for one in self.digests
        }

    def steps(self, one: Digest) -> Steps:
        """The incumbents of a run. Their losses are on the test part where the task is compared by it."""
        return self._steps[id(one)]

    def validation_steps(self, one: Digest) -> Steps:
        """The same incumbents with their losses on the validation part."""
        return validation_steps(one, self.full_rows_only, one.task in self._by_test)


# --- learner pairs ---------------------------------------------------------------------------------
# Learners compared with each other, where the same method tuned them on the same task.
#
# Runs are compared if task, data, folds, metric, budget, clock and way of validation are the same.


@dataclass(frozen=True, slots=True)
class TaskOfLearners:
    """A task and method with several learners, over the folds and seeds that all of them have."""

    task: str
    method: str
    metric: str
    over: str  # the folds and seeds in words
    losses: Mapping[str, tuple[float, ...]]  # by learner: the final loss on each fold, seeds averaged
    runs: int
    failed: Mapping[str, int]  # by learner: runs without a result, which count as the worst
    constant_loss: float  # mean over the folds

    def scores(self, learner: str) -> list[float]:
        return [METRICS[self.metric].to_score(loss) for loss in self.losses[learner]]

    @property
    def best(self) -> tuple[str, ...]:
        """The learners with the lowest mean loss: several if they are equal within 0.05 %."""
        means = {learner: fmean(losses) for learner, losses in self.losses.items()}
        limit = reaching_loss(min(means.values()), self.constant_loss)
        return tuple(learner for learner, mean in means.items() if mean <= limit)

    def compare(self, one: str, other: str) -> int:
        """1 if the first learner is better, -1 if it is worse, 0 if they are equal."""
        mine, theirs = fmean(self.losses[one]), fmean(self.losses[other])
        if max(mine, theirs) <= reaching_loss(min(mine, theirs), self.constant_loss):
            return 0
        return 1 if mine < theirs else -1


@dataclass(frozen=True, slots=True)
class LearnerPair:
    """Two learners with one method over tasks: on how many the first is better, worse, equal."""

    method: str
    one: str
    other: str
    better: int
    worse: int
    equal: int
    p: float  # of the exact sign test, tasks on which they are equal left out
    p_holm: float  # corrected for the number of pairs
    least_p_holm: float  # the least that it could be, if one were better on every task

    @property
    def verdict(self) -> str:
        if self.least_p_holm >= LEVEL:
            return f"{plural(self.better + self.worse + self.equal, 'task')} can't show a difference"
        if self.p_holm >= LEVEL:
            return "not shown to differ"
        return f"{self.one if self.better > self.worse else self.other} is better"


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The learners that can be compared, and what can't."""

    tasks: list[TaskOfLearners]
    differ: list[str]  # tasks that the learners have under different conditions
    short: list[str]  # learners that share too few runs with the others, in words


def by_task(everyone: Sequence[LearnerResults]) -> SideBySide:
    """The tasks and methods that two learners or more have."""
    runs: dict[tuple[str, str], dict[str, dict[Run, Digest]]] = {}
    for results in everyone if len(everyone) > 1 else ():
        for one in results.digests:
            if one.method in results.methods:
                learners = runs.setdefault((one.task, one.method), {})
                learners.setdefault(results.learner, {})[one.fold, one.seed] = one
    of = {results.learner: results for results in everyone}
    order = {method: at for at, method in enumerate(in_order({method for _, method in runs}))}
    found, differ, short = [], [], []
    for (task, method), learners in sorted(runs.items(), key=lambda item: (item[0][0], order[item[0][1]])):
        if len(learners) < 2:
            continue
        if len({_conditions(one) for own in learners.values() for one in own.values()}) > 1:
            differ.append(task)
            continue
        kept, runs_of_all = keep_most({learner: set(own) for learner, own in learners.items()})
        most = max(map(len, learners.values()))
        short += [
            f"{learner} with {method} on {task} ({len(own)} of {most})"
            for learner, own in learners.items()
            if learner not in kept
        ]
        if len(kept) < 2:
            continue
        learners, shared = {name: learners[name] for name in learners if name in kept}, sorted(runs_of_all)
        finals = {learner: _finals(of[learner], own, shared) for learner, own in learners.items()}
        if any(loss is not None for own in finals.values() for loss in own.values()):
            found.append(_compared(task, method, learners, finals, shared))
    return SideBySide(found, sorted(set(differ)), short)


def _compared(
    task: str,
    method: str,
    learners: Mapping[str, Mapping[Run, Digest]],
    finals: Mapping[str, Mapping[Run, float | None]],
    shared: Sequence[Run],
) -> TaskOfLearners:
    first = next(iter(learners.values()))
    # A run without a result counts as the worse of the constant predictor and the worst other learner.
    worst = {
        run: max(
            [first[run].constant_loss, *(own[run] or 0.0 for own in finals.values() if own[run] is not None)]
        )
        for run in shared
    }
    losses = {
        learner: _by_fold({run: worst[run] if loss is None else loss for run, loss in own.items()})
        for learner, own in finals.items()
    }
    return TaskOfLearners(
        task=task,
        method=method,
        metric=first[shared[0]].metric,
        over=over_folds(shared),
        losses=losses,
        runs=len(shared),
        failed={learner: sum(loss is None for loss in own.values()) for learner, own in finals.items()},
        constant_loss=1.0 if first[shared[0]].problem == "regression" else _constant(first, shared),
    )


def pairs(found: Sequence[TaskOfLearners]) -> list[LearnerPair]:
    """Every pair of learners with every method."""
    made = []
    for method in in_order({one.method for one in found}):
        own = [one for one in found if one.method == method]
        for one, other in combinations(sorted({learner for task in own for learner in task.losses}), 2):
            signs = [task.compare(one, other) for task in own if {one, other} <= set(task.losses)]
            if signs:
                better, worse = signs.count(1), signs.count(-1)
                p = _sign_test(better, worse)
                made.append(LearnerPair(method, one, other, better, worse, signs.count(0), p, p, p))
    corrected = holm([pair.p for pair in made])
    return [
        replace(pair, p_holm=p, least_p_holm=least_p(pair.better + pair.worse + pair.equal, len(made)))
        for pair, p in zip(made, corrected, strict=True)
    ]


def _sign_test(better: int, worse: int) -> float:
    """The exact two-sided p of the hypothesis that better and worse are equally likely."""
    n = better + worse
    tail = sum(comb(n, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2.0 * tail / 2.0**n)


def _finals(
    results: LearnerResults, runs: Mapping[Run, Digest], shared: Sequence[Run]
) -> dict[Run, float | None]:
    """The final loss of each run; None if it has no result."""
    return {run: next(iter(results.steps(runs[run]).losses[-1:]), None) for run in shared}


def _by_fold(losses: Mapping[Run, float]) -> tuple[float, ...]:
    """The loss of each fold, the mean over its seeds."""
    folds = sorted({fold for fold, _ in losses})
    return tuple(fmean(loss for (fold, _), loss in losses.items() if fold == one) for one in folds)


def _constant(runs: Mapping[Run, Digest], shared: Sequence[Run]) -> float:
    return fmean({run[0]: runs[run].constant_loss for run in shared}.values())


def _conditions(one: Digest) -> tuple[Any, ...]:
    spec = one.header["spec"]
    return (
        one.budget_seconds,
        one.metric,
        spec.get("clock", "wall"),
        spec.get("charge_method", False),
        spec.get("validation", "fold"),
        spec.get("n_folds", 10),
        str(one.header["data"].get("sha256")),
    )


# --- uncounted trials ------------------------------------------------------------------------------
# Trials that have a loss and don't count: a line for each reason, which stands at the top of the page.


def uncounted_trials(results: LearnerResults) -> list[str]:
    return [*_late(results.digests), *_untested(results)]


def _late(digests: Sequence[Digest]) -> list[str]:
    late = [one for one in digests if one.late]
    if not late:
        return []
    n = sum(one.late for one in late)
    return [
        f"{plural(n, 'trial')} of {plural(len(late), 'run')} ended past the budget, with a loss that does "
        f"not count: {run_names(late)}"
    ]


def _untested(results: LearnerResults) -> list[str]:
    """Incumbents of runs with a holdout that have no test score."""
    lines = []
    by_test = {task.task for task in results.scores if task.by_test}
    lacking = [
        one
        for one in results.digests
        if one.header["spec"].get("validation") == "holdout" and _without_test(results, one)
    ]
    partly = [one for one in lacking if one.task in by_test]
    if partly:
        n = sum(_without_test(results, one) for one in partly)
        lines.append(
            f"{plural(n, 'incumbent')} of {plural(len(partly), 'run')} {'has' if n == 1 else 'have'} no test "
            f"score, so that the one before counts (a run without any has no result): {run_names(partly)}"
        )
    never = dict.fromkeys(one.task for one in lacking if one.task not in by_test)
    if never:
        lines.append(f"no incumbent has a test score, so validation scores are compared: {some(list(never))}")
    return lines


def _without_test(results: LearnerResults, one: Digest) -> int:
    return incumbents(one, results.full_rows_only).test_scores.count(None)
