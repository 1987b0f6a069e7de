"""With a holdout, methods are compared by the test score of what they selected on validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench.report.build import Request, build
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.load import load
from cfo_bench.report.sections import configurations, final_scores, performance, provenance
from cfo_bench.results.run import Run, read_run


@pytest.fixture
def held_out(write_run: Any, tmp_path: Path) -> list[Run]:
    """cfo has the better validation scores, rs the better test scores.

    cfo's second incumbent has a lower test score than its first.
    """
    tests = {"cfo": [0.85, 0.8], "rs": [0.7, 0.9]}
    for task in ("t", "u", "v"):
        for fold in (0, 1):
            for method, losses in (("cfo", (0.2, 0.05)), ("rs", (0.3, 0.15))):
                write_run(
                    task,
                    method,
                    fold,
                    [(5, losses[0], 0.5), (20, losses[1], 0.5)],
                    validation="holdout",
                    test_scores=tests[method],
                )
    return load(tmp_path / "results").runs


def test_ranks_wins_and_headline_are_by_the_test_score(held_out: list[Run]) -> None:
    results = LearnerResults("xgboost", held_out)

    found = results.overview

    assert [(one.method, one.wins, one.mean_rank) for one in found.standings] == [("rs", 3, 1), ("cfo", 0, 2)]
    assert "rs reaches the best score first on 3 of 3 tasks." in found.sentence
    assert found.sentence.endswith("Compared by the test score of what each method selected on validation.")
    assert "by the test score" in found.table().note


def test_a_test_score_that_falls_again_is_not_kept(held_out: list[Run]) -> None:
    task = LearnerResults("xgboost", held_out).scores[0]

    # cfo ends with 0.8, though it had 0.85 before: what was selected last counts.
    assert task.methods["cfo"].final_loss == pytest.approx(0.2)
    assert task.methods["cfo"].fold_losses == pytest.approx((0.2, 0.2))
    assert task.methods["cfo"].validation_losses == pytest.approx((0.05, 0.05))


def test_the_validation_score_stands_beside_it(held_out: list[Run]) -> None:
    found = final_scores.HoldoutSection().build(LearnerResults("xgboost", held_out))

    assert found is not None and "scores are test scores" in found.intro
    row = next(row for row in found.tables[0].records() if (row["task"], row["method"]) == ("t", "cfo"))
    assert (row["test_score"], row["validation_score"]) == pytest.approx((0.8, 0.95))


def test_it_is_said_where_validation_scores_count(held_out: list[Run], write_run: Any) -> None:
    others = [read_run(write_run("other", method, 0, [(5, 0.3, 0.5)])) for method in ("cfo", "rs")]
    alone, mixed = (
        final_scores.HoldoutSection().build(LearnerResults("xgboost", runs))
        for runs in (held_out, [*held_out, *(one for one in others if one is not None)])
    )

    assert alone is not None and mixed is not None
    assert "Ranks, wins and curves of this report are by test scores" in alone.intro
    assert alone.intro.endswith("validation scores here and in the table of the best configurations.")
    assert "Ranks, wins and curves of these tasks are by test scores" in mixed.intro
    assert mixed.intro.endswith("Without test scores, and compared by validation scores: other.")


def test_figures_say_that_the_loss_is_on_the_test_part(held_out: list[Run]) -> None:
    figure = performance.PerformanceSection().build(LearnerResults("xgboost", held_out)).figures[0]

    titles = [axes.get_title() for axes in figure.draw().axes]
    assert titles == [f"{task}, test loss = 1 − AUC" for task in ("t", "u", "v")]


def test_without_test_scores_there_is_no_such_section(by_hand: list[Run]) -> None:
    assert final_scores.HoldoutSection().build(LearnerResults("xgboost", by_hand)) is None
    assert not LearnerResults("xgboost", by_hand).scores[0].by_test


def rewrite(write_run: Any, task: str, method: str, fold: int, tests: list[float | None]) -> None:
    """The run of `held_out`, with other test scores."""
    losses = {"cfo": (0.2, 0.05), "rs": (0.3, 0.15)}[method]
    trials = [(5, losses[0], 0.5), (20, losses[1], 0.5)]
    write_run(task, method, fold, trials, validation="holdout", test_scores=tests)


def test_an_incumbent_without_a_test_score_leaves_the_place_to_the_one_before_it(
    held_out: list[Run], write_run: Any, tmp_path: Path
) -> None:
    rewrite(write_run, "t", "cfo", 0, [0.85, None])
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)

    task = results.scores[0]

    assert all(one.by_test for one in results.scores)
    assert task.methods["cfo"].fold_losses == pytest.approx((0.15, 0.2))
    assert task.methods["cfo"].validation_losses == pytest.approx((0.2, 0.05))
    (run,) = (one for one in results.runs if (one.task, one.method, one.fold) == ("t", "cfo", 0))
    assert (results.incumbents(run).seconds, results.incumbents(run).costs) == ([5.0], [0.5])
    assert results.incumbents(run).best_config == {"n_estimators": 4, "max_leaves": 8}
    best = next(
        table for table in configurations.ConfigurationsSection().build(results).tables if table.name == BEST
    ).records()
    (row,) = (row for row in best if (row["task"], row["method"], row["fold"]) == ("t", "cfo", 0))
    assert (row["validation_score"], row["test_score"], row["n_estimators"]) == (0.8, 0.85, 4)


BEST = "best-configurations"


def test_runs_whose_incumbents_have_no_test_score_are_named_at_the_top(
    held_out: list[Run], write_run: Any, tmp_path: Path
) -> None:
    assert LearnerResults("xgboost", held_out).notices == []
    rewrite(write_run, "t", "cfo", 0, [0.85, None])
    rewrite(write_run, "u", "rs", 1, [None, None])

    built = build(Request(tmp_path / "results", tmp_path / "out", formats=("html",)))

    said = (
        "xgboost: 3 incumbents of 2 runs have no test score, so that the one before counts (a run without "
        "any has no result): t cfo fold 0; u rs fold 1"
    )
    assert said in built.warnings
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert said in page[page.index('class="notices"') :].partition("</section>")[0]
    assert "Compared by the test score" in page


def test_a_run_without_any_test_score_has_no_result(
    held_out: list[Run], write_run: Any, tmp_path: Path
) -> None:
    rewrite(write_run, "u", "rs", 1, [None, None])
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)

    task = results.scores[1]

    assert task.by_test and task.methods["rs"].imputed == 1
    # The constant's 0.5 is worse than the 0.2 of cfo.
    assert task.methods["rs"].fold_losses == pytest.approx((0.1, 0.5))
    (row,) = provenance.MissingSection().build(results).tables[0].records()
    assert (row["task"], row["method"], row["fold"]) == ("u", "rs", 1)
    assert row["what"].startswith("no result") and row["detail"] == "no incumbent has a test score"


def test_a_task_on_which_nothing_was_tested_is_compared_by_validation_and_named(
    held_out: list[Run], write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "rs"):
        for fold in (0, 1):
            rewrite(write_run, "t", method, fold, [None, None])
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)

    assert [task.by_test for task in results.scores] == [False, True, True]
    assert results.notices == [
        "no incumbent has a test score, so validation scores are compared: t",
    ]


def test_validation_and_test_are_means_over_the_same_folds(
    held_out: list[Run], write_run: Any, tmp_path: Path
) -> None:
    trials = [(5, None, 0.5)]
    write_run("t", "cfo", 1, trials, validation="holdout", test_scores=[None])
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)

    found = final_scores.HoldoutSection().build(results)

    assert results.scores[0].methods["cfo"].fold_losses == pytest.approx((0.2, 0.5))
    assert found is not None
    row = next(row for row in found.tables[0].records() if (row["task"], row["method"]) == ("t", "cfo"))
    assert (row["test_score"], row["validation_score"], row["difference"]) == pytest.approx(
        (0.8, 0.95, -0.15)
    )
    assert row["folds"] == 1
