"""Whether a run's learner, method, clock and task fit together: checked before the run starts."""

from __future__ import annotations

from cfo_bench.errors import UserError
from cfo_bench.learners import LEARNERS, REFERENCES
from cfo_bench.optimizers import METHODS
from cfo_bench.recording import is_recorded
from cfo_bench.records import DataRef, Learner, RunSpec, TaskFacts

# Methods prepare something for each trial at once.
MOST_PARALLEL = 1_000


def check_parallel(spec: RunSpec) -> None:
    if spec.parallel > MOST_PARALLEL:
        raise UserError(f"--parallel {spec.parallel}: give a number of trials at once up to {MOST_PARALLEL}")


def learner_of(spec: RunSpec) -> Learner:
    """The learner that the run tunes. A reference method brings its own, which takes the method's options."""
    reference = METHODS.row(spec.method).learner
    learner: Learner = (
        LEARNERS.load(spec.learner)(**spec.learner_options)
        if reference is None
        else REFERENCES.load(reference)(**spec.options)
    )
    return learner


def check_clock(spec: RunSpec, learner: Learner) -> None:
    """Whether the method and the learner can run on the spec's clock."""
    if spec.validation == "holdout" and spec.parallel > 1:
        raise UserError(
            f"--validation holdout tests each incumbent off the clock, which --parallel {spec.parallel} can't"
        )
    if METHODS.row(spec.method).learner is not None and spec.clock == "virtual":
        raise UserError(f"method {spec.method!r} takes real seconds: it can't run with --clock virtual")
    if learner.virtual and spec.clock == "wall":
        raise UserError(
            f"--clock wall: learner {spec.learner!r} does not train, so that its seconds are virtual: "
            "leave --clock out"
        )
    if not learner.virtual and spec.clock == "virtual":
        raise UserError(
            f"--clock virtual: learner {spec.learner!r} really trains, so that its seconds are real: "
            "leave --clock out, or choose a learner that does not train (see docs/simulation.md)"
        )
    if spec.charge_method and spec.clock == "wall":
        raise UserError("--charge-method is for the virtual clock: on the wall clock every second counts")
    if spec.validation == "holdout" and is_recorded(learner):
        raise UserError(
            f"--validation holdout: learner {spec.learner!r} answers from a recording, which has no rows to "
            "hold out: leave --validation at fold"
        )


def check_recording(learner: str, recording: str | None, ref: DataRef) -> None:
    """Whether a task is for a learner: a recording only for its own, data only for those that train.

    `recording` is the learner's, None if it has none.
    """
    if recording is not None and not (ref.recorded_folds and ref.source == recording):
        remedy = (
            "give --surrogate FILE"
            if recording == "surrogate"
            else f"give --task '{recording}:*' or one of these (see cfo-bench tasks)"
        )
        raise UserError(
            f"learner {learner!r} answers from a recording, and has none of task {ref.task!r}: {remedy}"
        )
    if recording is None and ref.recorded_folds:
        raise UserError(
            f"task {ref.task!r} is a recording, and learner {learner!r} does not answer from it: "
            f"give the --learner that cfo-bench tasks show {ref.task} names"
        )


def check_problem(name: str, learner: Learner, facts: TaskFacts) -> None:
    """Whether the learner, called `name` by the user, can take a task of this kind."""
    if facts.problem not in learner.problems:
        kinds = ", ".join(learner.problems)
        raise UserError(
            f"task {facts.name!r} is {facts.problem}, and learner {name!r} takes {kinds} only: "
            "choose another --learner"
        )
