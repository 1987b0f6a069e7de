"""The way to a Dask cluster: one of our own on this machine or through a batch system, or one to join."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfo_bench import machine
from cfo_bench.errors import MissingPackageError, UserError
from cfo_bench.machine.signals import STOP_SIGNALS
from cfo_bench.suite.model import Cluster

if TYPE_CHECKING:
    from distributed import Client

# How long a scheduler may take to answer the first call.
CONNECT_SECONDS = 5.0

# Classes of dask_jobqueue.
BATCH_SYSTEMS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
}

# An idle worker took 4 % of a core, ten times what it takes with these: it samples its threads every
# 10 ms and its event loop every 20. Its memory is watched by our own caps, and there is nothing to steal.
FRUGAL: Mapping[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.monitor-interval": "2s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
}


class Link:
    """A client of the cluster; `ours` is what we started, and end."""

    def __init__(self, cluster: Cluster, ours: Any = None) -> None:
        self._cluster, self._ours = cluster, ours
        self.client = self._connect()
        self._scheduler_id = self._identity()["id"]

    @property
    def address(self) -> str:
        return str(self._cluster.scheduler or self._ours.scheduler_address)

    def _connect(self) -> Client:
        from distributed import Client

        where: dict[str, Any] = {"address": self._ours or self._cluster.scheduler}
        if self._ours is None and not _is_address(str(self._cluster.scheduler)):
            where = {"scheduler_file": str(self._cluster.scheduler)}
        return Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)

    def _identity(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)
        return found

    def workers(self) -> dict[str, str] | None:
        """The folder of the worker at each address; None when the scheduler that we knew is gone.

        A worker that is started again may get the same address, but never the same folder.
        """
        if self.client.status != "running":
            return None
        identity = self._identity()
        if identity.get("id") != self._scheduler_id:
            return None
        return {address: about["local_directory"] for address, about in identity["workers"].items()}

    def reconnect(self) -> bool:
        """Whether there is a scheduler again, at the same address or at that of a new scheduler file."""
        self._close_client()
        try:
            self.client = self._connect()
            self._scheduler_id = self._identity()["id"]
        except (OSError, ValueError, KeyError):
            return False
        return True

    def refill(self) -> None:
        """A batch system's job in the place of each that ended; nothing elsewhere."""
        if self._cluster.kind in BATCH_SYSTEMS:
            self._ours.scale(jobs=self._cluster.workers or 1)

    def close(self) -> None:
        self._close_client()
        if self._ours is not None:
            self._ours.close()

    def _close_client(self) -> None:
        with suppress(Exception):  # of a scheduler that is gone
            self.client.close(timeout=2)


def need_packages(cluster: Cluster) -> None:
    """Says what to install where something is missing, before anything is started."""
    for package in ("distributed", *(["dask_jobqueue"] if cluster.kind in BATCH_SYSTEMS else [])):
        if find_spec(package) is None:
            raise MissingPackageError("--engine dask", package, "pip install 'cfo-bench[cluster]'")


@contextmanager
def linked(cluster: Cluster, threads: int) -> Iterator[Link]:
    """A link to the cluster, started first where that is asked for, with workers of so many threads."""
    need_packages(cluster)
    import dask
    import distributed  # noqa: F401  it sets up its logging when it is first imported

    # What matters of what Dask would log we say ourselves, each in one line.
    for name in ("distributed", "distributed.client", "distributed.scheduler", "distributed.nanny"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with dask.config.set(FRUGAL):
        link = _join(cluster) if cluster.kind == "join" else _start(cluster, threads)
        try:
            yield link
        finally:
            link.close()


def _join(cluster: Cluster) -> Link:
    where = cluster.scheduler
    if where is None:
        raise UserError("a cluster to join needs the address of its scheduler: give --scheduler")
    if not _is_address(where) and not Path(where).is_file():
        raise UserError(
            f"--scheduler {where!r} is neither an address such as tcp://host:8786 nor a scheduler file"
        )
    try:
        return Link(cluster)
    except (OSError, ValueError, KeyError) as error:
        why = str(error).partition("\n")[0]
        raise UserError(
            f"no Dask scheduler answers at {where} ({why}): start one with `dask scheduler`, "
            "or check the address"
        ) from None


def _start(cluster: Cluster, threads: int) -> Link:
    with _deaf_children():
        if cluster.kind == "local":
            from distributed import LocalCluster

            workers = cluster.workers or max(machine.cores() // threads, 1)
            ours = LocalCluster(
                n_workers=workers,
                threads_per_worker=threads,
                memory_limit=machine.total_memory_mb() * 2**20 // workers,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        else:
            ours = _batch_system(cluster)
        try:
            link = Link(cluster, ours)
            link.refill()
        except BaseException:
            ours.close()
            raise
    return link


def _batch_system(cluster: Cluster) -> Any:
    name = BATCH_SYSTEMS[cluster.kind]
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    import dask_jobqueue

    signal.signal(signal.SIGINT, on_ctrl_c)  # its import makes Ctrl-C leave at once, with exit code 0
    exports = [f"export {_variable(key)}={value}" for key, value in FRUGAL.items()]
    options = {"processes": 1, "scheduler_options": {"dashboard_address": ":0"}, **cluster.options}
    options["job_script_prologue"] = [*exports, *options.get("job_script_prologue", [])]
    try:
        return getattr(dask_jobqueue, name)(**options)
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise UserError(
            f"dask-jobqueue can't start workers by {cluster.kind!r} with the options {dict(cluster.options)} "
            f"({why}): give it what it asks for by --cluster-option"
        ) from None


def _variable(key: str) -> str:
    """The environment variable that Dask reads a key of its configuration from."""
    return "DASK_" + key.upper().replace(".", "__").replace("-", "_")


def _is_address(scheduler: str) -> bool:
    return "://" in scheduler


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Workers that are started here, now or later, don't hear the terminal's Ctrl-C: it is ours to answer.

    The thread that starts them inherits what is blocked now, and so do they.
    """
    resource_tracker.ensure_running()  # on its own, since it unblocks signals when it has started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
