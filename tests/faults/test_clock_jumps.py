"""The date of the machine jumps while a run runs: its clock goes on as before."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.bench import Process

LIBRARIES = sorted(Path("/usr/lib").glob("**/faketime/libfaketimeMT.so.1"))

pytestmark = pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not installed (Debian: libfaketime)")


def jump(offset: Path, text: str) -> None:
    """All at once: a process may read the file at any moment."""
    new = offset.with_suffix(".new")
    new.write_text(f"{text}\n")
    new.rename(offset)


def started(bench, offset: Path, *words: object) -> Process:
    """The date moves, as when an administrator sets it; the monotonic clock does not, as on Linux."""
    return bench.python(
        *("-m", "cfo_bench", "run", *words),
        output=subprocess.PIPE,
        LD_PRELOAD=str(LIBRARIES[0]),
        FAKETIME_TIMESTAMP_FILE=str(offset),
        FAKETIME_NO_CACHE="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
        DONT_FAKE_MONOTONIC="1",
    )


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_date_that_jumps_neither_shortens_nor_lengthens_a_run(bench, faulty, parallel: int):
    offset = bench.folder / "offset"
    jump(offset, "+0")
    began = time.monotonic()
    words = [*faulty(budget=6, seconds=0.05, at=-1), "--parallel", parallel]
    process = started(bench, offset, *words)
    for days in ("+3d", "-400d", "+0"):
        bench.wait_for_trials(len(bench.trial_lines()) + 8)
        jump(offset, days)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    run = bench.trace()
    assert run.end.reason == "budget" and run.end.elapsed < time.monotonic() - began
    assert run.end.pauses == ()
    assert all(0 <= trial.started <= trial.ended <= run.end.elapsed for trial in run.trials)
    bench.assert_nothing_is_left()


def test_a_run_that_is_resumed_at_an_earlier_date_continues_its_clock(bench, faulty):
    offset = bench.folder / "offset"
    jump(offset, "+0")
    words = [*faulty(budget=60, seconds=0.05, at=-1), "--max-trials", 60]
    process = started(bench, offset, *words)
    bench.wait_for_trials(10)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    jump(offset, "-400d")
    process = started(bench, offset, *words)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    run = bench.trace()
    assert [trial.number for trial in run.trials] == list(range(60))
    assert all(first.ended <= second.started for first, second in pairwise(run.trials))
