"""Runs on a real cluster that nobody harms: what comes of them, and what is said of those that can't be."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cfo_bench.results.run import read_run

ROOT = Path(__file__).parents[3]


def records(path: Path) -> list[bytes]:
    """The lines of a trace but for its header, and for those that say that it was taken up again."""
    return [line for line in path.read_bytes().splitlines()[1:] if b'"kind":"resume"' not in line]


def test_the_traces_are_those_of_the_local_engine(joined):
    words = joined.virtual("0-4", 300)
    local = joined.start("-m", "cfo_bench", "run", *words, "--results", "local")
    assert joined.finish(local)[0] == 0
    code, out = joined.finish(joined.driver(*words))
    assert code == 0, out
    assert f"Dask scheduler at {joined.address}, dashboard at http://127.0.0.1:" in out
    joined.assert_whole(5, 300)
    for path in joined.traces():
        assert records(path) == records(joined.folder / "local" / path.relative_to(joined.results))
    code, out = joined.finish(joined.driver(*words))
    assert code == 0 and out.count("already done") == 5


def test_a_method_in_a_program_of_its_own_runs_on_a_worker(joined, standing):
    program = [sys.executable, "-S", str(ROOT / "examples" / "hill_climb.py")]
    words = ["--task", "synthetic-1k", "--learner", "synthetic-5d", "--folds", "0-1", "--clock", "virtual"]
    words += ["--method", f"exec:{shlex.join(program)}", "--budget", "1e6", "--max-trials", 40]
    local = joined.start("-m", "cfo_bench", "run", *words, "--results", "local")
    assert joined.finish(local)[0] == 0

    code, out = joined.finish(joined.driver(*words))

    assert code == 0, out
    joined.assert_whole(2, 40)
    for path in joined.traces():
        assert path.parent.name == "hill_climb"
        assert records(path) == records(joined.folder / "local" / path.relative_to(joined.results))
    assert not [one for one in standing.processes().values() if "hill_climb" in one]  # on the worker


@pytest.mark.slow
def test_a_longer_budget_takes_up_the_runs_on_a_worker_too(joined):
    words = joined.virtual("0", 100_000)
    for budget in (60, 600):
        code, out = joined.finish(joined.driver(*words, "--budget", budget))
        assert code == 0, out
    assert "its budget of 60 s was over" in out
    local = joined.start("-m", "cfo_bench", "run", *words, "--budget", 600, "--results", "local")
    assert joined.finish(local)[0] == 0
    [grown] = joined.read()
    [path] = joined.traces()
    whole = read_run(joined.folder / "local" / path.relative_to(joined.results))
    assert whole is not None and grown.trials == whole.trials
    assert grown.end.elapsed == whole.end.elapsed == 600
    assert path.read_bytes().count(b'"kind":"resume"') == 1


@pytest.mark.slow
def test_a_cluster_of_our_own_is_stopped_by_ctrl_c_and_leaves_nothing_behind(bench):
    words = [*bench.real("0-1", 20), "--engine", "dask", "--workers", 2]
    driver = bench.start("-m", "cfo_bench", "run", *words)
    bench.wait_for_trials(6, driver)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does it: the workers get it too
    code, out = bench.finish(driver)
    assert code == 130 and "Traceback" not in out, out
    bench.assert_no_process_is_left()
    assert {one.end.reason for one in bench.read()} == {"interrupted"}
    code, out = bench.finish(bench.start("-m", "cfo_bench", "run", *words))
    assert code == 0, out
    bench.assert_whole(2, 20)
    bench.assert_no_process_is_left()


@pytest.mark.slow
def test_a_killed_driver_takes_its_own_cluster_along(bench):
    driver = bench.start("-m", "cfo_bench", "run", *bench.real("0", 1000), "--engine", "dask")
    bench.wait_for_trials(3, driver)
    os.kill(driver.pid, signal.SIGKILL)
    bench.assert_no_process_is_left()


@pytest.mark.slow
def test_the_header_is_of_the_worker_and_the_command_of_the_user(joined):
    (joined.folder / "mine.csv").write_text("x,y\n" + "".join(f"{i % 7},{i % 3 * 1.5}\n" for i in range(60)))
    words = ["--data", "mine.csv", "--target", "y", "--problem", "regression", "--learner", joined.learner]
    words += ["--method", "rs", "--budget", 20, "--max-trials", 2]
    code, out = joined.finish(joined.driver(*words, "--folds", 0))
    assert code == 0, out
    [run] = joined.read()
    assert f"--data {joined.folder / 'mine.csv'} " in run.header.command
    assert run.spec.memory_mb == 2000 * 10**6 // 2**20 * 9 // 10
    assert run.nodes[0] == os.uname().nodename


@pytest.mark.slow
def test_a_run_that_fits_on_no_worker_says_so(joined):
    code, out = joined.finish(joined.driver(*joined.real("0", 5), "--threads", 3))
    assert code == 2
    assert "it needs 3 cores and 1716 MB, and the largest worker has 1 core and 1716 MB" in out


@pytest.mark.slow
def test_a_worker_of_another_version_or_without_cfo_bench_is_named_and_not_used(bench):
    without, older = bench.folder / "without", bench.folder / "older"
    (without / "cfo_bench").mkdir(parents=True)
    (without / "cfo_bench" / "__init__.py").write_text("__version__ = '0'\n")
    older.mkdir()
    (older / "sitecustomize.py").write_text("import cfo_bench\ncfo_bench.__version__ = '0'\n")
    bench.scheduler()
    bench.worker("--no-nanny", PYTHONPATH=str(without))
    bench.worker("--no-nanny", PYTHONPATH=f"{older}:{ROOT}")
    driver = bench.driver(*bench.real("0", 5))
    for told in ("can't import cfo-bench", "has cfo-bench 0: install cfo-bench"):
        bench.wait_until(lambda told=told: told in bench.output(driver), "a message on the worker")
    assert driver.poll() is None
    bench.worker()  # a good one joins later
    code, out = bench.finish(driver)
    assert code == 0 and out.count("until then it is not used") == 2, out


@pytest.mark.slow
def test_two_drivers_share_a_cluster_and_a_results_folder(joined, standing):
    """Each run is done once, and the worker's one thread is never taken by two."""
    drivers = [joined.driver(*joined.real("0-3", 15)) for _ in range(2)]
    most = 0
    while any(driver.poll() is None for driver in drivers):
        most = max(most, len(standing.run_processes()))
    assert [joined.finish(driver)[0] for driver in drivers] == [0, 0], joined.output(drivers[0])
    assert most == 1
    joined.assert_whole(4, 15)
    assert not any(b'"kind":"resume"' in lines for lines in joined.bytes_of().values())


