"""The standings, and the answer at the top, which claims no more than its table and tests support."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.overview import Overview
from cfo_bench.report.numbers.ranking import Lead, RankTests
from cfo_bench.report.numbers.significance import least_p, pairwise, tied_ranks
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

    # At 1 % of 100 s all have the start's loss, so nobody leads; at 10 % cfo's 0.4 at 3 s is everybody's.
    # Friedman's statistic is 24 with 3 degrees of freedom; Wilcoxon's p of cfo against each is 3 · 2 / 2^8.
    assert found.sentence == (
        "cfo has the best mean rank (1.00); at 1 % and 10 % of the budget all shared it. The lead over each "
        "of the others is significant (Wilcoxon's p after Holm's correction is at most 0.023, over 8 tasks). "
        "cfo reaches the best score first on 8 of 8 tasks."
    )


def test_one_method_alone_is_not_ranked(by_hand: list[Any]) -> None:
    alone = [one for one in by_hand if one.method in ("cfo", "tuned-rf")]

    found = LearnerResults("xgboost", alone, "cfo").overview

    assert found.standings[0].mean_rank is None
    assert found.sentence == "Only cfo has results here: run a second method to compare it with."


def test_references_alone_are_no_comparison(by_hand: list[Any]) -> None:
    only = [one for one in by_hand if one.method == "tuned-rf"]

    found = LearnerResults("xgboost", only, "cfo").overview

    assert found.sentence == "Only references have runs here: run two methods to compare."


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
    lead = RankTests(methods, tied_ranks(scores), scores, baseline).lead
    assert lead is not None
    return lead


def test_nobody_is_crowned_on_one_task(write_run: Any) -> None:
    found = made(write_run, 1, 2, {"cfo": [0.1], "rs": [0.2]})

    assert found.sentence == (
        "Too few tasks to name a winner: 1 task, 2 folds each. On t0 cfo reaches the best validation AUC "
        "first, 0.9000 after 20 s."
    )


def test_nobody_is_crowned_on_one_fold(write_run: Any) -> None:
    found = made(write_run, 4, 1, {"cfo": [0.1], "rs": [0.2]})

    assert found.sentence == (
        "Too few folds to name a winner: 4 tasks, 1 fold each. cfo reaches the best score first on 4 of 4 "
        "tasks."
    )


def test_tasks_enough_for_a_test_need_no_second_fold(write_run: Any) -> None:
    found = made(write_run, 6, 1, {"cfo": [0.1], "rs": [0.2]})

    assert "The lead is significant (Wilcoxon's p = 0.031 over 6 tasks)." in found.sentence


def test_a_lead_over_nothing_but_methods_worse_than_the_constant_is_told_with_that(write_run: Any) -> None:
    found = made(write_run, 6, 2, {"cfo": [0.6], "rs": [0.7]})

    assert found.sentence.startswith("No method beats the constant predictor on any of 6 tasks. cfo has")


def test_methods_that_share_tasks_only_by_pairs_are_not_said_to_share_none(write_run: Any) -> None:
    paths = [
        write_run(task, method, fold, [(20, loss, 0.5)])
        for task, methods in (("t", "ab"), ("u", "bc"), ("v", "ca"))
        for loss, method in zip((0.1, 0.2), methods, strict=True)
        for fold in (0, 1)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    assert results.overview.sentence == (
        "a, b and c tie for the most wins: each reaches the best score first on 1 of 3 tasks. The methods "
        "can't be ranked: too few tasks have runs of all of them."
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

    assert results.overview.sentence == (
        "No method beats the constant predictor on any of 3 tasks. The methods can't be ranked: too few "
        "tasks have runs of all of them."
    )


def test_a_lead_on_few_tasks_is_not_shown(write_run: Any) -> None:
    found = made(write_run, 3, 2, {"cfo": [0.1], "rs": [0.2]})

    assert (
        "3 tasks are too few to test whether the lead is significant: at least 6 are needed."
        in found.sentence
    )


def test_a_lead_that_friedman_does_not_show_is_not_claimed(write_run: Any) -> None:
    # cfo is first on three of six tasks, rs on two, bohb on one. Ranks: cfo 1, 1, 1, 2, 3, 2; rs 2, 2, 3, 1,
    # 1, 3; bohb 3, 3, 2, 3, 2, 1. Sums 10, 12, 14: 12 / (6·3·4) · 440 - 3·6·4 = 1.333, p = exp(-0.667).
    losses = {
        "cfo": [0.1, 0.1, 0.1, 0.2, 0.3, 0.2],
        "rs": [0.2, 0.2, 0.3, 0.1, 0.1, 0.3],
        "bohb": [0.3, 0.3, 0.2, 0.3, 0.2, 0.1],
    }

    found = made(write_run, 6, 2, losses)

    assert found.lead is not None and found.lead.p == pytest.approx(np.exp(-2 / 3))
    assert (
        "cfo has the best mean rank (1.67); at 1 % and 10 % of the budget all shared it. The lead is not "
        "significant (Friedman's p = 0.51 over 6 tasks)."
    ) in found.sentence


def test_a_lead_over_one_method_only_names_the_other() -> None:
    # Eight tasks: a is before b on six of them by a little, and before c on all by much.
    gaps = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, -0.07, -0.08]
    scores = np.array([[0.9, 0.9 - gap, 0.2 - 0.01 * at] for at, gap in enumerate(gaps)])

    found = leading(scores, ["a", "b", "c"])

    assert (found.leaders, found.not_significant) == (("a",), ("b",))
    assert "but the lead over b is not significant" in found.sentence


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
    assert "cfo has the best mean rank (1.00); at 10 % of the budget rs had it." in found.sentence


def test_a_leader_all_along_is_said_to_be_one(write_run: Any) -> None:
    paths = [
        write_run(f"t{at}", method, fold, [(0.5, loss, 0.1), (50, loss / 2, 0.1)])
        for at in range(3)
        for method, loss in (("cfo", 0.2), ("rs", 0.4))
        for fold in (0, 1)
    ]
    results = LearnerResults("xgboost", runs_of(*paths))

    found = results.overview.sentence

    assert "cfo has the best mean rank (1.00), and had it at 1 % and 10 % of the budget too." in found


def test_a_shared_best_rank_is_told_with_what_the_tests_show(write_run: Any) -> None:
    # cfo and rs are first in turn, bohb is always third. Over six tasks the sums of ranks are 9, 9 and 18:
    # Friedman's statistic is 12 / (6·3·4) · 486 - 72 = 9, p = exp(-4.5). Each leader beats bohb on all six
    # tasks: Wilcoxon's p is 2 / 2^6; after Holm's correction, for rs of three pairs, three times that.
    losses = {"cfo": [0.1, 0.2], "rs": [0.2, 0.1], "bohb": [0.3]}

    few = made(write_run, 3, 2, {"cfo": [0.1], "rs": [0.1], "bohb": [0.3]})
    assert "too few to test whether a lead over the others is significant: at least 6" in few.sentence
    assert (
        "The methods differ significantly (Friedman's p = 0.011 over 6 tasks), but no lead is significant: 6 "
        "tasks are too few for significant differences between two of 3 methods."
    ) in made(write_run, 6, 2, losses).sentence
    assert (
        "rs and cfo share the best mean rank (1.50); at 1 % and 10 % of the budget all shared it. Their lead "
        "over each of the others is significant (Wilcoxon's p after Holm's correction is at most 0.0015, "
        "over 12 tasks)."
    ) in made(write_run, 12, 2, losses).sentence


def test_nothing_is_said_of_a_lead_where_all_share_the_best_rank(write_run: Any) -> None:
    found = made(write_run, 6, 2, {"cfo": [0.1, 0.2], "rs": [0.2, 0.1]})

    assert found.sentence == (
        "rs and cfo share the best mean rank (1.50), and shared it at 1 % and 10 % of the budget too. rs and "
        "cfo tie for the most wins: each reaches the best score first on 3 of 6 tasks."
    )


def many_small_wins() -> np.ndarray[Any, Any]:
    """Thirty tasks: a wins 16 by a little, b wins 14 by much, so that Wilcoxon's test speaks for b."""
    small, large = 0.01 * np.arange(1, 17), -0.5 * np.arange(1, 15)
    return np.array([[10 + gap, 10.0] for gap in [*small, *large]])


