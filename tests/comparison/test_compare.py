"""Which method and learner are best on a file: what is planned, what is done, and what is said of it."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cfo_bench import Suite, best_configurations, run_suite
from cfo_bench.cli.main import cli
from cfo_bench.clock import monotonic
from cfo_bench.comparison.answer import Candidate, Comparison, answer_from
from cfo_bench.comparison.compare import (
    _can_do,
    _Comparing,
    _each_warning_once,
    _TimeIsUpError,
    _Watch,
    compare,
)
from cfo_bench.comparison.plan import Workload, further_folds, planned
from cfo_bench.engines.suite_runs import Event, Note, RunFinished, RunsUnderWay, ignore
from cfo_bench.errors import UserError
from cfo_bench.metrics import METRICS
from cfo_bench.report.numbers.significance import Estimate
from cfo_bench.results.comparison_record import (
    ComparisonPlan,
    ComparisonRecord,
    ComparisonVerdict,
    read_record,
)
from cfo_bench.suite.choices import Choice
from tests.conftest import WriteRun
from tests.helpers.terminals import on_a_terminal

LEARNERS, METHODS = ("xgboost", "lightgbm", "random-forest"), ("cfo", "tpe", "rs")


def plan(
    seconds: float, cells: int = 50_000, cores: int = 2, overhead: float = 0.5, most_folds: int = 100
) -> ComparisonPlan:
    return planned(seconds, Workload(cores, overhead, cells, most_folds), LEARNERS, METHODS)


# --- the plan -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [30, 60, 300, 600, 3600, 86400])
@pytest.mark.parametrize("cells", [1_000, 500_000, 20_000_000])
@pytest.mark.parametrize("cores", [1, 2, 16])
def test_the_first_folds_fit_into_the_time(seconds: float, cells: int, cores: int) -> None:
    chosen = plan(seconds, cells, cores)
    waves = -(-chosen.folds * (len(chosen.learners) * len(chosen.methods) + 1) // cores)
    assert waves * (chosen.budget_seconds + 0.5) <= seconds or chosen.budget_seconds == 0.5


def test_ten_minutes_on_two_cores_are_enough_for_two_methods_on_two_learners() -> None:
    chosen = plan(560)
    assert (chosen.learners, chosen.methods, chosen.folds) == (("xgboost", "lightgbm"), ("cfo", "tpe"), 10)
    assert chosen.budget_seconds >= 15


def test_with_little_time_there_are_fewer_learners_then_fewer_folds() -> None:
    assert plan(60).learners == ("xgboost",) and plan(60).folds >= 6
    assert plan(40, cells=20_000_000).folds < 6


def test_with_much_time_a_third_method_is_compared_and_time_is_left_for_further_folds() -> None:
    chosen = plan(86400)
    assert chosen.methods == ("cfo", "tpe", "rs")
    # On small data, ten repetitions of the ten folds take longer than a day with longer budgets.
    waves = -(-100 * 7 // 2)
    assert chosen.budget_seconds >= 30 and waves * chosen.budget_seconds > 0.9 * 86400


@pytest.mark.parametrize("most_folds", [3, 7])
@pytest.mark.parametrize("seconds", [60, 600, 3600])
def test_a_split_that_no_seed_changes_has_no_more_folds_and_its_runs_use_the_time(
    seconds: float, most_folds: int
) -> None:
    chosen = plan(seconds, most_folds=most_folds)
    waves = -(-chosen.folds * (len(chosen.learners) * len(chosen.methods) + 1) // 2)
    assert chosen.folds == most_folds
    assert 0.8 * seconds < waves * (chosen.budget_seconds + 0.5) <= seconds


def test_what_was_asked_for_is_compared_whatever_the_time() -> None:
    workload = Workload(2, 0.5, 50_000, 100)
    chosen = planned(20, workload, LEARNERS, METHODS, all_learners=True, all_methods=True)
    assert (chosen.learners, chosen.methods) == (LEARNERS, METHODS)


def test_where_runs_take_long_besides_their_budget_fewer_folds_are_planned() -> None:
    assert plan(60, overhead=4.0).folds < plan(60).folds


def test_further_folds_are_those_whose_runs_fit_side_by_side() -> None:
    # Two candidates and the forest are three runs for each fold: one and a half waves of two runs.
    assert further_folds(7.5, 2, 2, 5.0) == 1
    assert further_folds(7.4, 2, 2, 5.0) == 0
    assert further_folds(15.0, 2, 2, 5.0) == 2
    assert further_folds(-1.0, 2, 2, 5.0) == 0
    # On sixteen cores, five folds are run at once, in the time of a single run.
    assert further_folds(5.0, 16, 2, 5.0) == 5
    assert further_folds(4.9, 16, 2, 5.0) == 0


def test_a_record_is_read_as_it_was_written_and_nothing_else_is_one(tmp_path: Path) -> None:
    record = ComparisonRecord({"for": 600}, plan(560), ComparisonVerdict("t", "xgboost", "tpe", "Best: tpe."))
    assert read_record(tmp_path / "here") is None
    record.write(tmp_path / "here")
    assert read_record(tmp_path / "here") == record
    (tmp_path / "here" / "compare.plan").write_text("[1, 2]")
    assert read_record(tmp_path / "here") is None


@pytest.mark.parametrize(
    "changed", [{"learners": ("mine.py:Mine",)}, {"methods": ("exec:rm",)}, {"folds": 10**9}]
)
def test_a_plan_that_names_more_than_was_asked_for_is_not_done(changed: dict[str, Any]) -> None:
    suite = Suite(learners=["xgboost", "lightgbm"], methods=["cfo", "tpe"], budget_seconds=1)
    wanted = plan(560)
    assert _can_do(suite, 100, wanted)
    assert not _can_do(suite, 100, msgspec.structs.replace(wanted, **changed))


# --- the answer in words --------------------------------------------------------------------------

BEST = Candidate("xgboost", "cfo", Estimate(0.91, 0.02, 0.9, 0.92, 12))
SECOND = Candidate("lightgbm", "tpe", Estimate(0.9, 0.02, 0.89, 0.91, 12), 0.02)
FOREST = Candidate("random-forest", "tuned-rf", Estimate(0.88, 0.02, 0.87, 0.89, 12), 0.01)


def answer(**changed: object) -> Comparison:
    whole = Comparison(
        task="my",
        metric="auc",
        metric_facts=METRICS["auc"].facts,
        by_test=True,
        candidates=[BEST, SECOND, FOREST],
        constant=0.5,
        forest=0.88,
        beats_constant=True,
        folds=12,
        splits=2,
        can_add_folds=True,
        budget_seconds=20.0,
        elapsed_seconds=590.0,
        best_command="cfo-bench best here",
        results=Path("here"),
    )
    return replace(whole, **changed)  # type: ignore[arg-type]


def test_the_answer_is_a_verdict_and_its_reasons() -> None:
    assert answer().verdict == "Best by a significant lead: xgboost tuned by cfo, test AUC 0.9100."
    assert answer().reasons == [
        "The mean is over 12 folds of 2 splits; its 95 % interval is 0.9000 to 0.9200.",
        "lightgbm tuned by tpe has 0.9000, significantly worse (p = 0.02).",
        "random-forest (tuned-rf) has 0.8800, significantly worse (p = 0.01).",
        "A constant predictor has 0.5000.",
    ]
    assert answer().sentence.endswith("has 0.5000. The command that trains the model: cfo-bench best here")


@pytest.mark.parametrize(
    ("changed", "verdict", "reason"),
    [
        (
            {"candidates": [BEST, replace(SECOND, p=0.3), FOREST]},
            "No significant winner. Best mean test AUC: xgboost tuned by cfo, 0.9100.",
            "lightgbm tuned by tpe has 0.9000, not significantly worse (p = 0.3).",
        ),
        (
            {"candidates": [BEST, SECOND, replace(FOREST, p=0.4)]},
            "No significant winner. Best mean test AUC: xgboost tuned by cfo, 0.9100.",
            "random-forest (tuned-rf) has 0.8800, not significantly worse (p = 0.4): a plain forest may be "
            "enough.",
        ),
        (
            {"candidates": [replace(FOREST, p=1.0), replace(BEST, p=0.03)]},
            "Best by a significant lead: random-forest (tuned-rf), test AUC 0.8800.",
            "xgboost tuned by cfo has 0.9100, significantly worse (p = 0.03).",
        ),
        (
            {"candidates": [BEST, replace(SECOND, p=0.25)], "folds": 3, "splits": 1, "forest": None},
            "No significant winner. Best mean test AUC: xgboost tuned by cfo, 0.9100.",
            "3 folds are too few for a test: give more time with --for.",
        ),
        (
            {
                "candidates": [BEST, replace(SECOND, p=0.25)],
                "folds": 4,
                "splits": 1,
                "can_add_folds": False,
            },
            "No significant winner. Best mean test AUC: xgboost tuned by cfo, 0.9100.",
            "4 folds are too few for a test: the split has no more.",
        ),
        (
            {"candidates": [BEST], "forest": None, "by_test": False},
            "Only xgboost tuned by cfo was compared: validation AUC 0.9100.",
            "The random forest did not finish in time, so it is not compared.",
        ),
        (
            {"candidates": [BEST, replace(FOREST, p=1.0)], "folds": 1, "splits": 1},
            "No significant winner. Best mean test AUC: xgboost tuned by cfo, 0.9100.",
            "random-forest (tuned-rf) has 0.8800, not significantly worse (p = 1).",
        ),
        (
            {"candidates": [BEST, replace(FOREST, p=0.7)], "beats_constant": False},
            "No candidate beats the constant predictor; xgboost tuned by cfo has 0.9100.",
            "random-forest (tuned-rf) has 0.8800, not significantly worse (p = 0.7).",
        ),
        (
            {"beats_constant": False, "constant": None},
            "No candidate beats the constant predictor; xgboost tuned by cfo has 0.9100.",
            "The constant predictor did not finish in time.",
        ),
    ],
)
def test_the_answer_claims_no_more_than_is_significant(
    changed: dict[str, object], verdict: str, reason: str
) -> None:
    assert answer(**changed).verdict == verdict
    assert reason in answer(**changed).reasons


@pytest.mark.parametrize("columns", [80, 60])
def test_on_a_terminal_the_verdict_is_a_line_and_the_command_is_never_broken(columns: int) -> None:
    command = "cfo-bench best compare-my-600s --fit my-data.csv -o my-data.ubj"
    code = (
        "from tests.comparison.test_compare import answer; from cfo_bench.cli.compare import _show; "
        f"_show(answer(best_command={command!r}))"
    )
    lines = on_a_terminal(columns, "-c", code)
    assert lines[-2:] == ["", command]
    assert len([line for line in lines if line.startswith("- ")]) == len(answer().reasons)
    assert (answer().verdict in lines) is (columns == 80)


# --- the answer from runs -------------------------------------------------------------------------


def answered(results: Path, folds: int, seeds: int = 1) -> Comparison | None:
    suite = Suite(data_file=Path("my data.csv"), target="y", methods=["cfo"], results=results)
    places = [(fold, seed) for seed in range(seeds) for fold in range(5)][:folds]
    return answer_from(suite, ComparisonPlan(("xgboost",), ("cfo", "tpe"), folds, 10.0), "t", places, 5, 1.0)


def write_folds(write_run: WriteRun, losses: dict[str, float], folds: int, seeds: int = 1) -> None:
    for method, loss in losses.items():
        for fold, seed in itertools.product(range(folds), range(seeds)):
            write_run("t", method, fold, [(1, loss + 0.01 * fold + 0.001 * (seed * fold % 3), 1)], seed=seed)


def test_a_forest_with_the_best_mean_is_named_and_its_command_fits_it(
    write_run: WriteRun, tmp_path: Path
) -> None:
    write_folds(write_run, {"cfo": 0.2, "tpe": 0.25, "tuned-rf": 0.1, "constant": 0.4}, 5, 2)
    comparison = answered(tmp_path / "results", 10, 2)
    assert comparison is not None and (comparison.folds, comparison.splits) == (10, 2)
    assert [candidate.method for candidate in comparison.candidates] == ["tuned-rf", "cfo", "tpe"]
    assert comparison.verdict == (
        "Best by a significant lead: random-forest (tuned-rf), validation AUC 0.8796."
    )
    assert comparison.best_command.endswith("--fit 'my data.csv' -o t.npz")


def test_a_fold_that_is_not_whole_does_not_count(write_run: WriteRun, tmp_path: Path) -> None:
    write_folds(write_run, {"cfo": 0.2, "tpe": 0.25, "tuned-rf": 0.1, "constant": 0.4}, 3)
    write_run("t", "cfo", 3, [(1, 0.0, 1)])
    comparison = answered(tmp_path / "results", 5)
    assert comparison is not None and comparison.folds == 3
    assert comparison.verdict.startswith("No significant winner.")


def test_a_forest_without_a_result_is_no_candidate_and_a_method_without_one_is_as_the_constant(
    write_run: WriteRun, tmp_path: Path
) -> None:
    write_folds(write_run, {"cfo": 0.2, "constant": 0.5}, 2)
    for fold, method in itertools.product(range(2), ("tpe", "tuned-rf")):
        write_run("t", method, fold, [(1, None, 1)])
    comparison = answered(tmp_path / "results", 2)
    assert comparison is not None and comparison.forest is None
    assert [candidate.method for candidate in comparison.candidates] == ["cfo", "tpe"]
    assert comparison.candidates[1].score.mean == 0.5


def test_without_a_whole_fold_there_is_no_answer(write_run: WriteRun, tmp_path: Path) -> None:
    assert answered(tmp_path / "results", 5) is None
    write_folds(write_run, {"cfo": 0.2, "tuned-rf": 0.1}, 3)
    assert answered(tmp_path / "results", 5) is None


# --- the runs -------------------------------------------------------------------------------------


def write(path: Path, rows: int = 120) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=rows) > 0, "yes", "no")
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y}).to_csv(path, index=False)
    return path


def comparing(
    path: Path, results: Path, deadline: float, learners: Sequence[str] = ("xgboost",)
) -> _Comparing:
    suite = Suite(
        data_file=path,
        target="y",
        learners=learners,  # type: ignore[arg-type]
        n_folds=2,
        folds="0-1",
        validation="holdout",
        budget_seconds=60,
        max_trials=3,
        jobs=2,
        results=results,
    )
    return _Comparing(suite, 2, 5, "my", 2, deadline, 60.0, ignore)


def test_folds_are_added_by_the_next_seed_and_the_same_again_adds_none(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "my.csv", rows=40)
    record = ComparisonRecord({}, ComparisonPlan(("xgboost",), ("cfo", "rs"), 1, 60.0))
    first = comparing(path, tmp_path / "here", monotonic() + 1000).run(record, 1.0)
    assert (first.folds, first.splits) == (5, 3)
    assert first.by_test and first.constant == 0.5 and first.forest is not None and not first.can_add_folds
    assert len(first.candidates) == 3
    kept = read_record(tmp_path / "here")
    assert kept is not None and kept.verdict is not None and kept.plan.folds == 5
    assert kept.verdict.sentence == first.verdict
    again = comparing(path, tmp_path / "here", monotonic() + 1000).run(kept, 1.0)
    assert again.candidates == first.candidates


def test_an_estimator_is_compared_with_its_own_space_and_its_command_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bayes.yaml").write_text(
        "estimator: sklearn.naive_bayes.GaussianNB\n"
        "space: {var_smoothing: {float: [1e-12, 1], log: true, start: 1e-9}}\n"
    )
    work = comparing(write(tmp_path / "my.csv"), tmp_path / "here", monotonic() + 1000, ("bayes.yaml", "knn"))
    learners = tuple(choice.name for choice in work.suite.learners)
    record = ComparisonRecord(
        {}, ComparisonPlan(learners, ("rs",), 2, 60.0), ComparisonVerdict("", "", "", "")
    )

    comparison = work.run(record, 1.0)

    estimator = "estimator:sklearn.naive_bayes.GaussianNB"
    assert {candidate.learner for candidate in comparison.candidates} == {estimator, "knn", "random-forest"}
    # Its classes are normally distributed: the other two are further from the optimum.
    assert comparison.candidates[0].name == "GaussianNB tuned by rs"
    assert shlex.split(comparison.best_command)[-2:] == ["my.skops", "--trust-learner"]
    [best, _] = best_configurations(tmp_path / "here")
    assert best.verdict == comparison.verdict and list(best.config) == ["var_smoothing"]


def test_the_runs_are_stopped_when_the_time_is_up() -> None:
    events: list[Event] = []
    in_time, too_late = _Watch(monotonic() + 1000, events.append), _Watch(monotonic() - 1, events.append)
    in_time(RunsUnderWay([]))
    for event in (RunsUnderWay([]), Note("a word")):
        with pytest.raises(_TimeIsUpError):
            too_late(event)
    assert len(events) == 3


def test_a_warning_is_reported_once_and_progress_each_time() -> None:
    events: list[Event] = []
    show = _each_warning_once(events.append)
    warning, progress = Note("odd column", is_warning=True), Note("more folds")
    for event in (warning, progress, warning, progress):
        show(event)
    assert events == [warning, progress, progress]


@pytest.mark.parametrize(
    ("time", "said"), [("soon", "is not a time"), ("5s", "too short to compare anything")]
)
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


@pytest.mark.parametrize(
    ("changed", "option"),
    [
        ({"validation": "fold"}, "--validation"),
        ({"drop": ["a"]}, "--drop"),
        ({"drop_missing_target": True}, "--drop-missing-target"),
        ({"metric": "f1"}, "--metric"),
    ],
)
def test_a_folder_with_a_comparison_of_something_else_gives_no_answer(
    tmp_path: Path, changed: dict[str, Any], option: str
) -> None:
    path, here = write(tmp_path / "my.csv"), tmp_path / "here"
    asked = {"target": "y", "validation": "holdout", "drop": [], "drop_missing_target": False, "metric": None}
    ComparisonRecord(asked, plan(560)).write(here)

    with pytest.raises(UserError, match=rf"another {option} .*: give another --results$"):
        compare(path, "y", for_seconds=15, spent_seconds=1000.0, results=here, **changed)
    with pytest.raises(UserError, match="the data was not read within 15 s"):
        compare(path, "y", for_seconds=15, spent_seconds=1000.0, results=here, methods=["rs"])


def test_a_metric_whose_file_was_changed_gives_no_answer_and_names_no_option_of_run(tmp_path: Path) -> None:
    data, metric = write(tmp_path / "my.csv", rows=40), tmp_path / "mine.py"
    function = "def cost(truth, prediction):\n    return {} * (truth != prediction).mean()\n"
    metric.write_text(function.format(1) + "cost.higher_is_better = False\n", encoding="utf-8")
    ours = comparing(data, tmp_path / "here", monotonic() + 1000, ("knn",))
    suite = replace(ours.suite, metric=f"{metric}:cost", methods=(Choice("rs"),), folds="0")
    assert run_suite(suite).exit_code == 0
    metric.write_text(function.format(25) + "cost.higher_is_better = False\n", encoding="utf-8")
    record = ComparisonRecord({}, ComparisonPlan(("knn",), ("rs",), 1, 60.0))

    with pytest.raises(UserError, match=r"file .*mine.py .* here\).*: give another --results$"):
        replace(ours, suite=suite).run(record, 1.0)


def test_a_changed_description_of_a_learner_is_refused_before_anything_runs_and_the_verdict_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    description = (
        "estimator: sklearn.naive_bayes.GaussianNB\n"
        "space: {{var_smoothing: {{float: [1e-12, {}], log: true, start: 1e-9}}}}\n"
    )
    Path("bayes.yaml").write_text(description.format(1))
    here = tmp_path / "here"
    work = comparing(write(tmp_path / "my.csv", rows=40), here, monotonic() + 1000, ("bayes.yaml",))
    suite = replace(work.suite, methods=(Choice("rs"),), n_folds=10, folds="0")
    assert run_suite(suite).exit_code == 0
    verdict = ComparisonVerdict("my", "GaussianNB", "rs", "It is best.")
    ComparisonRecord({}, ComparisonPlan(("GaussianNB",), ("rs",), 1, 60.0), verdict).write(here)
    Path("bayes.yaml").write_text(description.format(2))
    events: list[Event] = []

    with pytest.raises(UserError, match=r"option space .* there, .* here\): give another --results$"):
        compare("my.csv", "y", learners=["bayes.yaml"], methods=["rs"], results=here, on_event=events.append)
    assert not [event for event in events if isinstance(event, RunFinished)]
    record = read_record(here)
    assert record is not None and record.verdict == verdict


def test_runs_that_failed_are_named_and_no_more_time_is_asked_for(tmp_path: Path) -> None:
    Path(tmp_path, "broken.py").write_text(
        "class Broken:\n"
        "    def __init__(self, space, start, seed):\n"
        "        self.start = start\n"
        "    def ask(self):\n"
        "        raise ValueError('no idea')\n"
        "    def tell(self, trial, result):\n"
        "        pass\n"
    )
    method = f"{tmp_path}/broken.py:Broken"
    ours = comparing(write(tmp_path / "my.csv", rows=40), tmp_path / "here", monotonic() + 1000, ("knn",))
    record = ComparisonRecord({}, ComparisonPlan(("knn",), (method,), 1, 60.0))

    with pytest.raises(
        UserError, match=r"tuned by Broken in .*: 1 run failed, such as knn/my/Broken/.*no idea"
    ):
        ours.run(record, 1.0)


@pytest.mark.slow
def test_a_file_of_twelve_rows_is_compared_on_fewer_folds_and_again_from_the_same_plan(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "tiny.csv", rows=12)
    told: list[str] = []

    def noted(event: Event) -> None:
        told.extend([event.text] if isinstance(event, Note) else [])

    asked = {"for_seconds": 30, "methods": ["rs"], "learners": ["knn"], "results": tmp_path / "here"}
    first, again = (compare(path, "y", **asked, on_event=noted) for _ in range(2))  # type: ignore[arg-type]
    assert len([text for text in told if "12 rows" in text]) == 2
    # On a busy machine the first call may have been stopped: then the second does what is missing.
    assert 2 <= first.folds <= again.folds
    if first.folds == again.folds:
        assert first.candidates == again.candidates


@pytest.mark.slow
def test_a_comparison_keeps_to_its_time_and_uses_most_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv")
    began = monotonic()
    comparison = compare(
        path,
        "y",
        for_seconds=90,
        methods=["cfo", "rs"],
        learners=["xgboost"],
        results=tmp_path / "here",
    )
    assert monotonic() - began <= 90
    assert comparison.forest is not None and comparison.folds >= 6
    record = read_record(tmp_path / "here")
    assert record is not None and record.verdict is not None
    assert record.verdict.learner == comparison.candidates[0].learner
