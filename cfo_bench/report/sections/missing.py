"""What is missing: folds that were not run, runs without a result, runs left out of the means."""

from __future__ import annotations

from collections import Counter

from cfo_bench.report.contents import CellValue, Section, Table, plural
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import FoldSeed, MethodScores, all_incumbents
from cfo_bench.results.run import NOT_COMPARED, Run

NOT_RUN = "not finished, or not run"
NO_RESULT = "no result: counted as the constant predictor or the worst other method, whichever is worse"
NO_MEAN = "no result on any fold that is compared: the method ranks last there"
LEFT_OUT = "left out of the comparison: the method has too few of the task's runs"
NOT_SHARED = "left out of the means: not every method has this fold"


def section(results: LearnerResults) -> Section:
    """Every method is expected to have every (fold, seed) that any method has on the task."""
    rows: list[list[CellValue]] = []
    for task in results.scores:
        runs = {
            (one.method, one.fold, one.seed): one
            for one in results.by_task[task.task]
            if one.method not in NOT_COMPARED
        }
        known = sorted({(fold, seed) for _, fold, seed in runs})
        shared = set(task.shared)
        for method in results.methods:
            for fold, seed in known:
                one = runs.get((method, fold, seed))
                what = NOT_RUN if one is None else _verdict(results, one, task.methods[method], shared)
                if what:
                    detail = None if one is None else one.error or _why(results, one)
                    rows.append([task.task, method, fold, seed, what, detail])
    table = Table(
        "missing",
        "What is missing",
        "One row for each run that one method has on a task and another has not, and for each run that is "
        "not in the means, or has no result.",
        ("task", "method", "fold", "seed", "what", "detail"),
        rows,
    )
    counts = Counter(str(row[4]) for row in rows)
    return Section(
        "missing",
        "What is missing",
        "Nothing is left out in silence." if rows else "Nothing: every method has every fold of every task.",
        tables=(table, _trials(results)),
        warnings=tuple(f"{plural(n, 'run')}: {what}" for what, n in sorted(counts.items())),
    )


def _verdict(results: LearnerResults, one: Run, found: MethodScores, shared: set[FoldSeed]) -> str:
    """What is the matter with a run of a method; empty: nothing."""
    if not found.is_compared:
        return LEFT_OUT
    if (one.fold, one.seed) not in shared:
        return NOT_SHARED
    if results.incumbents(one).seconds:
        return ""
    return NO_MEAN if found.has_failed else NO_RESULT


def _why(results: LearnerResults, one: Run) -> str | None:
    """Why a run has no result; None if it has one."""
    if results.incumbents(one).seconds:
        return None
    if all_incumbents(one, results.full_rows_only).seconds:
        return "no incumbent has a test score"
    return ", ".join(f"{n} {status}" for status, n in one.digest.statuses.items()) or "no trial ended"


def _trials(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        own = [one for one in results.runs if one.method == method]
        counts = Counter[str]()
        for one in own:
            counts.update(one.digest.statuses)
        rows.append([method, len(own), *(counts[status] for status in ("ok", "timeout", "memory", "failed"))])
    return Table(
        "trials",
        "How the trials ended",
        "One row for each method: its runs, and how many of their trials ended well (ok), were cut off at a "
        "deadline (timeout), ran out of memory, or failed. When the budget is spent, the trial that is under "
        "way is cut off: most runs end with one timeout.",
        ("method", "runs", "ok", "timeout", "memory", "failed"),
        rows,
    )
