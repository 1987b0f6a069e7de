"""Real `cfo-bench` commands in processes of their own, and a look at what they leave behind."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson

from tests.fuzz.worker import obey_permissions
from tests.helpers.bench import FAULTY, Bench, Process
from tests.helpers.bench import PLUGINS as PLUGINS
from tests.helpers.processes import wait_until as wait_until
from tests.helpers.program import ROOT as ROOT
from tests.helpers.program import clean_environment

PATIENCE_SECONDS = 100.0
# No command of a test needs more; one that asks for all there is must not take the machine with it.
MEMORY_BYTES = 8 * 2**30

Completed = subprocess.CompletedProcess[str]


class Commands(Bench):
    """Starts `cfo-bench` commands as a user without special rights, with a limit on their memory."""

    def start(self, *words: object, **environment: str) -> Process:
        """`cfo-bench …` at the head of a new process group, as a shell starts it."""
        shared = {name: os.environ[name] for name in ("CFO_BENCH_CACHE",) if name in os.environ}
        process = subprocess.Popen(
            [sys.executable, "-m", "cfo_bench", *map(str, words)],
            cwd=self.folder,
            env=clean_environment(**shared, CFO_BENCH_MARK=self.mark, **environment),
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
        [path] = self.traces()
        return path

    def rows(self, kind: str = "trial") -> list[dict[str, Any]]:
        """The whole lines of this kind, of all traces."""
        return [row for row in map(orjson.loads, self.lines()) if row["kind"] == kind]

    def wait_for_trials(self, n: int) -> None:
        self.wait_until(lambda: len(self.rows()) >= n, f"{n} trials in the trace")


def _before() -> None:
    obey_permissions()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


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
    command = ["run", "--task", "synthetic-1k", "--learner", FAULTY]
    command += ["--method", method, "--budget", f"{budget:g}", "--folds", "0", "-q"]
    for key, value in {"fault": fault, **options}.items():
        command += ["--learner-option", f"{key}={value}"]
    return command
