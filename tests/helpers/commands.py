"""Real `cfo-bench` commands in processes of their own, and a look at what they leave behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tests.fuzz.worker import obey_permissions

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "tests" / "plugins"
PATIENCE_SECONDS = 100.0
# No command of a test needs more; one that asks for all there is must not take the machine with it.
MEMORY_BYTES = 8 * 2**30

Completed = subprocess.CompletedProcess[str]


@dataclass
class Commands:
    """Starts commands in `folder`; everything that they start bears their mark."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def start(self, *words: object, **environment: str) -> subprocess.Popen[str]:
        """`cfo-bench …` at the head of a new process group, as a shell starts it."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CFO_BENCH", "_CFO_BENCH")) or name == "CFO_BENCH_CACHE"
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "cfo_bench", *map(str, words)],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": str(ROOT), "CFO_BENCH_MARK": self.mark, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            start_new_session=True,
            preexec_fn=_before,
        )
        self.started.append(process)
        return process

    def __call__(self, *words: object, seconds: float = PATIENCE_SECONDS, **environment: str) -> Completed:
        """A command from start to end, which has to come within so many seconds."""
        process = self.start(*words, **environment)
        out, err = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def trace_path(self) -> Path:
        [path] = self.results.rglob("*.jsonl")
        return path

    def rows(self, kind: str = "trial") -> list[dict[str, Any]]:
        """The whole lines of this kind, of all traces."""
        lines = [
            line for path in self.results.rglob("*.jsonl") for line in path.read_bytes().split(b"\n")[:-1]
        ]
        return [row for row in map(orjson.loads, lines) if row["kind"] == kind]

    def wait_for_trials(self, n: int) -> None:
        wait_until(lambda: len(self.rows()) >= n, f"{n} trials in the trace")

    def processes(self) -> dict[int, str]:
        """Every living process that bears the mark: its id and command line."""
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

    def clean_up(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


def _before() -> None:
    obey_permissions()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def wait_until(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, f"waited {seconds} s for {what}"
        time.sleep(0.01)


def one_line(result: Completed, exit_code: int, *words: str) -> None:
    """The command refused in one line on stderr, with this exit code and these words."""
    assert "Traceback" not in result.stderr and "unexpected" not in result.stderr, result.stderr[-2000:]
    assert result.returncode == exit_code, result.stderr[-2000:]
    assert result.stderr.count("\n") == 1, result.stderr[-2000:]
    for word in words:
        assert word in result.stderr


def no_stack_trace(result: Completed, *exit_codes: int) -> None:
    assert "Traceback" not in result.stderr and "unexpected" not in result.stderr, result.stderr[-2000:]
    assert result.returncode in exit_codes, result.stderr[-2000:]


def virtual(
    *, folds: str = "0", trials: int = 5, method: str = "rs", task: str = "synthetic-1k"
) -> list[str]:
    """The words of a run that takes no time."""
    line = f"run --task {task} --learner synthetic --clock virtual --budget 60 --max-trials {trials}"
    return [*line.split(), "--method", method, "--folds", folds, "-q"]


def faulty(fault: str = "none", *, budget: float, method: str = "rs", **options: object) -> list[str]:
    """The words of a run of the learner `Faulty`, on the wall clock."""
    command = ["run", "--task", "synthetic-1k", "--learner", f"{PLUGINS / 'learners.py'}:Faulty"]
    command += ["--method", method, "--budget", f"{budget:g}", "--folds", "0", "-q"]
    for key, value in {"fault": fault, **options}.items():
        command += ["--learner-option", f"{key}={value}"]
    return command
