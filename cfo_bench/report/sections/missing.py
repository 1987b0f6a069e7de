"""What is missing: folds that were not run, runs without a result, runs left out of the means."""

from __future__ import annotations

from collections import Counter

from cfo_bench.report.contents import CellValue, Section, Table
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.run_losses import NOT_COMPARED, incumbents
from cfo_bench.report.reading.digest import Digest

NOT_RUN = "not finished, or not run"
NO_RESULT = "no result: counted as the constant predictor or the worst other method, whichever is worse"
NO_MEAN = "no result on any shared fold: ranks last"
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
            found = task.methods.get(method)
            if found is not None and found.has_failed:
                rows.append([task.task, method, None, None, NO_MEAN, None])
            for fold, seed in known:
                one = runs.get((method, fold, seed))
                is_left_out = found is not None and not found.is_compared
                what, detail = _verdict(results, one, (fold, seed) in shared, is_left_out)
                if what:
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
        warnings=tuple(f"{n} run{'s' * (n != 1)}: {what}" for what, n in sorted(counts.items())),
    )


def _verdict(
    results: LearnerResults, one: Digest | None, is_shared: bool, is_left_out: bool
) -> tuple[str, str | None]:
    if one is None:
        return NOT_RUN, None
    if is_left_out:
        return LEFT_OUT, one.error
    if not results.steps(one).seconds:
        return NO_RESULT, one.error or _why(results, one)
    if not is_shared:
        return NOT_SHARED, one.error
    return "", None


def _why(results: LearnerResults, one: Digest) -> str:
    if incumbents(one, results.full_rows_only).seconds:
        return "no incumbent has a test score"
    return ", ".join(f"{n} {status}" for status, n in one.statuses.items()) or "no trial ended"


def _trials(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        own = [one for one in results.digests if one.method == method]
        counts = Counter[str]()
        for one in own:
            counts.update(one.statuses)
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
