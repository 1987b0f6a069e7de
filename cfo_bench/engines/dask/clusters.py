"""Starts a Dask cluster on this machine or through a batch system, or joins a running one.

Everybody who can connect to a Dask scheduler or worker can run code on it. The clusters that are started here
accept only connections with TLS certificates that are made for this cluster.
"""

from __future__ import annotations

import json
import logging
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cfo_bench import machine
from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask import worker
from cfo_bench.engines.dask.worker import Message
from cfo_bench.errors import MissingPackageError, UserError, install_command
from cfo_bench.machine.processes import STOP_SIGNALS, signals_blocked
from cfo_bench.suite.model import BATCH_SYSTEMS, Cluster

if TYPE_CHECKING:
    from distributed.security import Security

# Seconds that a scheduler may take to answer the first call.
CONNECT_SECONDS = 5.0

# By default, an idle worker samples its threads every 10 ms and its event loop every 20, and uses 4 % of a
# core: ten times as much as with these settings. Runs have their own memory limits, and stay on their
# workers.
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
    # A task contains the trace from which its run resumes, which may be large.
    "distributed.admin.large-graph-warning-threshold": "1GiB",
}

# Dashboards require no certificate, so those of our own clusters listen on this machine only.
DASHBOARD = "127.0.0.1:0"
# Dask would print the scheduler's network address, on which this dashboard does not listen.
LINK_TO_DASHBOARD = {"distributed.dashboard.link": "{scheme}://127.0.0.1:{port}/status"}


_TLS = ("tls://", "wss://")


@dataclass(frozen=True, slots=True)
class WorkerList:
    """The available workers, by their addresses."""

    worker_dirs: dict[str, str]  # of every worker; identifies it across restarts, which may reuse an address
    rooms: dict[str, Capacity]  # the capacity that each usable worker offers to runs
    unusable: dict[str, str]  # why the other workers can't be used


class Link:
    """A client of the cluster; `ours` is the cluster if we started it, and must end it."""

    def __init__(self, cluster: Cluster, ours: Any = None) -> None:
        self._cluster, self._ours = cluster, ours
        self._connect()

    @property
    def address(self) -> str:
        return str(self._cluster.scheduler or self._ours.scheduler_address)

    @property
    def has_tls(self) -> bool:
        """Whether the scheduler accepts only clients with a certificate."""
        scheduler = self.client.scheduler
        return scheduler is not None and str(scheduler.address).startswith(_TLS)

    def _connect(self) -> None:
        from distributed import Client

        where: dict[str, Any] = {"address": self._ours or self._cluster.scheduler}
        if self._ours is None and not _is_address(str(self._cluster.scheduler)):
            where = {"scheduler_file": str(self._cluster.scheduler)}
        self.client = Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)
        self._connection = self.client.scheduler_comm

    @property
    def is_up(self) -> bool:
        """Whether the connection works. False also if the client reconnected by itself, because it then gets
        no messages.
        """
        return self.client.status == "running" and self.client.scheduler_comm is self._connection

    def set_up(self, receive: Callable[[Message], None]) -> None:
        """From now on, `receive` gets every message, and every worker offers its capacity to runs."""
        client = self.client

        def register() -> None:
            with suppress(Exception):  # the scheduler may be lost, or a worker may be ending
                client.register_plugin(worker.plugin())
            receive({"kind": "joined"})

        client.subscribe_topic(worker.TOPIC, lambda event: receive(event[1]))
        # `register_plugin` waits for every worker, and one may hang, so it is called in a separate thread.
        threading.Thread(target=register, daemon=True).start()

    def workers(self) -> WorkerList | None:
        """The available workers; None if the scheduler is lost."""
        if not self.is_up:
            return None
        workers = WorkerList({}, {}, {})
        for address, about in self.client.scheduler_info(n_workers=-1)["workers"].items():
            workers.worker_dirs[address] = about["local_directory"]
            offer, metrics = about["resources"], about["metrics"]
            if worker.THREADS in offer:
                workers.rooms[address] = Capacity(int(offer[worker.THREADS]), int(offer[worker.MEMORY]))
            elif worker.UNUSABLE in metrics:
                workers.unusable[address] = metrics[worker.UNUSABLE]
        return workers

    def reconnect(self) -> bool:
        """Whether a scheduler is available again, at the same address or at that of a new scheduler file."""
        self._close_client()
        try:
            self._connect()
        except (OSError, ValueError, KeyError):
            return False
        return True

    def refill(self) -> None:
        """Replaces the jobs of a batch system that ended; does nothing for other clusters."""
        if self._cluster.kind in BATCH_SYSTEMS:
            self._ours.scale(jobs=self._cluster.workers or 1)

    def close(self) -> None:
        self._close_client()
        if self._ours is not None:
            self._ours.close()

    def _close_client(self) -> None:
        with suppress(Exception):  # the scheduler may be lost
            self.client.close(timeout=2)


def need_packages(cluster: Cluster) -> None:
    """Raises an error that names what to install, if a package is missing."""
    packages = ["distributed"]
    packages += ["dask_jobqueue"] if cluster.kind in BATCH_SYSTEMS else []
    packages += ["cryptography"] if cluster.kind != "join" else []  # it makes the certificates
    for package in packages:
        if find_spec(package) is None:
            raise MissingPackageError("--engine dask", package, install_command("cluster"))


