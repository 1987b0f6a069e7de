"""What can be known before the first run, looked up in a process of its own: the driver stays light."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from typing import Any

from cfo_bench import tasks
from cfo_bench.errors import CfoBenchError, RunError, UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.machine import die_with_parent
from cfo_bench.optimizers import METHODS
from cfo_bench.records import DataRef, Learner, RunSpec, TaskFacts
from cfo_bench.runner import check_clock, check_problem, learner_of
from cfo_bench.search import describe

# Of a data set that nobody has loaded yet; what an option's value is checked against does not depend on it.
_REHEARSED_ROWS = 10_000


def inspect_task(spec: RunSpec, ref: DataRef, context: ForkServerContext) -> TaskFacts:
    """The facts of a task, once its data was looked at and the spec's learner found able to take it."""
    facts: TaskFacts = _elsewhere(context, f"loading task {ref.task!r}", _inspect, spec, ref)
    return facts


def rehearse(specs: Sequence[RunSpec], context: ForkServerContext) -> None:
    """Builds learners and methods once, without data: a wrong option is an error before any run starts."""
    _elsewhere(context, "building the methods", _rehearse, specs)


def _inspect(spec: RunSpec, ref: DataRef) -> TaskFacts:
    try:
        facts = tasks.inspect(ref, spec.n_folds)
    except CfoBenchError:
        raise
    except Exception as error:
        raise RunError(f"task {ref.task!r} could not be loaded: {describe(error)}") from error
    check_problem(spec.learner, LEARNERS.load(spec.learner)(**spec.learner_options), facts)
    return facts


def _rehearse(specs: Sequence[RunSpec]) -> None:
    for spec in specs:
        learner: Learner = _built("learner", spec.learner, learner_of, spec)
        check_clock(spec, learner)
        space = learner.space(_REHEARSED_ROWS)
        method = _built(
            "method", spec.method, METHODS.load(spec.method), space, learner.start(space), 0, **spec.options
        )
        for needed in ("ask", "tell"):
            if not callable(getattr(method, needed, None)):
                raise UserError(f"method {spec.method!r} has no {needed}(): it needs ask() and tell()")


def _built(kind: str, name: str, build: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return build(*args, **options)
    except CfoBenchError as error:
        raise UserError(f"{kind} {name!r}: {error}") from None
    except Exception as error:
        raise UserError(f"{kind} {name!r} can't be built with its options: {describe(error)}") from error


def _elsewhere(context: ForkServerContext, doing: str, function: Callable[..., Any], *args: Any) -> Any:
    """The function's answer, or its error, from a process that has the heavy packages."""
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
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        pipe.send((function(*args), 0, None))
    except CfoBenchError as error:
        pipe.send((None, error.exit_code, str(error)))
    except Exception as error:
        pipe.send((None, 1, f"unexpected {describe(error)}"))
