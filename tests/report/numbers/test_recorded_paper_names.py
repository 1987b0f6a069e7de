"""A recording is compared with the paper's cells of the data that it is of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paper_tables import in_the_paper, printed
from cfo_bench.report.reading.consistency import comparable
from cfo_bench.report.reading.load import load
from cfo_bench.report.sections import optimality
from cfo_bench.results.run import Run


def changed_data(run: Run, **facts: str) -> Run:
    data = msgspec.structs.replace(run.header.data, **facts)
    return replace(run, header=msgspec.structs.replace(run.header, data=data))


def test_a_recorded_learner_stands_beside_the_paper_s_of_the_same_kind() -> None:
    assert in_the_paper("yahpo:rbv2_xgboost") == "xgboost" and in_the_paper("hpobench-mlp") == "dnn"
    assert printed(in_the_paper("yahpo:rbv2_rpart")) == {}


def test_the_cells_of_a_recording_are_found_by_the_paper_s_name(write_run: Any, tmp_path: Path) -> None:
    for method, loss in (("cfo", 0.1), ("rs", 0.2)):
        write_run("yahpo:1590", method, 0, [(1, loss, 1)], learner="yahpo:rbv2_xgboost")
    runs = [changed_data(run, paper_task="adult") for run in load(tmp_path / "results").runs]

    section = optimality.paper_section(LearnerResults("yahpo:rbv2_xgboost", runs))

    assert section is not None
    assert sorted(row[1] for row in section.tables[1].rows) == ["cfo", "rs"]


def test_runs_that_were_charged_and_runs_that_were_not_are_not_compared(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "rs", "tpe"):
        write_run("t", method, 0, [(1, 0.3, 1)])
    runs = [
        run.with_spec(replace(run.spec, charge_method=True)) if run.method == "rs" else run
        for run in load(tmp_path / "results").runs
    ]

    found = comparable(runs)

    assert {one.method for one in found.runs} == {"cfo", "tpe"}
    assert "different values of charge_method, False (2 runs) and True (1 run)" in found.warnings[0]


def test_a_recorded_run_is_not_compared_with_real_ones(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs", "tpe"):
        write_run("t", method, 0, [(1, 0.3, 1)])
    runs = [
        changed_data(run, recording="a table") if run.method == "rs" else run
        for run in load(tmp_path / "results").runs
    ]

    assert {one.method for one in comparable(runs).runs} == {"cfo", "tpe"}
