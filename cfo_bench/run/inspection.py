"""What can be known before the first run, looked up in a process of its own: the driver stays light."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, ForkServerContext, SpawnContext
from typing import Any

from cfo_bench import tasks
from cfo_bench.errors import CfoBenchError, RunError, UserError, told_at
from cfo_bench.learners import LEARNERS
from cfo_bench.machine.signals import STOP_SIGNALS, die_with_parent
from cfo_bench.optimizers import METHODS
from cfo_bench.records import DataRef, Learner, RunSpec, TaskFacts
from cfo_bench.run.runner import check_clock, check_problem, learner_of
from cfo_bench.run.search import describe

# Of a data set that nobody has loaded yet; what an option's value is checked against does not depend on it.
_REHEARSED_ROWS = 10_000
# What reads and splits data with rows.
_DATA_PACKAGES = ("pandas", "sklearn.datasets", "sklearn.model_selection")


def inspect_task(spec: RunSpec, ref: DataRef, context: ForkServerContext) -> TaskFacts:
    """The facts of a task, once its data was looked at and the spec's learner found able to take it."""
    facts: TaskFacts = _elsewhere(context, f"loading task {ref.task!r}", _inspect, spec, ref)
    return facts


def fetch_task(ref: DataRef) -> None:
    """The task's data into this machine's store, by a process that is not one the runs are forked from."""
    _elsewhere(SpawnContext(), f"fetching task {ref.task!r}", _fetch, ref)


def _fetch(ref: DataRef) -> None:
    tasks.obtain(ref)


def rehearse(specs: Sequence[RunSpec], places: Mapping[str, str]) -> frozenset[str]:
    """Builds learners and methods once, without data: a wrong option is an error before any run starts.

    Returned are the methods that can't be replayed, by their own word: `replays = False`. `places` says
    where in a file a method was asked for. Done in a fork of this process, which has no threads yet: a
    mistake is told before heavy packages are loaded.
    """
    unsteady: frozenset[str] = _elsewhere(ForkContext(), "building the methods", _rehearse, specs, places)
    return unsteady


def packages(specs: Iterable[RunSpec], refs: Iterable[DataRef]) -> list[str]:
    """What the runs import, for the process that they are forked from: loaded once."""
    has_rows = any(ref.source != "synthetic" for ref in refs)
    rows = [row for spec in specs for row in (LEARNERS.row(spec.learner), METHODS.row(spec.method))]
    needed = [name for row in rows for name in row.needs]
    # Not plug-ins: one that starts a thread when it is imported must not do so where others are forked.
    ours = [row.target.partition(":")[0] for row in rows if row.target.startswith("cfo_bench.")]
    return list(dict.fromkeys([*(_DATA_PACKAGES if has_rows else ()), *needed, *ours]))


def _inspect(spec: RunSpec, ref: DataRef) -> TaskFacts:
    try:
        facts = tasks.inspect(ref, spec.n_folds)
    except CfoBenchError:
        raise
    except Exception as error:
        raise RunError(f"task {ref.task!r} could not be loaded: {describe(error)}") from error
    check_problem(spec.learner, LEARNERS.load(spec.learner)(**spec.learner_options), facts)
    return facts


def _rehearse(specs: Sequence[RunSpec], places: Mapping[str, str]) -> frozenset[str]:
    unsteady = set()
    for spec in specs:
        with told_at(places.get(spec.method, "")):
            if not getattr(_rehearse_one(spec), "replays", True):
                unsteady.add(spec.method)
    return frozenset(unsteady)


def _rehearse_one(spec: RunSpec) -> Any:
    """The method, built."""
    learner: Learner = _built("learner", spec.learner, learner_of, spec)
    check_clock(spec, learner)
    space = learner.space(_REHEARSED_ROWS)
    method = _built(
        "method", spec.method, METHODS.load(spec.method), space, learner.start(space), 0, **spec.options
    )
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


def _elsewhere(
    context: ForkContext | ForkServerContext | SpawnContext,
    doing: str,
    function: Callable[..., Any],
    *args: Any,
) -> Any:
    """The function's answer, or its error, from another process."""
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(theirs, function, *args), daemon=True)
    child.start()
    theirs.close()
    try:
        answer, exit_code, message = ours.recv()
    except EOFError:
        child.join()
        raise RunError(f"{doing} killed its process (exit code {child.exitcode})") from None
    child.join()
    if message is not None:
        raise (UserError if exit_code == UserError.exit_code else RunError)(message)
    return answer


def _answer(pipe: Connection, function: Callable[..., Any], *args: Any) -> None:
    die_with_parent()
    # The terminal's Ctrl-C reaches every process of the group: the driver answers it, and ends us by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    try:
        pipe.send((function(*args), 0, None))
    except CfoBenchError as error:
        pipe.send((None, error.exit_code, str(error)))
    except Exception as error:
        pipe.send((None, 1, f"unexpected {describe(error)}"))
