"""The standings, and the answer at the top, which claims no more than its table and tests support."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.overview import Overview
from cfo_bench.report.numbers.ranking import Lead, RankTests
from cfo_bench.report.numbers.significance import corrected_t, least_p, pairwise, signed_rank, tied_ranks
from tests.helpers.traces import runs_of


def test_the_standings_are_those_worked_out_by_hand(by_hand: list[Any]) -> None:
    found = LearnerResults("xgboost", by_hand, "cfo").overview

    # Final mean losses of cfo, rs, bohb: alpha .125, .125, .25; beta .5, .375, .875; gamma .375, .5, .625.
    # Ranks: alpha 1.5, 1.5, 3; beta 2, 1, 3; gamma 1, 2, 3.
    by_method = {one.method: one for one in found.standings}
    assert (found.tasks, found.ranked) == (3, 3)
    # rs and cfo share the best mean rank; cfo has more wins.
    assert [one.method for one in found.standings] == ["cfo", "rs", "bohb"]
    assert by_method["cfo"].mean_rank == by_method["rs"].mean_rank == pytest.approx(1.5)
    assert by_method["bohb"].mean_rank == pytest.approx(3)
    # alpha is reached by cfo at 20 s and by rs at 80 s; beta by rs alone, gamma by cfo alone.
    assert {name: (one.wins, one.reached) for name, one in by_method.items()} == {
        "cfo": (2, 2),
        "rs": (1, 2),
        "bohb": (0, 0),
    }
    # rs takes 80 s to 20 on alpha, is first on beta, and never gets there on gamma: 100 s to 10.
    assert by_method["rs"].slowdown == pytest.approx((4 * 1 * 10) ** (1 / 3))
    assert (by_method["rs"].never_reached, by_method["bohb"].never_reached) == (1, 3)
    # Bounds alone are no factor: bohb never gets there.
    assert by_method["bohb"].slowdown is None
    # beta: r2 of .5 against .625; gamma: a score of .625 against .5.
    assert by_method["cfo"].mean_gap_percent == pytest.approx((0 + 20 + 0) / 3)
    assert by_method["rs"].mean_gap_percent == pytest.approx((0 + 0 + 20) / 3)
    # 100 × score / cfo's: alpha 1.5 / 1.5, beta .625 / .5, gamma .5 / .625.
    assert by_method["rs"].mean_normalised == pytest.approx((100 + 125 + 80) / 3)


def test_a_method_without_a_loss_yet_is_ranked_last(by_hand: list[Any]) -> None:
    found = LearnerResults("xgboost", by_hand, "cfo").overview

    # At 1 % of the budget, 1 s: on alpha none has a mean yet, so all share the last ranks; on beta all have
    # .875; on gamma cfo and rs have .75, and bohb, with a fold that counts as the constant, .875.
    ranks = {one.method: one.ranks_at[0.01] for one in found.standings}
    assert ranks["cfo"] == ranks["rs"] == pytest.approx((2 + 2 + 1.5) / 3)


def test_the_answer_in_words_names_winner_rank_and_early_leader(many_tasks: list[Any]) -> None:
    found = LearnerResults("xgboost", many_tasks, "cfo").overview

    # Wilcoxon's p of cfo against each is 2 / 2^8, the largest of them times 1.
    assert found.verdict == (
        "Use cfo: best mean rank (1.00 of 4 methods). Significantly better than rs (p = 0.008), bohb "
        "(p = 0.008) and mine (p = 0.008)."
    )
    # At 1 % of 100 s all have the start's loss, so nobody leads; at 10 % cfo's 0.4 at 3 s is everybody's.
    assert found.details == (
        "At 1 % and 10 % of the budget all methods shared the best mean rank. cfo reaches the best score "
        "first on 8 of 8 tasks."
    )


def test_one_method_alone_is_not_ranked(by_hand: list[Any]) -> None:
    alone = [one for one in by_hand if one.method in ("cfo", "tuned-rf")]

    found = LearnerResults("xgboost", alone, "cfo").overview

    assert found.standings[0].mean_rank is None
    assert found.sentence == "Only cfo has results here: run a second method to compare it with."


def test_references_alone_are_no_comparison(by_hand: list[Any]) -> None:
    only = [one for one in by_hand if one.method == "tuned-rf"]

    found = LearnerResults("xgboost", only, "cfo").overview

    assert found.sentence == "Only reference methods have runs here: run two methods to compare."


def made(write_run: Any, tasks: int, folds: int, losses: dict[str, list[float]]) -> Overview:
    """Runs with one trial at 20 s; a method has the losses of its list in turn, task by task."""
    paths = [
        write_run(f"t{at}", method, fold, [(20, own[at % len(own)], 0.5)])
        for at in range(tasks)
        for method, own in losses.items()
        for fold in range(folds)
    ]
    found = runs_of(*paths)
    return LearnerResults("xgboost", found, "cfo").overview


def leading(scores: np.ndarray[Any, Any], methods: list[str], baseline: str = "") -> Lead:
    return RankTests(methods, tied_ranks(scores), scores, baseline).lead


def test_a_lead_on_few_folds_of_one_task_is_not_tested(write_run: Any) -> None:
    found = made(write_run, 1, 2, {"cfo": [0.1], "rs": [0.2]})

    assert found.sentence == (
        "cfo has the best mean validation AUC (0.9000 over 2 folds); 2 folds are too few for a test. This "
        "applies to t0 only. On t0 cfo reaches the best validation AUC first, 0.9000 after 20 s."
    )


def test_nobody_is_crowned_on_one_fold_of_one_task(write_run: Any) -> None:
    found = made(write_run, 1, 1, {"cfo": [0.1], "rs": [0.2]})

    assert found.verdict == "1 fold is too few for a test. This applies to t0 only."


def test_nobody_is_crowned_on_one_fold(write_run: Any) -> None:
    found = made(write_run, 4, 1, {"cfo": [0.1], "rs": [0.2]})

    assert found.sentence == (
        "4 tasks are too few for a test, with 1 fold each. At 1 % and 10 % of the budget all methods shared "
        "the best mean rank. cfo reaches the best score first on 4 of 4 tasks."
    )


def test_tasks_enough_for_a_test_need_no_second_fold(write_run: Any) -> None:
    found = made(write_run, 6, 1, {"cfo": [0.1], "rs": [0.2]})

    assert found.verdict == (
        "Use cfo: best mean rank (1.00 of 2 methods). Significantly better than rs (p = 0.031)."
    )


def test_methods_worse_than_the_constant_are_not_recommended(write_run: Any) -> None:
    found = made(write_run, 6, 2, {"cfo": [0.6], "rs": [0.7]})

    assert found.verdict == "No method beats the constant predictor on any of 6 tasks."


def test_methods_that_share_tasks_only_by_pairs_are_not_said_to_share_none(write_run: Any) -> None:
    paths = [
        write_run(task, method, fold, [(20, loss, 0.5)])
        for task, methods in (("t", "ab"), ("u", "bc"), ("v", "ca"))
        for loss, method in zip((0.1, 0.2), methods, strict=True)
        for fold in (0, 1)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    assert results.overview.sentence == (
        "The methods can't be ranked: too few tasks have runs of all of them. a, b and c tie for the most "
        "wins: each reaches the best score first on 1 of 3 tasks."
    )


def test_pairs_of_methods_that_are_worse_than_the_constant_are_not_said_to_share_nothing(
    write_run: Any,
) -> None:
    paths = [
        write_run(task, method, fold, [(20, 0.6, 0.5)])
        for task, methods in (("t", "ab"), ("u", "bc"), ("v", "ca"))
        for method in methods
        for fold in (0, 1)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    assert results.overview.sentence == "No method beats the constant predictor on any of 3 tasks."


def test_a_lead_on_few_tasks_is_not_tested(write_run: Any) -> None:
    found = made(write_run, 3, 2, {"cfo": [0.1], "rs": [0.2]})

    assert found.verdict == (
        "cfo has the best mean rank (1.00 of 2 methods); 3 tasks are too few for a test."
    )


def test_a_lead_that_is_not_significant_is_no_recommendation(write_run: Any) -> None:
    # cfo is first on three of six tasks, rs on two, bohb on one. Ranks: cfo 1, 1, 1, 2, 3, 2; rs 2, 2, 3, 1,
    # 1, 3; bohb 3, 3, 2, 3, 2, 1. Sums 10, 12, 14: 12 / (6·3·4) · 440 - 3·6·4 = 1.333, p = exp(-0.667).
    losses = {
        "cfo": [0.1, 0.1, 0.1, 0.2, 0.3, 0.2],
        "rs": [0.2, 0.2, 0.3, 0.1, 0.1, 0.3],
        "bohb": [0.3, 0.3, 0.2, 0.3, 0.2, 0.1],
    }

    found = made(write_run, 6, 2, losses)

    assert found.lead is not None and found.lead.p == pytest.approx(np.exp(-2 / 3))
    assert found.lead.not_significant == ("rs", "bohb")
    assert found.verdict.startswith(
        "No significant lead: cfo has the best mean rank (1.67 of 3 methods), not"
    )


def test_a_lead_over_one_method_only_names_the_other() -> None:
    # Eight tasks: a is before b on six of them by a little, and before c on all by much.
    gaps = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, -0.07, -0.08]
    scores = np.array([[0.9, 0.9 - gap, 0.2 - 0.01 * at] for at, gap in enumerate(gaps)])

    found = leading(scores, ["a", "b", "c"])

    assert (found.leaders, found.not_significant) == (("a",), ("b",))
    # Of a and b, the ranks 7 and 8 of 36 are negative; c is worse on all eight tasks.
    assert found.p_of_others == pytest.approx({"b": signed_rank(gaps).p, "c": 3 * 2 / 2**8})


def test_an_early_leader_is_named_where_the_final_one_did_not_lead(write_run: Any) -> None:
    paths = [
        write_run(f"t{at}", method, fold, trials)
        for at in range(3)
        for method, trials in (
            ("cfo", [(0.5, 0.3, 0.1), (5, 0.29, 0.1), (50, 0.1, 0.1)]),
            ("rs", [(0.5, 0.4, 0.1), (5, 0.2, 0.1)]),
        )
        for fold in (0, 1)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    found = results.overview

    # At 1 s cfo leads, at 10 s rs, at the end cfo.
    assert found.details.startswith(
        "At 1 % of the budget cfo had the best mean rank, too. At 10 % of the budget rs had the best mean "
        "rank."
    )


def test_a_leader_all_along_is_said_to_be_one(write_run: Any) -> None:
    paths = [
        write_run(f"t{at}", method, fold, [(0.5, loss, 0.1), (50, loss / 2, 0.1)])
        for at in range(3)
        for method, loss in (("cfo", 0.2), ("rs", 0.4))
        for fold in (0, 1)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    found = results.overview.sentence

    assert "At 1 % and 10 % of the budget cfo had the best mean rank, too." in found


def test_a_claim_about_a_shared_best_rank_holds_for_each_leader(write_run: Any) -> None:
    # cfo and rs are first in turn, bohb is always third and smac fourth. Each leader beats bohb and smac on
    # all six tasks: 2 / 2^6. Neither leader beats the other: p = 1 times 1, then 2 / 2^6 times 3 and 6, and
    # the least so far.
    losses = {"cfo": [0.1, 0.2], "rs": [0.2, 0.1], "bohb": [0.3], "smac": [0.4]}

    six, ten = made(write_run, 6, 2, losses), made(write_run, 10, 2, losses)

    assert six.verdict == (
        "No significant lead: rs and cfo share the best mean rank (1.50 of 4 methods), not significantly "
        "better than bohb (p = 0.09) and smac (p = 0.09)."
    )
    assert ten.verdict == (
        "Use rs or cfo: they share the best mean rank (1.50 of 4 methods). Each is significantly better than "
        "bohb (p = 0.006) and smac (p = 0.006)."
    )


def test_many_methods_are_named_by_the_first_and_the_largest_p(write_run: Any) -> None:
    losses = {f"m{at}": [0.1 + 0.02 * at] for at in range(9)}

    found = made(write_run, 6, 1, losses)

    assert found.verdict == (
        "Use m0: best mean rank (1.00 of 9 methods). Significantly better than m1, m2, m3, m4, m5 and 3 more "
        "(p ≤ 0.031)."
    )


def test_many_methods_with_a_tiny_p_have_no_digits_of_it(write_run: Any) -> None:
    found = made(write_run, 12, 1, {f"m{at}": [0.1 + 0.02 * at] for at in range(9)})
    assert found.verdict.endswith("and 3 more (p < 0.001).")


def test_nobody_leads_where_all_share_the_best_rank(write_run: Any) -> None:
    found = made(write_run, 6, 2, {"cfo": [0.1, 0.2], "rs": [0.2, 0.1]})

    assert found.verdict == "No method leads: rs and cfo share the best mean rank (1.50 of 2 methods)."


def on_one_task(write_run: Any, losses: dict[str, list[float]]) -> Overview:
    """Runs of a single task of ten folds; a method has the losses of its list, fold by fold."""
    paths = [
        write_run("t", method, fold, [(20, loss, 0.5)])
        for method, of_method in losses.items()
        for fold, loss in enumerate(of_method)
    ]
    return LearnerResults("xgboost", runs_of(*paths), "cfo").overview


def test_on_one_data_set_the_folds_are_tested_as_compare_does(write_run: Any) -> None:
    gaps = [0.02, 0.03, 0.01, 0.02, 0.03, 0.02, 0.01, 0.02]
    losses = {"cfo": [0.1] * 8, "rs": [0.1 + gap for gap in gaps], "bohb": [0.11, 0.09, 0.10, 0.12] * 2}

    found = on_one_task(write_run, losses)

    # Eight of ten folds were run. The p of bohb is the larger one, and counts once; that of rs three times.
    to_rs, to_bohb = corrected_t(gaps, 10), corrected_t([0.01, -0.01, 0.0, 0.02] * 2, 10)
    assert found.lead is not None
    assert found.lead.p_of_others == pytest.approx({"rs": 3 * to_rs, "bohb": to_bohb})
    assert found.verdict == (
        "Use cfo on t: best mean validation AUC (0.9000 over 8 folds). Significantly better than rs "
        f"(p = {3 * to_rs:.3f}); not significantly better than bohb (p = {to_bohb:.2f}). This applies to "
        "t only."
    )


def test_a_method_without_any_result_on_one_data_set_counts_as_the_constant(write_run: Any) -> None:
    paths = [
        write_run("t", method, fold, [(20, loss, 0.5)])
        for method, loss in (("cfo", 0.1), ("rs", None))
        for fold in range(6)
    ]

    found = LearnerResults("xgboost", runs_of(*paths), "cfo").overview

    assert found.verdict == (
        "Use cfo on t: best mean validation AUC (0.9000 over 6 folds). Significantly better than rs "
        "(p = 0.031). This applies to t only."
    )


def many_small_wins() -> np.ndarray[Any, Any]:
    """Thirty tasks: a wins 16 by a little, b wins 14 by much, so that Wilcoxon's test speaks for b."""
    small, large = 0.01 * np.arange(1, 17), -0.5 * np.arange(1, 15)
    return np.array([[10 + gap, 10.0] for gap in [*small, *large]])


