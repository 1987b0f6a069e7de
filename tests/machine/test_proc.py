"""What /proc tells of a process: whether it is stopped, and how long it ran or waited."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from cfo_bench.machine import processes


def test_a_stopped_process_is_told_from_a_sleeping_one() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert not processes.is_stopped(processes.process_stat(process.pid))
        process.send_signal(signal.SIGSTOP)
        while not processes.is_stopped(processes.process_stat(process.pid)):
            time.sleep(0.005)
        process.kill()
    assert processes.process_stat(process.pid) == [] and not processes.is_stopped([])


def test_a_process_that_works_has_run_for_that_long() -> None:
    before, waited = processes.seconds_run(processes.process_stat(os.getpid())), processes.seconds_waited()
    began = time.process_time()
    while time.process_time() < began + 0.2:
        pass
    assert 0.15 < processes.seconds_run(processes.process_stat(os.getpid())) - before < 1.0
    assert processes.seconds_waited() >= waited
