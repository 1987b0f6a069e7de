"""Looking at tasks, learners and methods before the first run, in other processes: the driver stays light."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.context import ForkContext
from typing import Any

from cfo_bench import tasks
from cfo_bench.errors import CfoBenchError, RunError, TooManyFoldsError, UserError, describe, told_at
from cfo_bench.learners import LEARNERS
from cfo_bench.machine.subprocess_call import call_in_subprocess
from cfo_bench.optimizers import METHODS
from cfo_bench.processes import ForkServerContext, SpawnContext
from cfo_bench.records import DataRef, Learner, RunSpec, TaskFacts
from cfo_bench.run.data import facts_of
from cfo_bench.run_id import method_label
from cfo_bench.space import Space
from cfo_bench.suite.checks import check_clock, check_parallel, check_problem, learner_of

# The rows of a data set that is not loaded yet. No check of an option depends on their number.
_REHEARSED_ROWS = 10_000
# What a task that has rows is read and split with.
_DATA_PACKAGES = ("pandas", "sklearn.datasets", "sklearn.model_selection")


def inspect_task(spec: RunSpec, ref: DataRef, context: ForkServerContext) -> TaskFacts:
    """The facts of a task, from its data; an error if the spec's learner can't be trained on it."""
    facts: TaskFacts = call_in_subprocess(
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
    """The first of these numbers of folds that the task has enough rows for, and the facts of the task.

    `limit` is how many seconds it may take, and the option that sets them.
    """
    found: tuple[int, TaskFacts] = call_in_subprocess(
        context, f"loading task {ref.task!r}", _most_folds, spec, ref, choices, limit=limit
    )
    return found


def _most_folds(spec: RunSpec, ref: DataRef, choices: Sequence[int]) -> tuple[int, TaskFacts]:
    for n_folds in choices:
        try:
            return n_folds, _inspect(replace(spec, n_folds=n_folds), ref)
        except TooManyFoldsError as error:
            too_many = error
    raise too_many


def fetch_task(ref: DataRef) -> None:
    """Fetches the task's data into this machine's store, in a process that no run is forked from."""
    call_in_subprocess(SpawnContext(), f"fetching task {ref.task!r}", _fetch, ref)


def _fetch(ref: DataRef) -> None:
    tasks.obtain(ref)


@dataclass(frozen=True, slots=True)
class MethodTraits:
    """What the classes of methods say of themselves: the labels of those methods that say so."""

    not_resumable: frozenset[str] = frozenset()  # `replays = False`: an interrupted run starts again
    knows_budget: frozenset[str] = frozenset()  # `knows_budget = True`: a short run is no part of a long one


def rehearse(specs: Sequence[RunSpec], places: Mapping[str, str]) -> MethodTraits:
    """Builds learners and methods once, without data: a wrong option is an error before any run starts.

    `places` says where in a file a method is named, by its label. Done in a fork of this process, which has
    no threads yet, so that an error appears before heavy packages are loaded.
    """
    traits: MethodTraits = call_in_subprocess(ForkContext(), "building the methods", _rehearse, specs, places)
    return traits


def packages(specs: Iterable[RunSpec], refs: Iterable[DataRef]) -> list[str]:
    """The modules that the runs import: the process that they are forked from loads them once."""
    has_rows = any(ref.source != "synthetic" and not ref.recorded_folds for ref in refs)
    rows = [row for spec in specs for row in (LEARNERS.row(spec.learner), METHODS.row(spec.method))]
    needed = [name for row in rows for name in row.needs]
    # Not plug-ins: one may start a thread when it is imported, and then nothing can be forked safely.
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
        with told_at(places.get(name, "")):
            method = _rehearse_one(spec)
        if not getattr(method, "replays", True):
            not_resumable.add(name)
        if getattr(method, "knows_budget", False):
            knows_budget.add(name)
    return MethodTraits(frozenset(not_resumable), frozenset(knows_budget))


def _rehearse_one(spec: RunSpec) -> Any:
    """The method, built."""
    check_parallel(spec)
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
