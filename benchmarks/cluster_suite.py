"""Time of a suite of 60 short runs on a Dask cluster of two workers on this machine.

    python benchmarks/cluster_suite.py

Each run does 5 trials on the virtual clock, so that what is measured is the engine: starting the cluster,
handing out runs, and receiving what they send. Prints the seconds of the whole command, and the
processor seconds of all its processes, which depend less on what else the machine does.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import figure

RUNS, WORKERS = 60, 2


def command(folder: Path) -> list[str]:
    words = [sys.executable, "-m", "cfo_bench", "run", "--task", "synthetic-30k", "--learner", "synthetic"]
    words += ["--method", "rs", "--folds", "all", "--n-folds", str(RUNS)]
    words += ["--clock", "virtual", "--budget", "1e9", "--max-trials", "5"]
    return [*words, "--engine", "dask", "--workers", str(WORKERS), "--results", str(folder)]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = subprocess.run(command(Path(folder)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        seconds = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        finished = sum(b'"kind":"end"' in path.read_bytes() for path in Path(folder).rglob("*.jsonl"))
    if done.returncode or finished != RUNS:
        sys.stderr.buffer.write(done.stderr)
        return 1
    spent = used.ru_utime + used.ru_stime
    figure(f"{RUNS} short runs on {WORKERS} workers", seconds, "s")
    figure("processor time of all its processes", spent, "s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
