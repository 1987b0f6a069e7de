"""Workers, the scheduler and the driver, killed in the middle of runs: what arrived stays."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2] / "plugins"


def is_prefix(before: dict, after: dict) -> bool:
    """Every line that was there is there still."""
    return all(after[path].startswith(lines) for path, lines in before.items())


def test_killed_workers_lose_no_trial_that_had_arrived(bench):
    """Three workers, one killed after the other at random moments, and new ones in their places."""
    bench.scheduler()
    workers = [bench.worker() for _ in range(2)]
    driver = bench.driver(*bench.real("0-3", 60))
    rng = random.Random(3)
    killed = 0
    for _ in range(3):
        bench.wait_for_trials(bench.trials() + rng.randrange(5, 25), driver)
        time.sleep(rng.random() * 0.5)
        before = bench.bytes_of()
        os.killpg(workers.pop(0).pid, signal.SIGKILL)
        killed += 1
        workers.append(bench.worker())
        assert is_prefix(before, bench.bytes_of())
    code, out = bench.finish(driver)
    assert code == 0, out
    assert out.count("left the cluster: tried again") == killed
    bench.assert_whole(4, 60)
    assert is_prefix(before, bench.bytes_of())
    assert sum(lines.count(b'"kind":"resume"') for lines in bench.bytes_of().values()) >= 1


def test_no_run_outlives_its_worker(bench):
    bench.scheduler()
    worker = bench.worker()
    driver = bench.driver(*bench.real("0", 1000))
    bench.wait_for_trials(3, driver)
    [run] = bench.run_processes()
    os.kill(worker.pid, signal.SIGKILL)  # it alone, not its group
    bench.wait_until(lambda: run not in bench.processes(), "the end of the run's process", seconds=10)
    assert not [line for line in bench.processes().values() if "forkserver" in line and "dask_worker" in line]


@pytest.mark.slow
def test_a_killed_scheduler_is_waited_for_and_the_runs_go_on(bench):
    scheduler = bench.scheduler()
    workers = [bench.worker()]
    driver = bench.driver(*bench.real("0-1", 60))
    bench.wait_for_trials(20, driver)
    before = bench.bytes_of()
    os.killpg(scheduler.pid, signal.SIGKILL)
    bench.wait_until(lambda: not bench.run_processes(), "the end of the runs without a scheduler", seconds=20)
    for worker in workers:
        bench.wait_until(lambda one=worker: one.poll() is not None, "the end of the workers")
    bench.scheduler()
    bench.worker()
    code, out = bench.finish(driver)
    assert code == 0, out
    assert "is lost" in out
    bench.assert_whole(2, 60)
    assert is_prefix(before, bench.bytes_of())


CUT = """
import pathlib, threading, time

def cut():
    while not pathlib.Path("cut").exists():
        time.sleep(0.02)
    from distributed import Client
    [client] = Client._instances
    client.loop.add_callback(client.scheduler_comm.comm.abort)

threading.Thread(target=cut, daemon=True).start()
"""


TWICE = """
from cfo_bench.engines.dask.clusters import Link

set_up = Link.set_up
Link.set_up = lambda self, receive: set_up(self, lambda message: (receive(message), receive(message)))
"""


@pytest.mark.slow
def test_messages_that_arrive_twice_change_nothing(bench):
    bench.scheduler()
    bench.worker()
    code, out = bench.finish(bench.driver(*bench.real("0-1", 20), prelude=TWICE))
    assert code == 0 and "tried again" not in out, out
    bench.assert_whole(2, 20)


@pytest.mark.slow
def test_a_connection_that_breaks_is_made_again_and_the_runs_go_on(bench):
    """The scheduler and the worker stay: Dask's client would connect again, and hear of nothing."""
    bench.scheduler()
    bench.worker()
    driver = bench.driver(*bench.real("0-1", 40), prelude=CUT)
    bench.wait_for_trials(10, driver)
    before = bench.bytes_of()
    (bench.folder / "cut").touch()
    code, out = bench.finish(driver)
    assert code == 0, out
    assert "is lost" in out
    bench.assert_whole(2, 40)
    assert is_prefix(before, bench.bytes_of())


