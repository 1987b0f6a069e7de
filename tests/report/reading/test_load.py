"""The runs of a results folder are read, and what can't be read is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.report.reading.load import Selection, load
from cfo_bench.results.run import read_run

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


def test_a_run_is_the_same_as_its_trace_and_has_no_trials_in_memory(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS)
    trace = read_run(path, parse_trials=True)

    (run,) = load(tmp_path / "results").runs

    assert trace is not None and run.is_same_as(trace)
    assert run.parsed is None


def test_foreign_and_broken_files_are_told_in_one_line_each(write_run: Any, tmp_path: Path) -> None:
    good = write_run("t", "cfo", 0, TRIALS)
    results = tmp_path / "results"
    (results / "notes.jsonl").write_text('{"todo": "buy milk"}\n')
    (results / "other-version.jsonl").write_bytes(good.read_bytes().replace(b'"schema":2', b'"schema":99', 1))
    (results / "broken.jsonl").write_bytes(good.read_bytes().replace(b'"kind":"trial"', b'"kind":trial', 1))
    (results / "README.md").write_text("not called like a trace")

    loaded = load(results)

    assert [run.path for run in loaded.runs] == [good]
    assert len(loaded.unreadable) == 3
    for line, name in zip(sorted(loaded.unreadable), ("broken", "notes", "other-version"), strict=True):
        assert f"{name}.jsonl" in line and "\n" not in line


def test_a_torn_last_line_is_passed_over(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS)
    path.write_bytes(path.read_bytes() + b'{"kind":"trial","number":2,"los')

    (one,) = load(tmp_path / "results").runs

    assert one.incumbents.losses == [0.4, 0.2]


def test_a_run_without_a_header_is_no_run_yet(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("t", "cfo", 1, TRIALS).write_bytes(b'{"kind":"run","sche')

    loaded = load(tmp_path / "results")

    assert [one.fold for one in loaded.runs] == [0] and not loaded.unreadable


def test_a_folder_without_traces_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no traces in"):
        load(tmp_path)
    with pytest.raises(UserError, match="no folder"):
        load(tmp_path / "nowhere")


def test_a_selection_takes_what_it_names(by_hand: list[Any], tmp_path: Path) -> None:
    found = load(tmp_path / "results", selection=Selection(tasks=["beta"], methods=["cfo", "rs"])).runs

    assert {(one.task, one.method) for one in found} == {("beta", "cfo"), ("beta", "rs")}


def test_a_name_that_is_not_there_is_refused_with_those_that_are(by_hand: list[Any], tmp_path: Path) -> None:
    with pytest.raises(
        UnknownNameError, match="unknown method in these results 'smac': choose from bohb, cfo"
    ):
        load(tmp_path / "results", selection=Selection(methods=["smac"]))


def test_names_that_are_there_but_not_together_are_refused(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("u", "rs", 0, TRIALS)

    with pytest.raises(UserError, match="together"):
        load(tmp_path / "results", selection=Selection(tasks=["t"], methods=["rs"]))


def test_the_methods_that_scale_scores_are_read_whatever_methods_are_selected(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "rs", "constant", "tuned-rf", "study"):
        write_run("t", method, 0, [(1, 0.25, 1)])
    write_run("u", "rs", 0, [(1, 0.25, 1)])

    found = load(tmp_path / "results", selection=Selection(methods=["cfo"])).runs

    assert sorted(one.method for one in found) == ["cfo", "constant", "tuned-rf"]
    with pytest.raises(UserError, match="no run has such a learner, task and method together"):
        load(tmp_path / "results", selection=Selection(tasks=["u"], methods=["cfo"]))
