"""Expected running times and speed-up factors, worked out by hand in conftest.py's words."""

from __future__ import annotations

from typing import Any

import pytest

from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.running_time import OWN_FINAL, Factor, factors, summaries
from cfo_bench.report.reading.digest import Digest, digest

FAR = "99% of the way"


def by_place(found: list[Factor]) -> dict[tuple[str, str, str], Factor]:
    return {(one.task, one.method, one.target): one for one in found}


def test_the_time_to_what_another_method_ends_with(by_hand: list[Digest]) -> None:
    found = by_place(factors(LearnerResults("xgboost", by_hand)))

    # alpha, to 0.125 on both folds: rs 40 and 80 s; cfo 10 s, and never, which takes its 100 s.
    alpha = found["alpha", "rs", OWN_FINAL]
    assert (alpha.time.seconds, alpha.time.reached) == (60, 2)
    assert (alpha.baseline_time.seconds, alpha.baseline_time.reached) == (110, 1)
    assert alpha.factor == pytest.approx(60 / 110)
    # beta, to 0.375: rs 30 and 30 s; cfo 5 s, and never.
    assert found["beta", "rs", OWN_FINAL].factor == pytest.approx(30 / 105)
    # gamma, to 0.5: rs 20 and 50 s; cfo 10 and 10 s.
    assert found["gamma", "rs", OWN_FINAL].factor == pytest.approx(3.5)
    # alpha, to 0.25: bohb 50 and 60 s, cfo 10 and 20 s.
    assert found["alpha", "bohb", OWN_FINAL].factor == pytest.approx(55 / 15)
    # gamma, bohb: 25 s to 0.25, and a fold without a result, 100 s; cfo 10 s, and 1 s to the constant's loss.
    assert found["gamma", "bohb", OWN_FINAL].factor == pytest.approx(125 / 5.5)


def test_the_time_to_a_share_of_the_way_from_the_start_to_the_best(by_hand: list[Digest]) -> None:
    found = by_place(factors(LearnerResults("xgboost", by_hand)))

    # alpha: 0.375 - 0.99 · 0.3125 and 0.4375 - 0.99 · 0.3125. rs never, and 80 s; cfo 10 s, and never.
    assert found["alpha", "rs", FAR].factor == pytest.approx(180 / 110)
    # gamma: 0.75 - 0.99 · 0.5 and 0.75 - 0.99 · 0.25. rs never, and 50 s; cfo 10 and 10 s.
    assert found["gamma", "rs", FAR].factor == pytest.approx(15)
    assert found["gamma", "rs", FAR].bound == ""


def test_a_target_that_is_never_reached_counts_with_the_bound_it_gives(by_hand: list[Digest]) -> None:
    against_cfo = by_place(factors(LearnerResults("xgboost", by_hand)))
    against_bohb = by_place(factors(LearnerResults("xgboost", by_hand, baseline="bohb")))

    # beta, to 0.38: bohb in neither of its 100 s; cfo 5 s, and never; rs 30 s.
    censored = against_cfo["beta", "bohb", FAR]
    assert (censored.time.reached, censored.bound) == (0, "at least")
    assert censored.factor == pytest.approx(200 / 105)
    assert against_bohb["beta", "rs", FAR].bound == "at most"
    assert against_bohb["beta", "rs", FAR].factor == pytest.approx(30 / 200)


def test_a_target_that_neither_reaches_counts_as_equal(write_run: Any) -> None:
    runs = [
        write_run("t", "cfo", 0, [(1, 0.4, 1), (2, 0.3, 1)]),
        write_run("t", "rs", 0, [(1, 0.4, 1), (9, 0.3, 1)]),
        write_run("t", "bohb", 0, [(1, 0.4, 1), (50, 0.1, 1)]),
    ]

    found = by_place(factors(LearnerResults("xgboost", [one for path in runs if (one := digest(path))])))

    assert (found["t", "rs", FAR].bound, found["t", "rs", FAR].factor) == ("neither", 1.0)


def test_factors_are_averaged_over_tasks_and_none_is_dropped(by_hand: list[Digest]) -> None:
    found = {(one.method, one.target): one for one in summaries(factors(LearnerResults("xgboost", by_hand)))}

    rs = found["rs", OWN_FINAL]
    assert rs.tasks == 3
    assert rs.factor == pytest.approx((60 / 110 * 30 / 105 * 3.5) ** (1 / 3))
    # Resampling three tasks gives at the least the smallest factor, at the most the largest.
    assert rs.low is not None and rs.high is not None
    assert 30 / 105 <= rs.low < rs.factor < rs.high <= 3.5
    bohb = found["bohb", FAR]
    # alpha 200 s / 110 s and beta 200 s / 105 s are bounds; gamma is 25 s and 100 s over 10 s.
    assert (bohb.tasks, bohb.only_baseline, bohb.only_method, bohb.neither) == (3, 2, 0, 0)
    assert bohb.factor == pytest.approx((200 / 110 * 200 / 105 * 12.5) ** (1 / 3))


def test_the_same_factors_have_the_same_interval(by_hand: list[Digest]) -> None:
    found = factors(LearnerResults("xgboost", by_hand))

    assert summaries(found) == summaries(found)


def test_one_task_has_a_factor_and_no_interval(by_hand: list[Digest]) -> None:
    alpha = [one for one in by_hand if one.task == "alpha"]

    found = summaries(factors(LearnerResults("xgboost", alpha)))

    assert [(one.tasks, one.low, one.high) for one in found] == [(1, None, None)] * len(found)


def test_without_the_baseline_there_are_no_factors(by_hand: list[Digest]) -> None:
    assert factors(LearnerResults("xgboost", by_hand, baseline="smac")) == []