def test_the_direction_of_a_difference_is_that_of_its_test() -> None:
    scores = many_small_wins()

    (pair,) = pairwise(scores, ["a", "b"])

    assert pair.wins > pair.losses and pair.p_holm < 0.05
    assert (pair.direction, pair.verdict, pair.winner) == (-1, "worse", "b")


def test_a_leader_that_the_test_speaks_against_has_no_lead() -> None:
    found = leading(many_small_wins(), ["a", "b"])

    assert (found.leaders, found.not_significant) == (("a",), ("b",))
    assert "but the lead over b is not significant" in found.sentence


def twelve_tasks(methods: int) -> np.ndarray[Any, Any]:
    """The same order of methods on each of twelve tasks."""
    return np.array(
        [[1 - 0.01 * place - 0.001 * task * place for place in range(methods)] for task in range(12)]
    )


def test_a_leader_that_only_the_runs_have_chosen_is_tested_among_all_pairs() -> None:
    # 14 methods are 91 pairs: 91 · 2 / 2^12 = 0.044; the 13 pairs with the baseline: 13 · 2 / 2^12 = 0.0063.
    names = [f"m{at}" for at in range(14)]

    found, as_baseline = leading(twelve_tasks(14), names), leading(twelve_tasks(14), names, "m0")

    assert found.not_significant == as_baseline.not_significant == ()
    assert found.largest_p == pytest.approx(91 * 2 / 2**12)
    assert as_baseline.largest_p == pytest.approx(13 * 2 / 2**12)
    assert found.sentence == (
        "The lead over each of the others is significant (Wilcoxon's p after Holm's correction is at most "
        "0.044, over 12 tasks)."
    )


def test_where_no_lead_can_be_shown_it_is_said_so() -> None:
    # 16 methods are 120 pairs: 120 · 2 / 2^12 = 0.059.
    found = leading(twelve_tasks(16), [f"m{at}" for at in range(16)])

    assert (
        "but no lead is significant: 12 tasks are too few for significant differences between two of 16 "
        "methods."
    ) in found.sentence


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
