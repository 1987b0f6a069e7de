"""Checks before the first run: whether the task, learner, method and clock of each run exist and fit
together.

Heavy packages are loaded in separate processes, so that the driver does not load them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.context import ForkContext
from typing import Any

from cfo_bench import tasks
from cfo_bench.errors import CfoBenchError, RunError, TooManyFoldsError, UserError, at_place, describe
from cfo_bench.learners import LEARNERS, REFERENCES
from cfo_bench.learners.scoring import check_metric, metric_named, with_metric
from cfo_bench.machine.fork_server import call_in_fork
from cfo_bench.machine.processes import ForkServerContext, SpawnContext, call_in_subprocess
from cfo_bench.metrics import METRICS, MetricFacts, canonical_name
from cfo_bench.optimizers import METHODS
from cfo_bench.records import (
    DataRef,
    Fold,
    Learner,
    RecordedLearner,
    RecordedTask,
    RunSpec,
    TaskFacts,
    check_recording,
    is_recorded,
    method_label,
)
from cfo_bench.space import Space
from cfo_bench.tasks.folds import check_choice
from cfo_bench.values import SplitKind

# Methods allocate memory for each parallel trial.
MAX_PARALLEL = 1_000
# The rows of a data set that is not loaded yet. No check of an option depends on their number.
_REHEARSED_ROWS = 10_000
# The packages that read and split a task with rows.
_DATA_PACKAGES = ("pandas", "sklearn.datasets", "sklearn.model_selection")

# --- whether the parts of a run fit together ------------------------------------------------------


def check_parallel(spec: RunSpec) -> None:
    if spec.parallel > MAX_PARALLEL:
        raise UserError(f"--parallel {spec.parallel}: give a number of trials at once up to {MAX_PARALLEL}")


def learner_of(spec: RunSpec) -> Learner:
    """The learner that the run tunes. A reference method has its own learner, which takes the options of the
    method.
    """
    reference = METHODS.row(spec.method).learner
    learner: Learner = (
        LEARNERS.load(spec.learner)(**spec.learner_options)
        if reference is None
        else REFERENCES.load(reference)(**spec.options)
    )
    return learner


def check_clock(spec: RunSpec, learner: Learner) -> None:
    """Check that the method and the learner can run on the spec's clock."""
    if spec.validation == "holdout" and spec.parallel > 1:
        raise UserError(
            f"--parallel {spec.parallel} can't be combined with --validation holdout: leave one out"
        )
    if METHODS.row(spec.method).learner is not None and spec.clock == "virtual":
        raise UserError(f"method {spec.method!r} trains, which takes real seconds: leave --clock virtual out")
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
            f"--validation holdout: learner {spec.learner!r} uses a recording, which has no rows to "
            "hold out: leave --validation at fold"
        )


def check_problem(name: str, learner: Learner, facts: TaskFacts) -> None:
    """Check that the learner, which the user calls `name`, supports this problem, and the weights of the
    task.
    """
    if facts.weight is not None and not getattr(learner, "takes_weights", False):
        raise UserError(
            f"--weight {facts.weight}: learner {name!r} does not take weights of rows: leave it out, or "
            "choose another --learner, such as xgboost"
        )
    if facts.problem not in learner.problems:
        kinds = ", ".join(learner.problems)
        raise UserError(
            f"task {facts.name!r} is {facts.problem}, and learner {name!r} takes {kinds} only: "
            "choose another --learner"
        )


def metric_facts(spec: RunSpec, facts: TaskFacts) -> MetricFacts:
    """The facts of the run's metric; a UserError if it does not fit the task or the learner."""
    if spec.metric is None or canonical_name(spec.metric) == facts.metric in METRICS:
        return METRICS[facts.metric].facts
    if spec.clock == "virtual":
        raise UserError(
            f"--metric {spec.metric}: learner {spec.learner!r} does not train, and its losses are those of "
            f"{facts.metric}: leave --metric out"
        )
    return metric_named(spec.metric, facts.problem).facts


# --- the data of a run: loaded data, or the recording of the learner ------------------------------


def facts_of(spec: RunSpec, ref: DataRef, learner: Learner) -> TaskFacts:
    """The facts of the task; missing data is fetched."""
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
    fold, facts = tasks.load_fold(ref, spec.fold, spec.n_folds, spec.seed, holdout_share)
    if spec.metric is None or learner.virtual:
        return fold, facts
    return with_metric(fold, spec.metric), replace(facts, metric=canonical_name(spec.metric))


def _opened(spec: RunSpec, ref: DataRef, learner: RecordedLearner) -> RecordedTask:
    task = learner.recorded(ref)
    if task.n_folds != spec.n_folds:
        raise UserError(f"--n-folds {spec.n_folds}: {task.n_folds} folds of task {ref.task!r} were recorded")
    return task


# --- before the first run -------------------------------------------------------------------------


def inspect_task(spec: RunSpec, ref: DataRef, context: ForkServerContext) -> TaskFacts:
    """The facts of a task, from its data; an error if the spec's learner can't be trained on it."""
    facts: TaskFacts = call_in_fork(
        context,
        f"loading task {ref.task!r}",
        _inspect,
        spec,
        ref,
        limit=(spec.prepare_timeout_seconds, "--prepare-timeout"),
    )
    return facts


def most_folds(
    spec: RunSpec, ref: DataRef, context: ForkServerContext, choices: Sequence[int], limit: tuple[float, str]
) -> tuple[int, TaskFacts]:
    """The first of these numbers of folds for which the task has enough rows, and the facts of the task.

    `limit` is the number of seconds that it may take, with the option that sets this number.
    """
    folds_and_facts: tuple[int, TaskFacts] = call_in_fork(
        context, f"loading task {ref.task!r}", _most_folds, spec, ref, choices, limit=limit
    )
    return folds_and_facts


