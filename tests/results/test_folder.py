"""Which runs a results folder has files of, and which of them a process works on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cfo_bench.errors import UserError
from cfo_bench.files.locks import open_locked
from cfo_bench.results.folder import (
    INTERRUPTED_SUFFIX,
    RunFiles,
    is_held,
    kept_path,
    log_path,
    page_path,
    run_files,
    stamp,
)

NAME = "xgboost/iris/cfo/fold-0_seed-0"


def test_the_files_of_a_run_lie_beside_its_trace() -> None:
    trace = Path("r") / f"{NAME}.jsonl"
    assert page_path(trace) == Path("r") / f"{NAME}.live"
    assert log_path(trace) == Path("r") / f"{NAME}.log"
    assert kept_path(trace, INTERRUPTED_SUFFIX) == Path("r") / f"{NAME}.interrupted"
    assert kept_path(trace, INTERRUPTED_SUFFIX, 2) == Path("r") / f"{NAME}-2.interrupted"


def test_runs_are_found_by_their_traces_and_pages_and_by_nothing_else(tmp_path: Path) -> None:
    (tmp_path / NAME).parent.mkdir(parents=True)
    for name in (f"{NAME}.jsonl", f"{NAME}.live", f"{NAME}.log", f"{NAME}-2.interrupted", "a.jsonl"):
        (tmp_path / name).touch()
    assert run_files(tmp_path) == RunFiles(tmp_path, {NAME: {".jsonl", ".live"}, "a": {".jsonl"}}, [])


def test_a_folder_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no folder"):
        run_files(tmp_path / "nowhere")


@pytest.mark.parametrize("suffix", [".jsonl", ".live"])
def test_a_run_is_held_while_its_trace_or_its_page_is_locked(tmp_path: Path, suffix: str) -> None:
    trace = tmp_path / "t.jsonl"
    assert not is_held(trace)
    fd = open_locked(trace.with_suffix(suffix))
    assert fd is not None and is_held(trace)
    os.close(fd)
    assert not is_held(trace)


def test_a_stamp_changes_when_the_file_does(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"one\n")
    before = stamp(path)
    assert stamp(str(path)) == before
    path.write_bytes(b"one\ntwo\n")
    assert stamp(path) != before
    longer = stamp(path)
    os.utime(path, ns=(longer[1] + 1, longer[1] + 1))
    assert stamp(path) != longer
