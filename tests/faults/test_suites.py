"""Suites on the virtual clock, killed as a whole at random moments."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

SUITE = ["--learner", "synthetic", "--clock", "virtual", "--budget", "1e9", "--max-trials", "200", "-q"]
SUITE += ["--task", "synthetic-1k", "--task", "synthetic-1m", "--seed", "0", "--seed", "7", "--folds", "0-2"]
SUITE += ["--method", "cfo", "--method", "cfo-0", "--method", "rs"]


def bodies(folder: Path) -> dict[str, list[bytes]]:
    """The trials and the end of each trace: all but the headers and the `resume` lines."""
    return {
        path.relative_to(folder).as_posix(): [
            line
            for line in path.read_bytes().splitlines()
            if line.startswith((b'{"kind":"trial', b'{"kind":"end'))
        ]
        for path in folder.rglob("*.jsonl")
    }


@pytest.mark.slow
def test_a_suite_that_was_killed_often_ends_as_one_that_never_was(bench):
    assert bench.run(*SUITE, "--jobs", 1, "--results", "whole").returncode == 0
    whole = bodies(bench.folder / "whole")
    assert len(whole) == 36 and all(len(lines) == 201 for lines in whole.values())

    rng = random.Random(3)
    for wanted in (5, 14, 22):
        running = bench.start(*SUITE, "--jobs", 2)
        bench.wait_until(lambda n=wanted: len(bench.traces()) >= n, f"{wanted} traces")
        time.sleep(rng.random() * 0.1)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
    result = bench.run(*SUITE, "--jobs", 2)

    assert result.returncode == 0, result.stderr
    assert bodies(bench.results) == whole
    bench.assert_nothing_is_left()