def test_a_failure_of_the_run_itself_is_final_and_its_log_comes_home(joined):
    words = [*joined.real("0", 9), "--learner-option", "fault=exits", "--learner-option", "at=-1"]
    method = Path(__file__).parents[2] / "plugins" / "methods.py"
    words[words.index("cfo")] = f"{method}:DiesInAsk"
    code, out = joined.finish(joined.driver(*words))
    assert code == 1 and "died outside of a trial: killed by SIGSEGV" in out, out
    assert "tried again" not in out
    assert str(joined.folder / "scratch") not in out


@pytest.mark.slow
def test_nobody_at_the_address_is_told_in_one_line(bench):
    code, out = bench.finish(bench.driver(*bench.real("0", 5)))
    assert code == 2
    assert f"no Dask scheduler answers at {bench.address}" in out and "Traceback" not in out


def test_without_dask_the_extra_is_named(bench):
    """A Python that can't import distributed: it is hidden by a finder that knows nothing."""
    hide = "import sys; sys.modules['distributed'] = None; sys.modules['dask'] = None\n"
    code = hide + (
        "from cfo_bench.engines.dask.clusters import linked\n"
        "from cfo_bench.suite.model import Cluster\n"
        "with linked(Cluster(), 1): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'cfo-bench[cluster]'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_waiting_for_workers_is_said_and_ended_by_ctrl_c(bench):
    bench.scheduler()
    driver = bench.driver(*bench.real("0", 5))
    bench.wait_until(lambda: "no worker has joined" in bench.output(driver), "a word on the waiting")
    os.killpg(driver.pid, signal.SIGINT)
    code, out = bench.finish(driver)
    assert code == 130, out
    assert bench.read() == []
