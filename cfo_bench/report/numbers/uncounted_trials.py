"""Trials that have a loss and don't count: a line for each reason, which stands at the top of the page."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.report.contents import plural, some
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.run_losses import incumbents
from cfo_bench.report.reading.digest import Digest
from cfo_bench.report.reading.run_names import run_names


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
