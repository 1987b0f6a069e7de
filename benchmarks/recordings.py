"""Processor time of runs on recordings.

    python benchmarks/recordings.py [--yahpo DIR] [--method NAME …] [--charge-method]

- the harness's own microseconds a trial on a table: a run of random search, less what its method and its
  look-ups take by themselves
- 1,000 runs of a virtual hour with cfo and rs on tables: from 80 of them
- the suite paper-yahpo with cfo, rs, tpe and flaml-cfo, or with the methods named: from one fold of the tasks
  below, where there is a copy of YAHPO's data
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.figures import figure
from cfo_bench.clock import Deadline, VirtualClock, process_seconds
from cfo_bench.engines.suite_runs import run_suite
from cfo_bench.learners.recorded import HPOBenchMLP
from cfo_bench.machine.fork_server import running_server
from cfo_bench.optimizers import METHODS
from cfo_bench.recordings import yahpo_folder
from cfo_bench.records import RunSpec
from cfo_bench.results.folder import page_path
from cfo_bench.results.trace import TraceWriter
from cfo_bench.run import runner
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage
from cfo_bench.run.process import Output
from cfo_bench.suite.model import Suite
from cfo_bench.tasks import resolve

TRIALS = 5_000
RUNS = 1_000
TABLE_TASKS = ["hpobench:*"]
# Of the 30 tasks: cheap and dear ones, two classes and many.
YAHPO_TASKS = ["yahpo:31", "yahpo:1489", "yahpo:40984", "yahpo:1590", "yahpo:41027", "yahpo:23512"]
YAHPO_METHODS = ["cfo", "rs", "tpe", "flaml-cfo"]
LEARNER_OPTIONS = {"booster": "gbtree", "num_impute_selected_cpo": "impute.median"}  # as in the suite
N_PAPER_TASKS, N_SEEDS = 30, 10
CLOCK_TICKS = 100.0
MOST_HARNESS_US, MOST_TABLES_MINUTES, MOST_YAHPO_MINUTES = 60.0, 3.0, 60.0  # most of it is Optuna's TPE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--yahpo", default=yahpo_folder.find(), help="a copy of YAHPO's data")
    parser.add_argument("--method", action="append", help="a method to price instead of those four")
    parser.add_argument("--charge-method", action="store_true", help="its own seconds are on the clock, too")
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # a suite, in a process of its own
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(cpu_seconds(Suite(**json.loads(asked.measure)))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        harness = min(harness_us(Path(folder) / str(i)) for i in range(3))
        good = figure("harness, per trial on a table", harness, "µs", at_most=MOST_HARNESS_US)
        seconds, runs, trials = measured(
            learners="hpobench-mlp", tasks=TABLE_TASKS, methods=["cfo", "rs"], results=f"{folder}/tables"
        )
        print(f"tables: {runs} runs of 1 h, {trials} trials: {seconds / runs * 1e3:.0f} ms of CPU a run")
        minutes = RUNS * seconds / runs / 2 / 60
        good &= figure(f"{RUNS:,} runs on tables, 2 cores", minutes, "min", at_most=MOST_TABLES_MINUTES)
        if asked.yahpo is None:
            return 0 if good else 1
        total = 0.0
        methods = asked.method or YAHPO_METHODS
        for method in methods:
            seconds, runs, trials = measured(
                learners=[{"yahpo:rbv2_xgboost": LEARNER_OPTIONS}],
                tasks=YAHPO_TASKS,
                methods=[method],
                folds="0",
                yahpo=str(asked.yahpo),
                charge_method=asked.charge_method,
                results=f"{folder}/{method}",
            )
            share = N_PAPER_TASKS * N_SEEDS * seconds / runs
            total += share
            print(
                f"paper-yahpo, {method}: {runs} runs, {trials} trials: {seconds / runs:.2f} s of the "
                f"processor a run; {N_PAPER_TASKS * N_SEEDS} runs on 2 cores: {share / 2 / 60:.1f} min"
            )
        most = None if asked.method else MOST_YAHPO_MINUTES  # it is that of the four
        what = f"paper-yahpo with {', '.join(methods)}, 2 cores"
        good &= figure(what, total / 2 / 60, "min", at_most=most)
    return 0 if good else 1


def measured(**suite: Any) -> tuple[float, int, int]:
    """In a process of its own, as a command would be: it starts the server that runs are forked from."""
    asked = json.dumps({**suite, "budget_seconds": "1h", "jobs": 2})
    answer = subprocess.run(
        [sys.executable, __file__, "--measure", asked], capture_output=True, text=True, check=True
    )
    seconds, runs, trials = json.loads(answer.stdout)
    return seconds, runs, trials


def harness_us(folder: Path) -> float:
    """The processor's seconds of a whole run, trace and all, less those of its method and its look-ups."""
    folder.mkdir()
    spec = RunSpec(
        "hpobench-mlp",
        "hpobench:vehicle",
        "rs",
        0,
        n_folds=5,
        budget_seconds=1e9,
        max_trials=TRIALS,
        clock="virtual",
        options=METHODS.options("rs", {}),
    )
    learner, ref = HPOBenchMLP(), resolve(spec.task)
    fold = learner.recorded(ref).fold(0)
    job = Job(spec, ref, folder / "trace.jsonl")
    page = LivePage.own(page_path(job.trace_path))
    began = process_seconds()
    with TraceWriter(job.trace_path) as writer:
        output = Output(writer, page)
        for record in runner.run(job, None, page):
            output.write(record)
        writer.sync()
    whole = process_seconds() - began
    page.close()
    space = learner.space(fold.n_rows)
    method = METHODS.load("rs")(space, learner.start(space), 0)
    objective = learner.prepare(fold, 1, 0)
    deadline = Deadline(VirtualClock())
    began = process_seconds()
    for _ in range(TRIALS):
        trial = method.ask()
        method.tell(trial, objective.evaluate(trial, deadline))
    return (whole - (process_seconds() - began)) / TRIALS * 1e6


def cpu_seconds(suite: Suite) -> tuple[float, int, int]:
    """Of this process, the server that runs are forked from, and all runs; the numbers of runs and trials."""
    outcome = run_suite(suite)
    assert not outcome.failures, outcome.failures[0]
    seconds = process_seconds() + server_seconds()
    return seconds, len(outcome.verdicts), sum(one.end.trials for one in outcome.verdicts if one.end)


def server_seconds() -> float:
    fields = Path(f"/proc/{running_server()}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / CLOCK_TICKS


if __name__ == "__main__":
    sys.exit(main())
