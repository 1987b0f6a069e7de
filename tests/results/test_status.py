"""What is done, running, waiting, failed, interrupted and missing, and how long it takes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import UserError
from cfo_bench.records import EndReason, RunSpec
from cfo_bench.results import status as plan
from cfo_bench.results.status import RunState, RunStatus, Watch, remaining, status
from tests.helpers.traces import BUDGET

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


@contextmanager
def held(page: Path) -> Iterator[None]:
    """The page of a run, locked as its supervisor does."""
    fd = os.open(page, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)


def one(found: list[RunStatus], method: str, fold: int) -> RunStatus:
    (run,) = [run for run in found if (run.method, run.fold) == (method, fold)]
    return run


def test_every_state_is_told_apart(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("t", "cfo", 1, TRIALS, reason=EndReason.ERROR)
    write_run("t", "cfo", 2, TRIALS, reason=EndReason.INTERRUPTED)
    write_run("t", "cfo", 3, TRIALS, reason=None)
    running = write_run("t", "cfo", 4, TRIALS, reason=None)
    write_run("t", "rs", 0, TRIALS, reason=EndReason.MAX_TRIALS)

    with held(running.with_suffix(".live")):
        runs = status(tmp_path / "results").runs

    progress = {(run.method, run.fold): run.progress for run in runs}
    assert progress == {
        ("cfo", 0): RunState.DONE,
        ("cfo", 1): RunState.FAILED,
        ("cfo", 2): RunState.INTERRUPTED,
        ("cfo", 3): RunState.INTERRUPTED,
        ("cfo", 4): RunState.RUNNING,
        ("rs", 0): RunState.DONE,
        **{("rs", fold): RunState.MISSING for fold in (1, 2, 3, 4)},
    }
    assert one(runs, "cfo", 1).reason == "it broke"
    running_elapsed = one(runs, "cfo", 4).elapsed
    assert running_elapsed is not None and 2.0 <= running_elapsed < 60.0
    assert one(runs, "cfo", 4).trials == 2


def test_a_page_that_nobody_holds_is_no_running_run(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)
    path.with_suffix(".live").touch()

    assert status(tmp_path / "results").runs[0].progress is RunState.INTERRUPTED


def test_a_run_that_is_still_loading_is_known_by_its_path(write_run: Any, tmp_path: Path) -> None:
    path = write_run("a task", "cfo", 3, TRIALS)
    path.unlink()

    with held(path.with_suffix(".live")):
        (run,) = status(tmp_path / "results").runs

    assert (run.learner, run.task, run.method, run.fold) == ("xgboost", "a task", "cfo", 3)
    assert run.progress is RunState.RUNNING and run.elapsed is None


def test_a_method_that_skipped_a_task_misses_its_folds(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("t", "rs", 0, TRIALS)
    write_run("u", "cfo", 0, TRIALS)

    missing = [run for run in status(tmp_path / "results").runs if run.progress is RunState.MISSING]

    assert [(run.task, run.method, run.fold) for run in missing] == [("u", "rs", 0)]


def test_a_torn_line_and_a_long_one_are_read_over(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)
    whole = path.read_bytes()
    long = whole.splitlines()[-1].replace(b'"error":null', b'"error":"%b"' % (b"x" * 300_000))
    path.write_bytes(
        whole
        + long.replace(b'"ended":2.0', b'"ended":7.5').replace(b'"number":1', b'"number":2')
        + b'\n{"kind":"tri'
    )

    assert status(tmp_path / "results").runs[0].elapsed == 7.5


def test_files_that_are_no_traces_are_told(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    (tmp_path / "results" / "notes.jsonl").write_text('{"todo": "buy milk"}\n')

    found = status(tmp_path / "results")

    assert len(found.runs) == 1
    assert "notes.jsonl" in found.unreadable[0] and len(found.unreadable) == 1


def test_an_empty_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no traces in"):
        status(tmp_path)


def test_what_was_asked_for_and_has_not_begun_is_waiting(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("t", "rs", 1, TRIALS)
    specs = [RunSpec("xgboost", "t", "cfo", fold, budget_seconds=BUDGET) for fold in range(3)]
    plan.record_plan(tmp_path / "results", specs)

    runs = status(tmp_path / "results").runs

    assert {(run.method, run.fold): run.progress for run in runs} == {
        ("cfo", 0): RunState.DONE,
        ("cfo", 1): RunState.WAITING,
        ("cfo", 2): RunState.WAITING,
        ("rs", 0): RunState.MISSING,
        ("rs", 1): RunState.DONE,
        ("rs", 2): RunState.MISSING,
    }


def test_a_run_that_failed_before_its_first_line_says_why(tmp_path: Path) -> None:
    plan.record_failure(tmp_path, RunSpec("xgboost", "t", "cfo", 0), "its data is gone")

    (run,) = status(tmp_path).runs

    assert (run.progress, run.reason) == (RunState.FAILED, "its data is gone")


def test_a_trace_that_is_being_written_is_of_a_running_run(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)

    with held(path):
        (run,) = status(tmp_path / "results").runs

    assert run.progress is RunState.RUNNING


def test_the_time_to_go_is_what_is_left_of_the_budgets_over_the_runs_at_once() -> None:
    def run(progress: RunState, elapsed: float | None, budget: float = 100.0) -> RunStatus:
        return RunStatus("l", "t", "m", 0, 0, progress, elapsed, budget, clock="wall")

    runs = [
        run(RunState.DONE, 100.0),
        run(RunState.FAILED, 10.0),
        run(RunState.RUNNING, 40.0),
        run(RunState.RUNNING, None),
        run(RunState.WAITING, None),
        run(RunState.INTERRUPTED, 80.0),
    ]

    assert remaining(runs).budget_seconds == 60 + 100 + 100 + 20
    assert remaining(runs).eta_seconds == 280 / 2
    # However many are at it, a run takes its budget.
    assert remaining([*runs, run(RunState.WAITING, None, 1000.0)]).eta_seconds == 1000
    assert remaining([one for one in runs if one.progress is not RunState.RUNNING]).eta_seconds is None


def test_nobody_can_tell_how_long_virtual_seconds_take() -> None:
    running = RunStatus("l", "t", "m", 0, 0, RunState.RUNNING, 1.0, 100.0, clock="virtual")

    assert remaining([running]).eta_seconds is None


def test_a_trace_that_has_not_grown_is_not_read_again(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)
    watch = Watch(tmp_path / "results")
    assert watch.look().runs[0].elapsed == 2.0
    stat, content = path.stat(), path.read_bytes()
    path.write_bytes(content.replace(b'"ended":2.0', b'"ended":3.0'))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert watch.look().runs[0].elapsed == 2.0

    last = (
        content.splitlines()[-1].replace(b'"ended":2.0', b'"ended":9.0').replace(b'"number":1', b'"number":2')
    )
    path.write_bytes(content + last + b"\n")

    assert watch.look().runs[0].elapsed == 9.0
