"""Expected running times and speed-up factors, worked out by hand in conftest.py's words."""

from __future__ import annotations

from typing import Any

import pytest

from cfo_bench.records import EndReason
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.running_time import OWN_FINAL, Factor, Summary, factors, summaries
from cfo_bench.results.run import Run
from tests.helpers.traces import runs_of

FAR = "99% of the way"


def by_place(found: list[Factor]) -> dict[tuple[str, str, str], Factor]:
    return {(one.task, one.method, one.target): one for one in found}


def test_the_time_to_what_another_method_ends_with(by_hand: list[Run]) -> None:
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


def test_a_baseline_that_ends_a_hair_above_the_other_s_loss_has_reached_it(write_run: Any) -> None:
    # The scaled scores are 0.8 and 0.8002: equal, so cfo is there after 5 s, and not charged its 100 s.
    runs = [
        write_run("t", "cfo", 0, [(1, 0.4, 1), (5, 0.1, 1)]),
        write_run("t", "flow2", 0, [(1, 0.4, 1), (10, 0.0999, 1)]),
    ]

    found = by_place(factors(LearnerResults("xgboost", runs_of(*runs))))

    assert (found["t", "flow2", OWN_FINAL].factor, found["t", "flow2", OWN_FINAL].who) == (2.0, "")


def test_the_time_to_a_share_of_the_way_from_the_start_to_the_best(by_hand: list[Run]) -> None:
    found = by_place(factors(LearnerResults("xgboost", by_hand)))

    # alpha: 0.375 - 0.99 · 0.3125 and 0.4375 - 0.99 · 0.3125. rs never, and 80 s; cfo 10 s, and never.
    assert found["alpha", "rs", FAR].factor == pytest.approx(180 / 110)
    # gamma: 0.75 - 0.99 · 0.5 and 0.75 - 0.99 · 0.25. rs never, and 50 s; cfo 10 and 10 s.
    assert found["gamma", "rs", FAR].factor == pytest.approx(15)
    assert found["gamma", "rs", FAR].who == ""


def test_a_target_that_is_never_reached_is_charged_all_budgets(by_hand: list[Run]) -> None:
    against_cfo = by_place(factors(LearnerResults("xgboost", by_hand)))
    against_bohb = by_place(factors(LearnerResults("xgboost", by_hand, baseline="bohb")))

    # beta, to 0.38: bohb in neither of its 100 s; cfo 5 s, and never; rs 30 s.
    censored = against_cfo["beta", "bohb", FAR]
    assert (censored.time.reached, censored.who) == (0, "only the baseline reached it")
    assert censored.factor == pytest.approx(200 / 105)
    assert against_bohb["beta", "rs", FAR].who == "only the method reached it"
    assert against_bohb["beta", "rs", FAR].factor == pytest.approx(30 / 200)


def test_a_target_that_neither_reaches_has_no_factor(write_run: Any) -> None:
    runs = [
        write_run("t", "cfo", 0, [(1, 0.4, 1), (2, 0.3, 1)]),
        write_run("t", "rs", 0, [(1, 0.4, 1), (9, 0.3, 1)]),
        write_run("t", "bohb", 0, [(1, 0.4, 1), (50, 0.1, 1)]),
    ]

    found = by_place(factors(LearnerResults("xgboost", runs_of(*runs))))

    assert (found["t", "rs", FAR].who, found["t", "rs", FAR].factor) == ("neither reached it", None)
    summary = next(one for one in summaries([found["t", "rs", FAR]]))
    assert (summary.tasks, summary.factor, summary.low, summary.neither) == (0, None, None, 1)


def test_a_run_that_never_reached_the_target_is_charged_its_budget(write_run: Any) -> None:
    runs = [
        write_run("t", "cfo", 0, [(1, 0.4, 1), (10, 0.1, 1)]),
        # Nothing was left to try at 2 s: it looks fast only if these 2 s are counted in place of the 100 s.
        write_run("t", "rs", 0, [(1, 0.4, 1), (2, 0.3, 1)], elapsed=2.0, reason=EndReason.EXHAUSTED),
    ]

    found = by_place(factors(LearnerResults("xgboost", runs_of(*runs))))

    assert (found["t", "rs", FAR].factor, found["t", "rs", FAR].who) == (
        100 / 10,
        "only the baseline reached it",
    )


def test_a_time_of_0_gives_no_factor(write_run: Any) -> None:
    runs = [write_run("t", "cfo", 0, [(0, 0.4, 0)]), write_run("t", "rs", 0, [(5, 0.4, 1)])]

    found = by_place(factors(LearnerResults("xgboost", runs_of(*runs))))

    assert (found["t", "rs", FAR].factor, found["t", "rs", FAR].who) == (None, "too fast to time")


def test_who_reached_the_target_is_counted_where_a_time_is_too_short_for_a_factor(write_run: Any) -> None:
    runs = [write_run("t", "cfo", 0, [(1e-9, 0.1, 0)]), write_run("t", "rs", 0, [(5, 0.4, 1)])]
    results = LearnerResults("xgboost", runs_of(*runs))

    found = by_place(factors(results))["t", "rs", FAR]

    assert (found.factor, found.who) == (None, "only the baseline reached it")
    assert summaries([found])[0].only_baseline == 1
    # Nor is there a cell of ×5000000000 in the table of the paper, and rs never reached the best.
    rs = next(one for one in results.overview.standings if one.method == "rs")
    assert (rs.slowdown, rs.never_reached) == (None, 1)


def test_factors_are_averaged_over_tasks_and_none_is_dropped(by_hand: list[Run]) -> None:
    found = {(one.method, one.target): one for one in summaries(factors(LearnerResults("xgboost", by_hand)))}

    rs = found["rs", OWN_FINAL]
    assert rs.tasks == 3
    assert rs.factor == pytest.approx((60 / 110 * 30 / 105 * 3.5) ** (1 / 3))
    assert (rs.low, rs.high) == (None, None)
    bohb = found["bohb", FAR]
    # alpha 200 s / 110 s and beta 200 s / 105 s are bounds; gamma is 25 s and 100 s over 10 s.
    assert (bohb.tasks, bohb.only_baseline, bohb.only_method, bohb.neither) == (3, 2, 0, 0)
    assert bohb.factor == pytest.approx((200 / 110 * 200 / 105 * 12.5) ** (1 / 3))


def test_an_interval_takes_six_tasks(many_tasks: list[Run]) -> None:
    def rs(tasks: int) -> Summary:
        some = sorted({one.task for one in many_tasks})[:tasks]
        found = factors(LearnerResults("xgboost", [one for one in many_tasks if one.task in some]))
        return next(one for one in summaries(found) if (one.method, one.target) == ("rs", FAR))

    assert (rs(5).tasks, rs(5).low, rs(5).high) == (5, None, None)
    six = rs(6)
    assert six.low is not None and six.high is not None and six.factor is not None
    assert six.low < six.factor < six.high


def test_the_same_factors_have_the_same_interval(by_hand: list[Run]) -> None:
    found = factors(LearnerResults("xgboost", by_hand))

    assert summaries(found) == summaries(found)


def test_one_task_has_a_factor_and_no_interval(by_hand: list[Run]) -> None:
    alpha = [one for one in by_hand if one.task == "alpha"]

    found = summaries(factors(LearnerResults("xgboost", alpha)))

    assert [(one.tasks, one.low, one.high) for one in found] == [(1, None, None)] * len(found)


def test_without_the_baseline_there_are_no_factors(by_hand: list[Run]) -> None:
    assert factors(LearnerResults("xgboost", by_hand, baseline="smac")) == []
