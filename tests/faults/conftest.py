"""Real `cfo-bench run` commands, each in a process group of its own, and a look at what they leave behind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cfo_bench.results.run import Run
from tests.helpers.bench import FAULTY, PLUGINS, Bench, Process

PATIENCE_SECONDS = 60.0

Command = list[str]


class Commands(Bench):
    """`cfo-bench run` in a folder of its own; `results` is where it writes unless told otherwise."""

    def start(self, *words: object) -> Process:
        return self.python("-m", "cfo_bench", "run", *words, output=subprocess.PIPE)

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        return finish(self.start(*words))

    def trace_path(self) -> Path:
        [path] = self.traces()
        return path

    def trace(self) -> Run:
        [found] = self.read()
        return found

    def wait_for_trials(self, n: int) -> None:
        self.wait_until(lambda: len(self.trial_lines()) >= n, f"{n} trials in the trace")

    def assert_nothing_is_left(self) -> None:
        """No process, and beside the traces no page of memory and no log."""
        self.assert_no_process_is_left()
        assert self.left_beside_traces() == []


def finish(process: Process) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Commands]:
    bench = Commands(tmp_path)
    yield bench
    bench.clean_up()


@pytest.fixture
def faulty() -> Callable[..., Command]:
    """The words for one run of the learner `Faulty` on fold 0 of a synthetic task."""

    def words(fault: str = "none", *, budget: float, method: str = "rs", **options: object) -> Command:
        command = ["--task", "synthetic-1k", "--learner", FAULTY]
        command += ["--method", method, "--budget", f"{budget:g}", "--folds", "0", "-q"]
        for key, value in {"fault": fault, **options}.items():
            command += ["--learner-option", f"{key}={value}"]
        return command

    return words


@pytest.fixture
def methods() -> Callable[[str], str]:
    """The name of a method of tests/plugins/methods.py."""
    return lambda name: f"{PLUGINS / 'methods.py'}:{name}"
