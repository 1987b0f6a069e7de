"""A real Dask scheduler, workers and driver, each a process of its own, and a look at what is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.results import trace
from cfo_bench.results.trace import Trace
from tests.helpers.processes import processes_with, run_processes_with, wait_until

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "tests" / "plugins"
PATIENCE_SECONDS = 90.0

Process = subprocess.Popen[bytes]


@dataclass
class Bench:
    """Everything that it starts bears its mark, and so do the children of that, however they are started."""

    folder: Path
    port: int
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[Process] = field(default_factory=list)

    @property
    def learner(self) -> str:
        return f"{PLUGINS / 'learners.py'}:Faulty"

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def start(self, *words: object, before: Sequence[str] = (), **environment: str) -> Process:
        """Python with these words, at the head of a new process group; `before` it goes what starts it."""
        with self._output_of(len(self.started)).open("w") as output:
            process = subprocess.Popen(
                [*before, sys.executable, *map(str, words)],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "CFO_BENCH_MARK": self.mark, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(process)
        return process

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
        words = [
            "--task",
            "synthetic-1k",
            "--learner",
            f"{PLUGINS / 'learners.py'}:Faulty",
            "--method",
            "cfo",
        ]
        limits = ["--budget", 100, "--max-trials", trials, "--learner-option", f"seconds={seconds}"]
        return [*words, "--folds", folds, *limits]

    def virtual(self, folds: str, trials: int) -> list[object]:
        words = ["--task", "synthetic-30k", "--learner", "synthetic", "--method", "cfo", "--folds", folds]
        return [*words, "--clock", "virtual", "--budget", "1e9", "--max-trials", trials]

    def traces(self) -> list[Path]:
        return sorted(self.results.rglob("*.jsonl"))

    def read(self) -> list[Trace]:
        found = [trace.read(path) for path in self.traces()]
        return [one for one in found if one is not None]

    def trials(self) -> int:
        return sum(lines.count(b'{"kind":"trial"') for lines in self.bytes_of().values())

    def bytes_of(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.traces()}

    def wait_for_trials(self, n: int, process: Process) -> None:
        """That many in all traces; not for a driver that has ended."""
        wait_until(lambda: self.trials() >= n or process.poll() is not None, f"{n} trials", PATIENCE_SECONDS)
        assert process.poll() is None, self.output(process)

    def processes(self) -> dict[int, str]:
        return processes_with(self.mark)

    def run_processes(self) -> list[int]:
        return run_processes_with(self.mark)

    def finish(self, process: Process, seconds: float = PATIENCE_SECONDS) -> tuple[int, str]:
        """The exit code, and what was printed."""
        return process.wait(timeout=seconds), self.output(process)

    def wait_until(
        self, condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS
    ) -> None:
        wait_until(condition, what, seconds)

    def assert_whole(self, n_runs: int, n_trials: int) -> None:
        """Every run is there to its end, its trials without a gap, its clock never set back."""
        found = self.read()
        assert len(found) == n_runs
        for one in found:
            assert one.end is not None and one.end.reason == "max_trials"
            assert [trial.number for trial in one.trials] == list(range(n_trials))
            moments = [moment for trial in one.trials for moment in (trial.started, trial.ended)]
            assert moments == sorted(moments)
        beside = [path.name for path in self.results.rglob("*") if path.suffix in (".live", ".log")]
        assert beside == []

    def assert_no_process_is_left(self) -> None:
        wait_until(lambda: not self.processes(), "the end of all processes", seconds=20)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def clearing_up(bench: Bench) -> Iterator[Bench]:
    try:
        yield bench
    finally:
        for process in bench.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pid in bench.processes():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with clearing_up(Bench(tmp_path, free_port())) as bench:
        yield bench


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A scheduler and one worker, for the tests of a module that do them no harm."""
    with clearing_up(Bench(tmp_path_factory.mktemp("standing"), free_port())) as standing:
        standing.scheduler()
        standing.worker()
        yield standing


@pytest.fixture
def joined(bench: Bench, standing: Bench) -> Bench:
    """Drivers join the standing cluster."""
    bench.port = standing.port
    return bench
