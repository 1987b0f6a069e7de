"""A learner whose losses and seconds are predicted by a surrogate of its traces: `surrogate:xgboost`.

`cfo-bench run --surrogate FILE` puts it in the place of the learner that it stands for. Its space, start and
cost-related hyperparameters are those of the recorded runs, and may differ between tasks: they are known once
a task is opened, and before that those of the first task of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfo_bench.errors import UserError
from cfo_bench.learners.recorded.objective import RecordedObjective
from cfo_bench.recording import RecordedTask
from cfo_bench.records import DataRef, Fold, Problem, TaskFacts
from cfo_bench.space import Config, Space

if TYPE_CHECKING:
    from cfo_bench.recordings.surrogate import Surrogate


def surrogate_of(learner: str) -> type[Any]:
    """The class behind `surrogate:<learner>`."""
    if not learner:
        raise UserError("learner 'surrogate:': name what it stands for, as in surrogate:xgboost")
    return type("SurrogateOfLearner", (SurrogateLearner,), {"stands_for": learner, "__doc__": None})


class SurrogateLearner:
    """Answers for a learner from a file of `cfo-bench surrogate fit`.

    surrogate_file   the file; `--surrogate` gives it
    """

    stands_for = ""
    problems = tuple(Problem)
    virtual = True
    recording = "surrogate"

    def __init__(self, *, surrogate_file: str | None = None) -> None:
        if surrogate_file is None:
            raise UserError(
                f"learner 'surrogate:{self.stands_for}' needs the file of a surrogate: give --surrogate FILE"
            )
        self._path = surrogate_file
        self._opened: Surrogate | None = None

    @property
    def cost_related(self) -> tuple[str, ...]:
        return self._surrogate().cost_related

    def space(self, n_rows: int) -> Space:
        return self._surrogate().space

    def start(self, space: Space) -> Config:
        return dict(self._surrogate().start)

    def recorded(self, ref: DataRef) -> RecordedTask:
        from cfo_bench.recordings.surrogate import ModelledFold
        from cfo_bench.recordings.surrogate_file import read

        file = read(self._path)
        self._opened = one = file.of(self.stands_for, ref.task)
        facts = TaskFacts(
            name=ref.task,
            problem=Problem(one.problem),
            metric=one.metric,
            n_rows=one.n_rows,
            n_features=one.n_features,
            n_classes=one.n_classes,
            source=f"surrogate: {file.path}",
            sha256=file.sha256,
            folds_source=f"surrogate: {len(one.offsets)} recorded folds, the others drawn",
            recording=f"surrogate of {self.stands_for} by cfo-bench {file.made_by}, SHA-256 {file.sha256}, "
            f"fitted to {file.traces} traces, SHA-256 {file.traces_sha256}",
        )
        return RecordedTask(
            facts=facts,
            n_folds=one.n_folds,
            train_rows=one.train_rows,
            constant_loss=one.constant_loss,
            open_fold=lambda fold: ModelledFold(one, fold, seed=0),
        )

    def prepare(self, fold: Fold, threads: int, seed: int) -> RecordedObjective:
        from cfo_bench.recordings.surrogate import ModelledFold

        assert isinstance(fold.recording, ModelledFold), "a surrogate's own folds: checked before"
        return RecordedObjective(fold.recording.of_seed(seed))

    def _surrogate(self) -> Surrogate:
        if self._opened is None:
            from cfo_bench.recordings.surrogate_file import read

            file = read(self._path)
            tasks = file.tasks(self.stands_for)
            self._opened = file.of(self.stands_for, tasks[0] if tasks else "")
        return self._opened
