"""A method with few runs, or on few tasks, does not cut what the others share."""

from __future__ import annotations

from typing import Any

import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paired import paired
from cfo_bench.report.numbers.scores import keep_most, score_task
from cfo_bench.report.sections import optimality, provenance
from tests.helpers.traces import runs_of


@pytest.mark.parametrize(
    ("having", "kept", "shared"),
    [
        # 2 · 10 runs without the short one, 3 · 1 with it.
        ({"a": range(10), "b": range(10), "c": [0]}, {"a", "b"}, set(range(10))),
        # One that lacks an item keeps its place, however many others have all.
        ({"a": range(10), "b": range(10), "c": range(9)}, {"a", "b", "c"}, set(range(9))),
        ({**dict.fromkeys("abcdefgh", range(10)), "z": range(5, 10)}, {*"abcdefghz"}, set(range(5, 10))),
        # Many short ones are not left out for a long one.
        ({"a": range(10), "b": range(4), "c": range(4)}, {"a", "b", "c"}, set(range(4))),
        # Each lacks another item, and nothing but their order could choose between them.
        ({"a": [0, 1], "b": [1, 2], "c": [0, 2]}, {"a"}, {0, 1}),
        # Two short ones that share nothing.
        ({"a": range(10), "b": range(10), "c": [0], "d": [1]}, {"a", "b"}, set(range(10))),
        # Two are never made one.
        ({"a": range(10), "b": [0]}, {"a", "b"}, {0}),
        ({"a": [0, 1], "b": [7]}, {"a"}, {0, 1}),
        ({"a": [0]}, {"a"}, {0}),
        ({}, set(), set()),
    ],
)
def test_what_keeps_most_is_kept(having: dict[str, list[int]], kept: set[str], shared: set[int]) -> None:
    assert keep_most(having) == (kept, shared)


def test_a_method_with_1_fold_of_10_is_left_out_and_the_others_keep_theirs(write_run: Any) -> None:
    runs = [write_run("t", method, fold, [(10, 0.1, 1)]) for method in ("cfo", "rs") for fold in range(10)]
    runs.append(write_run("t", "bohb", 0, [(10, 0.05, 1)]))
    results = LearnerResults("xgboost", runs_of(*runs))

    (task,) = results.scores
    found = results.overview

    assert (task.n_folds, task.compared) == (10, ["cfo", "rs"])
    assert found.left_out[:2] == [
        "20 of 21 runs are compared: those on folds and seeds that all compared methods of the task have",
        "left out, as they share too few runs with the other methods: bohb on t (1 of 10)",
    ]
    printed = optimality.OptimalitySection().build(results).tables[0]
    assert printed.records()[0]["bohb"] == "left out"
    # It is still compared with the baseline, on the one fold that both have: AUC 0.95 to 0.9.
    against = {one.method: (one.folds, one.difference) for one in paired(results, task)}
    assert against == {"rs": (10, 0.0), "bohb": (1, pytest.approx(0.05))}
    rows = provenance.MissingSection().build(results).tables[0].records()
    assert [row["method"] for row in rows if row["what"] == provenance.LEFT_OUT] == ["bohb"]


def test_a_method_on_few_tasks_is_left_out_of_the_ranks_and_they_say_so(write_run: Any) -> None:
    runs = [
        write_run(task, method, fold, [(10, loss, 1)])
        for task in ("t", "u", "v", "w")
        for method, loss in (("cfo", 0.1), ("rs", 0.2))
        for fold in (0, 1)
    ]
    runs += [write_run("t", "bohb", fold, [(10, 0.05, 1)]) for fold in (0, 1)]

    found = LearnerResults("xgboost", runs_of(*runs), "cfo").overview

    # 2 methods · 4 tasks are more than 3 · 1.
    assert (found.ranked, [one.mean_rank for one in found.standings]) == (4, [1, 2, None])
    assert found.standings[-1].method == "bohb"
    assert "ranks are over 2 of 3 methods (without bohb) and 4 of 4 tasks" in found.left_out


def test_the_best_method_is_not_ranked_lower_for_one_run_that_it_lacks(write_run: Any) -> None:
    runs = [
        write_run(task, method, fold, [(10, loss, 1)])
        for task in ("t", "u", "v", "w")
        for method, loss in (("cfo", 0.1), ("rs", 0.2), ("bohb", 0.3), ("smac", 0.4))
        for fold in range(4)
        if (task, method, fold) != ("t", "cfo", 3)
    ]

    found = LearnerResults("xgboost", runs_of(*runs), "cfo").overview

    assert (found.ranked, found.standings[0].method, found.standings[0].mean_rank) == (4, "cfo", 1)
    assert found.left_out == [
        "60 of 63 runs are compared: those on folds and seeds that all compared methods of the task have"
    ]


def test_methods_without_a_run_in_common_are_said_not_to_be_compared(write_run: Any) -> None:
    runs = [write_run("t", method, fold, [(10, 0.1, 1)]) for method, fold in (("cfo", 0), ("rs", 1))]

    found = LearnerResults("xgboost", runs_of(*runs), "cfo").overview

    assert found.sentence == "No two methods have runs in common here, so nothing is compared."
    assert found.left_out == [
        "0 of 2 runs are compared: those on folds and seeds that all compared methods of the task have",
        "nothing is compared where no fold and seed has enough methods: t",
    ]


def test_no_rank_is_told_where_no_method_has_a_result(write_run: Any) -> None:
    runs = [
        write_run(task, method, fold, [(10, None, 1)])
        for task in ("t", "u", "v")
        for method in ("cfo", "rs")
        for fold in (0, 1)
    ]

    found = LearnerResults("xgboost", runs_of(*runs), "cfo").overview

    assert found.sentence == "No method has a result here, so nothing is compared."


def test_seeds_of_a_fold_are_averaged_before_the_interval(write_run: Any) -> None:
    losses = {(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.3, (1, 1): 0.5}
    paths = [write_run("t", "cfo", fold, [(10, loss, 1)], seed=seed) for (fold, seed), loss in losses.items()]

    found = score_task(runs_of(*paths))

    assert (found.over, found.n_folds) == ("2 folds (2 seeds averaged)", 2)
    curve = found.methods["cfo"].curve
    assert curve is not None and curve.n_folds == 2
    # Folds have 0.2 and 0.4: sd 0.1414, over √2 it is 0.1, and t with one degree of freedom 12.706.
    assert (curve.mean[-1], curve.high[-1]) == pytest.approx((0.3, 0.3 + 12.7062 * 0.1), rel=1e-4)
    assert found.methods["cfo"].fold_losses == pytest.approx((0.2, 0.4))
