"""How much of a core does the driver use while eight runs with trials of 1 ms are running?

    python benchmarks/many_jobs.py

Counted is the driver's own processor time, from the first trial of the last run to a second before the
end, once with plain lines and once with the view that a terminal gets. A trial sleeps, so that eight
of them are at it at once on a machine with fewer cores. Exits with 1 when the share is above its bound.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.figures import figure
from cfo_bench.clock import Deadline
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.records import Fold, Problem, Result, Trial
from cfo_bench.space import Config, Space

JOBS, SECONDS, MOST_PERCENT = 8, 12.0, 5.0


class Naps:
    """In the shape of XGBoost; every trial sleeps for a millisecond."""

    problems = tuple(Problem)
    cost_related = ("n_estimators",)
    virtual = False

    def space(self, n_rows: int) -> Space:
        return boosting_space(n_rows)

    def start(self, space: Space) -> Config:
        return boosting_start()

    def prepare(self, fold: Fold, threads: int, seed: int) -> Naps:
        return self

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        began = deadline.now()
        time.sleep(0.001)
        return Result.ok(1 / (1 + trial.config["n_estimators"]), deadline.now() - began)

    def test_loss(self) -> float:
        raise NotImplementedError


def measure(is_terminal: bool) -> tuple[float, float, int]:
    """Processor seconds of the driver, the seconds that these were counted in, and the trials of the runs."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = pty.openpty() if is_terminal else os.pipe()
        driver = subprocess.Popen(command(Path(folder)), stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        threading.Thread(target=drain, args=(ours,), daemon=True).start()
        while len(started := traces(Path(folder))) < JOBS:
            assert driver.poll() is None, "the runs have ended before they were counted"
            time.sleep(0.05)
        began, before = time.monotonic(), processor_seconds(driver.pid)
        time.sleep(SECONDS - 2.0)
        ended, after = time.monotonic(), processor_seconds(driver.pid)
        assert driver.poll() is None, "the runs have ended while they were counted"
        assert driver.wait() == 0
        trials = sum(path.read_bytes().count(b'{"kind":"trial"') for path in started)
    return after - before, ended - began, trials


def command(folder: Path) -> list[str]:
    words = [sys.executable, "-m", "cfo_bench", "run", "--task", "synthetic-30k", "--method", "rs"]
    words += ["--learner", f"{Path(__file__).resolve()}:Naps", "--folds", f"0-{JOBS - 1}"]
    words += ["--budget", f"{SECONDS:g}", "--jobs", f"{JOBS}", "--oversubscribe", "--results", str(folder)]
    return words


def traces(folder: Path) -> list[Path]:
    """Those with a first trial."""
    return [path for path in folder.rglob("*.jsonl") if path.read_bytes().count(b"\n") > 1]


def drain(fd: int) -> None:
    try:
        while os.read(fd, 65536):
            pass
    except OSError:  # the other side of a terminal was closed
        pass


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    good = True
    for name, is_terminal in (("plain lines", False), ("a terminal's view", True)):
        spent, seconds, trials = measure(is_terminal)
        good &= figure(f"driver, {name}: share of a core", 100 * spent / seconds, "%", at_most=MOST_PERCENT)
        figure(f"driver, {name}: trials per second, all runs together", trials / SECONDS)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