@contextmanager
def linked(cluster: Cluster, threads: int) -> Iterator[Link]:
    """A link to the cluster. A cluster that is started here gets workers with `threads`, and ends with the
    link.
    """
    need_packages(cluster)
    import dask
    import distributed  # noqa: F401  it sets up its logging when it is first imported

    # The driver reports the important messages of Dask's logs to the user, in one line each.
    for name in ("distributed", "distributed.client", "distributed.scheduler", "distributed.nanny"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    settings = {**FRUGAL, **(LINK_TO_DASHBOARD if _has_own_dashboard(cluster) else {})}
    with dask.config.set(settings), _certificates(cluster) as security:
        link = _join(cluster) if cluster.kind == "join" else _start(cluster, threads, security)
        try:
            yield link
        finally:
            link.close()


@contextmanager
def _certificates(cluster: Cluster) -> Iterator[Security | None]:
    """The certificates of a cluster that we start; None for a cluster that we join.

    Those of a batch system's workers are files, which only this user can read.
    """
    from distributed.security import Security

    if cluster.kind not in BATCH_SYSTEMS:
        yield None if cluster.kind == "join" else Security.temporary()
        return
    shared = Path(_option(cluster, "shared_temp_directory", ".")).expanduser().absolute()
    try:
        folder = TemporaryDirectory(prefix=".cfo-bench-keys-", dir=shared)
    except OSError as error:
        raise UserError(
            f"the keys of the workers can't be written to {shared} ({error.strerror}): name a folder that "
            "all nodes see by --cluster-option shared_temp_directory=…"
        ) from None
    security = Security.temporary()
    with folder as keys:
        for name in ("tls_ca_file", "tls_worker_cert", "tls_worker_key"):
            path = Path(keys) / f"{name}.pem"
            path.touch(mode=0o600)
            path.write_text(getattr(security, name))
            setattr(security, name, str(path))
        yield security


def _join(cluster: Cluster) -> Link:
    where = cluster.scheduler
    if where is None:
        raise UserError("a cluster to join needs the address of its scheduler: give --scheduler")
    if not _is_address(where) and not Path(where).is_file():
        raise UserError(
            f"--scheduler {where!r} is neither an address such as tcp://host:8786 nor a scheduler file"
        )
    try:
        _check_certificate(where if _is_address(where) else json.loads(Path(where).read_text())["address"])
        return Link(cluster)
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise UserError(
            f"no Dask scheduler answers at {where} ({why}): start one with `dask scheduler`, "
            "or check the address"
        ) from None


def _check_certificate(address: str) -> None:
    """Check the certificate here: Dask would read it while it connects, and print a stack trace."""
    from distributed.security import Security

    if address.startswith(_TLS) and Security().get_connection_args("client")["ssl_context"] is None:
        raise UserError(
            f"the scheduler at {address} accepts only clients with a certificate: name yours in "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and …__CLIENT__KEY (see docs/cluster.md)"
        )


def _start(cluster: Cluster, threads: int, security: Security | None) -> Link:
    # The driver ends the workers, and the terminal's Ctrl-C must not. The thread that starts workers, now or
    # later, inherits the blocked signals, and so do the workers.
    with signals_blocked(*STOP_SIGNALS):
        if cluster.kind == "local":
            from distributed import LocalCluster

            workers = cluster.workers or max(machine.cores() // threads, 1)
            ours = LocalCluster(
                n_workers=workers,
                threads_per_worker=threads,
                memory_limit=machine.total_memory_mb() * 2**20 // workers,
                host="127.0.0.1",
                security=security,
                dashboard_address=DASHBOARD,
                silence_logs=logging.CRITICAL,
            )
        else:
            ours = _batch_system(cluster, security)
        try:
            link = Link(cluster, ours)
            link.refill()
        except BaseException:
            ours.close()
            raise
    return link


def _batch_system(cluster: Cluster, security: Security | None) -> Any:
    name = BATCH_SYSTEMS[cluster.kind]
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    import dask_jobqueue
    from distributed.utils import get_ip

    signal.signal(signal.SIGINT, on_ctrl_c)  # its import makes Ctrl-C exit immediately, with code 0
    exports = [f"export {_variable(key)}={value}" for key, value in FRUGAL.items()]
    # Without a requested interface, the scheduler listens at the address where the nodes find this machine.
    where = {} if _option(cluster, "interface", None) else {"host": get_ip()}
    options = {
        "processes": 1,
        **cluster.options,
        "security": security,
        "scheduler_options": {
            "dashboard_address": DASHBOARD,
            **where,
            **_option(cluster, "scheduler_options", {}),
        },
        "worker_extra_args": [
            *("--no-dashboard", "--dashboard-address", DASHBOARD),
            *_option(cluster, "worker_extra_args", []),
        ],
        "job_script_prologue": [*exports, *cluster.options.get("job_script_prologue", [])],
    }
    try:
        return getattr(dask_jobqueue, name)(**options)
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise UserError(
            f"dask-jobqueue can't start workers by {cluster.kind!r} with the options {dict(cluster.options)} "
            f"({why}): give the options that it asks for with --cluster-option"
        ) from None


def _option(cluster: Cluster, key: str, default: Any) -> Any:
    """An option of a batch system, from the user's suite or from the settings of dask-jobqueue."""
    import dask

    given = cluster.options.get(key)
    return given or dask.config.get(f"jobqueue.{cluster.kind}.{key.replace('_', '-')}", None) or default


def _has_own_dashboard(cluster: Cluster) -> bool:
    options = cluster.options.get("scheduler_options") or {}
    return cluster.kind != "join" and "dashboard_address" not in options


def _variable(key: str) -> str:
    """The environment variable from which Dask reads a key of its configuration."""
    return "DASK_" + key.upper().replace(".", "__").replace("-", "_")


def _is_address(scheduler: str) -> bool:
    return "://" in scheduler
