"""Runs without a result: a method never gains by failing, and takes nobody else's rank away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench.records import Problem
from cfo_bench.report.build import Request, build
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import score_task
from cfo_bench.report.reading.load import load
from cfo_bench.report.sections import optimality, provenance, statistics
from cfo_bench.results.best_so_far import imputed
from cfo_bench.results.digest import Incumbents, without_configs
from cfo_bench.results.run import Run
from tests.helpers.traces import runs_of

FAILS = [(90, None, 80)]


def test_a_method_that_always_fails_is_last_and_erases_nobody_s_rank(write_run: Any) -> None:
    runs = [
        write_run(task, method, fold, FAILS if (task, method) == ("t", "rs") else [(10, loss, 1)])
        for task in ("t", "u", "v")
        for method, loss in (("cfo", 0.1), ("rs", 0.05), ("bohb", 0.2))
        for fold in (0, 1)
    ]

    found = LearnerResults("xgboost", runs_of(*runs), "cfo").overview

    by_method = {one.method: one for one in found.standings}
    assert found.ranked == 3
    # t: cfo, bohb, rs; u and v: rs, cfo, bohb.
    assert by_method["cfo"].mean_rank == pytest.approx((1 + 2 + 2) / 3)
    assert by_method["rs"].mean_rank == pytest.approx((3 + 1 + 1) / 3)
    assert by_method["bohb"].mean_rank == pytest.approx((2 + 3 + 3) / 3)
    assert (by_method["rs"].failed, by_method["rs"].results) == (1, 2)
    assert "no run has a result, so it ranks last there: rs on t" in found.left_out
    # Scores of t: 0.8, 0.6 and for rs that of the constant, 0; of u and v 0.8, 0.9 and 0.6.
    assert by_method["rs"].mean_gap_percent == pytest.approx((100 + 0 + 0) / 3)
    assert by_method["cfo"].mean_gap_percent == pytest.approx((0 + 100 / 9 + 100 / 9) / 3)


def test_runs_without_a_result_are_counted_once_each(write_run: Any) -> None:
    runs = [
        write_run(task, method, fold, FAILS if fails else [(10, 0.1, 1)])
        for task in ("t", "u")
        for fold in (0, 1, 2)
        for method, fails in (("cfo", False), ("rs", fold == 0), ("bohb", True))
    ]
    # A fold that not all methods have: with or without a result, it is in no mean.
    runs += [write_run("u", method, 3, own) for method, own in (("cfo", [(10, 0.1, 1)]), ("rs", FAILS))]

    found = provenance.MissingSection().build(LearnerResults("xgboost", runs_of(*runs)))

    assert found.warnings == (
        "2 runs: left out of the means: not every method has this fold",
        "6 runs: no result on any fold that is compared: the method ranks last there",
        "2 runs: no result: counted as the constant predictor or the worst other method, whichever is worse",
        "1 run: not finished, or not run",
    )
    rows = found.tables[0].records()
    assert len(rows) == 11 == len({(row["task"], row["method"], row["fold"]) for row in rows})
    assert {row["detail"] for row in rows if row["method"] == "rs"} == {"1 timeout"}


def test_with_negative_r2_failing_does_not_win(write_run: Any) -> None:
    # The constant's r2 is 0, which is better than the -1 and -2 of the others.
    trials = {
        "cfo": [[(1, 2.0, 1)], [(1, 2.0, 1)]],
        "rs": [[(1, 3.0, 1)], [(1, 3.0, 1)]],
        "bohb": [[(1, 2.5, 1)], FAILS],
    }
    runs = [
        write_run("t", method, fold, own, problem=Problem.REGRESSION, constant_loss=1.0)
        for method, folds in trials.items()
        for fold, own in enumerate(folds)
    ]

    found = score_task(runs_of(*runs))

    # Fold 1 counts as the 3 of rs, not as the constant's 1.
    assert found.methods["bohb"].final_loss == pytest.approx((2.5 + 3.0) / 2)
    assert found.methods["bohb"].imputed == 1


def test_a_failed_run_is_at_every_moment_the_worse_of_constant_and_worst() -> None:
    def steps(*found: tuple[float, float]) -> Incumbents:
        return without_configs([s for s, _ in found], [x for _, x in found])

    found = imputed([steps((1, 0.9), (4, 0.3)), steps((2, 0.8), (6, 0.2))], 0.5)

    # From 2 s on, when both others have a result: 0.9; then 0.8 of the second; then the constant.
    assert list(zip(found.seconds, found.losses, strict=True)) == [(2, 0.9), (4, 0.8), (6, 0.5)]
    assert imputed([], 0.5).losses == [0.5]


def test_nobody_beats_the_constant_is_said_and_nobody_wins(write_run: Any) -> None:
    runs = [
        write_run("t", method, fold, [(second, loss, 1)])
        for method, second, loss in (("cfo", 5, 0.5), ("rs", 50, 0.55))
        for fold in (0, 1)
    ]
    results = LearnerResults("xgboost", runs_of(*runs))

    found = results.overview

    assert [one.wins for one in found.standings] == [0, 0]
    assert "no method beats the constant predictor, so none wins: t" in found.left_out
    assert "On t no method beats the constant predictor: the best validation AUC is 0.5000." in found.sentence
    section = optimality.OptimalitySection().build(LearnerResults("xgboost", runs_of(*runs)))
    assert "no method beats the constant predictor on t: no method wins these tasks" in section.warnings


def test_the_gaps_of_the_overview_are_the_mean_of_those_that_are_printed(many_tasks: list[Run]) -> None:
    results = LearnerResults("xgboost", many_tasks)
    cells = optimality.OptimalitySection().build(results).tables[1].records()

    found = results.overview

    for one in found.standings:
        own = [row["gap_percent"] for row in cells if row["method"] == one.method]
        assert one.mean_gap_percent == pytest.approx(sum(own) / len(own))


def test_a_score_a_hair_below_the_best_has_no_gap(write_run: Any) -> None:
    # Scores 0.8 and 0.7998: the second reaches the best, and its printed gap is 0.
    runs = [
        write_run(task, method, 0, [(second, loss, 1)])
        for task in ("t", "u")
        for method, second, loss in (("cfo", 5, 0.1001), ("rs", 50, 0.1))
    ]

    found = LearnerResults("xgboost", runs_of(*runs), "cfo").overview

    assert [one.mean_gap_percent for one in found.standings] == [0, 0]


def test_statistics_name_what_failed(many_tasks: list[Run], write_run: Any) -> None:
    failed = runs_of(*(write_run("car", "mine", fold, FAILS, n_rows=100) for fold in (0, 1)))
    others = [one for one in many_tasks if (one.task, one.method) != ("car", "mine")]

    found = statistics.StatisticsSection().build(LearnerResults("xgboost", [*others, *failed]))

    assert "no result, so ranked last: car mine" in found.warnings
    assert found.tables[0].records()[0]["tasks"] == 8


def test_a_constant_predictor_without_any_loss_stops_no_report(write_run: Any, tmp_path: Path) -> None:
    for task in range(7):
        for method, loss in (("cfo", 0.0), ("rs", 0.25)):
            write_run(f"t{task}", method, 0, [(1, loss, 1)], problem=Problem.MULTICLASS, constant_loss=0.0)

    built = build(Request(tmp_path / "results", tmp_path / "out", formats=("html", "png")))

    assert any("beats the constant predictor" in line for line in built.warnings)
    scores = LearnerResults("xgboost", load(tmp_path / "results").runs).scores
    assert scores[0].methods["rs"].final_score == -0.25


@pytest.mark.parametrize(
    "constant_loss",
    [
        -1.0,
        1.7e308,
        5e-324,
        *(pytest.param(loss, marks=pytest.mark.slow) for loss in (-1e17, 1e17, -1.7e308)),
    ],
)
@pytest.mark.parametrize("problem", [Problem.REGRESSION, Problem.MULTICLASS])
def test_any_loss_of_the_constant_predictor_gives_a_report(
    write_run: Any, tmp_path: Path, problem: Problem, constant_loss: float
) -> None:
    for task in range(7):
        for method, loss in (("cfo", 0.1), ("rs", 0.2)):
            for fold in (0, 1):
                trials = FAILS if (task, method, fold) == (0, "rs", 1) else [(1, loss, 1)]
                write_run(f"t{task}", method, fold, trials, problem=problem, constant_loss=constant_loss)

    built = build(Request(tmp_path / "results", tmp_path / "out", formats=("html", "csv", "png")))

    assert {one.method for one in built.overviews[0].standings} == {"cfo", "rs"}


@pytest.mark.parametrize("problem", [Problem.REGRESSION, Problem.MULTICLASS])
def test_losses_near_the_largest_number_give_a_report_without_warnings(
    write_run: Any, tmp_path: Path, problem: Problem
) -> None:
    for task in range(7):
        for method, loss in (("cfo", 0.3), ("rs", 1.7e308), ("bohb", 1e308)):
            for fold in (0, 1):
                write_run(f"t{task}", method, fold, [(1, loss, 1)], problem=problem, constant_loss=0.5)

    built = build(Request(tmp_path / "results", tmp_path / "out", formats=("html", "png")))

    assert [(one.method, one.mean_rank) for one in built.overviews[0].standings] == [
        ("cfo", 1),
        ("rs", 2.5),
        ("bohb", 2.5),
    ]
