"""What is done, running, failed, interrupted and missing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import UserError
from cfo_bench.records import EndReason
from cfo_bench.report.status import Progress, RunStatus, status

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
        ("cfo", 0): Progress.DONE,
        ("cfo", 1): Progress.FAILED,
        ("cfo", 2): Progress.INTERRUPTED,
        ("cfo", 3): Progress.INTERRUPTED,
        ("cfo", 4): Progress.RUNNING,
        ("rs", 0): Progress.DONE,
        **{("rs", fold): Progress.MISSING for fold in (1, 2, 3, 4)},
    }
    assert one(runs, "cfo", 1).reason == "it broke"
    assert (one(runs, "cfo", 4).elapsed, one(runs, "cfo", 4).trials) == (2.0, 2)


def test_a_page_that_nobody_holds_is_no_running_run(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)
    path.with_suffix(".live").touch()

    assert status(tmp_path / "results").runs[0].progress is Progress.INTERRUPTED


def test_a_run_that_is_still_loading_is_known_by_its_path(write_run: Any, tmp_path: Path) -> None:
    path = write_run("a task", "cfo", 3, TRIALS)
    path.unlink()

    with held(path.with_suffix(".live")):
        (run,) = status(tmp_path / "results").runs

    assert (run.learner, run.task, run.method, run.fold) == ("xgboost", "a task", "cfo", 3)
    assert run.progress is Progress.RUNNING and run.elapsed is None


def test_a_method_that_skipped_a_task_misses_its_folds(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("t", "rs", 0, TRIALS)
    write_run("u", "cfo", 0, TRIALS)

    missing = [run for run in status(tmp_path / "results").runs if run.progress is Progress.MISSING]

    assert [(run.task, run.method, run.fold) for run in missing] == [("u", "rs", 0)]


def test_a_torn_line_and_a_long_one_are_read_over(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)
    whole = path.read_bytes()
    long = whole.splitlines()[-1].replace(b'"error":null', b'"error":"%b"' % (b"x" * 300_000))
    path.write_bytes(whole + long.replace(b'"ended":2.0', b'"ended":7.5') + b'\n{"kind":"tri')

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
