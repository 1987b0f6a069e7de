"""Two runs may be compared, two traces are of the same run: or the differences are named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import Problem, RunSpec, TaskFacts
from cfo_bench.results.comparability import (
    Difference,
    aspects,
    check_resumable,
    comparable,
    data_differences,
    data_identity,
    resumable,
    same_run,
)
from cfo_bench.results.run import Run
from cfo_bench.results.schema import DataIdentity, FoldData, Header, ImportOrigin, OwnCode
from cfo_bench.settings import Affects, setting
from cfo_bench.values import Count
from tests.helpers.traces import header_of

SPEC = RunSpec("xgboost", "iris", "cfo", 0, options={"n_threshold": 3})
DATA = FoldData(sha256="a" * 64, folds="by seed 0", train_rows=90)


def header(data: FoldData = DATA, **changes: Any) -> Header:
    return msgspec.structs.replace(header_of(replace(SPEC, **changes)), data=data)


def with_data(**changes: Any) -> FoldData:
    return msgspec.structs.replace(DATA, **changes)


def run(data: FoldData = DATA, metric: str = "auc", **changes: Any) -> Run:
    return Run(Path("t.jsonl"), msgspec.structs.replace(header(data, **changes), metric=metric))


# --- the same run ---------------------------------------------------------------------------------


def test_the_same_spec_on_the_same_data_is_the_same_run() -> None:
    assert same_run(header(), header()) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (header(seed=7), [("seed", "0", "7")]),
        (header(options={"n_threshold": 4}), [("option n_threshold", "3", "4")]),
        (header(options={}), [("option n_threshold", "3", "None")]),
        (header(learner_options={"depth": 1}), [("option depth", "None", "1")]),
        (header(with_data(sha256="b" * 64)), [("data", "aaaaaaaaaaaa…", "bbbbbbbbbbbb…")]),
        (header(with_data(folds="official")), [("folds", "'by seed 0'", "'official'")]),
        (header(memory_mb=99), []),
        (header(prepare_timeout_seconds=9.0), []),
        (header(options={"n_threshold": 3, "answer_timeout_seconds": 9.0}), []),
        (header(budget_seconds=60.0), [("budget_seconds", "3600.0", "60.0")]),
    ],
)
def test_differences_are_named_with_both_values(other: Header, expected: list[tuple[str, str, str]]) -> None:
    assert same_run(header(), other) == [Difference(*difference) for difference in expected]


def test_an_imported_run_is_not_a_measured_one() -> None:
    imported = ImportOrigin(format="csv", source="t.csv", sha256="c" * 64, clock="wall", unknown=[])
    [difference] = same_run(header(), msgspec.structs.replace(header(), imported=imported))

    assert difference == Difference("origin", "a run", "imported cccccccccccc…")


def test_a_run_may_be_resumed_with_other_limits_but_not_as_another_run() -> None:
    assert resumable(header(), replace(SPEC, budget_seconds=60.0, max_trials=5)) == []
    assert [difference.name for difference in resumable(header(), replace(SPEC, fold=1))] == ["fold"]
    with pytest.raises(
        TraceError, match=r"^t\.jsonl belongs to another run \(seed 0 there, 7 here\): .*--force"
    ):
        check_resumable(Path("t.jsonl"), header(), replace(SPEC, seed=7))


def test_of_two_long_lists_the_different_items_are_named() -> None:
    same, narrow, wide = ({"name": name} for name in ("same", "narrow", "wide"))
    past = header(learner_options={"space": [same, narrow]})

    [difference] = resumable(past, replace(past.spec, learner_options={"space": [same, wide]}))

    assert difference == Difference("option space", "[{'name': 'narrow'}]", "[{'name': 'wide'}]")


TARGET = DataIdentity(
    sha256="a" * 64, target="y1", problem=Problem.BINARY, dropped_columns=[], dropped_rows=0
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sha256": "b" * 64, "target": "y2"}, [("target", "'y1'", "'y2'")]),
        ({"sha256": "b" * 64, "problem": Problem.REGRESSION}, [("problem", "'binary'", "'regression'")]),
        ({"sha256": "b" * 64}, [("data", "aaaaaaaaaaaa…", "bbbbbbbbbbbb…")]),
        ({"target": None, "problem": None, "dropped_columns": None, "dropped_rows": None}, []),
        ({"sha256": ""}, []),
    ],
)
def test_data_is_the_same_if_its_facts_are_and_a_fact_that_is_not_stated_fits(
    changes: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    other = msgspec.structs.replace(TARGET, **changes)
    assert data_differences(TARGET, other) == [Difference(*difference) for difference in expected]


def test_the_identity_of_data_is_made_of_its_facts() -> None:
    facts = TaskFacts("t", Problem.BINARY, "auc", 10, 2, 2, "here", "a" * 64, "by seed 0", "y1")
    assert data_identity(facts) == TARGET


# --- the user's own code ---------------------------------------------------------------------------

OWN = replace(SPEC, learner="mine.py:Mine", method="exec:python tool.py", metric="cost.py:cost")


def with_code(spec: RunSpec = OWN, **hashes: str) -> Header:
    """A header with the content of these files, such as `learner="a"`; without any, of an older version."""
    own_code = OwnCode(**{role: letter * 64 for role, letter in hashes.items()}) if hashes else None
    return msgspec.structs.replace(header_of(spec), metric=spec.metric, own_code=own_code)


@pytest.mark.parametrize(
    ("hashes", "expected"),
    [
        ({"metric": "a", "learner": "a", "method": "a"}, []),
        ({"metric": "b", "learner": "a", "method": "a"}, ["file cost.py"]),
        ({"metric": "a", "learner": "b", "method": "b"}, ["file mine.py", "file tool.py"]),
        ({"metric": "a"}, []),  # what is not known is the same
        ({}, []),
    ],
)
def test_a_run_with_another_content_of_a_file_is_another_run(
    hashes: dict[str, str], expected: list[str]
) -> None:
    past, other = with_code(metric="a", learner="a", method="a"), with_code(**hashes)

    differences = [Difference(name, "aaaaaaaaaaaa…", "bbbbbbbbbbbb…") for name in expected]
    assert same_run(past, other) == differences
    assert resumable(past, OWN, own_code=other.own_code) == differences


def test_a_file_that_is_the_metric_and_the_learner_is_named_once() -> None:
    spec = replace(SPEC, learner="mine.py:Mine", metric="mine.py:cost")
    headers = [with_code(spec, metric=letter, learner=letter) for letter in "ab"]

    assert [difference.name for difference in same_run(*headers)] == ["file mine.py"]


@pytest.mark.parametrize(
    ("hashes", "names"),
    [
        ({"metric": "b", "learner": "a"}, ["own_code.metric"]),
        ({"metric": "a", "learner": "b"}, ["own_code.learner"]),
        ({"metric": "a", "learner": "a", "method": "b"}, []),  # methods are what is compared
        ({"method": "b"}, []),
        ({}, []),
    ],
)
def test_runs_are_compared_if_the_known_contents_of_metric_and_learner_are_the_same(
    hashes: dict[str, str], names: list[str]
) -> None:
    runs = [
        Run(Path("t.jsonl"), header)
        for header in (with_code(metric="a", learner="a", method="a"), with_code(**hashes))
    ]

    assert [difference.name for difference in comparable(*runs)] == names


# --- comparison -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (run(method="rs", fold=3, seed=4, options={}), []),
        (run(method="rs", memory_mb=99, max_trials=9, trial_timeout_seconds=2.0), []),
        (run(method="rs", threads=2), ["threads"]),
        (run(method="rs", parallel=2, clock="virtual"), ["parallel", "clock"]),
        (run(method="rs", budget_seconds=5.0), ["budget_seconds"]),
        (run(method="tuned-rf", budget_seconds=5.0), []),  # a reference may have any budget
        (run(method="rs", holdout_share=0.5), []),  # it has no effect without validation holdout
        (run(method="rs", charge_method=True), ["charge_method"]),
        (run(method="rs", learner_options={"depth": 1}), ["learner_options"]),
        (run(method="rs", metric="log_loss"), ["metric"]),
        (run(with_data(sha256="b" * 64), method="rs"), ["data.sha256"]),
        (run(with_data(recording="a table"), method="rs"), ["data.recording"]),
        (run(options={"n_threshold": 4}), ["options of cfo"]),
    ],
)
def test_runs_that_may_not_be_compared_differ_in_what_affects_a_comparison(
    other: Run, names: list[str]
) -> None:
    assert [difference.name for difference in comparable(run(), other)] == names


def test_what_is_to_be_ignored_is_no_difference() -> None:
    assert comparable(run(), run(budget_seconds=5.0, threads=2), ("budget_seconds", "threads")) == []


# --- a new setting --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SpecWithSetting(RunSpec):
    """A run with one more setting, declared as every setting is."""

    lamps: int = setting(1, Count(), "Lamps.", affects=Affects.COMPARISON | Affects.RESUME, plural="lamps")


def test_a_setting_that_is_added_is_compared_everywhere() -> None:
    one, two = (SpecWithSetting("xgboost", "iris", "cfo", 0, lamps=lamps) for lamps in (1, 2))
    runs = [Run(Path("t.jsonl"), header_of(spec)) for spec in (one, two)]

    assert comparable(*runs) == [Difference("lamps", "1", "2")]
    assert resumable(runs[0].header, two) == same_run(runs[0].header, runs[1].header)
    assert resumable(runs[0].header, two) == [Difference("lamps", "1", "2")]
    assert "lamps" in [aspect.plural for aspect in aspects(SpecWithSetting)]
