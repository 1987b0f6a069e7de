"""What is done, running, waiting, failed, interrupted and missing, and how long it takes."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import UserError
from cfo_bench.records import EndReason, RunSpec, RunStatus, run_id
from cfo_bench.results import status as plan
from cfo_bench.results.folder import run_files
from cfo_bench.results.status import RunProgress, Watch, remaining, status
from cfo_bench.results.trace import path_of
from tests.helpers.traces import BUDGET, held

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


def one(found: list[RunProgress], method: str, fold: int) -> RunProgress:
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

    progress = {(run.method, run.fold): run.status for run in runs}
    assert progress == {
        ("cfo", 0): RunStatus.DONE,
        ("cfo", 1): RunStatus.FAILED,
        ("cfo", 2): RunStatus.INTERRUPTED,
        ("cfo", 3): RunStatus.INTERRUPTED,
        ("cfo", 4): RunStatus.RUNNING,
        ("rs", 0): RunStatus.DONE,
        **{("rs", fold): RunStatus.MISSING for fold in (1, 2, 3, 4)},
    }
    assert one(runs, "cfo", 1).reason == "it broke"
    running_elapsed = one(runs, "cfo", 4).elapsed
    assert running_elapsed is not None and 2.0 <= running_elapsed < 60.0
    assert one(runs, "cfo", 4).trials == 2


def test_a_page_that_nobody_holds_is_no_running_run(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)
    path.with_suffix(".live").touch()

    assert status(tmp_path / "results").runs[0].status is RunStatus.INTERRUPTED


def test_a_run_that_is_still_loading_is_known_by_its_path(write_run: Any, tmp_path: Path) -> None:
    path = write_run("a task", "cfo", 3, TRIALS)
    path.unlink()

    with held(path.with_suffix(".live")):
        (run,) = status(tmp_path / "results").runs

    assert (run.learner, run.task, run.method, run.fold) == ("xgboost", "a task", "cfo", 3)
    assert run.status is RunStatus.RUNNING and run.elapsed is None


def test_a_method_that_skipped_a_task_misses_its_folds(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("t", "rs", 0, TRIALS)
    write_run("u", "cfo", 0, TRIALS)

    missing = [run for run in status(tmp_path / "results").runs if run.status is RunStatus.MISSING]

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

    assert {(run.method, run.fold): run.status for run in runs} == {
        ("cfo", 0): RunStatus.DONE,
        ("cfo", 1): RunStatus.WAITING,
        ("cfo", 2): RunStatus.WAITING,
        ("rs", 0): RunStatus.MISSING,
        ("rs", 1): RunStatus.DONE,
        ("rs", 2): RunStatus.MISSING,
    }


def test_a_run_that_failed_before_its_first_line_says_why(tmp_path: Path) -> None:
    plan.record_failure(tmp_path, RunSpec("xgboost", "t", "cfo", 0), "its data is gone")

    (run,) = status(tmp_path).runs

    assert (run.status, run.reason) == (RunStatus.FAILED, "its data is gone")


def test_a_trace_that_is_being_written_is_of_a_running_run(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=None)

    with held(path):
        (run,) = status(tmp_path / "results").runs

    assert run.status is RunStatus.RUNNING


def test_the_time_to_go_is_what_is_left_of_the_budgets_over_the_runs_at_once() -> None:
    def run(progress: RunStatus, elapsed: float | None, budget: float = 100.0) -> RunProgress:
        return RunProgress("l", "t", "m", 0, 0, progress, elapsed, budget, clock="wall")

    runs = [
        run(RunStatus.DONE, 100.0),
        run(RunStatus.FAILED, 10.0),
        run(RunStatus.RUNNING, 40.0),
        run(RunStatus.RUNNING, None),
        run(RunStatus.WAITING, None),
        run(RunStatus.INTERRUPTED, 80.0),
    ]

    assert remaining(runs).budget_seconds == 60 + 100 + 100 + 20
    assert remaining(runs).eta_seconds == 280 / 2
    # However many are at it, a run takes its budget.
    assert remaining([*runs, run(RunStatus.WAITING, None, 1000.0)]).eta_seconds == 1000
    assert remaining([one for one in runs if one.status is not RunStatus.RUNNING]).eta_seconds is None


def test_nobody_can_tell_how_long_virtual_seconds_take() -> None:
    running = RunProgress("l", "t", "m", 0, 0, RunStatus.RUNNING, 1.0, 100.0, clock="virtual")

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


def test_a_trace_that_another_machine_writes_is_of_a_running_run(write_run: Any, tmp_path: Path) -> None:
    """Its lock may not be visible here, and its clock may be another."""
    path = write_run("t", "cfo", 0, TRIALS, reason=None)
    watch = Watch(tmp_path / "results")
    assert watch.look().runs[0].status is RunStatus.INTERRUPTED

    content = path.read_bytes()
    last = content.splitlines()[-1].replace(b'"ended":2.0', b'"ended":9.0')
    path.write_bytes(content + last.replace(b'"number":1', b'"number":2') + b"\n")
    os.utime(path, (0, 0))  # its clock is far behind

    [run] = watch.look().runs
    assert (run.status, run.elapsed, run.trials) == (RunStatus.RUNNING, 9.0, 3)

    write_run("t", "cfo", 0, TRIALS, reason=EndReason.INTERRUPTED)  # it was stopped there

    assert watch.look().runs[0].status is RunStatus.INTERRUPTED


def test_a_run_that_was_killed_here_is_not_running_though_its_trace_has_grown(
    write_run: Any, tmp_path: Path
) -> None:
    path = write_run("t", "cfo", 0, TRIALS[:1], reason=None)
    watch = Watch(tmp_path / "results")
    with held(path.with_suffix(".live")):
        assert watch.look().runs[0].status is RunStatus.RUNNING
        write_run("t", "cfo", 0, TRIALS, reason=None)

    [run] = watch.look().runs
    assert (run.status, run.trials) == (RunStatus.INTERRUPTED, 2)


# --- the plan -------------------------------------------------------------------------------------


def specs(n: int, budget: float = 60.0) -> list[RunSpec]:
    return [RunSpec("xgboost", "adult", "cfo", fold, budget_seconds=budget) for fold in range(n)]


def test_a_run_s_id_is_where_its_trace_lies_without_the_suffix() -> None:
    spec = RunSpec("xgboost", "a/b.c", "path/to/mine.py:Mine", 3, seed=7)

    assert run_id(spec) == "xgboost/a%2Fb.c/Mine/fold-3_seed-7"
    assert path_of(Path("out"), spec) == Path("out") / f"{run_id(spec)}.jsonl"


def test_what_was_asked_for_is_read_back_in_order_and_stands_there_once(tmp_path: Path) -> None:
    plan.record_plan(tmp_path, specs(3))
    before = (tmp_path / plan.PLAN_NAME).read_bytes()
    plan.record_plan(tmp_path, specs(3))

    found = plan.read_plan(tmp_path)

    assert (tmp_path / plan.PLAN_NAME).read_bytes() == before
    assert [run.id for run in found] == [run_id(spec) for spec in specs(3)]
    assert {(run.method, run.budget_seconds, run.clock, run.error) for run in found} == {
        ("cfo", 60.0, "wall", None)
    }


def test_the_last_line_counts(tmp_path: Path) -> None:
    for budget in (60.0, 120.0, 60.0):
        plan.record_plan(tmp_path, specs(1, budget))

    assert [run.budget_seconds for run in plan.read_plan(tmp_path)] == [60.0]


def test_a_failure_is_noted_until_the_run_is_asked_for_again(tmp_path: Path) -> None:
    plan.record_plan(tmp_path, specs(2))
    plan.record_failure(tmp_path, specs(2)[1], "no data")
    assert [run.error for run in plan.read_plan(tmp_path)] == [None, "no data"]

    plan.record_plan(tmp_path, specs(2))

    assert [run.error for run in plan.read_plan(tmp_path)] == [None, None]


# Whole as a line, but with a task that is not text: nested so deep that it could be read, and not written.
DEEP = b"[" * 500 + b"]" * 500
NO_TEXT = (
    b'{"id":"a","learner":"a","task":%s,"method":"a","fold":0,"seed":0,"budget_seconds":1,"clock":"wall"}\n'
    % DEEP
)


@pytest.mark.parametrize(
    "left",
    [NO_TEXT, b'{"id":"xgboost/ad', b'{"id":1}\n', b"\0\0\0", b"[]\n\n", b"\xff\xfe\n", b'{"id":"\x8f"}\n'],
)
def test_what_a_killed_writer_or_another_program_left_is_ignored(tmp_path: Path, left: bytes) -> None:
    plan.record_plan(tmp_path, specs(1))
    with (tmp_path / plan.PLAN_NAME).open("ab") as file:
        file.write(left)

    plan.record_plan(tmp_path, specs(3))

    assert [run.fold for run in plan.read_plan(tmp_path)] == [0, 1, 2]


def test_a_folder_that_cannot_be_written_to_is_left_to_the_runs(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file, not a folder")

    plan.record_plan(tmp_path / "results", specs(1))
    plan.record_failure(tmp_path / "results", specs(1)[0], "no folder")

    assert plan.read_plan(tmp_path / "results") == []


def test_commands_that_start_at_once_note_each_run_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=plan.record_plan, args=(tmp_path, specs(200))) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert len((tmp_path / plan.PLAN_NAME).read_bytes().splitlines()) == 200
    assert len(plan.read_plan(tmp_path)) == 200


def test_a_suite_of_the_paper_s_size_is_noted_in_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    plan.record_plan(tmp_path, specs(3150))
    plan.record_plan(tmp_path, specs(3150))

    assert len(plan.read_plan(tmp_path)) == 3150
    assert time.process_time() - began < 1.0


def test_the_plan_is_no_trace(tmp_path: Path) -> None:
    plan.record_plan(tmp_path, specs(1))

    assert run_files(tmp_path).traces == []
