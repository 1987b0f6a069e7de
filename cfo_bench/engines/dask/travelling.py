"""The functions that go to a cluster as code, not by name: they are defined inside of others for that.

So a scheduler needs no cfo-bench to pass them on, and a worker without one can say so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any


def task() -> Callable[[bytes], None]:
    """What a worker calls for a pickled `remote.Ticket`."""

    def cfo_bench_run(ticket: bytes) -> None:
        import pickle

        from cfo_bench.engines.dask import remote

        remote.attempt(pickle.loads(ticket))

    return cfo_bench_run


def enrolment() -> Callable[[Any], Awaitable[dict[str, Any] | str]]:
    """What a worker answers when it is asked what it has for runs, or why it has nothing."""

    async def enrol(dask_worker: Any) -> dict[str, Any] | str:
        try:
            from cfo_bench.engines.dask import remote
        except ImportError as error:
            return str(error)
        return await remote.enrol(dask_worker)

    return enrol
