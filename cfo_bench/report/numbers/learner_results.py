"""The runs of one learner and their scores: what the sections of a report are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.scores import NOT_COMPARED, TaskScores, run_steps, score_tasks
from cfo_bench.report.reading.digest import Digest, Steps


@dataclass(frozen=True)
class LearnerResults:
    """One learner's runs. The other methods are compared with the `baseline`."""

    learner: str
    digests: Sequence[Digest]
    baseline: str = "cfo"
    full_rows_only: bool = False

    @cached_property
    def scores(self) -> list[TaskScores]:
        return score_tasks(self.digests, self.full_rows_only)

    @cached_property
    def methods(self) -> list[str]:
        """The methods that are compared, in the order of tables: all but references and studies."""
        return in_order({one.method for one in self.digests} - set(NOT_COMPARED))

    @cached_property
    def compared(self) -> dict[tuple[str, str], list[Digest]]:
        """The runs that the means are over, by task and method."""
        shared = {task.task: set(task.shared) for task in self.scores}
        found: dict[tuple[str, str], list[Digest]] = {}
        for one in sorted(self.digests, key=lambda one: (one.fold, one.seed)):
            if one.method not in NOT_COMPARED and (one.fold, one.seed) in shared[one.task]:
                found.setdefault((one.task, one.method), []).append(one)
        return found

    def steps(self, one: Digest) -> Steps:
        return run_steps(one, self.full_rows_only)
