"""The paper's printed cells, and how ours are set against them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paper_tables import key, order, printed
from cfo_bench.report.numbers.scores import Cell
from cfo_bench.report.sections import optimality
from cfo_bench.results.run import read_run


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

    found = optimality.paper_section(
        LearnerResults("xgboost", [one for path in paths if (one := read_run(path))])
    )

    assert found is not None
    agreement, cells = found.tables
    assert cells.rows == [
        ["adult", "rs", "-5.9%", "-25.0%", "behind", "behind", True],
        ["adult", "bohb", "-7.1%", "-50.0%", "behind", "behind", True],
        ["adult", "cfo", "**1.0524 (1199s)**", "**0.8000 (10s)**", None, None, None],
        ["car", "rs", "-0.5%", "-33.3%", "behind", "behind", True],
        # Scores 0.9, 0.8, 0.6: here bohb is ahead.
        ["car", "bohb", "-0.1%", "**0.9000 (10s)**", "behind", "ahead", False],
        ["car", "cfo", "**1.0578 (1337s)**", "-11.1%", None, None, None],
    ]
    assert agreement.rows == [
        ["rs against cfo", 2, 2, 1.0],
        ["bohb against cfo", 2, 1, 0.5],
        # Of the three pairs on each task, bohb and cfo on car.
        ["every pair of methods", 6, 5, pytest.approx(5 / 6)],
    ]


def test_a_learner_or_tasks_that_the_paper_does_not_have_get_no_section(write_run: Any) -> None:
    one = read_run(write_run("my-own", "cfo", 0, [(10, 0.1, 1)]))

    assert one is not None
    assert optimality.paper_section(LearnerResults("xgboost", [one])) is None
    assert optimality.paper_section(LearnerResults("lightgbm", [one])) is None
