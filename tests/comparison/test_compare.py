"""Which method and learner are best on a file: what is planned, what is done, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cfo_bench import Suite, run_suite
from cfo_bench.cli.main import cli
from cfo_bench.clock import monotonic
from cfo_bench.comparison.answer import Candidate, Comparison
from cfo_bench.comparison.compare import _compared, _runs, _TimeIsUpError, _until, compare
from cfo_bench.comparison.plan import ComparisonPlan, keep, planned, recall
from cfo_bench.engines.suite_runs import Event, Note, RunsUnderWay
from cfo_bench.errors import UserError
from cfo_bench.report.numbers.significance import Estimate

LEARNERS, METHODS = ("xgboost", "lightgbm", "random-forest"), ("cfo", "tpe", "rs")


def plan(seconds: float, cells: int = 50_000, cores: int = 2, most_folds: int = 10) -> ComparisonPlan:
    return planned(seconds, cores, cells, most_folds, LEARNERS, METHODS)


# --- the plan -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [30, 60, 300, 600, 3600, 86400])
@pytest.mark.parametrize("cells", [1_000, 500_000, 20_000_000])
@pytest.mark.parametrize("cores", [1, 2, 16])
def test_the_budgets_of_all_runs_fit_into_the_time(seconds: float, cells: int, cores: int) -> None:
    found = plan(seconds, cells, cores)
    runs = found.folds * (len(found.learners) * len(found.methods) + 1)
    assert runs * found.budget_seconds <= seconds * cores or found.budget_seconds == 0.5


def test_ten_minutes_on_two_cores_tell_two_methods_on_two_learners_apart() -> None:
    found = plan(560)
    assert (found.learners, found.methods, found.folds) == (("xgboost", "lightgbm"), ("cfo", "tpe"), 10)
    assert found.budget_seconds >= 15


def test_with_little_time_there_are_fewer_learners_then_fewer_folds() -> None:
    assert plan(60).learners == ("xgboost",) and plan(60).folds >= 6
    assert plan(40, cells=20_000_000).folds < 6


def test_with_much_time_a_third_method_is_compared() -> None:
    assert plan(3600).methods == ("cfo", "tpe", "rs")


def test_no_more_folds_are_planned_than_the_data_allows() -> None:
    assert plan(600, most_folds=3).folds == 3
    assert plan(20, most_folds=2).folds == 2


def test_on_a_busy_machine_less_is_planned() -> None:
    busy = planned(560, 2, 50_000, 10, LEARNERS, METHODS, slowness=4.0)
    assert busy.folds * busy.budget_seconds < plan(560).folds * plan(560).budget_seconds


def test_a_plan_is_recalled_for_the_same_question_only(tmp_path: Path) -> None:
    chosen = plan(560)
    assert recall(tmp_path / "here", {"for": 600}) is None
    keep(tmp_path / "here", {"for": 600}, chosen)
    assert recall(tmp_path / "here", {"for": 600}) == chosen
    assert recall(tmp_path / "here", {"for": 60}) is None
    (tmp_path / "here" / "compare.plan").write_text("[1, 2]")
    assert recall(tmp_path / "here", {"for": 600}) is None


# --- the sentence ---------------------------------------------------------------------------------


def answer(**changed: object) -> Comparison:
    whole = Comparison(
        task="my",
        metric="auc",
        by_test=True,
        candidates=[
            Candidate("xgboost", "cfo", Estimate(0.91, 0.02, 0.9, 0.92, 8)),
            Candidate("lightgbm", "tpe", Estimate(0.9, 0.02, 0.89, 0.91, 8)),
        ],
        constant=0.5,
        forest=0.88,
        forest_folds=8,
        best_beside_forest=0.91,
        p_forest=0.01,
        p_second=0.02,
        can_show=True,
        folds=8,
        budget_seconds=20.0,
        elapsed_seconds=590.0,
        best_command="cfo-bench best here",
        results=Path("here"),
    )
    return replace(whole, **changed)  # type: ignore[arg-type]


def test_the_sentence_has_method_learner_score_interval_references_lead_and_command() -> None:
    assert answer().sentence == (
        "Best: xgboost tuned by cfo, test AUC 0.9100 (mean of 8 folds, 95 % interval 0.9000 to 0.9200). "
        "A constant predictor has 0.5000. A random forest has 0.8800: the best is significantly better "
        "(p = 0.01). Its lead over lightgbm tuned by tpe (0.9000) is significant (p = 0.02). The command for "
        "its model: cfo-bench best here"
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"p_second": 0.3}, "is not significant (p = 0.3): choose either."),
        (
            {"can_show": False, "folds": 3, "forest_folds": 3},
            "is not significant: 3 folds are too few for a test, so give more time with --for.",
        ),
        (
            {"forest_folds": 5, "best_beside_forest": 0.87},
            "A random forest has 0.8800 on the 5 folds that it was done on, where the best has 0.8700: "
            "the forest is significantly better (p = 0.01)",
        ),
        ({"forest": 0.95}, "has 0.9500: the forest is significantly better (p = 0.01), so try --learner"),
        ({"p_forest": 0.4}, "has 0.8800, which is worse; the difference is not significant (p = 0.4)."),
        (
            {"p_forest": 0.4, "forest": 0.95},
            "has 0.9500, which is no worse; the difference is not significant",
        ),
        ({"forest": None, "p_forest": None}, "The random forest was not done in time."),
        ({"constant": None}, "The constant predictor was not done in time."),
        ({"by_test": False}, "validation AUC 0.9100"),
    ],
)
def test_the_sentence_claims_no_more_than_is_shown(changed: dict[str, object], said: str) -> None:
    assert said in answer(**changed).sentence


# --- the runs -------------------------------------------------------------------------------------


def write(path: Path, rows: int = 120) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=rows) > 0, "yes", "no")
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y}).to_csv(path, index=False)
    return path


def test_all_pairs_and_the_references_are_compared_on_the_same_folds(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv")
    chosen = ComparisonPlan(("xgboost",), ("cfo", "rs"), 2, 60.0)
    suite = Suite(
        data_file=path,
        target="y",
        n_folds=3,
        folds="0-1",
        validation="holdout",
        budget_seconds=60,
        max_trials=3,
        jobs=2,
        results=tmp_path / "here",
    )
    runs = _runs(suite, chosen)
    assert not run_suite(runs).failures
    found = _compared(runs, chosen, 1.0)
    assert {(one.learner, one.method) for one in found.candidates} == {("xgboost", "cfo"), ("xgboost", "rs")}
    assert found.by_test and found.folds == 2 and not found.can_show
    assert found.candidates[0].score.mean >= found.candidates[1].score.mean
    assert found.constant == 0.5 and found.forest is not None and found.forest > 0.5
    learner, method = found.candidates[0].learner, found.candidates[0].method
    assert f"--task my --learner {learner} --method {method} --fit {path} -o my.ubj" in found.best_command


def test_the_runs_are_stopped_when_the_time_is_up() -> None:
    told: list[Event] = []
    in_time, too_late = _until(monotonic() + 1000, told.append), _until(monotonic() - 1, told.append)
    in_time(RunsUnderWay([]))
    for event in (RunsUnderWay([]), Note("a word")):
        with pytest.raises(_TimeIsUpError):
            too_late(event)
    assert len(told) == 3


@pytest.mark.parametrize(("time", "said"), [("soon", "is no time"), ("5s", "too short to compare anything")])
def test_a_time_that_is_none_or_too_short_is_refused(tmp_path: Path, time: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        compare(write(tmp_path / "my.csv"), "y", for_seconds=time)


def test_the_command_names_what_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv")
    assert "missing option '--data'" in str(CliRunner().invoke(cli, ["compare"]).output)
    said = CliRunner().invoke(cli, ["compare", "--data", str(path)]).output
    assert "tasks show --data" in said


def test_data_that_is_not_read_in_time_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv")
    with pytest.raises(UserError, match=r"the data was not read within 15 s: give more time with --for"):
        compare(path, "y", for_seconds=15, spent_seconds=1000.0, results=tmp_path / "here")


def test_a_file_of_twelve_rows_is_compared_on_fewer_folds_and_again_from_the_same_plan(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "tiny.csv", rows=12)
    told: list[str] = []

    def noted(event: Event) -> None:
        told.extend([event.text] if isinstance(event, Note) else [])

    asked = {"for_seconds": 60, "methods": ["rs"], "learners": ["knn"], "results": tmp_path / "here"}
    first, again = (compare(path, "y", **asked, on_event=noted) for _ in range(2))  # type: ignore[arg-type]
    plans = [text for text in told if "12 rows" in text]
    assert len(plans) == 2 and plans[0] == plans[1]
    assert first.candidates == again.candidates and 2 <= first.folds <= 5


@pytest.mark.slow
def test_a_comparison_keeps_to_its_time_and_says_who_is_best(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv")
    began = monotonic()
    found = compare(
        path,
        "y",
        for_seconds=90,
        methods=["cfo", "rs"],
        learners=["xgboost"],
        results=tmp_path / "here",
    )
    assert monotonic() - began <= 90
    assert found.sentence.startswith(f"Best: xgboost tuned by {found.candidates[0].method}, test AUC")
    assert found.forest is not None
