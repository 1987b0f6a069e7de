"""The results of one learner, which all sections of a report use. Each is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cfo_bench.report.contents import plural, some
from cfo_bench.report.numbers.overview import Overview, overview
from cfo_bench.report.numbers.ranking import Ranking, rank
from cfo_bench.report.numbers.scores import (
    Cell,
    TaskScores,
    all_incumbents,
    counting_incumbents,
    optimality,
    score_tasks,
    validation_incumbents,
)
from cfo_bench.report.reading.consistency import run_names
from cfo_bench.report.reading.published_scores import Reference
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import Run


@dataclass(frozen=True)
class LearnerResults:
    """One learner's runs. The other methods are compared with the `baseline`."""

    learner: str
    runs: Sequence[Run]
    baseline: str = "cfo"
    full_rows_only: bool = False
    references: Sequence[Reference] = ()  # published scores of others
    importance: bool = False  # whether the importance of hyperparameters is requested

    @cached_property
    def scores(self) -> list[TaskScores]:
        """The scores of each task, sorted by the task's name."""
        return score_tasks(self.runs, self.full_rows_only)

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """The cells of the optimality table, by task and method."""
        return {(cell.task, cell.method): cell for task in self.scores for cell in optimality(task)}

    @cached_property
    def ranking(self) -> Ranking:
        """The methods and tasks of all comparisons over tasks, with their ranks and tests."""
        return rank(self.scores, self.baseline)

    @cached_property
    def overview(self) -> Overview:
        """The standings of all methods, and the answer."""
        return overview(self.learner, self.scores, self.cells, self.ranking)

    @property
    def methods(self) -> list[str]:
        """The methods that are compared, by mean rank, which is the order of all tables and figures."""
        return self.ranking.best_first

    @property
    def leaders(self) -> tuple[str, ...]:
        """The methods that figures with many lines show in colour."""
        return self.ranking.highlighted

    @cached_property
    def by_task(self) -> dict[str, list[Run]]:
        by_task: dict[str, list[Run]] = {}
        for run in self.runs:
            by_task.setdefault(run.task, []).append(run)
        return by_task

    @cached_property
    def compared(self) -> dict[tuple[str, str], list[Run]]:
        """The runs that are averaged, by task and method, without methods that are left out on the task.

        The methods of a task are in the order of their mean ranks.
        """
        shared = {(task.task, method): set(task.shared) for task in self.scores for method in task.compared}
        compared: dict[tuple[str, str], list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: (run.fold, run.seed)):
            if (run.fold, run.seed) in shared.get((run.task, run.method), ()):
                compared.setdefault((run.task, run.method), []).append(run)
        every = [(task.task, method) for task in self.scores for method in self.methods]
        return {key: compared[key] for key in every if key in compared}

    @cached_property
    def _tasks_by_test(self) -> set[str]:
        return {task.task for task in self.scores if task.by_test}

    @cached_property
    def _incumbents(self) -> dict[int, Incumbents]:
        return {
            id(run): counting_incumbents(run, self.full_rows_only, run.task in self._tasks_by_test)
            for run in self.runs
        }

    def incumbents(self, run: Run) -> Incumbents:
        """The incumbents of a run. Their losses are on the test part if the task is compared by it."""
        return self._incumbents[id(run)]

    def validation_incumbents(self, run: Run) -> Incumbents:
        """The same incumbents with their losses on the validation part."""
        return validation_incumbents(run, self.full_rows_only, run.task in self._tasks_by_test)

    # --- notices ----------------------------------------------------------------------------------

    @property
    def notices(self) -> list[str]:
        """Methods, tasks, runs and trials that do not count, one line for each reason."""
        return [*self.overview.left_out, *self._late_trials(), *self._untested_incumbents()]

    def _late_trials(self) -> list[str]:
        late = [run for run in self.runs if run.late_trials]
        if not late:
            return []
        n = sum(run.late_trials for run in late)
        return [
            f"{plural(n, 'trial')} of {plural(len(late), 'run')} ended past the budget, with a loss that "
            f"does not count: {run_names(late)}"
        ]

    def _untested_incumbents(self) -> list[str]:
        """Notices about incumbents without a test score, in runs with a holdout."""
        untested = {
            run: n
            for run in self.runs
            if run.spec.validation == "holdout"
            and (n := all_incumbents(run, self.full_rows_only).test_scores.count(None))
        }
        lines = []
        partly = [run for run in untested if run.task in self._tasks_by_test]
        if partly:
            n = sum(untested[run] for run in partly)
            lines.append(
                f"{plural(n, 'incumbent')} of {plural(len(partly), 'run')} {'has' if n == 1 else 'have'} no "
                "test score, so that the one before counts (a run without any has no result): "
                f"{run_names(partly)}"
            )
        never = dict.fromkeys(run.task for run in untested if run.task not in self._tasks_by_test)
        if never:
            lines.append(
                f"no incumbent has a test score, so validation scores are compared: {some(list(never))}"
            )
        return lines
