"""Runs on Dask workers that are stopped and continued: the pause is in the trace, whoever dies later."""

from __future__ import annotations

import os
import signal
import time

import pytest

PAUSE = 2.0


def pause(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(PAUSE)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["worker", "driver"])
def test_a_pause_is_recorded_though_its_worker_or_driver_dies_later(bench, who: str):
    bench.scheduler()
    worker = bench.worker()
    words = bench.real("0", 60)
    driver = bench.driver(*words)
    bench.wait_for_trials(5, driver)
    pause(bench.run_processes())
    bench.wait_for_trials(bench.trials() + 10, driver)
    os.killpg({"worker": worker, "driver": driver}[who].pid, signal.SIGKILL)
    if who == "worker":
        bench.worker()
    else:
        driver.wait()
        driver = bench.driver(*words)
    code, out = bench.finish(driver)
    assert code == 0, out
    bench.assert_whole(1, 60)
    [run] = bench.read()
    [found] = run.end.pauses
    assert 0.8 * PAUSE < found.seconds < PAUSE + 2
    assert run.end.elapsed < 100 and all(one.ended - one.started < PAUSE / 2 for one in run.trials)


@pytest.mark.slow
def test_a_worker_that_is_stopped_for_a_moment_charges_nothing(bench):
    bench.scheduler()
    bench.worker()
    driver = bench.driver(*bench.real("0", 40))
    bench.wait_for_trials(5, driver)
    # The worker, its fork server and the run: all that a batch system stops.
    pause([pid for pid, line in bench.processes().items() if "dask_worker" in line or "fork" in line])
    code, out = bench.finish(driver)
    assert code == 0, out
    bench.assert_whole(1, 40)
    [run] = bench.read()
    [found] = run.end.pauses
    assert 0.8 * PAUSE < found.seconds < PAUSE + 2
    assert all(one.ended - one.started < PAUSE / 2 for one in run.trials)
