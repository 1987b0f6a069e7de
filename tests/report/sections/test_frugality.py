"""Where the time goes, worked out by hand in conftest.py's words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cfo_bench.records import EndReason
from cfo_bench.report.contents import Table
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.sections import configurations, frugality
from cfo_bench.results.run import Run
from cfo_bench.results.schema import ProgramFacts
from tests.helpers.traces import runs_of


def tables(found: list[Run]) -> dict[str, Table]:
    return {
        table.name: table
        for table in frugality.FrugalitySection().build(LearnerResults("xgboost", found)).tables
    }


def row(table: Table, **of: Any) -> dict[str, Any]:
    return next(one for one in table.records() if all(one[name] == value for name, value in of.items()))


def test_shares_of_the_time_are_means_over_runs(by_hand: list[Run]) -> None:
    found = row(tables(by_hand)["time-shares-by-task"], task="alpha", method="cfo")

    # Fold 0: three trials of 24.5 s in all; fold 1: two of 8.5 s; half a second of the method for each trial.
    assert found["overhead"] == pytest.approx((0.015 + 0.010) / 2)
    assert found["fit"] == pytest.approx((0.18375 + 0.06375) / 2)
    assert found["validate"] == pytest.approx((0.06125 + 0.02125) / 2)
    # The last trials end at 60 and 20 s; what is left before is the harness's.
    assert found["idle"] == pytest.approx((0.4 + 0.8) / 2)
    assert found["harness"] == pytest.approx((0.34 + 0.105) / 2)
    # 20 s of fold 0 went into a trial dearer than the incumbent's 4 s.
    assert found["dearer"] == pytest.approx(0.1)


def test_shares_of_a_method_are_means_over_tasks(by_hand: list[Run]) -> None:
    found = row(tables(by_hand)["time-shares"], method="cfo")

    # On beta and gamma every run has two trials of half a second.
    assert found["overhead"] == pytest.approx((0.0125 + 0.01 + 0.01) / 3)
    assert sum(found[kind] for kind in ("overhead", "fit", "validate", "harness", "idle")) == pytest.approx(1)
    assert row(tables(by_hand)["dearer-share"], method="cfo")["mean"] == pytest.approx(0.1 / 3)


def test_the_cost_of_trials_over_time(by_hand: list[Run]) -> None:
    found = tables(by_hand)

    # The trial of fold 0 that ends at 60 s, in (0.5012, 0.6310] of the budget.
    late = [
        one
        for one in found["trial-cost-by-task"].records()
        if (one["task"], one["method"]) == ("alpha", "cfo") and one["from_share"] < 0.6 <= one["to_share"]
    ]
    assert [(one["mean_seconds"], one["runs"]) for one in late] == [(20, 1)]
    overall = [
        one
        for one in found["trial-cost"].records()
        if one["method"] == "cfo" and one["to_share"] == late[0]["to_share"]
    ]
    assert [(one["cost_share"], one["tasks"]) for one in overall] == [(pytest.approx(0.2), 1)]


def test_how_exactly_the_budget_was_kept(write_run: Any) -> None:
    paths = [
        write_run("t", "cfo", 0, [(1, 0.4, 1)], elapsed=100.5),
        write_run("t", "cfo", 1, [(1, 0.4, 1)], elapsed=100.0),
        write_run("t", "cfo", 2, [(1, 0.4, 1)], elapsed=30.0, reason=EndReason.EXHAUSTED),
    ]

    found = tables(runs_of(*paths))["budget-kept"]

    kept = row(found, method="cfo")
    assert (kept["runs"], kept["spent_it"], kept["trials"]) == (3, 2, 3)
    assert (kept["least"], kept["most"], kept["seconds_past"]) == (1.0, 1.005, 0.5)


def test_the_best_configurations_and_their_evaluation_time(by_hand: list[Run]) -> None:
    found = configurations.ConfigurationsSection().build(LearnerResults("xgboost", by_hand))

    best = row(found.tables[1], task="alpha", method="cfo", fold=1)
    # The second trial: 8 trees, 16 leaves, 8 s, and half a second of the method.
    assert (best["n_estimators"], best["max_leaves"], best["seconds"]) == (8, 16, 8.5)
    histogram = next(t for t in found.figures[0].tables if t.name == "cumulative-n_estimators")
    # bohb's best: the second trial on alpha, twice; the first on beta, twice; the second on gamma, once.
    assert [r[1:] for r in histogram.rows if r[0] == "bohb"] == [[4, pytest.approx(0.4)], [8, 1.0]]


def test_what_it_costs_to_ask_a_program_is_said_beside_its_overhead(by_hand: list[Run]) -> None:
    program = ProgramFacts(command="python rs.py", round_trip_seconds=0.125)
    found = [
        replace(run, header=msgspec.structs.replace(run.header, program=program))
        if run.method == "rs"
        else run
        for run in by_hand
    ]

    section = frugality.FrugalitySection().build(LearnerResults("xgboost", found))

    # Each run of rs has two trials in 100 seconds, so that four round trips take half a second.
    [table] = [table for table in section.tables if table.name == "round-trips"]
    assert table.records() == [
        {
            "method": "rs",
            "round_trip_seconds": 0.125,
            "round_trips_a_trial": 2,
            "share_of_time": pytest.approx(0.005),
            "command": "python rs.py",
        }
    ]
    [shares] = [figure for figure in section.figures if figure.name == "time-shares"]
    assert "2 bare round trips per trial of 125 ms" in shares.caption
    assert shares.caption.endswith("are part of its overhead: 0.50% of the time.")


def test_without_programs_nothing_is_said_of_round_trips(by_hand: list[Run]) -> None:
    assert "round-trips" not in tables(by_hand)