@pytest.mark.slow
def test_a_scheduler_that_moved_is_found_by_its_file(bench):
    file = ("--scheduler-file", "scheduler.json")
    scheduler = bench.scheduler(*file)
    bench.worker()
    driver = bench.driver(*bench.real("0", 40), scheduler="scheduler.json")
    bench.wait_for_trials(10, driver)
    before = bench.bytes_of()
    os.killpg(scheduler.pid, signal.SIGKILL)
    bench.port = bench.free_port()
    bench.scheduler(*file)
    bench.worker()
    code, out = bench.finish(driver)
    assert code == 0, out
    assert out.count("Dask scheduler at scheduler.json, dashboard at") == 2
    bench.assert_whole(1, 40)
    assert is_prefix(before, bench.bytes_of())


@pytest.mark.slow
def test_a_killed_driver_leaves_no_run_behind_and_the_same_command_goes_on(bench):
    bench.scheduler()
    bench.worker()
    words = bench.real("0-1", 40)
    for trials in (10, 50):
        driver = bench.driver(*words)
        bench.wait_for_trials(trials, driver)
        before = bench.bytes_of()
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        bench.wait_until(
            lambda: not bench.run_processes(), "the end of runs that nobody waits for", seconds=10
        )
        assert is_prefix(before, bench.bytes_of())
    code, out = bench.finish(bench.driver(*words))
    assert code == 0, out
    bench.assert_whole(2, 40)
    assert is_prefix(before, bench.bytes_of())


@pytest.mark.slow
def test_ctrl_c_ends_every_run_as_interrupted_and_the_same_command_goes_on(bench):
    bench.scheduler()
    bench.worker()
    words = bench.real("0-1", 20)
    driver = bench.driver(*words)
    bench.wait_for_trials(8, driver)
    os.killpg(driver.pid, signal.SIGINT)
    code, out = bench.finish(driver)
    assert code == 130, out
    assert "run the same command to resume" in out and "Traceback" not in out
    [begun] = bench.read()
    assert begun.end is not None and begun.end.reason == "interrupted"
    assert not bench.run_processes()
    before = bench.bytes_of()
    code, out = bench.finish(bench.driver(*words))
    assert code == 0, out
    bench.assert_whole(2, 20)
    assert is_prefix(before, bench.bytes_of())


@pytest.mark.slow
def test_ctrl_c_ends_a_run_as_interrupted_that_has_lost_its_worker(bench):
    bench.scheduler()
    worker = bench.worker()
    driver = bench.driver(*bench.real("0", 1000))
    bench.wait_for_trials(3, driver)
    os.killpg(worker.pid, signal.SIGKILL)
    bench.wait_until(lambda: "left the cluster: tried again" in bench.output(driver), "the driver to notice")
    os.killpg(driver.pid, signal.SIGINT)
    code, out = bench.finish(driver)
    assert code == 130, out
    [cut] = bench.read()
    assert cut.end is not None and cut.end.reason == "interrupted"


@pytest.mark.slow
def test_a_worker_that_comes_back_at_the_same_address_goes_on_with_what_has_arrived(bench):
    bench.scheduler()
    port = bench.free_port()
    bench.worker("--nanny", "--worker-port", port)
    driver = bench.driver(*bench.real("0", 60))
    bench.wait_for_trials(10, driver)
    before = bench.bytes_of()
    [worker] = [pid for pid, line in bench.processes().items() if "multiprocessing.spawn" in line]
    os.kill(worker, signal.SIGKILL)
    code, out = bench.finish(driver)
    assert code == 0, out
    assert f"worker tcp://127.0.0.1:{port} left the cluster: tried again" in out
    bench.assert_whole(1, 60)
    assert is_prefix(before, bench.bytes_of())


@pytest.mark.slow
def test_a_worker_that_falls_silent_is_given_up_on_and_what_it_says_later_is_not_heard(bench):
    bench.scheduler()
    silent = bench.worker()
    prelude = "from cfo_bench.engines.dask import attempt; attempt.SILENT_SECONDS = 3"
    driver = bench.driver(*bench.real("0", 60), prelude=prelude)
    bench.wait_for_trials(5, driver)
    os.killpg(silent.pid, signal.SIGSTOP)  # and with it the run
    bench.wait_until(lambda: " sent nothing for " in bench.output(driver), "the driver to notice")
    bench.worker()
    bench.wait_for_trials(bench.trials() + 10, driver)
    os.killpg(silent.pid, signal.SIGCONT)
    code, out = bench.finish(driver)
    assert code == 0, out
    bench.assert_whole(1, 60)
    bench.wait_until(lambda: not bench.run_processes(), "the end of the run that nobody wants", seconds=10)


