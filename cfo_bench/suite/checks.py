"""Whether a run's learner, method, clock and task fit together: checked before the run starts."""

from __future__ import annotations

from cfo_bench.errors import UserError
from cfo_bench.learners import LEARNERS, REFERENCES
from cfo_bench.optimizers import METHODS
from cfo_bench.recording import is_recorded
from cfo_bench.records import Learner, RunSpec, TaskFacts

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


def check_problem(name: str, learner: Learner, facts: TaskFacts) -> None:
    """Whether the learner, called `name` by the user, can take a task of this kind."""
    if facts.problem not in learner.problems:
        kinds = ", ".join(learner.problems)
        raise UserError(
            f"task {facts.name!r} is {facts.problem}, and learner {name!r} takes {kinds} only: "
            "choose another --learner"
        )
