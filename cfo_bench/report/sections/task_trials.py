"""The trials of a task: loss against cost, parallel coordinates and slices, drawn by the page on demand."""

from __future__ import annotations

from cfo_bench.report.contents import Section, SectionContent, TaskTrials
from cfo_bench.report.numbers.learner_results import LearnerResults


class TrialsSection(Section):
    """One run of each method on a task: the first fold and seed that all compared methods have."""

    name = "trials"
    title = "The trials of a task"

    def build(self, results: LearnerResults) -> SectionContent | None:
        runs_of: dict[str, list[str]] = {}
        for task, method in results.compared:
            runs_of.setdefault(task, []).append(method)
        trials = tuple(
            TaskTrials(
                task,
                {method: results.compared[task, method][0] for method in methods},
                results.full_rows_only,
            )
            for task, methods in runs_of.items()
        )
        if not any(run.n_trials for task in trials for run in task.runs.values()):
            return None
        return SectionContent(
            "Every trial of one run of each method: the first fold and seed that the methods of the task "
            "share. A frugal method tries cheap configurations first, and expensive ones only when these "
            "pay off.",
            trials=trials,
        )
