"""The answer at the top: computed by hand for three tasks."""

from __future__ import annotations

from typing import Any

import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults


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
