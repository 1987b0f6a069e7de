"""Real `cfo-bench run` commands, each in a process group of its own, and a look at what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cfo_bench.results import trace
from cfo_bench.results.files import LOG_SUFFIX, PAGE_SUFFIX
from cfo_bench.results.trace import Trace
from tests.helpers.processes import processes_with, run_processes_with, wait_until

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "tests" / "plugins"
PATIENCE_SECONDS = 60.0

Command = list[str]


@dataclass
class Bench:
    """Starts commands in `folder`; `results` are where they write unless told otherwise."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def start(self, *words: object) -> subprocess.Popen[str]:
        """`cfo-bench run …` at the head of a new process group, as a shell starts it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "cfo_bench", "run", *map(str, words)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "CFO_BENCH_MARK": self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        return finish(self.start(*words))

    def traces(self) -> list[Path]:
        return sorted(self.results.rglob("*.jsonl"))

    def trace_path(self) -> Path:
        [path] = self.traces()
        return path

    def trace(self) -> Trace:
        found = trace.read(self.trace_path())
        assert found is not None
        return found

    def trial_lines(self) -> list[bytes]:
        return [line for line in self.lines() if line.startswith(b'{"kind":"trial"')]

    def lines(self) -> list[bytes]:
        """The whole lines of the trace; none before there is one."""
        return [line for path in self.traces() for line in path.read_bytes().split(b"\n")[:-1]]

    def wait_for_trials(self, n: int) -> None:
        wait_until(lambda: len(self.trial_lines()) >= n, f"{n} trials in the trace")

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        wait_until(condition, what)

    def processes(self) -> dict[int, str]:
        return processes_with(self.mark)

    def run_processes(self) -> list[int]:
        return run_processes_with(self.mark)

    def assert_nothing_is_left(self) -> None:
        """No process, and beside the traces no page of memory and no log."""
        self.assert_no_process_is_left()
        beside = [path.name for path in self.results.rglob("*") if path.suffix in (PAGE_SUFFIX, LOG_SUFFIX)]
        assert beside == []

    def assert_no_process_is_left(self) -> None:
        wait_until(lambda: not self.processes(), "the end of all processes", seconds=10)


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for process in bench.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    for pid in bench.processes():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def faulty() -> Callable[..., Command]:
    """The words for one run of the learner `Faulty` on fold 0 of a synthetic task."""

    def words(fault: str = "none", *, budget: float, method: str = "rs", **options: object) -> Command:
        command = ["--task", "synthetic-1k", "--learner", f"{PLUGINS / 'learners.py'}:Faulty"]
        command += ["--method", method, "--budget", f"{budget:g}", "--folds", "0", "-q"]
        for key, value in {"fault": fault, **options}.items():
            command += ["--learner-option", f"{key}={value}"]
        return command

    return words


@pytest.fixture
def methods() -> Callable[[str], str]:
    """The name of a method of tests/plugins/methods.py."""
    return lambda name: f"{PLUGINS / 'methods.py'}:{name}"
