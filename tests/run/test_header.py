"""The header of a trace: what is needed to do the run again."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.results.schema import SCHEMA_VERSION
from cfo_bench.run.header import method_seed, own_code_of
from tests.helpers.runs import RunRecords, spec

METHOD_THAT_ASKS = """
from cfo_bench.plugins import Trial

class Asks:
    def __init__(self, space, start, seed, *, budget_seconds: float | None = None):
        self.config = {**start, "n_estimators": int(budget_seconds)}

    def ask(self):
        return Trial(0, self.config)

    def tell(self, trial, result): ...
"""


def test_the_header_says_what_is_needed_to_run_it_again(run: RunRecords) -> None:
    header = run(spec())[0]
    assert header.schema == SCHEMA_VERSION
    assert header.method_seed == method_seed(spec())
    assert header.spec.options == spec().options
    assert len(header.space) == 9 and header.start["n_estimators"] == 4
    assert header.data.rows == 1000 and len(header.data.sha256) == 64
    assert header.command.startswith("cfo-bench run --task synthetic-1k --method cfo")
    assert header.metric and header.problem and header.constant_loss and header.utc and header.cost_related


def test_every_run_draws_numbers_of_its_own_whatever_its_method_is() -> None:
    """With one seed for all tasks a method would draw the same directions on each of them."""
    others = [
        spec(fold=1),
        spec(seed=1),
        spec(task="synthetic-30k"),
        spec(learner="xgboost"),
        spec(fold=0, seed=2, task="adult"),
    ]
    assert len({method_seed(spec()), *map(method_seed, others)}) == 1 + len(others)
    assert method_seed(spec("rs")) == method_seed(spec("cfo"))


def test_a_learner_in_a_file_gives_the_same_seed_wherever_the_file_is() -> None:
    assert method_seed(spec(learner="a/mine.py:Mine")) == method_seed(spec(learner="/b/mine.py:Mine"))


def test_a_method_that_asks_for_the_budget_is_told_the_runs(run: RunRecords, tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text(METHOD_THAT_ASKS, encoding="utf-8")

    header, first, *_ = run(spec(f"{tmp_path}/asks.py:Asks", budget_seconds=77.0, max_trials=1))

    assert header.spec.options == {"budget_seconds": None}
    assert first.config["n_estimators"] == 77


@pytest.mark.parametrize(
    ("named", "roles"),
    [
        ({"learner": "mine.py:Mine"}, ["learner"]),
        ({"learner": "estimator:mine.py:make_pipeline"}, ["learner"]),
        ({"method": "mine.py:Mine", "metric": "mine.py:cost"}, ["metric", "method"]),
        ({"method": "exec:python -u mine.py --fast"}, ["method"]),
        ({"learner": "estimator:sklearn.svm.SVC", "metric": "f1", "method": "exec:python -m mine"}, []),
        ({"method": "exec:python absent.py"}, []),
    ],
)
def test_the_header_has_the_hash_of_each_local_file_that_the_run_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: dict[str, Any], roles: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("class Mine: ...", encoding="utf-8")
    expected = hashlib.sha256(b"class Mine: ...").hexdigest()

    own_code = own_code_of(replace(spec(), **named))

    assert (msgspec.to_builtins(own_code) or {}) == dict.fromkeys(roles, expected)
