"""What a run is called, how long the rest takes, and how much of it a terminal shows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cfo_bench.clock import monotonic
from cfo_bench.engines.scheduling import Active
from cfo_bench.engines.suite_runs import RunsStarted
from cfo_bench.metrics import METRICS
from cfo_bench.records import DataRef, EndReason, RunSpec, RunStatus, run_id
from cfo_bench.results.schema import EndRecord
from cfo_bench.run.job import Job
from cfo_bench.run.page import Snapshot
from cfo_bench.run.supervisor import Verdict
from cfo_bench.terminal.progress import Forecast, Plain, Terminal, naming

SPEC = RunSpec("xgboost", "iris", "cfo", 0, budget_seconds=100.0)
DONE = Verdict(
    RunStatus.DONE,
    end=EndRecord(
        reason=EndReason.BUDGET, elapsed=100.0, trials=7, best_loss=0.25, best_score=0.75, best_number=3
    ),
)


def job(spec: RunSpec) -> Job:
    return Job(spec, DataRef(spec.task, "bundled"), Path("nowhere.jsonl"))


def under_way(spec: RunSpec, seconds: float) -> Active:
    return Active(job(spec), Snapshot(monotonic() - seconds, 5, 0.5))


# --- names --------------------------------------------------------------------------------------


def test_a_name_has_learner_and_seed_only_where_there_are_several() -> None:
    others = [replace(SPEC, fold=1), replace(SPEC, method="mine.py:Mine")]

    assert [naming([SPEC, *others])(spec) for spec in others] == ["iris cfo fold 1", "iris Mine fold 0"]
    assert naming([SPEC, replace(SPEC, seed=3)])(SPEC) == "iris cfo fold 0 seed 0"
    assert naming([SPEC, replace(SPEC, learner="dnn")])(SPEC) == "xgboost iris cfo fold 0"


# --- how long -----------------------------------------------------------------------------------


def test_budgets_are_shared_by_the_runs_side_by_side() -> None:
    forecast = Forecast([SPEC] * 8, 4, 0.0)

    assert forecast.seconds_left([], 0.0) == 200
    forecast.ended(SPEC, ran=True)
    forecast.ended(SPEC, ran=False)
    assert forecast.seconds_left([], 0.0) == 150


def test_fewer_side_by_side_than_asked_for_take_longer() -> None:
    forecast = Forecast([SPEC] * 8, 4, 0.0)
    forecast.running(2)

    assert forecast.seconds_left([], 0.0) == 400


def test_what_is_spent_is_not_spent_again_and_the_longest_run_has_to_end() -> None:
    long = replace(SPEC, budget_seconds=1000.0)
    forecast = Forecast([long, SPEC, SPEC], 3, 0.0)
    active = [under_way(long, 100), under_way(SPEC, 40), under_way(SPEC, 500)]
    forecast.running(3)

    assert forecast.seconds_left(active, 0.0) == pytest.approx(900, abs=1)


def test_the_last_runs_have_the_machine_to_themselves() -> None:
    forecast = Forecast([SPEC] * 3, 3, 0.0)
    for _ in range(2):
        forecast.ended(SPEC, ran=True)

    assert forecast.seconds_left([], 0.0) == 100


def test_a_longer_budget_is_only_spent_from_where_the_shorter_one_ended() -> None:
    grown, done, new = (replace(SPEC, fold=fold, budget_seconds=600.0) for fold in range(3))
    spent = {run_id(grown): 60.0, run_id(done): 600.0}
    forecast = Forecast([grown, done, new], 1, 0.0, spent)

    assert forecast.seconds_left([], 0.0) == 540 + 600
    forecast.ended(done, ran=False)
    assert forecast.seconds_left([], 0.0) == 540 + 600
    loading = Active(job(grown), Snapshot(None, 5, 0.5))
    assert forecast.seconds_left([loading], 0.0) == 540 + 600
    assert forecast.seconds_left([under_way(grown, 100)], 0.0) == pytest.approx(500 + 600, abs=60)
    forecast.ended(grown, ran=True)
    assert forecast.seconds_left([], 0.0) == 600


def test_on_the_virtual_clock_the_pace_of_what_really_ran_counts() -> None:
    forecast = Forecast([replace(SPEC, clock="virtual", budget_seconds=1e9)] * 100, 2, 50.0)
    for number in range(90):
        forecast.ended(SPEC, ran=number >= 80)

    assert forecast.seconds_left([], 70.0) == 20


# --- what is shown ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_active", "n_lines", "last"), [(8, 9, "iris cfo fold 7"), (40, 23, "and 19 more")]
)
def test_a_terminal_shows_no_more_runs_than_it_has_lines_for(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    n_active: int,
    n_lines: int,
    last: str,
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "100", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    jobs = [job(replace(SPEC, fold=fold)) for fold in range(3150)]

    with Terminal() as shown:
        shown(RunsStarted(jobs, 8, {"iris": METRICS["log_loss"].facts}))
        capfd.readouterr()
        shown.tick([under_way(one.spec, 5) for one in jobs[:n_active]])
        lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capfd.readouterr().err).splitlines()

    assert len(lines) == n_lines
    assert "0 of 3150" in lines[0] and last in lines[-1]


def test_plain_lines_are_one_for_each_run_and_one_for_all_running_runs(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cfo_bench.terminal.progress.STILL_RUNNING_SECONDS", 0.0)
    jobs = [job(replace(SPEC, fold=fold)) for fold in range(10)]
    shown = Plain()
    shown(RunsStarted(jobs, 8, {"iris": METRICS["log_loss"].facts}))

    shown.tick([Active(one, Snapshot(monotonic() - 50, 5, 0.5)) for one in jobs[:8]])
    shown.finished(jobs[0], DONE)
    shown.tick([under_way(jobs[1].spec, 5)])

    assert capfd.readouterr().err.splitlines() == [
        "  8 runs running, 0 of 10 done, 1 min 15 s to go",
        "[1/10, 1 min 09 s to go] iris cfo fold 0: done, 7 trials, best loss 0.25000 (log-loss)",
        "  iris cfo fold 1: 5 of 100 s, 5 trials, best loss 0.50000 (log-loss)",
    ]


@pytest.mark.parametrize("columns", [80, 160])
def test_a_finished_run_leaves_a_line_above_those_under_way(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(columns), "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    specs = [
        replace(SPEC, learner=learner, task="bank-marketing", method="tpe-multivariate", fold=fold)
        for learner in ("random-forest", "xgboost")
        for fold in range(2)
    ]
    jobs = [job(spec) for spec in specs]

    with Terminal() as shown:
        shown(RunsStarted(jobs, 2, {"bank-marketing": METRICS["log_loss"].facts}))
        shown.tick([under_way(spec, 5) for spec in specs[:2]])
        capfd.readouterr()
        shown.finished(jobs[0], DONE)
        lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capfd.readouterr().err).splitlines()

    done = "[1/4] random-forest bank-marketing tpe-multivariate fold 0: done, 7 trials, best loss 0.25000"
    at = next(i for i, line in enumerate(lines) if done in line)
    under_way_lines = [line for line in lines[at + 1 :] if line.strip()]
    assert under_way_lines[0].startswith("runs")
    assert len(under_way_lines) == 3
    for line in under_way_lines[1:]:
        assert len(line.rstrip()) <= columns
        assert "fold " in line and "5 of 100 s" in line and line.rstrip().endswith("best loss 0.50000")
