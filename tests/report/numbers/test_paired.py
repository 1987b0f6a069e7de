"""A method against the baseline on one task, and learners against each other, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench.records import Problem
from cfo_bench.report.numbers import paired as paired_numbers
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paired import learners_by_task, paired, sign_flip
from cfo_bench.report.reading.load import load
from cfo_bench.report.rendering.table_files import to_latex
from cfo_bench.report.sections import final_scores, learner_pairs
from cfo_bench.results.run import read_run
from tests.helpers.traces import runs_of
from tests.report.reading.test_consistency import change


def test_the_sign_flip_test_counts_sums_as_far_from_0() -> None:
    # Of 8 ways to sign 1, 2, 3 the sum is 6 or -6 in two; of -1, 2, 3 (4) it is ±4 or ±6 in four.
    assert sign_flip([1, 2, 3]) == 2 / 8
    assert sign_flip([-1, 2, 3]) == 4 / 8
    assert sign_flip([0, 0]) == 1.0
    assert sign_flip([5]) == 1.0
    # Ten folds on one side: 2 / 2^10.
    assert sign_flip([1.0] * 10) == 2 / 1024
    assert sign_flip([1.0] * 40) < 1e-3


def test_differences_are_in_the_metric_and_above_0_is_better(write_run: Any) -> None:
    losses = {"cfo": [0.30, 0.32, 0.34], "rs": [0.20, 0.26, 0.25]}
    paths = [
        write_run("t", method, fold, [(5, loss, 1)], problem=Problem.MULTICLASS, constant_loss=1.0)
        for method, own in losses.items()
        for fold, loss in enumerate(own)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    (found,) = paired(results, results.scores[0])

    # Log-loss 0.10, 0.06, 0.09 lower: mean 0.08333, sd 0.02082, t with 2 degrees 4.3027.
    assert found.difference == pytest.approx(0.25 / 3)
    half = 4.302653 * 0.0208167 / 3**0.5
    assert (found.low, found.high) == pytest.approx((0.25 / 3 - half, 0.25 / 3 + half), rel=1e-5)
    assert (found.p, found.p_holm, found.least_p_holm) == (0.25, 0.25, 0.25)
    assert found.verdict == "3 folds are too few for a test"


def test_the_words_follow_the_corrected_p(write_run: Any) -> None:
    paths = [
        write_run("t", method, fold, [(5, loss + 0.001 * fold, 1)])
        for method, loss in (("cfo", 0.2), ("rs", 0.1), ("bohb", 0.3))
        for fold in range(8)
    ]
    paths += [
        write_run("t", "smac", fold, [(5, 0.2 + 0.001 * fold + (0.01 if fold % 2 else -0.02), 1)])
        for fold in range(8)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    found = {one.method: one for one in paired(results, results.scores[0])}

    # Three methods against cfo on 8 folds: at the least 3 · 2 / 2^8.
    assert {one.least_p_holm for one in found.values()} == {6 / 256}
    assert {method: one.verdict for method, one in found.items()} == {
        "rs": "better",
        "bohb": "worse",
        "smac": "not significant",
    }


def test_a_difference_within_the_tolerance_is_a_tie_however_often_it_is_there(write_run: Any) -> None:
    # The scaled scores are 0.6 and 0.60002: within 0.05 % of each other, and rs is ahead on all ten folds.
    paths = [
        write_run("t", method, fold, [(5, loss, 1)])
        for method, loss in (("cfo", 0.2), ("rs", 0.19999))
        for fold in range(10)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    (found,) = paired(results, results.scores[0])

    assert found.p_holm < 0.05
    assert found.verdict == "equal within 0.05 %"


def test_a_run_without_a_result_counts_as_the_worse_of_constant_and_other(write_run: Any) -> None:
    paths = [
        write_run("t", "cfo", 0, [(5, 0.7, 1)]),
        write_run("t", "rs", 0, [(90, None, 80)]),
        write_run("t", "cfo", 1, [(5, 0.2, 1)]),
        write_run("t", "rs", 1, [(5, 0.2, 1)]),
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    (found,) = paired(results, results.scores[0])

    # The constant has 0.5, cfo 0.7: failing is as bad as cfo there, not better.
    assert found.difference == 0.0


def test_scores_are_a_table_of_latex_in_the_metric(write_run: Any) -> None:
    paths = [
        write_run("t", method, fold, [(5, loss + 0.02 * fold, 1)])
        for method, loss in (("cfo", 0.1), ("rs", 0.2))
        for fold in (0, 1)
    ]

    results = LearnerResults("xgboost", runs_of(*paths))
    section = final_scores.FinalScoresSection().build(results)

    # AUC 0.9 and 0.88: mean 0.89, sd 0.01414.
    printed, numbers, _ = section.tables
    assert printed.rows == [["t", "**0.8900 ± 0.0141**", "0.7900 ± 0.0141"]]
    assert printed.title == "Final scores: AUC ↑ (validation)" and "over 2 folds" in printed.note
    assert r"\textbf{0.8900 $\pm$ 0.0141}" in to_latex(printed)
    row = next(row for row in numbers.records() if row["method"] == "cfo")
    assert (row["score"], row["seconds_to_it"]) == (pytest.approx(0.89), 5)
    # (0.5 - 0.11) / 0.5
    assert row["scaled_score"] == pytest.approx(0.78)


@pytest.mark.parametrize(("folds", "has_interval"), [(4, False), (5, True)])
def test_few_folds_are_drawn_as_strokes_and_many_as_an_interval(
    write_run: Any, folds: int, has_interval: bool
) -> None:
    paths = [
        write_run("t", method, fold, [(5, loss + 0.01 * fold, 1)])
        for method, loss in (("cfo", 0.1), ("rs", 0.2))
        for fold in range(folds)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))
    scores, differences = final_scores.FinalScoresSection().build(results).figures

    for figure, methods in ((scores, 2), (differences, 1)):
        table = figure.tables[1]
        assert len(table.rows) == methods * folds
        (axes,) = figure.draw().axes
        strokes = sum(len(lines.get_paths()) for lines in axes.collections if lines.get_alpha() is not None)
        assert strokes == (methods if has_interval else methods * folds)


def test_the_same_scores_are_called_equal_however_few_the_folds(write_run: Any) -> None:
    paths = [
        write_run("t", method, fold, [(5, 0.2 + 0.01 * fold, 1)])
        for method in ("cfo", "flow2")
        for fold in range(2)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    (found,) = paired(results, results.scores[0])

    assert found.verdict == "equal within 0.05 %"


def test_learners_are_compared_on_the_same_tasks(write_run: Any, tmp_path: Path) -> None:
    for learner, task, losses in (
        ("xgboost", "t", (0.1, 0.2)),
        ("dnn", "t", (0.2, 0.3)),
        ("xgboost", "u", (0.3, 0.3)),
        ("dnn", "u", (0.1, 0.1)),
        ("xgboost", "v", (0.1, 0.1)),
        ("dnn", "v", (0.1, 0.1)),
        ("xgboost", "only-here", (0.1, 0.1)),
    ):
        for fold, loss in enumerate(losses):
            write_run(task, "cfo", fold, [(5, loss, 1)], learner=learner)
    change(write_run("other-data", "cfo", 0, [(5, 0.1, 1)], learner="dnn"), "data", sha256="f" * 64)
    write_run("other-data", "cfo", 0, [(5, 0.1, 1)])
    digests = load(tmp_path / "results").runs
    everyone = [
        LearnerResults(learner, [one for one in digests if one.learner == learner])
        for learner in ("dnn", "xgboost")
    ]

    found = learners_by_task(everyone)
    section = learner_pairs.LearnersSection(everyone).build(everyone[0])

    assert [one.best for one in found.tasks] == [("xgboost",), ("dnn",), ("dnn", "xgboost")]
    assert found.differ == ["other-data"]
    (pair,) = paired_numbers.learner_pairs(found.tasks)
    # dnn is better on u, worse on t, equal on v; one of each is what chance gives.
    assert (pair.learner, pair.other, pair.better, pair.worse, pair.equal, pair.p) == (
        "dnn",
        "xgboost",
        1,
        1,
        1,
        1.0,
    )
    assert section is not None
    assert section.tables[0].rows[0] == [
        *("t", "cfo", "AUC ↑", "2 folds", "0.7500 ± 0.0707", "**0.8500 ± 0.0707**")
    ]
    # Three tasks: at the least 2 / 2^3.
    assert section.tables[1].rows[0][-2:] == [0.25, "3 tasks are too few for a test"]


def test_learners_may_be_in_different_files_and_have_one_content_of_the_metrics_file(
    write_run: Any, tmp_path: Path
) -> None:
    for task, metric in (("same", "a"), ("not-known", None), ("other", "b")):
        for learner, letter in (("xgboost", "a"), ("dnn", metric)):
            path = write_run(task, "cfo", 0, [(5, 0.1, 1)], learner=learner)
            if letter is not None:
                change(path, "own_code", metric=letter * 64, learner=learner)
    runs = load(tmp_path / "results").runs

    found = learners_by_task(
        [
            LearnerResults(learner, [run for run in runs if run.learner == learner])
            for learner in ("dnn", "xgboost")
        ]
    )

    assert ([task.task for task in found.tasks], found.differ) == (["not-known", "same"], ["other"])


def test_a_learner_that_fails_on_a_fold_is_compared_and_does_not_win(write_run: Any, tmp_path: Path) -> None:
    # dnn has no result on fold 1: it counts as the constant predictor there, 0.5, and the mean is 0.275.
    for learner, losses in (("xgboost", (0.2, 0.2)), ("dnn", (0.05, None))):
        for fold, loss in enumerate(losses):
            write_run("t", "cfo", fold, [(5, loss, 1)], learner=learner)
    # Nobody has a result.
    for learner in ("xgboost", "dnn"):
        write_run("u", "cfo", 0, [(90, None, 80)], learner=learner)
    digests = load(tmp_path / "results").runs
    everyone = [
        LearnerResults(learner, [one for one in digests if one.learner == learner])
        for learner in ("dnn", "xgboost")
    ]

    (found,) = learners_by_task(everyone).tasks
    section = learner_pairs.LearnersSection(everyone).build(everyone[0])

    assert (found.task, found.losses["dnn"], found.best) == ("t", (0.05, 0.5), ("xgboost",))
    assert section is not None
    assert section.warnings[0].startswith(
        "runs without a result count as the constant predictor or the worst"
    )
    assert "dnn with cfo on t (1 of 2)" in section.warnings[0]


def test_a_third_learner_with_few_runs_does_not_cut_those_of_the_others(
    write_run: Any, tmp_path: Path
) -> None:
    for task in ("t", "u", "v", "w", "x", "y"):
        for learner, folds in (("xgboost", range(3)), ("lightgbm", range(3)), ("knn", (7,))):
            for fold in folds:
                write_run(task, "cfo", fold, [(5, 0.1 + 0.1 * (learner == "xgboost"), 1)], learner=learner)
    digests = load(tmp_path / "results").runs
    everyone = [
        LearnerResults(learner, [one for one in digests if one.learner == learner])
        for learner in ("knn", "lightgbm", "xgboost")
    ]

    section = learner_pairs.LearnersSection(everyone).build(everyone[0])

    assert section is not None
    (pair,) = section.tables[1].records()
    assert (pair["learner"], pair["other"], pair["better"]) == ("lightgbm", "xgboost", 6)
    assert pair["verdict"] == "lightgbm is better"
    assert section.warnings[0].startswith(
        "left out, since they share too few runs with other learners: knn with cfo on t (1 of 3), "
    )


def test_learners_without_a_run_in_common_are_named_and_have_no_empty_tables(
    write_run: Any, tmp_path: Path
) -> None:
    for fold, learner in enumerate(("xgboost", "dnn")):
        write_run("t", "cfo", fold, [(5, 0.1, 1)], learner=learner)
    digests = load(tmp_path / "results").runs
    everyone = [LearnerResults(one.learner, [one]) for one in digests]

    section = learner_pairs.LearnersSection(everyone).build(everyone[0])

    assert section is not None and section.tables == ()
    assert section.warnings[0].startswith("left out, since they share too few runs with other learners: ")


def test_one_learner_alone_has_no_such_section(write_run: Any) -> None:
    one = read_run(write_run("t", "cfo", 0, [(5, 0.1, 1)]))

    assert one is not None
    alone = LearnerResults("xgboost", [one])
    assert learner_pairs.LearnersSection([alone]).build(alone) is None
