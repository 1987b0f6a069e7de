"""Finds the best method and learner on a data file, within a given time.

From Python, `cfo-bench compare` is `compare("my.csv", "y", for_seconds="10m").sentence`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean

from cfo_bench import machine
from cfo_bench.clock import monotonic
from cfo_bench.comparison.answer import Candidate, Comparison
from cfo_bench.comparison.plan import ComparisonPlan, keep, planned, recall
from cfo_bench.engines.suite_runs import Event, Note, SuiteRuns, ignore, run_suite, runs_of, while_preparing
from cfo_bench.errors import RunError, UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.machine.fork_server import fork_server
from cfo_bench.machine.processes import slowness
from cfo_bench.models import kind_of
from cfo_bench.optimizers import METHODS
from cfo_bench.records import TaskFacts
from cfo_bench.registry import Registry
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paired import sign_flip
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.significance import LEVEL, holm, least_p
from cfo_bench.report.reading.consistency import comparable
from cfo_bench.report.reading.imported import as_if_ended
from cfo_bench.report.reading.load import Selection, load
from cfo_bench.results.run import CONSTANT, FOREST, Run
from cfo_bench.run.checks import most_folds, packages
from cfo_bench.suite.choices import Choice
from cfo_bench.suite.model import Suite
from cfo_bench.values import DURATION_RULE, duration
from cfo_bench.values import seconds as seconds_of

# In the order of preference: as many as there is time for, of those that are installed.
LEARNERS_TO_TRY = ("xgboost", "lightgbm", "random-forest")
METHODS_TO_TRY = ("cfo-tuned", "tpe", "rs")
# Numbers of folds that the data is split into: the first that it has enough rows for.
_FOLDS = (10, 5, 3, 2)
# Time that is kept at the end to read the traces and compute the answer.
_LEAST_RESERVE_SECONDS, _RESERVE_SHARE = 3.0, 0.04
LEAST_SECONDS = 15.0
# On a busy machine, no plan assumes a greater slowness than this, since the load may pass.
_MOST_SLOWNESS = 6.0
# The reference forest. It has as many trees as its time allows. Trees of some rows each, with larger
# leaves, take a fraction of the time, and few of them predict better than few whole ones.
_FOREST = {"trees": 200, "least_trees": 10, "leaf_rows": 3, "tree_rows": 20_000, "tuning_share": 0.3}


def compare(
    data: str | Path,
    target: str,
    *,
    for_seconds: float | str = 600.0,
    problem: str | None = None,
    drop: Sequence[str] = (),
    drop_missing_target: bool = False,
    learners: Sequence[str] = (),
    methods: Sequence[str] = (),
    validation: str = "holdout",
    results: str | Path | None = None,
    jobs: int | None = None,
    seed: int = 0,
    spent_seconds: float = 0.0,
    on_event: Callable[[Event], None] = ignore,
) -> Comparison:
    """Compare learners and methods on a data file, within a given total time.

    Runs that are not done in time don't count.

    Parameters
    ----------
    data : str or Path
        The file.
    target : str
        The column to predict.
    for_seconds : float or str, default 600
        The total time, such as 600 or "10m".
    problem : {"binary", "multiclass", "regression"}, optional
        The problem type. By default it follows from the values of the target.
    drop : sequence of str
        Columns to leave out.
    drop_missing_target : bool, default False
        Leave out rows without a target.
    learners : sequence of str
        Compare only these learners. By default they are chosen.
    methods : sequence of str
        Compare only these methods. By default they are chosen.
    validation : {"holdout", "fold"}, default "holdout"
        "holdout": scores are on rows that no method has seen; "fold": on the rows by which trials were
        selected.
    results : str or Path, optional
        The folder for the traces. By default a folder such as compare-my-600s. The same call again finds
        them there.
    jobs : int, optional
        Runs at a time. By default one for each core.
    seed : int, default 0
        The seed of the methods.
    spent_seconds : float, default 0
        Part of the total time that has passed before the call, for example while the program started.
    on_event : callable, optional
        Called with each event of the runs.

    Returns
    -------
    Comparison
        The answer as a sentence, and the scores behind it.

    Raises
    ------
    UserError
        If the time is too short, the data can't be read in time, or no fold was done by all candidates.
    """
    started = monotonic() - spent_seconds
    total = _seconds(for_seconds)
    suite = Suite(
        data_file=Path(data),
        target=target,
        problem=problem,
        drop=tuple(drop),
        drop_missing_target=drop_missing_target,
        learners=tuple(map(Choice, learners or _installed(LEARNERS_TO_TRY, LEARNERS))),
        methods=tuple(map(Choice, methods or _installed(METHODS_TO_TRY, METHODS))),
        validation=validation,
        budget_seconds=1.0,
        folds="0",
        seeds=(seed,),
        jobs=jobs or machine.cores(),
        results=Path(results or f"compare-{Path(data).stem}-{total:g}s"),
    )
    slow = min(slowness(), _MOST_SLOWNESS)
    reserve = slow * _LEAST_RESERVE_SECONDS + _RESERVE_SHARE * total
    ends_at = started + total - min(reserve, total / 4)
    suite, facts = _with_folds(suite, on_event, ends_at, total)
    question = {"for_seconds": total, "data": str(Path(data).resolve()), "target": target}
    question |= {"learners": list(learners), "methods": list(methods), "jobs": suite.jobs, "seed": seed}
    plan = recall(suite.results, question)
    if plan is None:
        plan = planned(
            ends_at - monotonic() - _RESERVE_SHARE * total,
            suite.jobs,
            facts.n_rows * facts.n_features,
            suite.n_folds or 1,
            [choice.name for choice in suite.learners],
            [choice.name for choice in suite.methods],
            slow,
        )
        if learners or methods:  # all of the requested ones are run, if on fewer folds
            plan = _with_requested(plan, learners, methods)
        keep(suite.results, question, plan)
    on_event(Note(_in_words(plan, suite, facts, total)))
    runs = _runs(replace(suite, folds=f"0-{plan.folds - 1}", budget_seconds=plan.budget_seconds), plan)
    with suppress(_TimeIsUpError):
        run_suite(runs, on_event=_until(ends_at, on_event))
    return _compared(runs, plan, monotonic() - started)


class _TimeIsUpError(Exception):
    """Raised in the callback, which stops the runs."""


def _until(deadline: float, on_event: Callable[[Event], None]) -> Callable[[Event], None]:
    def stop_at_deadline(event: Event) -> None:
        on_event(event)
        if monotonic() > deadline:
            raise _TimeIsUpError

    return stop_at_deadline


def _seconds(value: float | str) -> float:
    total = seconds_of(value)
    if total is None:
        raise UserError(f"--for {value!r} is no time: {DURATION_RULE}")
    if total < LEAST_SECONDS:
        raise UserError(f"--for {value} is too short to compare anything: give {LEAST_SECONDS:g} s or more")
    return total


def _installed(names: Sequence[str], registry: Registry) -> tuple[str, ...]:
    return tuple(name for name in names if registry.row(name).missing is None)


def _with_folds(
    suite: Suite, on_event: Callable[[Event], None], ends_at: float, total: float
) -> tuple[Suite, TaskFacts]:
    """The suite with the most folds that the data allows, and the facts of the data."""
    runs = runs_of(replace(suite, n_folds=_FOLDS[0]), on_event=on_event)
    [(task, ref)] = runs.data.items()
    with while_preparing(task, on_event):
        server = fork_server(packages(runs.specs, [ref]))
        limit = max(ends_at - monotonic(), 0.0)
        try:
            n_folds, facts = most_folds(runs.specs[0], ref, server, _FOLDS, (limit, "--for"))
        except RunError:
            if monotonic() < ends_at:
                raise
            raise UserError(
                f"the data was not read within {duration(total)}: give more time with --for; this machine "
                "may be busy"
            ) from None
    return replace(suite, n_folds=n_folds), facts


def _with_requested(plan: ComparisonPlan, learners: Sequence[str], methods: Sequence[str]) -> ComparisonPlan:
    chosen = replace(plan, learners=tuple(learners) or plan.learners, methods=tuple(methods) or plan.methods)
    n_runs, n_planned = (len(each.learners) * len(each.methods) + 1 for each in (chosen, plan))
    return replace(chosen, budget_seconds=max(round(plan.budget_seconds * n_planned / n_runs, 1), 0.5))


def _in_words(plan: ComparisonPlan, suite: Suite, facts: TaskFacts, total: float) -> str:
    return (
        f"{facts.n_rows} rows, {facts.n_features} features, {facts.problem}: "
        f"{' and '.join(plan.learners)}, each tuned by {' and by '.join(plan.methods)} for "
        f"{plan.budget_seconds:g} s on each of {plan.folds} folds, {suite.jobs} at a time, beside a random "
        f"forest of up to {_FOREST['trees']} trees; {duration(total)} in all"
    )


def _runs(suite: Suite, plan: ComparisonPlan) -> SuiteRuns:
    """The methods with every learner, the references once; fold by fold, so that whole ones are done."""
    learners = tuple(map(Choice, plan.learners))
    compared = runs_of(replace(suite, learners=learners, methods=tuple(map(Choice, plan.methods))))
    scale = (Choice(CONSTANT), Choice(FOREST, _FOREST))
    references = runs_of(replace(suite, learners=learners[:1], methods=scale))
    specs = sorted([*compared.specs, *references.specs], key=lambda spec: spec.fold)
    return replace(compared, specs=specs)


# --- the result -----------------------------------------------------------------------------------

_Pair = tuple[str, str]  # learner and method


def _compared(runs: SuiteRuns, plan: ComparisonPlan, elapsed: float) -> Comparison:
    suite, [task] = runs.suite, runs.data
    names = (*plan.methods, CONSTANT, FOREST)
    read: list[Run] = []
    with suppress(UserError):  # no run has started
        read = load(suite.results, Selection(plan.learners, (task,), names)).runs
    ended = comparable(as_if_ended(read, plan.budget_seconds).runs, plan.budget_seconds).runs
    learner_results = [
        LearnerResults(learner, of_learner)
        for learner in plan.learners
        if (of_learner := [run for run in ended if run.learner == learner])
    ]
    losses: dict[_Pair, dict[int, float]] = {}
    for results in learner_results:
        for run in results.runs:
            if run.fold < plan.folds and run.seed == suite.seeds[0]:
                final = results.incumbents(run).losses[-1:]
                if not final and run.method in plan.methods:
                    final = [run.constant_loss]  # it must not gain by failing
                if final:
                    losses.setdefault((results.learner, run.method), {})[run.fold] = final[0]
    pairs = [(learner, method) for learner in plan.learners for method in plan.methods]
    folds = sorted(set.intersection(*(set(losses.get(pair, ())) for pair in pairs)))
    if not folds:
        names_of_pairs = ", ".join(f"{learner} tuned by {method}" for learner, method in pairs)
        raise UserError(
            f"no fold was done by all of {names_of_pairs} in {duration(elapsed)}: give more time with --for, "
            "or fewer rows; this machine may be busy"
        )
    return _answer(learner_results[0].scores[0], pairs, losses, folds, runs.suite, plan, elapsed)


def _answer(
    scores: TaskScores,
    pairs: Sequence[_Pair],
    losses: Mapping[_Pair, Mapping[int, float]],
    folds: Sequence[int],
    suite: Suite,
    plan: ComparisonPlan,
    elapsed: float,
) -> Comparison:
    by_fold = {pair: [losses[pair][fold] for fold in folds] for pair in pairs}
    order = sorted(by_fold, key=lambda pair: fmean(by_fold[pair]))
    tests = list(combinations(order, 2))
    p = holm([_p(by_fold[better], by_fold[worse]) for better, worse in tests])
    first = plan.learners[0]
    constant, forest = (losses.get((first, method), {}) for method in (CONSTANT, FOREST))
    forest_folds = [fold for fold in folds if fold in forest]  # it may not have been done in time on all
    best_losses = [losses[order[0]][fold] for fold in forest_folds]
    forest_losses = [forest[fold] for fold in forest_folds]
    has_constant = all(fold in constant for fold in folds)
    return Comparison(
        task=scores.task,
        metric=scores.metric,
        by_test=scores.by_test,
        candidates=[Candidate(*pair, scores.estimate(by_fold[pair])) for pair in order],
        constant=scores.native(fmean(constant[fold] for fold in folds)) if has_constant else None,
        forest=scores.native(fmean(forest_losses)) if forest_folds else None,
        forest_folds=len(forest_folds),
        best_beside_forest=scores.native(fmean(best_losses)) if forest_folds else None,
        p_forest=_p(best_losses, forest_losses) if forest_folds else None,
        p_second=p[0] if p else None,
        can_show=least_p(len(folds), len(tests)) < LEVEL,
        folds=len(folds),
        budget_seconds=plan.budget_seconds,
        elapsed_seconds=elapsed,
        best_command=_best_command(suite, scores.task, *order[0]),
        results=suite.results,
    )


def _best_command(suite: Suite, task: str, learner: str, method: str) -> str:
    """The command that trains the best model on all rows; of a plug-in's learner, the one that shows it."""
    words = ["cfo-bench", "best", str(suite.results), "--task", task]
    words += ["--learner", learner, "--method", method]
    with suppress(UserError):
        model = f"{task}{kind_of(learner).suffixes[0]}"
        words += ["--fit", str(suite.data_file), "-o", model]
        words += ["--drop-missing-target"] if suite.drop_missing_target else []
    return shlex.join(words)


def _p(losses: Sequence[float], others: Sequence[float]) -> float:
    return sign_flip([loss - other for loss, other in zip(losses, others, strict=True)])
