"""Scaled scores, who reaches the best and when, and every kind of cell, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cfo_bench.records import Problem
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import Cell, optimality, score_task, score_tasks
from cfo_bench.report.sections import optimality as optimality_section
from cfo_bench.report.sections import overall, provenance
from cfo_bench.report.sections.provenance import NO_RESULT, NOT_RUN, NOT_SHARED
from cfo_bench.results.run import Run
from tests.helpers.traces import runs_of


def test_the_tuned_forest_is_the_one_of_classification(by_hand: list[Run]) -> None:
    alpha, _, _ = score_tasks(by_hand)

    assert (alpha.scale.by, alpha.scale.zero_loss, alpha.scale.one_loss) == ("tuned random forest", 0.5, 0.25)
    # (0.5 - 0.125) / 0.25, the same, (0.5 - 0.25) / 0.25
    assert {name: found.final_score for name, found in alpha.methods.items()} == {
        "cfo": 1.5,
        "rs": 1.5,
        "bohb": 1.0,
    }


def test_r2_is_the_score_of_regression(by_hand: list[Run]) -> None:
    _, beta, _ = score_tasks(by_hand)

    assert beta.scale.by == "r2"
    assert {name: found.final_score for name, found in beta.methods.items()} == {
        "cfo": 0.5,
        "rs": 0.625,
        "bohb": 0.125,
    }


def test_without_a_forest_a_loss_of_nothing_is_the_one(by_hand: list[Run]) -> None:
    _, _, gamma = score_tasks(by_hand)

    # On the shared folds 0 and 1: cfo (0.25 + 0.5) / 2, rs 0.5, bohb (0.25 + the constant's 1) / 2
    assert gamma.scale.by == "a loss of 0"
    assert gamma.shared == ((0, 0), (1, 0))
    assert {name: (found.final_loss, found.final_score) for name, found in gamma.methods.items()} == {
        "cfo": (0.375, 0.625),
        "rs": (0.5, 0.5),
        "bohb": (0.625, 0.375),
    }
    assert {name: found.imputed for name, found in gamma.methods.items()} == {"cfo": 0, "rs": 0, "bohb": 1}


def test_a_forest_on_other_folds_or_no_better_than_the_constant_scales_nothing(write_run: Any) -> None:
    runs = [write_run("t", "cfo", fold, [(1, 0.25, 1)]) for fold in (0, 1)]
    one_fold = write_run("t", "tuned-rf", 0, [(1, 0.25, 1)])
    assert score_task(runs_of(*runs, one_fold)).scale.by == "a loss of 0"

    useless = [write_run("t", "tuned-rf", fold, [(1, 0.5, 1)]) for fold in (0, 1)]
    assert score_task(runs_of(*runs, *useless)).scale.by == "a loss of 0"


def test_the_best_is_reached_by_the_soonest_at_99_95_percent(by_hand: list[Run]) -> None:
    alpha, beta, gamma = score_tasks(by_hand)

    assert (alpha.best_score, alpha.winners, alpha.best_seconds) == (1.5, ("cfo",), 20)
    assert (beta.best_score, beta.winners, beta.best_seconds) == (0.625, ("rs",), 30)
    assert (gamma.best_score, gamma.winners, gamma.best_seconds) == (0.625, ("cfo",), 10)
    assert {m: found.seconds_to_best for m, found in alpha.methods.items()} == {
        "cfo": 20,
        "rs": 80,
        "bohb": None,
    }


def test_a_score_a_hair_below_the_best_reaches_it(write_run: Any) -> None:
    # Scores 1 - 2 · loss: 0.8 is the best, and 99.95 % of it is 0.7996, a loss of 0.1002.
    found = score_task(
        runs_of(
            write_run("t", "cfo", 0, [(1, 0.4, 1), (50, 0.1, 1)]),
            write_run("t", "rs", 0, [(1, 0.4, 1), (10, 0.1001, 1)]),
            write_run("t", "bohb", 0, [(1, 0.4, 1), (5, 0.1003, 1)]),
        )
    )

    assert [cell.text for cell in optimality(found)] == ["-0.1%", "×5.0", "**0.8000 (10s)**"]


def test_every_kind_of_cell_is_printed_as_in_the_paper(by_hand: list[Run]) -> None:
    table, numbers = optimality_section.OptimalitySection().build(LearnerResults("xgboost", by_hand)).tables

    # By mean rank: cfo is first on two of three tasks, rs on one.
    assert table.columns == ("task", "cfo", "rs", "bohb")
    assert table.rows == [
        # 80 s / 20 s; (1.5 - 1) / 1.5
        ["alpha", "**1.5000 (20s)**", "×4.0", "-33.3%"],
        # (0.625 - 0.125) / 0.625; (0.625 - 0.5) / 0.625
        ["beta", "-20.0%", "**0.6250 (30s)**", "-80.0%"],
        # (0.625 - 0.5) / 0.625; (0.625 - 0.375) / 0.625, one of the two folds imputed
        ["gamma", "**0.6250 (10s)**", "-20.0%", "-40.0%*"],
    ]
    cells = {(row["task"], row["method"]): row for row in numbers.records()}
    assert cells["alpha", "rs"]["cost_ratio"] == 4.0
    assert cells["alpha", "bohb"]["gap_percent"] == pytest.approx(100 / 3)
    assert cells["gamma", "bohb"]["imputed_runs"] == 1
    assert cells["gamma", "cfo"]["runs"] == 2


def test_a_method_without_any_result_and_one_that_was_not_run_say_so(write_run: Any) -> None:
    found = runs_of(
        write_run("t", "cfo", 0, [(1, 0.25, 1)]),
        write_run("t", "rs", 0, [(90, None, 80)]),
        write_run("u", "cfo", 0, [(1, 0.25, 1)]),
    )

    printed, _ = optimality_section.OptimalitySection().build(LearnerResults("xgboost", found)).tables

    assert printed.rows == [["t", "**0.5000 (1s)**", "no result"], ["u", "**0.5000 (1s)**", "not run"]]


def test_seconds_are_whole_unless_there_are_few() -> None:
    def text(seconds: float) -> str:
        return Cell("t", "cfo", "best", 1.0, seconds, 1.0, 0.0).text

    assert [text(s) for s in (1199.4, 9.96, 3.14, 0.0512)] == [
        "**1.0000 (1199s)**",
        "**1.0000 (10s)**",
        "**1.0000 (3.1s)**",
        "**1.0000 (0.051s)**",
    ]


def test_a_best_score_of_nothing_has_no_percent() -> None:
    assert Cell("t", "rs", "worse", -0.5, None, None, None).text == "worse"


def test_methods_that_share_no_fold_are_not_compared(write_run: Any) -> None:
    found = score_task(
        runs_of(
            write_run("t", "cfo", 0, [(1, 0.25, 1)]),
            write_run("t", "cfo", 1, [(1, 0.25, 1)]),
            write_run("t", "rs", 7, [(1, 0.125, 1)]),
        )
    )

    assert found.shared == ((0, 0), (1, 0))
    assert found.methods["rs"].final_score is None
    assert not found.methods["rs"].is_compared
    # Nobody is beaten, so nobody wins.
    assert (found.compared, found.winners) == (["cfo"], ())


def test_scores_are_normalised_by_the_baseline(by_hand: list[Run]) -> None:
    alpha, beta, gamma = score_tasks(by_hand)

    assert alpha.normalised("cfo") == pytest.approx({"cfo": 100, "rs": 100, "bohb": 200 / 3})
    assert beta.normalised("cfo") == pytest.approx({"cfo": 100, "rs": 125, "bohb": 25})
    assert gamma.normalised("cfo") == pytest.approx({"cfo": 100, "rs": 80, "bohb": 60})
    assert beta.normalised("rs")["cfo"] == pytest.approx(80)
    assert beta.normalised("nobody") == {}


def test_a_baseline_that_is_worse_than_the_constant_normalises_nothing(write_run: Any) -> None:
    found = score_task(
        runs_of(
            write_run("t", "cfo", 0, [(1, 1.5, 1)], problem=Problem.REGRESSION),
            write_run("t", "rs", 0, [(1, 0.5, 1)], problem=Problem.REGRESSION),
        )
    )

    assert found.methods["cfo"].final_score == -0.5
    assert found.normalised("cfo") == {}


def test_shares_of_tasks_over_90_and_of_those_where_the_best_is_reached(by_hand: list[Run]) -> None:
    shares, boxes, _ = overall.OverallSection().build(LearnerResults("xgboost", by_hand)).tables

    rows = {row["method"]: row for row in shares.records()}
    # rs: 100, 125, 80; it reaches the best on alpha and beta. bohb: 67, 25, 60. cfo: alpha and gamma.
    assert {m: (row["over_90"], row["reached"], row["tasks"]) for m, row in rows.items()} == {
        "rs": (2, 2, 3),
        "bohb": (0, 0, 3),
        "cfo": (3, 2, 3),
    }
    assert rows["rs"]["share_over_90"] == pytest.approx(2 / 3)
    # 80, 100 and 125 are too few for quartiles.
    box = next(row for row in boxes.records() if row["method"] == "rs")
    assert [box[name] for name in ("low_whisker", "quartile_1", "quartile_3", "high_whisker")] == [None] * 4
    assert (box["median"], box["mean"]) == pytest.approx((100, 305 / 3))


def test_what_is_missing_is_listed(by_hand: list[Run]) -> None:
    found = provenance.MissingSection().build(LearnerResults("xgboost", by_hand))

    table, trials = found.tables
    assert [row[:5] for row in table.rows] == [
        ["gamma", "cfo", 2, 0, NOT_SHARED],
        ["gamma", "rs", 2, 0, NOT_RUN],
        ["gamma", "bohb", 1, 0, NO_RESULT],
        ["gamma", "bohb", 2, 0, NOT_SHARED],
    ]
    assert table.rows[2][5] == "1 timeout"
    assert len(found.warnings) == 3
    # bohb: two runs of two trials on alpha, two of one on beta, and on gamma two, one cut off, one.
    assert [row for row in trials.rows if row[0] == "bohb"] == [["bohb", 7, 9, 1, 0, 0]]