def test_the_direction_of_a_difference_is_that_of_its_test() -> None:
    scores = many_small_wins()

    (pair,) = pairwise(scores, ["a", "b"])

    assert pair.wins > pair.losses and pair.p_corrected < 0.05
    assert (pair.direction, pair.verdict) == (-1, "worse")


def test_a_leader_that_the_test_speaks_against_has_no_lead() -> None:
    found = leading(many_small_wins(), ["a", "b"])

    assert (found.leaders, found.not_significant) == (("a",), ("b",))
    assert found.p_of_others == {"b": 1.0}


def twelve_tasks(methods: int) -> np.ndarray[Any, Any]:
    """The same order of methods on each of twelve tasks."""
    return np.array(
        [[1 - 0.01 * place - 0.001 * task * place for place in range(methods)] for task in range(12)]
    )


def test_a_leader_is_confirmed_alike_whether_or_not_it_is_the_baseline() -> None:
    names = [f"m{at}" for at in range(14)]

    rival, baseline = leading(twelve_tasks(14), names), leading(twelve_tasks(14), names, "m0")

    assert rival == baseline
    assert rival.p_of_others == pytest.approx(dict.fromkeys(names[1:], 2 / 2**12))


def test_the_leader_beats_none_of_its_equals_more_often_than_a_test_may() -> None:
    # Ten methods that are equally good and four bad ones, so that Friedman's test always finds a difference.
    # With Holm's correction for the pairs of the leader alone, one of ten was said to be beaten in 14 %.
    rng = np.random.default_rng(5)
    names = [f"m{at}" for at in range(14)]
    wrong = 0
    for _ in range(200):
        scores = 10 + rng.normal(size=(23, 14)) - np.array([0.0] * 10 + [4.0] * 4)
        found = leading(scores, names)
        wrong += not {*names[:10]} <= {*found.not_significant, *found.leaders}

    assert wrong <= 0.05 * 200


def test_two_methods_that_differ_by_jitter_share_the_early_ranks(write_run: Any) -> None:
    # The same configurations, and the second method is 1 % slower: at 10 s it has not yet what the first has.
    paths = [
        write_run(f"t{at}", method, fold, [(0.5, 0.4, 0.1), (second, 0.2, 0.1), (50, 0.1, 0.1)])
        for at in range(6)
        for method, second in (("cfo", 9.95), ("flow2", 10.05))
        for fold in (0, 1)
    ]
    runs = runs_of(*paths)
    found = LearnerResults("xgboost", runs).overview

    assert {one.method: one.ranks_at[0.1] for one in found.standings} == {"cfo": 1.5, "flow2": 1.5}


def test_the_least_p_after_holm() -> None:
    # 14 methods are 91 pairs: 91 · 2 / 2^10; 13 against the baseline: 13 · 2 / 2^10.
    assert least_p(10, 91) == pytest.approx(0.1777, abs=1e-4)
    assert least_p(10, 13) == pytest.approx(0.0254, abs=1e-4)
    assert least_p(2, 91) == 1.0
