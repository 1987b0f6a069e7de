"""A run as if it had ended earlier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench.records import EndReason, RunStatus
from cfo_bench.report.reading.imported import Shortened, as_if_ended, at_shared_budgets
from cfo_bench.report.reading.load import load
from cfo_bench.results.limits import shortened
from cfo_bench.results.run import Run, read_run
from tests.report.reading.test_consistency import change

# The budget is 100 s. Each trial costs 4 s, and the method is asked and told for 0.25 s each.
TRIALS = [(10.0, 0.5, 4.0), (20.0, 0.25, 4.0), (30.0, 0.125, 4.0)]


def at(path: Path, seconds: float) -> Run:
    run = read_run(path)
    assert run is not None
    return shortened(run, seconds)


def test_only_trials_that_had_ended_by_then_count(write_run: Any) -> None:
    found = at(write_run("t", "cfo", 0, TRIALS), 25.0)

    assert (found.budget_seconds, found.elapsed, found.incumbents.losses) == (25.0, 25.0, [0.5, 0.25])
    assert (found.status, found.end and found.end.reason, found.n_trials) == (
        RunStatus.DONE,
        EndReason.BUDGET,
        2,
    )


@pytest.mark.parametrize(
    ("seconds", "trials", "spent"),
    [
        (27.0, {"ok": 2, "timeout": 1}, {"method": 1.25, "fit": 7.0, "validate": 2.0}),  # at 1 s of the third
        (25.9, {"ok": 2}, {"method": 1.15, "fit": 6.0, "validate": 2.0}),  # the third is being asked for
        (20.1, {"ok": 2}, {"method": 0.85, "fit": 6.0, "validate": 2.0}),  # the method is told of the second
    ],
)
def test_what_was_under_way_is_counted_up_to_then(
    write_run: Any, seconds: float, trials: dict[str, int], spent: dict[str, float]
) -> None:
    found = at(write_run("t", "cfo", 0, TRIALS), seconds)

    assert found.digest.statuses == trials
    assert {kind: found.spent[kind] for kind in spent} == pytest.approx(spent)
    assert sum(found.spent.values()) == pytest.approx(seconds)


@pytest.mark.parametrize("reason", [EndReason.ERROR, EndReason.INTERRUPTED, None])
def test_a_run_that_failed_later_had_spent_the_shorter_budget(
    write_run: Any, reason: EndReason | None
) -> None:
    found = at(write_run("t", "cfo", 0, TRIALS, reason=reason), 25.0)

    assert (found.status, found.error, found.elapsed) == (RunStatus.DONE, None, 25.0)


def test_a_run_that_ended_before_is_as_it_was(write_run: Any) -> None:
    path = write_run("t", "cfo", 0, TRIALS, reason=EndReason.EXHAUSTED, elapsed=31.0)
    whole, found = read_run(path), at(path, 50.0)

    assert whole is not None
    assert (found.elapsed, found.end and found.end.reason, found.incumbents, found.spent) == (
        31.0,
        EndReason.EXHAUSTED,
        whole.incumbents,
        whole.spent,
    )
    assert found.budget_seconds == 50.0


def test_a_run_that_failed_or_was_stopped_after_that_time_had_ended_well(
    write_run: Any, tmp_path: Path
) -> None:
    for fold, reason in enumerate((EndReason.ERROR, EndReason.INTERRUPTED, None)):
        write_run("t", "cfo", fold, TRIALS, reason=reason)
    write_run("t", "rs", 0, TRIALS[:1], reason=EndReason.ERROR, elapsed=12.0)

    found = as_if_ended(load(tmp_path / "results").runs, 25.0).runs

    states = {(one.method, one.fold): (one.status, one.error) for one in found}
    assert states == {
        ("cfo", 0): (RunStatus.DONE, None),
        ("cfo", 1): (RunStatus.DONE, None),
        ("cfo", 2): (RunStatus.DONE, None),
        ("rs", 0): (RunStatus.FAILED, "it broke"),
    }


def test_references_are_read_whole(write_run: Any, tmp_path: Path) -> None:
    for method in ("constant", "tuned-rf", "rs"):
        write_run("t", method, 0, TRIALS)
    whole = load(tmp_path / "results").runs

    found = as_if_ended(whole, 25.0)

    assert [(one.method, len(one.incumbents.losses)) for one in found.runs] == [
        ("constant", 3),
        ("rs", 2),
        ("tuned-rf", 3),
    ]
    assert found.notices == ["1 of 1 run had a longer budget and is read as if it had ended at 25 s"]


def test_a_run_with_that_budget_is_as_it_is(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    before = load(tmp_path / "results").runs

    assert as_if_ended(before, 100.0) == Shortened(before, [], [])


def test_it_is_said_how_many_runs_are_read_as_if_they_had_ended_sooner(
    write_run: Any, tmp_path: Path
) -> None:
    for fold in range(3):
        write_run("t", "cfo", fold, TRIALS)
    change(write_run("t", "rs", 0, TRIALS[:1]), "spec", budget_seconds=25.0)

    found = as_if_ended(load(tmp_path / "results").runs, 25.0)

    assert found.notices == ["3 of 4 runs had longer budgets and are read as if they had ended at 25 s"]


def test_runs_whose_method_plans_with_its_budget_are_left_out_in_one_line(
    write_run: Any, tmp_path: Path
) -> None:
    write_run("t", "cfo", 0, TRIALS)
    for task in "tuvwxyz":
        path = write_run(task, "plans", 0, TRIALS)
        path.write_bytes(path.read_bytes().replace(b'"problem":', b'"knows_budget":true,"problem":', 1))

    found = as_if_ended(load(tmp_path / "results").runs, 25.0)

    assert [one.method for one in found.runs] == ["cfo"]
    assert found.notices == [
        "1 of 8 runs had a longer budget and is read as if it had ended at 25 s",
        "7 runs left out: the method plans with its budget, so a run of 100 s does not begin like one "
        "of 25 s: t plans fold 0; u plans fold 0; v plans fold 0; w plans fold 0; x plans fold 0; and 2 "
        "more",
    ]


def test_runs_of_a_task_with_different_budgets_are_read_at_the_largest_that_they_share(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "rs"):
        for fold in (0, 1):
            write_run("t", method, fold, TRIALS)
    change(write_run("t", "tpe", 0, TRIALS[:1]), "spec", budget_seconds=25.0)
    write_run("t", "tuned-rf", 0, TRIALS)
    # This run would not be compared in any case, so its budget does not matter.
    change(write_run("t", "smac", 0, TRIALS[:1]), "spec", budget_seconds=5.0, threads=2)
    write_run("u", "cfo", 0, TRIALS)

    found = at_shared_budgets(load(tmp_path / "results").runs)

    budgets = {(run.task, run.method): (run.budget_seconds, run.n_trials) for run in found.runs}
    assert budgets == {
        ("t", "cfo"): (25.0, 2),
        ("t", "rs"): (25.0, 2),
        ("t", "tpe"): (25.0, 1),
        ("t", "smac"): (5.0, 1),
        ("t", "tuned-rf"): (100.0, 3),
        ("u", "cfo"): (100.0, 3),
    }
    assert {len(run.incumbents.losses) for run in found.runs if run.method == "cfo" and run.task == "t"} == {
        2
    }
    assert found.notices == [
        "task 't' with xgboost: its runs have different budgets, 25 s (1 run), 100 s (4 runs): all are read "
        "as if they had ended at 25 s, the largest budget that they share"
    ]


def test_different_budgets_on_many_tasks_are_one_notice(write_run: Any, tmp_path: Path) -> None:
    for task in ("t", "u"):
        write_run(task, "cfo", 0, TRIALS)
        change(write_run(task, "rs", 0, TRIALS[:1]), "spec", budget_seconds=25.0)

    found = at_shared_budgets(load(tmp_path / "results").runs)

    assert found.notices == [
        "2 tasks have runs with different budgets, such as task 't' with xgboost, 25 s (1 run), 100 s "
        "(1 run): all runs of a task are read as if they had ended at the largest budget that they share"
    ]
