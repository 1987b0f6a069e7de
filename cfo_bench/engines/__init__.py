"""Engines execute many runs in parallel, on this machine or on a cluster.

An engine is a class whose keyword-only parameters are its options. A package adds one by an entry point
in the group `cfo_bench.engines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

from cfo_bench.errors import at_place
from cfo_bench.registry import Registry, Row

if TYPE_CHECKING:
    from cfo_bench.engines.scheduling import Listener
    from cfo_bench.machine.processes import ForkServerContext
    from cfo_bench.records import RunSpec
    from cfo_bench.run.job import Job
    from cfo_bench.run.supervisor import Verdict
    from cfo_bench.suite.model import Suite


class Engine(Protocol):
    """Executes many runs. It is built as Engine(**options): every option has a default."""

    def check(self) -> None:
        """Raise a UserError if the engine can't work as requested, before anything starts."""

    def at_once(self) -> int:
        """Return the number of runs that are executed at the same time, as far as it is known beforehand."""

    def price(self, specs: Sequence[RunSpec]) -> str:
        """Return the cores and the memory that these runs need, for `--dry-run`, in words."""

    def run(
        self, jobs: Sequence[Job], listener: Listener, *, force: bool, context: ForkServerContext
    ) -> list[Verdict]:
        """Execute the runs. A run that fails does not stop the others.

        Parameters
        ----------
        jobs
            The runs.
        listener
            Receives the events, in the main thread.
        force
            Execute finished runs again.
        context
            Forks processes on this machine that have loaded the packages of the runs.

        Returns
        -------
        list of Verdict
            The result of each job, in order.

        Raises
        ------
        Interrupted
            If the command was stopped by a signal.
        """


ENGINES = Registry(
    "engine",
    "cfo_bench.engines",
    {
        "local": Row("cfo_bench.engines.local:LocalEngine", "side by side on this machine"),
        "dask": Row(
            "cfo_bench.engines.dask.driver:DaskEngine",
            "on a Dask cluster: a local one, a running one, or one in a batch system",
            "cluster",
            ("dask", "distributed"),
        ),
    },
)


def engine_of(suite: Suite) -> Engine:
    """The engine of a suite. Of `jobs` and the keys of `cluster`, it gets those that it has as options."""
    with at_place(suite.places.get("engine", "")):
        known = ENGINES.options(suite.engine, {})
    cluster = {field.name: getattr(suite.cluster, field.name) for field in fields(suite.cluster)}
    shared = {"jobs": suite.jobs, **cluster}
    supported = {key: value for key, value in shared.items() if key in known}
    with at_place(suite.places.get("engine_options", "")):
        options = ENGINES.options(suite.engine, {**supported, **suite.engine_options})
    engine: Engine = ENGINES.load(suite.engine)(**options)
    return engine
