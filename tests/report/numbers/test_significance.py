"""Tests of significance and estimates, by hand and against those of scipy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.significance import (
    MOST_EXACT,
    cliques,
    corrected_t,
    critical_difference,
    estimate,
    friedman,
    holm,
    pairwise,
    signed_rank,
    tied_ranks,
    triangle_step_up,
)
from cfo_bench.report.sections import sections
from cfo_bench.report.sections import statistics as section_of
from cfo_bench.results.run import Run
from tests.helpers.traces import runs_of


def test_ties_share_a_rank_and_no_result_is_last() -> None:
    found = tied_ranks(-np.array([[0.125, 0.125, 0.25], [0.5, np.nan, 0.1], [np.nan, 0.3, np.nan]]))

    assert found.tolist() == [[1.5, 1.5, 3], [2, 3, 1], [2.5, 1, 2.5]]


def test_friedman_agrees_with_scipy_on_ties_too() -> None:
    losses = np.random.default_rng(3).integers(0, 6, size=(12, 4)).astype(float)

    found = friedman(tied_ranks(-losses))

    expected = stats.friedmanchisquare(*losses.T)
    assert found is not None
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_friedman_of_methods_that_are_all_alike_finds_nothing() -> None:
    found = friedman(tied_ranks(np.ones((6, 3))))

    assert found is not None and found.p == 1.0


def test_friedman_takes_three_methods() -> None:
    assert friedman(tied_ranks(np.ones((6, 2)))) is None


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_is_nemenyi_s(methods: int, q: float) -> None:
    # q at 5 %, as tables of the two-tailed Nemenyi test print it; on 14 tasks.
    expected = q * (methods * (methods + 1) / (6 * 14)) ** 0.5

    assert critical_difference(14, methods) == pytest.approx(expected, rel=5e-4)


def test_cliques_are_the_longest_stretches_that_don_t_differ() -> None:
    assert cliques([1.0, 1.5, 2.4, 4.0], 1.0) == [(0, 1), (1, 2)]
    assert cliques([1.0, 1.2, 1.4], 1.0) == [(0, 2)]
    assert cliques([1.0, 3.0], 1.0) == []


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.5: times 4, 3, 2, 1; the third may not be below the second.
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_step_up_multiplies_by_the_pairs_that_may_be_equal_and_never_rises() -> None:
    # Largest first: 0.2 · 1, 0.03 · 3, 0.02 · 6 (no less than 0.09), 0.001 · 10.
    corrected = triangle_step_up([0.02, 0.001, 0.2, 0.03])

    assert corrected == pytest.approx([0.09, 0.01, 0.2, 0.09])


def test_a_leader_is_better_than_each_if_every_plain_p_is_significant() -> None:
    assert max(triangle_step_up([0.04] * 14)) == pytest.approx(0.04)


def test_one_method_that_is_ahead_by_the_test_leaves_the_others_to_the_next_multiples() -> None:
    assert triangle_step_up([1.0, 0.01]) == pytest.approx([1.0, 0.03])


def test_the_corrected_t_of_folds_is_that_of_nadeau_and_bengio() -> None:
    differences = [-0.01, 0.03, 0.02, -0.02, 0.01, 0.04, 0.0, 0.01]
    plain = stats.ttest_1samp(differences, 0.0)

    # In 8 folds the variance of the mean is 1/8 + 1/7 of the differences' variance instead of 1/8.
    t = plain.statistic * ((1 / 8) / (1 / 8 + 1 / 7)) ** 0.5
    assert corrected_t(differences, 8) == pytest.approx(2 * stats.t.sf(t, 7))
    # A fold of a billion has nearly no rows: this is Student's test.
    assert corrected_t(differences, 10**9) == pytest.approx(plain.pvalue)


def test_fewer_than_six_folds_are_never_significant_however_equal_their_differences() -> None:
    assert corrected_t([0.1] * 5, 5) == 2**-4
    assert corrected_t([0.1] * 6, 6) == 2**-5
    assert corrected_t([0.0] * 9, 10) == 1.0
    assert corrected_t([0.1], 10) == 1.0


def test_repeated_folds_count_as_more_folds_that_share_as_many_rows() -> None:
    # Two repetitions of 5 folds: the variance of the mean is (1/10 + 1/4) of the differences' variance.
    differences = [0.0, 0.2, 0.1, 0.05, 0.15, 0.1, 0.25, -0.05, 0.1, 0.1]
    spread = float(np.std(differences, ddof=1))

    t = 0.1 / (spread * (1 / 10 + 1 / 4) ** 0.5)
    assert corrected_t(differences, 5) == pytest.approx(2 * stats.t.sf(t, 9))


def test_the_interval_over_folds_of_a_task_is_that_of_the_corrected_test() -> None:
    values = [0.1, 0.5, 0.3, 0.2, 0.4, 0.3]
    corrected, independent = estimate(values, n_folds=3), estimate(values)

    assert corrected.low is not None and independent.low is not None
    wider = (0.3 - corrected.low) / (0.3 - independent.low)
    assert wider == pytest.approx(((1 / 6 + 1 / 2) / (1 / 6)) ** 0.5)
    # The test of the hypothesis that the mean is the end of the interval has p = 5 %.
    assert corrected_t([value - corrected.low for value in values], 3) == pytest.approx(0.05)


def test_pairs_are_tested_by_wilcoxon() -> None:
    # The first beats the second on all of seven tasks: p = 2 / 2^7.
    scores = np.array([[k + 1.0, k + 0.9 - 0.01 * k, k + 1.0] for k in range(7)])

    one, same, other = pairwise(scores, ["a", "b", "c"])

    assert (one.method, one.other, one.wins, one.losses, one.ties) == ("a", "b", 7, 0, 0)
    assert one.p == pytest.approx(2 / 2**7)
    assert (same.ties, same.p, same.p_corrected) == (7, 1.0, 1.0)
    assert one.p_corrected == other.p_corrected == pytest.approx(3 * 2 / 2**7)


def test_without_six_tasks_there_are_no_statistics(by_hand: list[Run]) -> None:
    names = [built.section.name for built in sections(LearnerResults("xgboost", by_hand))]

    assert "statistics" not in names and "win-rates" in names


def test_ranks_and_tests_over_many_tasks(many_tasks: list[Run]) -> None:
    found = section_of.StatisticsSection().build(LearnerResults("xgboost", many_tasks))

    mean_ranks, tests, leader, against_cfo, pairs, over_time = found.tables
    # The same order on all eight tasks.
    assert [(row["method"], row["mean_rank"]) for row in mean_ranks.records()] == [
        ("cfo", 1),
        ("rs", 2),
        ("bohb", 3),
        ("mine", 4),
    ]
    # 12 / (8·4·5) · 64 · (1 + 4 + 9 + 16) - 3·8·5
    assert tests.records()[0]["value"] == pytest.approx(24)
    assert {row["unit"] for row in tests.records()} == {"task"}
    # Pairs are in the order of the mean ranks, the better method first.
    assert [row["verdict"] for row in pairs.records()] == ["better"] * 6
    # Of three methods against cfo: p = 2 / 2^8 on eight tasks, times 3.
    assert [(row["method"], row["verdict"]) for row in against_cfo.records()] == [
        ("rs", "worse"),
        ("bohb", "worse"),
        ("mine", "worse"),
    ]
    assert [row["p_holm"] for row in against_cfo.records()] == pytest.approx([6 / 2**8] * 3)
    # The leader is corrected for its choice: the largest p times 1.
    assert [(row["method"], row["other"], row["verdict"]) for row in leader.records()] == [
        ("cfo", "rs", "better"),
        ("cfo", "bohb", "better"),
        ("cfo", "mine", "better"),
    ]
    assert [row["p_corrected"] for row in leader.records()] == pytest.approx([2 / 2**8] * 3)
    # Before 3 s all have the start's loss; at the end they stand as above.
    first = [row["mean_rank"] for row in over_time.records()[:4]]
    last = {row["method"]: row["mean_rank"] for row in over_time.records()[-4:]}
    assert first == [2.5] * 4
    assert last == {"cfo": 1, "rs": 2, "bohb": 3, "mine": 4}
    # Every resample of tasks has the same ranks.
    assert all(row["ci_low"] == row["ci_high"] == row["mean_rank"] for row in over_time.records()[-4:])


def test_tasks_without_every_method_are_left_out_and_named(many_tasks: list[Run]) -> None:
    fewer = [one for one in many_tasks if (one.task, one.method) != ("car", "rs")]

    found = section_of.StatisticsSection().build(LearnerResults("xgboost", fewer))

    assert found.warnings == (
        "left out, as not every method is compared there: car",
        # 6 pairs · 2 / 2^7
        "every pair: with 7 tasks the least possible p after Holm's correction is 0.094, so no difference "
        "of this table can be significant",
    )
    assert found.tables[0].records()[0]["tasks"] == 7


def test_friedman_s_p_denies_no_difference_of_a_pair(write_run: Any) -> None:
    # cfo is a little better than rs on all tasks, and bohb is far better or far worse than both.
    losses = [(0.20, 0.30, 0.10 if task % 2 else 0.40) for task in range(7)]
    traces = [
        write_run(f"t{task}", method, 0, [(1.0, loss, 0.5)])
        for task, of_methods in enumerate(losses)
        for method, loss in zip(("cfo", "rs", "bohb"), of_methods, strict=True)
    ]
    results = LearnerResults("xgboost", runs_of(*traces))

    found = section_of.StatisticsSection().build(results)

    assert results.overview.verdict == (
        "Use cfo: best mean rank (1.43 of 3 methods). Significantly better than rs (p = 0.047); not "
        "significantly better than bohb (p = 0.19)."
    )
    assert found.figures[1].caption.endswith("Friedman's p = 0.16, not significant.")


@pytest.mark.parametrize("methods", [2, 3, 7, 14, 40])
def test_the_studentized_range_is_scipy_s(methods: int) -> None:
    q = stats.studentized_range.ppf(0.95, methods, np.inf) / 2**0.5

    assert critical_difference(10, methods) == pytest.approx(
        q * (methods * (methods + 1) / 60) ** 0.5, rel=1e-6
    )


@pytest.mark.parametrize("n", [2, 6, 15, 45])
def test_wilcoxon_s_p_is_exact_as_scipy_s(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.4, 1.0, n)

    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank(differences).p == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_s_p_is_exact_with_equal_differences_too() -> None:
    differences = [1.0, 1.0, -1.0, 2.0, 2.0, 3.0, 0.0]

    # Ranks of the six that are not 0: 2, 2, 2, 4.5, 4.5, 6. All 64 ways to sign them, by hand.
    ranks = np.array([2, 2, 2, 4.5, 4.5, 6])
    sums = np.array([ranks[np.array(signs)].sum() for signs in product([True, False], repeat=6)])
    assert signed_rank(differences).p == pytest.approx(2 * float((sums <= 2).mean()))


def test_wilcoxon_s_p_of_no_difference_is_one() -> None:
    assert signed_rank([0.0, 0.0]) == (1.0, 0)
    assert signed_rank([1.0, -1.0]) == (1.0, 0)


def test_wilcoxon_s_p_of_very_many_differences_is_the_normal_one() -> None:
    differences = np.random.default_rng(1).normal(0.2, 1.0, MOST_EXACT + 50).round(1)

    expected = stats.wilcoxon(differences, method="asymptotic").pvalue
    assert signed_rank(differences).p == pytest.approx(expected, rel=1e-9)


def test_an_interval_is_student_s_t_over_folds() -> None:
    found = estimate([0.8, 0.9, 1.0])

    # sd 0.1, and the quantile of t with 2 degrees of freedom at 97.5 % is 4.30265.
    assert (found.mean, found.sd, found.folds) == (pytest.approx(0.9), pytest.approx(0.1), 3)
    half = 4.30265 * 0.1 / 3**0.5
    assert [found.low, found.high] == pytest.approx([0.9 - half, 0.9 + half], abs=1e-5)


def test_one_fold_has_no_interval() -> None:
    found = estimate([0.8])

    assert (found.mean, found.sd, found.low, found.high) == (0.8, None, None, None)


def test_scores_are_in_the_metric_that_people_read(by_hand: list[Run]) -> None:
    alpha, beta, gamma = LearnerResults("xgboost", by_hand).scores

    assert alpha.estimate(alpha.methods["cfo"].fold_losses).mean == pytest.approx(1 - 0.125)  # AUC
    assert beta.estimate(beta.methods["rs"].fold_losses).mean == pytest.approx(1 - 0.375)  # r2
    assert gamma.estimate(gamma.methods["cfo"].fold_losses).mean == pytest.approx(
        (0.25 + 0.5) / 2
    )  # log-loss


def test_an_interval_ends_where_the_metric_does(write_run: Any) -> None:
    # Losses 0, 0.3: Student's t with one degree of freedom gives an interval of more than 1 on both sides.
    paths = [write_run("t", "cfo", fold, [(5, loss, 1)]) for fold, loss in enumerate((0.0, 0.3))]
    (task,) = LearnerResults("xgboost", runs_of(*paths)).scores

    found = task.estimate(task.methods["cfo"].fold_losses)

    assert (found.mean, found.low, found.high) == (pytest.approx(0.85), 0.0, 1.0)
