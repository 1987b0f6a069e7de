"""The runs of one learner and their scores: what the sections of a report are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.joint_ranking import Joint, joint
from cfo_bench.report.numbers.leaders import best_first, leaders
from cfo_bench.report.numbers.run_losses import run_steps, validation_steps
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.scoring import score_tasks
from cfo_bench.report.reading.digest import Digest, Steps
from cfo_bench.report.reading.references import Reference
from cfo_bench.results.compared import NOT_COMPARED


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
