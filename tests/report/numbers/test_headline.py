"""The sentence at the top claims no more than its table and its tests show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfo_bench.report.numbers.overview import Overview, overview
from cfo_bench.report.numbers.scoring import score_tasks
from cfo_bench.report.numbers.significance import lead, least_p, tied_ranks
from cfo_bench.report.reading.digest import digest


def made(write_run: Any, tasks: int, folds: int, losses: dict[str, list[float]]) -> Overview:
    """Runs with one trial at 20 s; a method has the losses of its list in turn, task by task."""
    paths = [
        write_run(f"t{at}", method, fold, [(20, own[at % len(own)], 0.5)])
        for at in range(tasks)
        for method, own in losses.items()
        for fold in range(folds)
    ]
    found = [one for path in paths if (one := digest(path)) is not None]
    return overview("xgboost", score_tasks(found), "cfo")


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


def test_a_lead_on_few_tasks_is_not_shown(write_run: Any) -> None:
    found = made(write_run, 3, 2, {"cfo": [0.1], "rs": [0.2]})

    assert found.sentence.endswith("The lead is not shown: 3 tasks are too few for a test, it takes 6.")


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
    assert found.sentence.endswith(
        "cfo has the best mean rank, 1.67; at 1 % and 10 % of the budget nobody led. The lead is not shown: "
        "the methods are not shown to differ (Friedman's p = 0.51 over 6 tasks)."
    )


def test_a_lead_over_one_method_only_names_the_other() -> None:
    # Eight tasks: a is before b on six of them by a little, and before c on all by much.
    gaps = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, -0.07, -0.08]
    scores = np.array([[0.9, 0.9 - gap, 0.2 - 0.01 * at] for at, gap in enumerate(gaps)])

    found = lead(tied_ranks(scores), scores, ["a", "b", "c"])

    assert (found.leaders, found.not_shown) == (("a",), ("b",))
    assert "but a lead over b is not shown" in found.sentence


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
    scores = score_tasks([one for path in paths if (one := digest(path)) is not None])

    found = overview("xgboost", scores, "cfo")

    # At 1 s cfo leads, at 10 s rs, at the end cfo.
    assert "cfo has the best mean rank, 1.00; at 10 % of the budget rs led." in found.sentence


def test_a_leader_all_along_is_said_to_be_one(write_run: Any) -> None:
    paths = [
        write_run(f"t{at}", method, fold, [(0.5, loss, 0.1), (50, loss / 2, 0.1)])
        for at in range(3)
        for method, loss in (("cfo", 0.2), ("rs", 0.4))
        for fold in (0, 1)
    ]
    scores = score_tasks([one for path in paths if (one := digest(path)) is not None])

    found = overview("xgboost", scores, "cfo").sentence

    assert "cfo has the best mean rank, 1.00, and had it at 1 % and 10 % of the budget too." in found


def test_a_shared_best_rank_is_told_with_what_the_tests_show(write_run: Any) -> None:
    # cfo and rs are first in turn, bohb is always third. Over six tasks the sums of ranks are 9, 9 and 18:
    # Friedman's statistic is 12 / (6·3·4) · 486 - 72 = 9, p = exp(-4.5). Each leader beats bohb on all six
    # tasks: Wilcoxon's p is 2 / 2^6, twice that after Holm's correction for two pairs.
    losses = {"cfo": [0.1, 0.2], "rs": [0.2, 0.1], "bohb": [0.3]}

    assert made(write_run, 3, 2, {"cfo": [0.1], "rs": [0.1], "bohb": [0.3]}).sentence.endswith(
        "A lead over the others is not shown: 3 tasks are too few for a test, it takes 6."
    )
    assert made(write_run, 6, 2, losses).sentence.endswith(
        "The methods differ (Friedman's p = 0.011 over 6 tasks), but a lead over bohb is not shown."
    )
    assert made(write_run, 12, 2, losses).sentence.endswith(
        "rs and cfo share the best mean rank, 1.50; at 1 % and 10 % of the budget nobody led. Their lead "
        "over the others is shown (Friedman's p = 0.00012 over 12 tasks)."
    )


def test_methods_that_all_share_the_best_rank_are_not_shown_to_differ(write_run: Any) -> None:
    found = made(write_run, 6, 2, {"cfo": [0.1, 0.2], "rs": [0.2, 0.1]})

    assert found.sentence.endswith("The methods are not shown to differ (Wilcoxon's p = 1 over 6 tasks).")


def test_the_least_p_after_holm() -> None:
    # 14 methods are 91 pairs: 91 · 2 / 2^10; 13 against the baseline: 13 · 2 / 2^10.
    assert least_p(10, 91) == pytest.approx(0.1777, abs=1e-4)
    assert least_p(10, 13) == pytest.approx(0.0254, abs=1e-4)
    assert least_p(2, 91) == 1.0
