"""Where a run gets its fold and the facts of its task: from data, or from the learner's recording."""

from __future__ import annotations

from cfo_bench import tasks
from cfo_bench.errors import UserError
from cfo_bench.recording import RecordedLearner, RecordedTask, is_recorded
from cfo_bench.records import DataRef, Fold, Learner, RunSpec, TaskFacts
from cfo_bench.recording import check_recording
from cfo_bench.tasks.folds import check_choice


def facts_of(spec: RunSpec, ref: DataRef, learner: Learner) -> TaskFacts:
    """The facts of the task; data is fetched if it has to be."""
    check_recording(spec.learner, getattr(learner, "recording", None), ref)
    return _opened(spec, ref, learner).facts if is_recorded(learner) else tasks.inspect(ref, spec.n_folds)


def load_fold(spec: RunSpec, ref: DataRef, learner: Learner) -> tuple[Fold, TaskFacts]:
    """The run's fold, with the facts of its task."""
    check_recording(spec.learner, getattr(learner, "recording", None), ref)
    if is_recorded(learner):
        check_choice(spec.fold, spec.n_folds, spec.seed)
        task = _opened(spec, ref, learner)
        return task.fold(spec.fold), task.facts
    holdout_share = spec.holdout_share if spec.validation == "holdout" else None
    return tasks.load_fold(ref, spec.fold, spec.n_folds, spec.seed, holdout_share)


def _opened(spec: RunSpec, ref: DataRef, learner: RecordedLearner) -> RecordedTask:
    task = learner.recorded(ref)
    if task.n_folds != spec.n_folds:
        raise UserError(f"--n-folds {spec.n_folds}: {task.n_folds} folds of task {ref.task!r} were recorded")
    return task
