"""Published results beside ours: the paper's tables, recordings of its data, and the study of K."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import RunSpec, Status
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paper_tables import findings, in_the_paper, key, order, printed
from cfo_bench.report.numbers.scores import Cell
from cfo_bench.report.reading.consistency import comparable
from cfo_bench.report.reading.load import load
from cfo_bench.report.sections import optimality
from cfo_bench.report.sections.neighbours import figure_of, save_beside
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import TrialRecord
from tests.helpers.runs import with_settings
from tests.helpers.traces import header_of, runs_of


def cell(outcome: str, ratio: float | None = None, gap: float | None = None) -> Cell:
    return Cell("t", "m", outcome, None, None, ratio, gap)


BEST, SLOWER, WORSE = cell("best", 1.0, 0.0), cell("slower", 2.8, 0.0), cell("worse", None, 5.9)


@pytest.mark.parametrize(("learner", "tasks"), [("xgboost", 45), ("dnn", 42)])
def test_the_package_has_every_printed_cell(shared: Path, learner: str, tasks: int) -> None:
    ours = printed(learner)

    with (shared / "paper" / f"optimality_{learner}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(ours) == len(rows) == 7 * tasks
    for row in rows:
        found = ours[key(row["dataset"]), row["method"].lower()]
        assert found.outcome == row["outcome"]
        if row["outcome"] == "best":
            expected = f"**{float(row['best_scaled_score']):.4f} ({row['best_seconds']}s)**"
        elif row["outcome"] == "slower":
            expected = f"×{float(row['cost_ratio']):.1f}"
        else:
            expected = f"-{float(row['score_gap_percent']):.1f}%"
        assert found.text == expected


def test_the_paper_tuned_two_learners() -> None:
    assert printed("lightgbm") == {}


def test_every_task_of_the_shared_data_is_found_in_the_table(shared: Path) -> None:
    known = {task for task, _ in printed("xgboost")}

    with (shared / "data" / "index.csv").open(encoding="utf-8") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert [name for name in names if key(name) not in known] == []


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("Amazon_employee_access", "Amazon"),
        ("jungle_chess_2pcs_raw_endgame_complete", "jungle"),
        ("blood-transfusion-service-center", "blood"),
        ("215_2dplanes", "2dplane"),
        ("1201_BNG_breastTumor", "breast"),
        ("BNG(echoMonths)", "echomonth"),
        ("numerai28.6", "numerai28."),
        ("KDDCup09_appetency", "KDDCup09_appe"),
    ],
)
def test_a_task_is_known_by_its_other_names(name: str, same: str) -> None:
    assert key(name) == key(same)


@pytest.mark.parametrize(
    ("one", "other", "sign"),
    [
        (BEST, BEST, 0),
        (SLOWER, BEST, 1),
        (cell("slower", 1.04, 0.0), BEST, 1),
        (BEST, WORSE, -1),
        (SLOWER, WORSE, -1),
        (WORSE, cell("worse", None, 5.8), 1),
        (WORSE, cell("worse", None, 5.94), 0),
    ],
)
def test_the_order_of_two_cells(one: Cell, other: Cell, sign: int) -> None:
    assert order(one, other) == sign


def test_our_cells_stand_beside_the_paper_s(write_run: Any) -> None:
    # Printed on car: RS -0.5 %, BOHB -0.1 %, CFO the best; on adult: RS -5.9 %, BOHB -7.1 %, CFO the best.
    losses = {"car": {"cfo": 0.1, "rs": 0.2, "bohb": 0.05}, "adult": {"cfo": 0.1, "rs": 0.2, "bohb": 0.3}}
    paths = [
        write_run(task, method, 0, [(10, loss, 1)])
        for task, own in losses.items()
        for method, loss in own.items()
    ]
    paths.append(write_run("nobody-printed-this", "cfo", 0, [(10, 0.1, 1)]))

    found = optimality.PaperSection().build(LearnerResults("xgboost", runs_of(*paths)))

    assert found is not None
    agreement, cells = found.tables
    assert cells.rows == [
        ["adult", "cfo", "**1.0524 (1199s)**", "**0.8000 (10s)**", None, None, None],
        ["adult", "bohb", "-7.1%", "-50.0%", "behind", "behind", True],
        ["adult", "rs", "-5.9%", "-25.0%", "behind", "behind", True],
        # Scores 0.9, 0.8, 0.6: here bohb is ahead.
        ["car", "cfo", "**1.0578 (1337s)**", "-11.1%", None, None, None],
        ["car", "bohb", "-0.1%", "**0.9000 (10s)**", "behind", "ahead", False],
        ["car", "rs", "-0.5%", "-33.3%", "behind", "behind", True],
    ]
    assert agreement.rows == [
        ["bohb against cfo", 2, 1, 0.5],
        ["rs against cfo", 2, 2, 1.0],
        # Of the three pairs on each task, bohb and cfo on car.
        ["every pair of methods", 6, 5, pytest.approx(5 / 6)],
    ]


def test_a_learner_or_tasks_that_the_paper_does_not_have_get_no_section(write_run: Any) -> None:
    one = read_run(write_run("my-own", "cfo", 0, [(10, 0.1, 1)]))

    assert one is not None
    assert optimality.PaperSection().build(LearnerResults("xgboost", [one])) is None
    assert optimality.PaperSection().build(LearnerResults("lightgbm", [one])) is None


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

    section = optimality.PaperSection().build(LearnerResults("yahpo:rbv2_xgboost", runs))

    assert section is not None
    assert sorted(row[1] for row in section.tables[1].rows) == ["cfo", "rs"]


def test_runs_that_were_charged_and_runs_that_were_not_are_not_compared(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "rs", "tpe"):
        write_run("t", method, 0, [(1, 0.3, 1)])
    runs = [
        with_settings(run, charge_method=True) if run.method == "rs" else run
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


HEADER = header_of(RunSpec("knn", "mv", "study", 0, 0), metric="r2")


def study(losses: Sequence[float | None], seconds: Sequence[float] | None = None) -> Run:
    """A study of K = 1, 2, 3, …; the cost grows with K where nothing else is said."""
    trials = [
        TrialRecord(
            number=i,
            config={"k": i + 1},
            rows=None,
            thread=0,
            status=Status.FAILED if loss is None else Status.OK,
            loss=loss,
            score=None,
            started=0.0,
            ended=1.0,
            ask_seconds=0.0,
            fit_seconds=0.5,
            validate_seconds=seconds[i] if seconds else float(i),
            tell_seconds=0.0,
            peak_memory_mb=None,
            error=None,
        )
        for i, loss in enumerate(losses)
    ]
    return Run(Path("study.jsonl"), HEADER, parsed=trials)


def test_the_lowest_loss_is_found_with_its_cost_the_cheapest_of_equals() -> None:
    found = findings(study([3.0, 1.0, 1.0, 2.0, 3.0]))
    assert (found.best_k, found.best_loss, found.best_seconds) == (2, 1.0, 1.5)


def test_a_loss_that_rises_from_the_optimum_on_rises_from_there() -> None:
    found = findings(study([9, 5, 2, 1, 2, 3, 4, 5, 6, 7]))
    assert (found.best_k, found.rises_from) == (4, 4)
    assert found.rank_correlation == pytest.approx(1.0)
    assert str(found).endswith("from K = 4 on it rises with the cost (rank correlation 1.00)")


def test_a_single_loss_that_jitters_does_not_count() -> None:
    assert findings(study([9, 1, 2, 3, 4, 5, 4.9, 6, 7, 8, 9])).rises_from == 2


def test_a_second_valley_moves_the_rise_behind_it() -> None:
    found = findings(study([1, 5, 8, 9, 9, 8, 6, 3, 2, 2, 3, 5, 6, 7, 8]))
    assert found.best_k == 1
    assert found.rises_from is not None and 8 <= found.rises_from <= 11


def test_a_loss_that_falls_to_the_end_never_rises() -> None:
    found = findings(study([9, 8, 7, 6, 5, 4]))
    assert (found.best_k, found.rises_from, found.rank_correlation) == (6, None, None)
    assert "the largest K of the study" in str(found)


def test_seconds_that_do_not_follow_are_not_said_to() -> None:
    found = findings(study([9, 1, 2, 3, 4, 5, 6], seconds=[7, 6, 5, 4, 3, 2, 1]))
    assert found.rank_correlation == pytest.approx(-1.0)
    assert "rises, but not with the cost (rank correlation -1.00)" in str(found)


def test_trials_without_a_loss_are_passed_over() -> None:
    assert findings(study([9, None, 1, 2, 3])).best_k == 3
    with pytest.raises(TraceError, match="no trial of the study has a loss"):
        findings(study([None, None]))


def test_the_figure_has_an_axis_for_the_loss_and_one_for_the_seconds() -> None:
    left, right = figure_of(study([9, 1, 2])).draw().axes
    assert left.get_ylabel() == "validation loss, 1 − r2" and "seconds" in right.get_ylabel()
    assert left.lines[0].get_ydata().tolist() == [9, 1, 2]
    assert right.lines[0].get_ydata().tolist() == [0.5, 1.5, 2.5]


def test_it_is_drawn_as_png_and_pdf_beside_the_trace(tmp_path: Path) -> None:
    png, pdf = save_beside(study([3, 1, 2]), tmp_path / "fold-0_seed-0.jsonl")
    assert (png.name, pdf.name) == ("fold-0_seed-0.png", "fold-0_seed-0.pdf")
    assert png.read_bytes().startswith(b"\x89PNG") and pdf.read_bytes().startswith(b"%PDF")
