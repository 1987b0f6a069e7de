"""A function's answer from another process, so that what it loads does not stay in this one."""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from typing import Any

from cfo_bench.errors import CfoBenchError, RunError, UserError, describe
from cfo_bench.machine.signals import STOP_SIGNALS, die_with_parent
from cfo_bench.processes import ForkServerContext, SpawnContext


def call_in_subprocess(
    context: ForkContext | ForkServerContext | SpawnContext,
    doing: str,
    function: Callable[..., Any],
    *args: Any,
    limit: tuple[float, str] | None = None,
) -> Any:
    """Calls `function(*args)` in a new process and returns what it returns.

    `limit` is how many seconds it may take, and the option that sets them. Without it, there is none.
    An error that it raises is raised here, with the same message and exit code. `doing` says in an
    error what the process was for, should it die.
    """
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(theirs, function, *args), daemon=True)
    child.start()
    theirs.close()
    try:
        if limit is not None and not ours.poll(limit[0]):
            child.kill()
            seconds, option = limit
            raise RunError(
                f"{doing} took longer than {seconds:g} s: look for what hangs, or give it longer by {option}"
            )
        answer, exit_code, message = ours.recv()
    except EOFError:
        child.join()
        raise RunError(f"{doing} killed its process (exit code {child.exitcode})") from None
    finally:
        ours.close()
    child.join()
    if message is not None:
        raise (UserError if exit_code == UserError.exit_code else RunError)(message)
    return answer


def _call(pipe: Connection, function: Callable[..., Any], *args: Any) -> None:
    """The new process: sends (answer, exit code, error message)."""
    die_with_parent()
    # A terminal sends Ctrl-C to every process of the group. The driver handles it, and ends us by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    try:
        pipe.send((function(*args), 0, None))
    except CfoBenchError as error:
        pipe.send((None, error.exit_code, str(error)))
    except Exception as error:
        pipe.send((None, 1, f"unexpected {describe(error)}"))
