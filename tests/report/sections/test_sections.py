"""Sections on results that were made by hand: targets, win rates, final scores, importance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.report.contents import Section, SectionContent, Table
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.load import load
from cfo_bench.report.reading.published_scores import Reference
from cfo_bench.report.rendering import style
from cfo_bench.report.sections import (
    built_section,
    configurations,
    final_scores,
    importance,
    optimality,
    sections,
    speed,
    statistics,
)
from cfo_bench.results.run import Run, read_run
from cfo_bench.space import Int, Space
from tests.helpers.runs import with_settings

COMPARING: tuple[type[Section], ...] = (
    speed.TargetsSection,
    statistics.WinRatesSection,
    final_scores.FinalScoresSection,
    configurations.FootprintSection,
)


def of(section: type[Section], digests: list[Run], **settings: Any) -> SectionContent:
    built = built_section(section(), LearnerResults("xgboost", digests, **settings))
    assert built is not None
    return built.content


def table(section: SectionContent, name: str) -> Table:
    everything = [*section.tables, *(one for figure in section.figures for one in figure.tables)]
    return next(one for one in everything if one.name == name)


def test_targets_are_counted_at_three_moments_with_the_rule_beside_them(by_hand: list[Run]) -> None:
    found = of(speed.TargetsSection, by_hand)

    summary = {row["method"]: row for row in table(found, "targets-reached-summary").records()}
    # The final gaps, fold by fold, and the targets 10 ** (-3 k / 50) that are not below them, of 51:
    # cfo   alpha 0 and 1/6: 51, 13   beta 0 and 0.4: 51, 7   gamma 0 and 0: 51, 51
    # rs    alpha 1/7 and 0: 15, 51   beta 0 and 0: 51, 51    gamma 1/3 and 0: 8, 51
    # bohb  alpha 3/7 and 1/3: 7, 8   beta 0.8 twice: 2, 2    gamma 0, and no result: 51, 0
    at_the_end = {method: row["at the end"] for method, row in summary.items()}
    assert at_the_end == pytest.approx(
        {
            "cfo": (32 + 29 + 51) / 3 / 51,
            "rs": (33 + 51 + 29.5) / 3 / 51,
            "bohb": (7.5 + 2 + 25.5) / 3 / 51,
        }
    )
    assert list(summary) == ["cfo", "rs", "bohb"]
    # At 10 s exactly cfo finds what it ends with on alpha's fold 0 and on gamma; on alpha's fold 1 it has a
    # gap of 5/6, so two targets.
    assert summary["cfo"]["at 10 %"] == pytest.approx(((51 + 2) / 2 + 29 + 51) / 3 / 51)
    assert "51 targets" in found.intro and "constant predictor" in found.intro
    assert "3 tasks and 6 folds" in found.figures[0].caption


def test_a_regret_of_few_tasks_has_no_interval_and_says_so(by_hand: list[Run], many_tasks: list[Run]) -> None:
    few = of(speed.TargetsSection, [one for one in by_hand if one.task in ("alpha", "beta", "gamma")])
    many = of(speed.TargetsSection, [one for one in many_tasks if one.task not in ("alpha", "beta", "gamma")])

    assert "No intervals: 3 tasks" in few.figures[1].caption
    assert all(row["ci_low"] is None for row in table(few, "regret").records())
    assert "95 % intervals, bootstrapped over 8 tasks" in many.figures[1].caption
    assert all(row["ci_low"] is not None for row in table(many, "regret").records())


def test_the_last_regret_is_the_mean_gap_over_tasks(by_hand: list[Run]) -> None:
    rows = table(of(speed.TargetsSection, by_hand), "regret").records()

    last = {row["method"]: row for row in rows if row["time"] == pytest.approx(100.0)}
    # alpha: 0 and (0.1875 - 0.125) / 0.375; beta: 0 and 0.25 / 0.625; gamma: 0 and 0.
    assert last["cfo"]["mean_regret"] == pytest.approx(((0 + 1 / 6) / 2 + (0 + 0.4) / 2 + 0) / 3)


def test_win_rates_stand_in_the_order_of_the_ratings(by_hand: list[Run]) -> None:
    found = of(statistics.WinRatesSection, by_hand)

    elo = table(found, "elo").records()
    # rs has beaten cfo once and lost once, with one tie; both have always beaten bohb.
    assert [row["elo"] for row in elo if row["method"] == "cfo"] == [1000]
    assert elo[-1]["method"] == "bohb" and all(row["ci_low"] is None for row in elo)
    rates = table(found, "win-rates").records()
    assert [row["method"] for row in rates] == [row["method"] for row in elo]
    assert rates[-1]["cfo"] == 0 and rates[0]["bohb"] == 100


def test_a_reference_is_a_line_and_a_column_only_where_it_is_alike(by_hand: list[Run]) -> None:
    references = [
        Reference("alpha", "auc", 0.9, "a paper", "their method"),
        Reference("beta", "scaled_score", 1.1, "a paper"),
        Reference("elsewhere", "auc", 0.9, "a paper"),
    ]

    found = of(final_scores.FinalScoresSection, by_hand, references=references)

    printed = {row["task"]: row for row in table(found, "scores").records()}
    assert printed["alpha"]["reference"] == "0.9000 (their method, a paper)"
    assert printed["beta"]["reference"] is None
    rows = table(found, "final-scores").records()
    assert {row["reference"] for row in rows if row["task"] == "alpha"} == {0.9}
    assert {row["reference"] for row in rows if row["task"] == "beta"} == {None}
    assert rows[0]["reference_source"] == "their method, a paper"
    listed = {row["task"]: row for row in table(found, "references").records()}
    assert listed.keys() == {"alpha", "beta"} and "metric is scaled_score" in listed["beta"]["note"]
    assert any("no comparable reference" in line and "beta" in line for line in found.warnings)
    assert any("published test scores" in line for line in found.warnings)
    assert "1 of the 3 references are of other tasks or learners" in found.warnings
    axes = found.figures[0].draw().axes[0]
    # The source is named: a method of the same name may be among ours.
    assert "their method, a paper" in [text.get_text() for text in axes.texts]
    assert axes.get_xlabel() == "AUC ↑ (validation)"


def test_a_converted_score_is_marked_where_it_stands(by_hand: list[Run]) -> None:
    paper = Reference("alpha", "scaled_score", 1.9, "the paper", "cfo")

    found = of(final_scores.FinalScoresSection, by_hand, references=[paper])

    printed = table(found, "scores")
    assert printed.records()[0]["reference"] == "≈0.9750 (cfo, the paper)"
    assert (
        "≈: converted from a scaled score with the constant predictor and forest of these runs."
        in printed.note
    )
    assert [row["label"] for row in table(found, "references").records()] == ["≈ cfo, the paper"]
    assert "≈ cfo, the paper" in [text.get_text() for text in found.figures[0].draw().axes[0].texts]


def test_a_misspelt_task_of_a_reference_is_named(by_hand: list[Run]) -> None:
    references = [Reference(task, "auc", 0.9, "me") for task in ("alpha", "gama", "far", "away")]

    found = of(final_scores.FinalScoresSection, by_hand, references=references)

    assert found.warnings[:2] == (
        "references of tasks that these results don't have: 'gama' (did you mean 'gamma'?)",
        "3 of the 4 references are of other tasks or learners",
    )


def test_a_score_with_failed_runs_in_it_has_a_star(by_hand: list[Run]) -> None:
    section = of(final_scores.FinalScoresSection, by_hand)

    rows = {row["task"]: row for row in table(section, "scores").records()}
    # On gamma, fold 1 of bohb has no result: it counts as the constant predictor, a log-loss of 1.
    assert rows["gamma"]["bohb"] == "0.6250 ± 0.5303*"
    assert "*: some of the runs have no result" in table(section, "scores").note
    numbers = {(row["task"], row["method"]): row for row in table(section, "final-scores").records()}
    assert numbers["gamma", "bohb"]["imputed_runs"] == 1 and numbers["gamma", "rs"]["imputed_runs"] == 0
    whole = of(final_scores.FinalScoresSection, [one for one in by_hand if one.task != "gamma"])
    assert "*: some" not in table(whole, "scores").note


def test_scores_are_labelled_as_validation_or_test_scores(by_hand: list[Run], write_run: Any) -> None:
    tested = [
        read_run(write_run("held", method, 0, [(1, 0.2, 1)], validation="holdout", test_scores=[0.7]))
        for method in ("cfo", "rs")
    ]
    held = [one for one in tested if one is not None]

    for make, name in (
        (final_scores.FinalScoresSection, "scores"),
        (optimality.OptimalitySection, "optimality"),
    ):
        of_fold, of_test, of_both = (
            table(of(make, digests), name).note for digests in (by_hand, held, [*by_hand, *held])
        )
        assert "Scores are validation scores: the best trial was chosen by them" in of_fold
        assert "Scores are test scores: on rows that no method has seen." in of_test
        assert "test scores, on rows that no method has seen, for held. For the other tasks" in of_both
    metrics = table(of(final_scores.FinalScoresSection, [*by_hand, *held]), "scores").column("metric")
    assert metrics == ["AUC ↑ (validation)", "r2 ↑ (validation)", "log-loss ↓ (validation)", "AUC ↑ (test)"]
    cells = table(of(optimality.OptimalitySection, [*by_hand, *held]), "optimality-cells").records()
    assert {row["score_is"] for row in cells if row["task"] == "held"} == {"test"}


def test_without_references_nothing_is_said_of_them(by_hand: list[Run]) -> None:
    found = of(final_scores.FinalScoresSection, by_hand)

    assert "reference" not in table(found, "final-scores").columns
    assert [one.name for one in found.tables] == ["scores", "final-scores", "paired-tests"]
    assert not found.warnings


def test_references_of_other_tasks_only_are_reported(by_hand: list[Run]) -> None:
    found = of(
        final_scores.FinalScoresSection, by_hand, references=[Reference("elsewhere", "auc", 0.9, "me")]
    )

    assert found.warnings == ("none of the 1 references is of a task and learner of these results",)


def test_many_tasks_are_broken_over_sheets(write_run: Any, tmp_path: Path) -> None:
    for at in range(10):
        for method in ("cfo", "rs"):
            write_run(f"task-{at:02d}", method, 0, [(1, 0.4, 1)])

    found = of(final_scores.FinalScoresSection, load(tmp_path / "results").runs)

    names = [figure.name for figure in found.figures]
    assert names == [f"{kind}-{at}" for kind in ("final-scores", "differences") for at in (1, 2)]
    assert [len(figure.tables[0].rows) for figure in found.figures] == [18, 2, 9, 1]


def test_a_single_method_is_not_compared_with_itself(by_hand: list[Run]) -> None:
    alone = LearnerResults("xgboost", [one for one in by_hand if one.method == "cfo"])

    built = {each.section.name: each.content for each in sections(alone)}
    assert not {"targets", "win-rates", "statistics"} & set(built)
    assert built["final-scores"].figures and "footprint" in built


def test_methods_that_never_have_a_result_stop_no_section(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        write_run("t", method, 0, [(1, None, 1)])
    digests = load(tmp_path / "results").runs

    for make in COMPARING:
        built = built_section(make(), LearnerResults("xgboost", digests))
        for figure in built.content.figures if built else ():
            style.save(figure.draw(), tmp_path / "it.png")
    assert of(speed.TargetsSection, digests).warnings == (
        "left out, as no method beats the constant predictor: t",
    )


def test_times_of_different_budgets_are_shares_of_the_budget(by_hand: list[Run]) -> None:

    mixed = [with_settings(run, budget_seconds=200.0) if run.task == "beta" else run for run in by_hand]

    assert max(
        row["time"] for row in table(of(speed.TargetsSection, mixed), "regret").records()
    ) == pytest.approx(1.0)
    assert max(
        row["time"] for row in table(of(speed.TargetsSection, by_hand), "regret").records()
    ) == pytest.approx(100.0)


def test_importance_is_computed_only_if_it_is_asked_for(by_hand: list[Run]) -> None:
    assert importance.ImportanceSection().build(LearnerResults("xgboost", by_hand)) is None
    asked = of(importance.ImportanceSection, by_hand, importance=True)
    assert not asked.figures and "alpha, beta, gamma" in asked.warnings[0]


def test_importances_stand_with_their_spread(write_run: Any, tmp_path: Path) -> None:
    space = Space([Int("n_estimators", 1, 200), Int("max_leaves", 1, 400)])
    path: Path = write_run("t", "rs", 0, [(1 + at, 0.4 - 0.005 * at, 0.5) for at in range(40)])
    header, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        orjson.dumps({**orjson.loads(header), "space": space.to_json()}) + b"\n" + b"".join(lines[:-1])
    )

    found = of(importance.ImportanceSection, load(tmp_path / "results").runs, importance=True)

    means, spreads = found.tables
    names = ("n_estimators", "max_leaves", "interactions")
    assert means.columns[1:4] == spreads.columns[1:4] == names and means.heading("max_leaves") == "max_leaves"
    (mean,), (spread,) = means.records(), spreads.records()
    assert sum(mean[name] for name in names) == pytest.approx(100) and spread["n_estimators"] > 0
    assert "5 forests" in means.note and "5 forests" in found.figures[0].caption
    texts = [text.get_text() for text in found.figures[0].draw().axes[0].texts]
    assert f"{mean['n_estimators']:.0f} ±{spread['n_estimators']:.0f}" in texts
