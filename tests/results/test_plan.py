"""What was asked for is noted once, by however many commands, and whatever becomes of them."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from cfo_bench.errors import UserError
from cfo_bench.records import RunSpec
from cfo_bench.report.reading.load import trace_files
from cfo_bench.results import status
from cfo_bench.results.trace import path_of, run_id


def specs(n: int, budget: float = 60.0) -> list[RunSpec]:
    return [RunSpec("xgboost", "adult", "cfo", fold, budget_seconds=budget) for fold in range(n)]


def test_a_run_s_id_is_where_its_trace_lies_without_the_suffix() -> None:
    spec = RunSpec("xgboost", "a/b.c", "path/to/mine.py:Mine", 3, seed=7)

    assert run_id(spec) == "xgboost/a%2Fb.c/Mine/fold-3_seed-7"
    assert path_of(Path("out"), spec) == Path("out") / f"{run_id(spec)}.jsonl"


def test_what_was_asked_for_is_read_back_in_order_and_stands_there_once(tmp_path: Path) -> None:
    status.record_plan(tmp_path, specs(3))
    before = (tmp_path / status.FILE_NAME).read_bytes()
    status.record_plan(tmp_path, specs(3))

    found = status.read_plan(tmp_path)

    assert (tmp_path / status.FILE_NAME).read_bytes() == before
    assert [run.id for run in found] == [run_id(spec) for spec in specs(3)]
    assert {(run.method, run.budget_seconds, run.clock, run.error) for run in found} == {
        ("cfo", 60.0, "wall", None)
    }


def test_the_last_line_counts(tmp_path: Path) -> None:
    for budget in (60.0, 120.0, 60.0):
        status.record_plan(tmp_path, specs(1, budget))

    assert [run.budget_seconds for run in status.read_plan(tmp_path)] == [60.0]


def test_a_failure_is_noted_until_the_run_is_asked_for_again(tmp_path: Path) -> None:
    status.record_plan(tmp_path, specs(2))
    status.record_failure(tmp_path, specs(2)[1], "no data")
    assert [run.error for run in status.read_plan(tmp_path)] == [None, "no data"]

    status.record_plan(tmp_path, specs(2))

    assert [run.error for run in status.read_plan(tmp_path)] == [None, None]


# Whole as a line, but with a task that is no text: nested so deep that it could be read, and not written.
DEEP = b"[" * 500 + b"]" * 500
NO_TEXT = (
    b'{"id":"a","learner":"a","task":%s,"method":"a","fold":0,"seed":0,"budget_seconds":1,"clock":"wall"}\n'
    % DEEP
)


@pytest.mark.parametrize(
    "left", [NO_TEXT, b'{"id":"xgboost/ad', b'{"id":1}\n', b"\0\0\0", b"[]\n\n", b"\xff\xfe\n"]
)
def test_what_a_killed_writer_or_another_program_left_is_ignored(tmp_path: Path, left: bytes) -> None:
    status.record_plan(tmp_path, specs(1))
    with (tmp_path / status.FILE_NAME).open("ab") as file:
        file.write(left)

    status.record_plan(tmp_path, specs(3))

    assert [run.fold for run in status.read_plan(tmp_path)] == [0, 1, 2]


def test_a_folder_that_cannot_be_written_to_is_left_to_the_runs(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file, not a folder")

    status.record_plan(tmp_path / "results", specs(1))
    status.record_failure(tmp_path / "results", specs(1)[0], "no folder")

    assert status.read_plan(tmp_path / "results") == []


def test_commands_that_start_at_once_note_each_run_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=status.record_plan, args=(tmp_path, specs(200))) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert len((tmp_path / status.FILE_NAME).read_bytes().splitlines()) == 200
    assert len(status.read_plan(tmp_path)) == 200


def test_a_suite_of_the_paper_s_size_is_noted_in_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    status.record_plan(tmp_path, specs(3150))
    status.record_plan(tmp_path, specs(3150))

    assert len(status.read_plan(tmp_path)) == 3150
    assert time.process_time() - began < 1.0


def test_the_plan_is_no_trace(tmp_path: Path) -> None:
    status.record_plan(tmp_path, specs(1))

    with pytest.raises(UserError, match="no traces in"):
        trace_files(tmp_path)