def _most_folds(spec: RunSpec, ref: DataRef, choices: Sequence[int]) -> tuple[int, TaskFacts]:
    for n_folds in choices:
        try:
            return n_folds, _inspect(replace(spec, n_folds=n_folds), ref)
        except TooManyFoldsError as error:
            too_many = error
    raise too_many


def facts_of_metrics(
    questions: Sequence[tuple[RunSpec, TaskFacts]], context: ForkServerContext
) -> list[MetricFacts]:
    """The facts of the metric of each run; an error if it does not fit the task.

    A scorer of scikit-learn, or of a local file, is looked up in another process.
    """
    if all(spec.metric is None or canonical_name(spec.metric) in METRICS for spec, _ in questions):
        return _facts_of_metrics(questions)
    facts: list[MetricFacts] = call_in_subprocess(
        context, "looking up the metric", _facts_of_metrics, questions
    )
    return facts


def _facts_of_metrics(questions: Sequence[tuple[RunSpec, TaskFacts]]) -> list[MetricFacts]:
    return [metric_facts(spec, facts) for spec, facts in questions]


def fetch_task(ref: DataRef) -> None:
    """Fetches the task's data into this machine's store, in a process from which no run is forked."""
    call_in_subprocess(SpawnContext(), f"fetching task {ref.task!r}", _fetch, ref)


def with_own_folds(ref: DataRef) -> DataRef:
    """The ref with the number of folds in the user's column of folds, if one makes the folds."""
    if ref.split is None or not ref.split.startswith(f"{SplitKind.COLUMN}:"):
        return ref
    counted: DataRef = call_in_subprocess(
        ForkContext(), f"loading task {ref.task!r}", tasks.count_own_folds, ref
    )
    return counted


def _fetch(ref: DataRef) -> None:
    tasks.obtain(ref)


@dataclass(frozen=True, slots=True)
class MethodTraits:
    """Properties of method classes: for each property, the labels of the methods that have it."""

    not_resumable: frozenset[str] = frozenset()  # `replays = False`: an interrupted run starts again
    knows_budget: frozenset[str] = frozenset()  # `knows_budget = True`: can't be extended


def rehearse(specs: Sequence[RunSpec], places: Mapping[str, str]) -> MethodTraits:
    """Builds learners and methods once, without data: a wrong option is an error before any run starts.

    `places` contains, by label, the place in a file where a method is named. This is done in a fork of this
    process, which has no threads yet, so that an error appears before heavy packages are loaded.
    """
    traits: MethodTraits = call_in_subprocess(ForkContext(), "building the methods", _rehearse, specs, places)
    return traits


def packages(specs: Iterable[RunSpec], refs: Iterable[DataRef]) -> list[str]:
    """The modules that the runs import. The fork server loads them once."""
    has_rows = any(ref.source != "synthetic" and not ref.recorded_folds for ref in refs)
    rows = [row for spec in specs for row in (LEARNERS.row(spec.learner), METHODS.row(spec.method))]
    needed = [name for row in rows for name in row.needs]
    # Not plug-ins: a plug-in may start a thread when it is imported, and then nothing can be forked safely.
    ours = [row.target.partition(":")[0] for row in rows if row.target.startswith("cfo_bench.")]
    return list(dict.fromkeys([*(_DATA_PACKAGES if has_rows else ()), *needed, *ours]))


def _inspect(spec: RunSpec, ref: DataRef) -> TaskFacts:
    learner: Learner = LEARNERS.load(spec.learner)(**spec.learner_options)
    try:
        facts = facts_of(spec, ref, learner)
    except CfoBenchError:
        raise
    except Exception as error:
        raise RunError(f"task {ref.task!r} could not be loaded: {describe(error)}") from error
    check_problem(spec.learner, learner, facts)
    return facts


def _rehearse(specs: Sequence[RunSpec], places: Mapping[str, str]) -> MethodTraits:
    not_resumable, knows_budget = set(), set()
    for spec in specs:
        name = method_label(spec)
        with at_place(places.get(name, "")):
            method = _rehearse_one(spec)
        if not getattr(method, "replays", True):
            not_resumable.add(name)
        if getattr(method, "knows_budget", False):
            knows_budget.add(name)
    return MethodTraits(frozenset(not_resumable), frozenset(knows_budget))


def _rehearse_one(spec: RunSpec) -> Any:
    """Checks that the parts of the spec fit together; returns the method."""
    check_parallel(spec)
    if spec.metric is not None:
        check_metric(spec.metric)
    learner: Learner = _built("learner", spec.learner, learner_of, spec)
    check_clock(spec, learner)
    space: Space = _built("learner", spec.learner, learner.space, _REHEARSED_ROWS)
    start = _built("learner", spec.learner, lambda: space.accept(learner.start(space)))
    method = _built("method", spec.method, METHODS.load(spec.method), space, start, 0, **spec.options)
    for needed in ("ask", "tell"):
        if not callable(getattr(method, needed, None)):
            raise UserError(f"method {spec.method!r} has no {needed}(): it needs ask() and tell()")
    return method


def _built(kind: str, name: str, build: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return build(*args, **options)
    except CfoBenchError as error:
        raise UserError(f"{kind} {name!r}: {error}") from None
    except Exception as error:
        raise UserError(f"{kind} {name!r} can't be built with its options: {describe(error)}") from error
