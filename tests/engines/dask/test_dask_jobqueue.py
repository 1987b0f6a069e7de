"""A batch system by dask-jobqueue: its real classes, on a Slurm of a few lines that starts jobs here."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

SBATCH = """#!/bin/sh
cp "$1" "$1.job"
setsid sh "$1.job" > "$1.out" 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill -s TERM -- -"$1"
"""


def slurm(folder: Path) -> dict[str, str]:
    """An environment that has the commands of Slurm."""
    commands = folder / "slurm"
    commands.mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL}.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    return {"PATH": f"{commands}:{os.environ['PATH']}", "TMPDIR": str(folder)}


def on_slurm(workers: int) -> list[object]:
    words = ["--cluster", "slurm", "--workers", workers]
    return words + [
        word for key in ("cores=1", "memory=1GB", "interface=lo") for word in ("--cluster-option", key)
    ]


@pytest.mark.slow
def test_workers_of_a_batch_system_do_the_runs_and_end_with_the_driver(bench):
    words = [*bench.real("0-3", 20), *on_slurm(2)]
    code, out = bench.finish(bench.start("-m", "cfo_bench", "run", *words, **slurm(bench.folder)))
    assert code == 0, out
    bench.assert_whole(4, 20)
    bench.assert_no_process_is_left()


@pytest.mark.slow
def test_ctrl_c_cancels_the_jobs(bench):
    words = [*bench.real("0", 1000), *on_slurm(1)]
    driver = bench.start("-m", "cfo_bench", "run", *words, **slurm(bench.folder))
    bench.wait_for_trials(3, driver)
    os.killpg(driver.pid, signal.SIGINT)
    code, out = bench.finish(driver)
    assert code == 130, out
    assert [trace.end.reason for trace in bench.read()] == ["interrupted"]
    bench.assert_no_process_is_left()


def test_what_the_batch_system_lacks_is_told_in_one_line(bench):
    words = [*bench.real("0", 5), "--cluster", "slurm", "--workers", 1]
    code, out = bench.finish(bench.start("-m", "cfo_bench", "run", *words))
    assert code == 2 and "cores" in out and "Traceback" not in out, out
