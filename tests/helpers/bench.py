"""A folder with a results folder in it, and the processes that a test starts there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.results.folder import LOG_SUFFIX, PAGE_SUFFIX
from cfo_bench.results.run import Run, read_run
from tests.helpers.processes import processes_with, run_processes_with, wait_until
from tests.helpers.program import ROOT

PLUGINS = ROOT / "tests" / "plugins"
FAULTY = f"{PLUGINS / 'learners.py'}:Faulty"

Process = subprocess.Popen[str]


@dataclass
class Bench:
    """Every process that it starts, and every child of one, has its mark in the environment."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[Process] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def python(self, *words: object, before: Sequence[str] = (), output: Any, **environment: str) -> Process:
        """Python with these words, at the head of a new process group as a shell starts it."""
        process = subprocess.Popen(
            [*before, sys.executable, *map(str, words)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "CFO_BENCH_MARK": self.mark, **environment},
            stdout=output,
            stderr=output if output is subprocess.PIPE else subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def processes(self) -> dict[int, str]:
        return processes_with(self.mark)

    def run_processes(self) -> list[int]:
        return run_processes_with(self.mark)

    def wait_until(self, condition: Callable[[], object], what: str, seconds: float = 90.0) -> None:
        wait_until(condition, what, seconds)

    def traces(self) -> list[Path]:
        return sorted(self.results.rglob("*.jsonl"))

    def read(self) -> list[Run]:
        runs = [read_run(path, parse_trials=True) for path in self.traces()]
        return [run for run in runs if run is not None]

    def lines(self) -> list[bytes]:
        """The whole lines of all traces."""
        return [line for path in self.traces() for line in path.read_bytes().split(b"\n")[:-1]]

    def trial_lines(self) -> list[bytes]:
        return [line for line in self.lines() if line.startswith(b'{"kind":"trial"')]

    def left_beside_traces(self) -> list[str]:
        """Live pages and logs, which a run that has ended well removes."""
        return [path.name for path in self.results.rglob("*") if path.suffix in (PAGE_SUFFIX, LOG_SUFFIX)]

    def assert_no_process_is_left(self) -> None:
        wait_until(lambda: not self.processes(), "the end of all processes", seconds=20)

    def clean_up(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
