"""A real Dask scheduler, workers and driver, each a process of its own, and a look at what is left."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.bench import FAULTY, Bench, Process
from tests.helpers.processes import wait_until

PATIENCE_SECONDS = 90.0


@dataclass
class Cluster(Bench):
    """A scheduler, workers and drivers, each a process of its own whose output goes to a file."""

    port: int = 0

    @property
    def learner(self) -> str:
        return FAULTY

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, *words: object, before: Sequence[str] = (), **environment: str) -> Process:
        """Python with these words; `before` it goes what starts it."""
        with self._output_of(len(self.started)).open("w") as output:
            return self.python(*words, before=before, output=output, **environment)

    def _output_of(self, number: int) -> Path:
        return self.folder / f"process-{number}.txt"

    def output(self, process: Process) -> str:
        """What it has printed so far."""
        return self._output_of(self.started.index(process)).read_text()

    def free_port(self) -> int:
        return free_port()

    def scheduler(self, *more: object) -> Process:
        words = ["--host", "127.0.0.1", "--port", self.port, "--dashboard-address", "127.0.0.1:0", *more]
        process = self.start("-m", "distributed.cli.dask_scheduler", *words)
        wait_until(lambda: is_listening(self.port), "the scheduler", PATIENCE_SECONDS)
        return process

    def worker(self, *words: object, **how: Any) -> Process:
        """A worker of one thread without a nanny, so that it is dead when it was killed."""
        known = ["--nthreads", 1, "--memory-limit", "2GB", "--local-directory", self.folder / "scratch"]
        given = words or ("--no-nanny",)
        return self.start(
            "-m", "distributed.cli.dask_worker", self.address, *known, "--no-dashboard", *given, **how
        )

    def driver(self, *words: object, scheduler: str | None = None, prelude: str | None = None) -> Process:
        """`cfo-bench run … --scheduler …`; `prelude` is code that runs in it first."""
        how = ["-m", "cfo_bench"]
        if prelude is not None:
            how = ["-c", f"{prelude}\nfrom cfo_bench.cli.main import main; main()"]
        return self.start(*how, "run", *words, "--scheduler", scheduler or self.address)

    def real(self, folds: str, trials: int, seconds: float = 0.05) -> list[object]:
        """The words for runs of so many trials that take real seconds."""
        words = ["--task", "synthetic-1k", "--learner", FAULTY, "--method", "cfo"]
        limits = ["--budget", 100, "--max-trials", trials, "--learner-option", f"seconds={seconds}"]
        return [*words, "--folds", folds, *limits]

    def virtual(self, folds: str, trials: int) -> list[object]:
        words = ["--task", "synthetic-30k", "--learner", "synthetic", "--method", "cfo", "--folds", folds]
        return [*words, "--clock", "virtual", "--budget", "1e9", "--max-trials", trials]

    def trials(self) -> int:
        return len(self.trial_lines())

    def bytes_of(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.traces()}

    def wait_for_trials(self, n: int, process: Process) -> None:
        """That many in all traces; not for a driver that has ended."""
        wait_until(lambda: self.trials() >= n or process.poll() is not None, f"{n} trials", PATIENCE_SECONDS)
        assert process.poll() is None, self.output(process)

    def finish(self, process: Process, seconds: float = PATIENCE_SECONDS) -> tuple[int, str]:
        """The exit code, and what was printed."""
        return process.wait(timeout=seconds), self.output(process)

    def assert_whole(self, n_runs: int, n_trials: int) -> None:
        """Every run is there to its end, its trials without a gap, its clock never set back."""
        found = self.read()
        assert len(found) == n_runs
        for one in found:
            assert one.end is not None and one.end.reason == "max_trials"
            assert [trial.number for trial in one.trials] == list(range(n_trials))
            moments = [moment for trial in one.trials for moment in (trial.started, trial.ended)]
            assert moments == sorted(moments)
        assert self.left_beside_traces() == []


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Cluster]:
    bench = Cluster(tmp_path, port=free_port())
    yield bench
    bench.clean_up()


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and one worker, for the tests of a module that do them no harm."""
    standing = Cluster(tmp_path_factory.mktemp("standing"), port=free_port())
    standing.scheduler()
    standing.worker()
    yield standing
    standing.clean_up()


@pytest.fixture
def joined(bench: Cluster, standing: Cluster) -> Cluster:
    """Drivers join the standing cluster."""
    bench.port = standing.port
    return bench
