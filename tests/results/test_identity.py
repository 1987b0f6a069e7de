"""Two headers are of the same run, or what differs is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import Problem, RunSpec, TaskFacts
from cfo_bench.results.identity import (
    check_same_run,
    data_differences,
    data_identity,
    differences,
    spec_header,
)

SPEC = RunSpec("xgboost", "iris", "cfo", 0, options={"n_threshold": 3})
DATA = {"sha256": "a" * 64, "folds": "by seed 0"}


def header(data: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {**spec_header(replace(SPEC, **changes)), "data": data or DATA}


def test_the_same_spec_on_the_same_data_is_the_same_run() -> None:
    assert differences(header(), header()) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (header(seed=7), [("seed", "0", "7")]),
        (header(options={"n_threshold": 4}), [("option n_threshold", "3", "4")]),
        (header(options={}), [("option n_threshold", "3", "None")]),
        (header(learner_options={"depth": 1}), [("option depth", "None", "1")]),
        (header({**DATA, "sha256": "b" * 64}), [("data", "aaaaaaaaaaaa…", "bbbbbbbbbbbb…")]),
        (header({**DATA, "folds": "official"}), [("folds", "'by seed 0'", "'official'")]),
        (header(memory_mb=99), []),
        (header(prepare_timeout_seconds=9.0), []),
    ],
)
def test_what_differs_is_named_with_both_values(
    other: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    assert differences(header(), other) == expected


TARGET = {
    "sha256": "a" * 64,
    "target": "y1",
    "problem": "binary",
    "dropped_columns": [],
    "dropped_rows": 0,
}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({**TARGET, "sha256": "b" * 64, "target": "y2"}, [("target", "'y1'", "'y2'")]),
        ({**TARGET, "sha256": "b" * 64, "problem": "regression"}, [("problem", "'binary'", "'regression'")]),
        ({**TARGET, "sha256": "b" * 64}, [("data", "aaaaaaaaaaaa…", "bbbbbbbbbbbb…")]),
        ({"sha256": "b" * 64}, [("data", "aaaaaaaaaaaa…", "bbbbbbbbbbbb…")]),
        ({"sha256": "a" * 64}, []),
        ({}, []),
    ],
)
def test_data_is_the_same_if_hash_target_and_problem_are_and_what_is_not_said_fits(
    other: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    assert data_differences(TARGET, other) == expected
    assert differences(header(TARGET), spec_header(SPEC, other)) == expected


def test_the_identity_of_data_is_as_json_has_it() -> None:
    facts = TaskFacts("t", Problem.BINARY, "auc", 10, 2, 2, "here", "a" * 64, "by seed 0", "y1")
    assert json.loads(json.dumps(data_identity(facts))) == data_identity(facts) == TARGET


def test_what_an_old_header_lacks_is_as_by_default() -> None:
    old = header()
    del old["spec"]["validation"], old["data"]
    assert differences(old, header()) == []
    assert differences(old, header(validation="holdout")) == [("validation", "'fold'", "'holdout'")]


def test_another_run_is_refused_with_what_differs_and_a_remedy() -> None:
    check_same_run(Path("t.jsonl"), header(), header())
    with pytest.raises(
        TraceError, match=r"^t\.jsonl belongs to another run \(seed 0 there, 7 here\): .*--force"
    ):
        check_same_run(Path("t.jsonl"), header(), header(seed=7))
