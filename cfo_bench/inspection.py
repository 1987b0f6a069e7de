"""A task's facts, looked up in a process that has the heavy packages: the driver stays light."""

from __future__ import annotations

from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

from cfo_bench import tasks
from cfo_bench.errors import CfoBenchError, RunError, UserError
from cfo_bench.records import DataRef, TaskFacts
from cfo_bench.search import describe


def inspect_task(ref: DataRef, n_folds: int, context: ForkServerContext) -> TaskFacts:
    """The facts of a task, looked up in a process that has the heavy packages: this one stays light."""
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_inspect, args=(ref, n_folds, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        child.join()
        raise RunError(f"loading task {ref.task!r} killed its process (exit code {child.exitcode})") from None
    child.join()
    if isinstance(answer, TaskFacts):
        return answer
    exit_code, message = answer
    raise (UserError if exit_code == UserError.exit_code else RunError)(message)


def _inspect(ref: DataRef, n_folds: int, answer: Connection) -> None:
    try:
        answer.send(tasks.inspect(ref, n_folds))
    except CfoBenchError as error:
        answer.send((error.exit_code, str(error)))
    except Exception as error:
        answer.send((1, f"task {ref.task!r} could not be loaded: {describe(error)}"))
