"""The supervisor knows a finished run by its trace, and imports nothing that a run needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cfo_bench.records import DataRef, EndReason, RunSpec, RunStatus
from cfo_bench.results.schema import encode
from cfo_bench.run.job import Job
from cfo_bench.run.page import end_record
from cfo_bench.run.supervisor import already_done
from tests.helpers.traces import header_of

SPEC = RunSpec("xgboost", "iris", "cfo", 0)


@pytest.mark.parametrize(
    "module", ["run.supervisor", "run.recovery", "run.job", "run.page", "machine.fork_server"]
)
def test_neither_the_loop_nor_learners_nor_methods_are_imported_to_supervise(module: str) -> None:
    rooms = ("learners", "optimizers", "tasks", "suite", "run.loop", "run.runner", "run.process")
    unwanted = tuple(f"cfo_bench.{room}" for room in rooms)
    code = f"import sys, cfo_bench.{module}; print(*[n for n in sys.modules if n.startswith({unwanted})])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def job(folder: Path, reason: EndReason | None, spec: RunSpec = SPEC) -> Job:
    """A job of SPEC whose trace is of `spec`, and has that end."""
    path = folder / "fold-0_seed-0.jsonl"
    end = [] if reason is None else [encode(end_record(reason, 1.0, 0, None, "it broke"))]
    path.write_bytes(b"".join([encode(header_of(spec)), *end]))
    return Job(SPEC, DataRef("iris", "bundled"), path)


def test_a_finished_run_is_already_done(tmp_path: Path) -> None:
    found = already_done(job(tmp_path, EndReason.BUDGET))
    assert found is not None and found.outcome is RunStatus.ALREADY_DONE and found.exit_code == 0
    assert found.end is not None and found.end.reason is EndReason.BUDGET


def test_a_run_that_ended_with_an_error_has_failed_and_the_remedy_is_named(tmp_path: Path) -> None:
    found = already_done(job(tmp_path, EndReason.ERROR))
    assert found is not None and (found.outcome, found.exit_code) == (RunStatus.FAILED, 1)
    assert found.message == "it broke (an earlier result; --force runs it again)"


@pytest.mark.parametrize("reason", [None, EndReason.INTERRUPTED])
def test_a_run_that_is_not_finished_is_not_done(tmp_path: Path, reason: EndReason | None) -> None:
    assert already_done(job(tmp_path, reason)) is None


def test_the_end_of_another_run_does_not_count(tmp_path: Path) -> None:
    assert already_done(job(tmp_path, EndReason.BUDGET, RunSpec("xgboost", "iris", "cfo", 0, seed=7))) is None


def test_a_run_with_a_page_needs_a_closer_look(tmp_path: Path) -> None:
    finished = job(tmp_path, EndReason.BUDGET)
    finished.trace_path.with_suffix(".live").touch()
    assert already_done(finished) is None


def test_a_trace_without_a_whole_line_or_without_sense_is_not_done(tmp_path: Path) -> None:
    finished = job(tmp_path, EndReason.BUDGET)
    for content in (b"", b'{"kind":"ru', b"[1]\n", b'{"kind":"run"}\n{"kind":"end"}\n', b"not json\n"):
        finished.trace_path.write_bytes(content)
        assert already_done(finished) is None
