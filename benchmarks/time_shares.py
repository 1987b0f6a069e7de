"""What share of a run's time is spent neither in the method nor in training and validation?

    python benchmarks/time_shares.py [SECONDS]          on a clock of processor seconds
    python benchmarks/time_shares.py [SECONDS] --wall   as users run it, also two trials at once

Every method is run for SECONDS (6) on two small tasks. On the wall clock, a process that waits for a
processor between two trials waits at the harness's expense: on a busy machine that was up to 8 %. So the
shares are judged on a clock that counts the processor seconds of the run's process, which other work on the
machine does not move. Exits with 1 when more than 1 % of any run is nobody's there, or when the harness,
which is our own work around trials, takes more than 1 % of all runs together. Its share of a single run is
not judged: it is 0.2 ms a trial on a busy machine, up to 2 % of trials as short as those on iris.
With --wall, what the end says was cut off is printed too, and nothing is judged.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean

from benchmarks.figures import figure
from cfo_bench.clock import WallClock, process_seconds
from cfo_bench.records import DataRef, RunSpec
from cfo_bench.results.folder import run_files
from cfo_bench.results.run import Run, read_run, read_runs
from cfo_bench.results.trace import TraceWriter, path_of
from cfo_bench.run import runner
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage
from cfo_bench.run.process import Output

METHODS = ("cfo", "rs", "smac", "gpei", "gpeips", "bohb")
TASKS = ("iris", "breast_cancer")
# Those that can ask for a second trial before they are told of the first.
PARALLEL = ("cfo", "rs", "smac", "bohb")
MOST_SHARE = 0.01  # nobody's, of any run; and the harness's, of all runs together


class ProcessorClock(WallClock):
    """Seconds that this process was on a processor."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self.zero = process_seconds() - elapsed
        self.latest = elapsed

    def now(self) -> float:
        self.latest = now = process_seconds() - self.zero
        return now

    def rewind(self, moment: float) -> None:
        self.zero = process_seconds() - moment
        self.latest = moment


def run_here(folder: Path, task: str, method: str, seconds: float) -> None:
    """One run in this process, without a supervisor, on the clock of processor seconds."""
    runner.WallClock = ProcessorClock  # type: ignore[misc]
    spec = RunSpec("xgboost", task, method, 0, budget_seconds=seconds)
    path = path_of(folder, spec)
    page = LivePage.own(folder / "page.live")
    with TraceWriter(path) as writer:
        output = Output(writer, page)
        for record in runner.run(Job(spec, DataRef(task, "bundled"), path), None, page):
            output.write(record)
    page.close(remove=True)


def on_processor_clock(seconds: float) -> tuple[float, float]:
    """What is nobody's in the worst run, and the harness's share of all runs.

    Every run has a process of its own, as it has with users.
    """
    nobodys, harness = [], []
    for task in TASKS:
        for method in METHODS:
            with tempfile.TemporaryDirectory() as folder:
                process = get_context("spawn").Process(
                    target=run_here, args=(Path(folder), task, method, seconds)
                )
                process.start()
                process.join()
                finished = read_run(next(Path(folder).rglob("*.jsonl")))
            assert finished is not None
            shares = show(finished)
            nobodys.append(shares["idle"])
            harness.append(shares["harness"])
    return max(nobodys), fmean(harness)  # all runs have the same budget


def on_wall_clock(seconds: float) -> None:
    for parallel, methods in ((1, METHODS), (2, PARALLEL)):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "cfo_bench", "run", "-q", "--folds", "0", "--jobs", "1"]
            command += [word for name in TASKS for word in ("--task", name)]
            command += [word for name in methods for word in ("--method", name)]
            command += ["--budget", f"{seconds}", "--parallel", f"{parallel}", "--results", folder]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for run in read_runs(run_files(Path(folder)).traces):
                assert run.end is not None
                show(run, f"{run.end.cut_ask_seconds:9.2f}{run.end.cut_tell_seconds:9.2f}")


def show(run: Run, cut: str = "") -> dict[str, float]:
    """Prints a run's shares, and returns them."""
    whole = sum(run.spent.values())
    shares = {kind: seconds / whole for kind, seconds in run.spent.items()}
    numbers = "".join(f"{share:10.2%}" for share in shares.values())
    print(f"{run.task:16}{run.method:8}{run.spec.parallel:8}{run.n_trials:8}{numbers}{cut}", flush=True)
    return shares


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=6.0, help="the budget of a run")
    parser.add_argument("--wall", action="store_true", help="on the wall clock, as users run it")
    given = parser.parse_args()
    head = f"{'task':16}{'method':8}{'at once':>8}{'trials':>8}{'method':>10}{'fit':>10}{'validate':>10}"
    print(f"{head}{'harness':>10}{'nobody':>10}" + f"{'cut ask':>9}{'tell s':>9}" * given.wall)
    if given.wall:
        on_wall_clock(given.seconds)
        return 0
    nobodys, harness = on_processor_clock(given.seconds)
    most = 100 * MOST_SHARE
    kept = [
        figure("unattributed share of the worst run", 100 * nobodys, "%", at_most=most),
        figure("share of the harness, all runs together", 100 * harness, "%", at_most=most),
    ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
