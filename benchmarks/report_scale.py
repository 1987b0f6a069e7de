"""Time and memory of a report: the first time, and again after one trace has changed.

    python benchmarks/report_scale.py          a tenth of the paper's size
    python benchmarks/report_scale.py --full   45 tasks × 10 folds × 7 methods × 2,000 trials: 4 GB of traces

The made-up traces are written to a temporary folder, or with --folder to one that is kept and used again.
The limits are for two cores that do nothing else. CPU seconds are those of all processes: with other work on
the machine, look at these. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import figure

ROOT = Path(__file__).resolve().parents[1]
FULL_COLD_SECONDS, COLD_SECONDS, CHANGED_SECONDS, MEMORY_MB = 25.0, 10.0, 10.0, 1000.0


def report(results: Path, out: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds of all processes, and the MB of the largest process of one report."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # As for most users: Python keeps what it has compiled.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "cfo_bench", "report", str(results), "-o", str(out)],
        check=True,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - began
    while True:  # until the last of the processes that draw has ended
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, after.ru_maxrss / 1024


def change_one_trace(results: Path) -> None:
    """The loss of its last trial becomes ten times lower, or is again what it was."""
    path = next(results.rglob("task-*/rs/fold-0_seed-0.jsonl"))
    head, mark, tail = path.read_bytes().rpartition(b'"loss":0.')
    path.write_bytes(head + mark + (tail[1:] if tail.startswith(b"0") else b"0" + tail))


def adopt_grandchildren() -> None:
    """Processes that a report leaves to end by themselves become our children, so that their CPU counts."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def main() -> None:
    adopt_grandchildren()
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="the paper's size")
    parser.add_argument("--folder", type=Path, help="where the traces are, or are written and kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        results = given.folder or Path(temporary, "results")
        if not results.exists():
            size = [] if given.full else ["--tasks", "15", "--folds", "5", "--trials", "1200"]
            script = ROOT / "scripts" / "make_paper_scale.py"
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, str(script), str(results), *size], check=True, env=environment)
        out = Path(temporary, "report")
        print(f"{'':22}{'wall s':>8}{'CPU s':>8}{'MB':>8}")
        cold = report(results, out)
        print(f"{'from cold':22}{cold[0]:8.1f}{cold[1]:8.1f}{cold[2]:8.0f}")
        again = report(results, out)
        print(f"{'nothing changed':22}{again[0]:8.1f}{again[1]:8.1f}")
        change_one_trace(results)
        changed = report(results, out)
        print(f"{'one trace changed':22}{changed[0]:8.1f}{changed[1]:8.1f}")
    size = "the paper's size" if given.full else "a tenth of the paper's size"
    most = FULL_COLD_SECONDS if given.full else COLD_SECONDS
    good = figure(f"first report of {size}", cold[0], "s", at_most=most)
    good &= figure("its memory", cold[2], "MB", at_most=MEMORY_MB)
    good &= figure("after one trace has changed", changed[0], "s", at_most=CHANGED_SECONDS)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
