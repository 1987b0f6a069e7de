"""Hundreds of runs of 200 trials on the virtual clock: their time, their memory, and whether kills change
the traces.

    python benchmarks/suite_scale.py       3 seeds: 378 runs
    python benchmarks/suite_scale.py 25    3,150 runs, as many as the paper has

The suite is run as it is; once more, to see how fast finished runs are recognised; and in another
folder where everything is killed at random moments and started again, which has to end with the same
traces, byte for byte but for headers and the lines that say where a run was taken up. Exits with 1 when a
limit is missed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import figure

METHODS = ("cfo", "cfo-0", "cfo-tuned", "flow2", "rs", "study")
TASKS = ("synthetic-1k", "synthetic-30k", "synthetic-1m")
FOLDS, SEEDS, TRIALS, JOBS, KILLS = 7, 3, 200, 2, 4
# The seconds are for 25 seeds; fewer get their share.
MOST_SECONDS, MOST_SECONDS_AGAIN, AT_SEEDS, MOST_MEMORY_MB = 600.0, 30.0, 25, 1024.0


def command(results: Path, seeds: int) -> list[str]:
    words = [sys.executable, "-m", "cfo_bench", "run", "-q", "--learner", "synthetic", "--clock", "virtual"]
    words += [word for name in TASKS for word in ("--task", name)]
    words += [word for name in METHODS for word in ("--method", name)]
    words += [word for seed in range(seeds) for word in ("--seed", f"{seed}")]
    words += ["--folds", f"0-{FOLDS - 1}", "--budget", "1e9", "--max-trials", f"{TRIALS}"]
    return [*words, "--jobs", f"{JOBS}", "--results", str(results)]


def run(results: Path, seeds: int) -> tuple[float, float]:
    """Its seconds, and the most memory that the driver held, in MB."""
    began = time.monotonic()
    driver = subprocess.Popen(command(results, seeds), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(driver.pid, 0)
    driver.returncode = os.waitstatus_to_exitcode(status)
    assert driver.returncode == 0, f"exit code {driver.returncode}"
    return time.monotonic() - began, usage.ru_maxrss / 1024


def run_killed_at_random(results: Path, seeds: int, seconds: float) -> int:
    """How often the whole group was killed before the suite was done, in a run that takes `seconds` alone."""
    draw = random.Random(seeds)
    for kill in range(KILLS):
        driver = subprocess.Popen(command(results, seeds), stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            assert driver.wait(timeout=draw.uniform(0.2, 1.2) * seconds / KILLS) == 0
            return kill
        except subprocess.TimeoutExpired:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
    run(results, seeds)
    return KILLS


def bodies(results: Path) -> dict[str, list[bytes]]:
    """The trials and ends of each trace."""
    return {
        path.relative_to(results).as_posix(): [
            line
            for line in path.read_bytes().splitlines()
            if not line.startswith((b'{"kind":"run"', b'{"kind":"resume"'))
        ]
        for path in results.rglob("*.jsonl")
    }


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    runs = len(METHODS) * len(TASKS) * FOLDS * seeds
    part = seeds / AT_SEEDS
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder) / "whole", Path(folder) / "killed"
        seconds, memory = run(whole, seeds)
        good = figure(f"{runs:,} runs, {JOBS} at a time", seconds, "s", at_most=part * MOST_SECONDS)
        good &= figure("memory of the driver", memory, "MB", at_most=MOST_MEMORY_MB)
        again, _ = run(whole, seeds)
        good &= figure(
            "time to recognise all of them as finished", again, "s", at_most=part * MOST_SECONDS_AGAIN
        )
        kills = run_killed_at_random(killed, seeds, seconds)
        expected, found = bodies(whole), bodies(killed)
        differing = sum(found.get(name) != lines for name, lines in expected.items())
        torn = sum(b'{"kind":"resume"' in path.read_bytes() for path in killed.rglob("*.jsonl"))
        left = [path for path in killed.rglob("*") if path.suffix in (".live", ".log")]
        good &= found.keys() == expected.keys() and len(found) == runs and not left
        print(f"killed {kills} times: {len(found)} traces, {torn} of them taken up in the middle")
        good &= figure(f"traces that differ after {kills} kills", differing, at_most=0)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