@pytest.mark.slow
def test_a_run_that_kills_every_worker_is_given_up_on_and_the_others_are_done(bench):
    (bench.folder / "deadly.py").write_text(
        f"import os, pathlib, signal, sys\n"
        f"sys.path.insert(0, {str(PLUGINS)!r})\n"
        f"from learners import Faulty\n"
        f"class Deadly(Faulty):\n"
        f"    def evaluate(self, trial, deadline):\n"
        f"        server = pathlib.Path(f'/proc/{{os.getppid()}}/stat').read_text()\n"
        f"        os.kill(int(server.rpartition(')')[2].split()[1]), signal.SIGKILL)\n"
        f"        signal.pause()\n"
    )
    bench.scheduler()
    bench.worker("--nanny")
    words = bench.real("0", 5)
    words[words.index("--learner") + 1] = f"{bench.folder / 'deadly.py'}:Deadly"
    driver = bench.driver(*words, prelude="from cfo_bench.engines.dask import driver; driver.TRIES = 2")
    code, out = bench.finish(driver)
    assert code == 1 and "given up after 2 tries" in out, out
    assert bench.finish(bench.driver(*bench.real("0", 5)))[0] == 0


@pytest.mark.slow
def test_a_scheduler_that_never_comes_back_ends_the_command_and_the_same_one_goes_on(bench):
    scheduler = bench.scheduler()
    bench.worker()
    words = bench.real("0", 30)
    prelude = "from cfo_bench.engines.dask import driver; driver.RECONNECT_SECONDS = 1"
    driver = bench.driver(*words, prelude=prelude)
    bench.wait_for_trials(5, driver)
    os.killpg(scheduler.pid, signal.SIGKILL)
    code, out = bench.finish(driver)
    assert code == 1 and "then run the same command to resume" in out and "Traceback" not in out, out
    [cut] = bench.read()
    assert cut.end is not None and cut.end.reason == "interrupted"
    bench.scheduler()
    bench.worker()
    code, out = bench.finish(bench.driver(*words))
    assert code == 0, out
    bench.assert_whole(1, 30)


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_at_once(bench):
    bench.scheduler()
    worker = bench.worker()
    driver = bench.driver(*bench.real("0", 1000))
    bench.wait_for_trials(3, driver)
    os.killpg(worker.pid, signal.SIGSTOP)  # it won't answer the first one
    os.killpg(driver.pid, signal.SIGINT)
    time.sleep(0.5)
    os.killpg(driver.pid, signal.SIGINT)
    assert bench.finish(driver, seconds=5)[0] == 130
    os.killpg(worker.pid, signal.SIGCONT)
    bench.wait_until(lambda: not bench.run_processes(), "the end of the run that nobody wants", seconds=20)


@pytest.mark.slow
def test_one_ctrl_c_is_enough_where_a_worker_does_not_answer(bench):
    bench.scheduler()
    worker = bench.worker()
    driver = bench.driver(*bench.real("0", 1000))
    bench.wait_for_trials(3, driver)
    os.killpg(worker.pid, signal.SIGSTOP)
    os.killpg(driver.pid, signal.SIGINT)
    code, out = bench.finish(driver, seconds=30)
    assert code == 130, out
    [cut] = bench.read()
    assert cut.end is not None and cut.end.reason == "interrupted"


@pytest.mark.slow
def test_virtual_traces_after_kills_are_those_of_the_local_engine(bench):
    words = bench.virtual("0-1", 20_000)
    local = bench.start("-m", "cfo_bench", "run", *words, "--results", "local")
    assert bench.finish(local)[0] == 0
    bench.scheduler()
    worker = bench.worker()
    driver = bench.driver(*words)
    rng = random.Random(5)
    kills = 0
    while kills < 3:
        grown = bench.trials() + rng.randrange(500, 4000)
        bench.wait_for_trials(grown, driver)
        before = bench.bytes_of()
        os.killpg(worker.pid, signal.SIGKILL)
        kills += 1
        worker = bench.worker()
    code, out = bench.finish(driver)
    assert code == 0, out
    assert is_prefix(before, bench.bytes_of())
    resumed = 0
    for path in bench.traces():
        lines = path.read_bytes().splitlines()[1:]
        there = (bench.folder / "local" / path.relative_to(bench.results)).read_bytes().splitlines()[1:]
        assert [line for line in lines if b'"kind":"resume"' not in line] == there
        resumed += len(lines) - len(there)
    assert resumed == kills
