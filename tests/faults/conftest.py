"""Real `cfo-bench run` commands, each in a process group of its own, and a look at what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cfo_bench.results import trace
from cfo_bench.results.trace import Trace

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
        """Every living process of our commands, however it was started: pid and command line."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                if self.mark.encode() not in (entry / "environ").read_bytes():
                    continue
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:  # it ended while we looked
                continue
            if state != "Z":
                found[int(entry.name)] = command
        return found

    def run_processes(self) -> list[int]:
        """The runs' own processes: the children of a fork server, and theirs."""
        everything = self.processes()
        servers = {pid for pid, command in everything.items() if "multiprocessing.forkserver" in command}
        return [pid for pid in servers if parent_of(pid) in servers]

    def assert_nothing_is_left(self) -> None:
        """No process, and beside the traces no page of memory and no log."""
        self.assert_no_process_is_left()
        beside = [path.name for path in self.results.rglob("*") if path.suffix in (".live", ".log")]
        assert beside == []

    def assert_no_process_is_left(self) -> None:
        wait_until(lambda: not self.processes(), "the end of all processes", seconds=10)


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_until(
    condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS, tick: float = 0.01
) -> None:
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, f"waited {seconds} s for {what}"
        time.sleep(tick)


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


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
