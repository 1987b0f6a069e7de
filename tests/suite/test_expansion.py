"""From a suite to its runs, and to some of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.records import DataRef, RunSpec, run_id
from cfo_bench.suite.choices import Choice
from cfo_bench.suite.expansion import narrowed, parse_shard, selected, specs_of
from cfo_bench.suite.model import Suite

DATA = {name: DataRef(name, "bundled") for name in ("iris", "wine")}


def test_every_combination_becomes_one_run_and_methods_take_turns() -> None:
    suite = Suite(folds="0-1", seeds=7, budget_seconds=5)

    specs = specs_of(suite, [Choice("xgboost", {"a": 2})], [Choice("cfo", {"x": 1}), Choice("rs")], DATA)

    assert [(spec.task, spec.fold, spec.method) for spec in specs] == [
        ("iris", 0, "cfo"), ("iris", 0, "rs"), ("iris", 1, "cfo"), ("iris", 1, "rs"),
        ("wine", 0, "cfo"), ("wine", 0, "rs"), ("wine", 1, "cfo"), ("wine", 1, "rs"),
    ]  # fmt: skip
    assert {(spec.learner, spec.seed, spec.n_folds) for spec in specs} == {("xgboost", 7, 10)}
    assert specs[0].options == {"x": 1} and specs[1].options == {}
    assert all(spec.learner_options == {"a": 2} for spec in specs)


def test_every_setting_of_the_suite_reaches_its_runs() -> None:
    given: dict[str, Any] = {
        "n_folds": 3, "budget_seconds": 60.0, "max_trials": 9, "trial_timeout_seconds": 5.0, "threads": 2,
        "parallel": 4, "memory_mb": 512, "validation": "holdout", "holdout_share": 0.3, "clock": "virtual",
        "charge_method": True,
    }  # fmt: skip

    chosen = [Choice("xgboost")], [Choice("m")]
    (spec,) = specs_of(Suite(folds="2", **given), *chosen, {"iris": DATA["iris"]})

    assert spec == RunSpec("xgboost", "iris", "m", 2, **given)


def test_the_clock_is_virtual_where_the_learner_does_not_train() -> None:
    data = {**DATA, "hpobench:car": DataRef("hpobench:car", "hpobench", recorded_folds=5)}
    tasks = {"synthetic": "iris", "hpobench-mlp": "hpobench:car", "xgboost": "wine"}

    clocks = {
        name: specs_of(
            Suite(folds="0", budget_seconds=5), [Choice(name)], [Choice("rs")], {task: data[task]}
        )[0].clock
        for name, task in tasks.items()
    }

    assert clocks == {"synthetic": "virtual", "hpobench-mlp": "virtual", "xgboost": "wall"}


def test_the_folds_of_a_recording_are_those_that_were_recorded() -> None:
    data = {"hpobench:car": DataRef("hpobench:car", "hpobench", recorded_folds=5)}
    suite = Suite(budget_seconds=5)

    assert [spec.fold for spec in specs_of(suite, [Choice("hpobench-mlp")], [Choice("rs")], data)] == [
        *range(5)
    ]
    with pytest.raises(UserError, match="--n-folds 3: 5 folds of task 'hpobench:car' were recorded"):
        specs_of(Suite(budget_seconds=5, n_folds=3), [Choice("hpobench-mlp")], [Choice("rs")], data)


@pytest.mark.parametrize(
    ("learner", "task", "said"),
    [
        ("hpobench-mlp", "iris", "no recorded results of task 'iris': give --task 'hpobench:[*]'"),
        ("hpolib", "hpobench:car", "no recorded results of task 'hpobench:car': give --task 'hpolib:[*]'"),
        ("xgboost", "hpobench:car", "task 'hpobench:car' is recorded, and learner 'xgboost' does not"),
    ],
)
def test_a_recording_is_for_its_own_learner_only(learner: str, task: str, said: str) -> None:
    data = {"iris": DATA["iris"], "hpobench:car": DataRef("hpobench:car", "hpobench", recorded_folds=5)}

    with pytest.raises(UserError, match=said):
        specs_of(Suite(budget_seconds=5), [Choice(learner)], [Choice("rs")], {task: data[task]})


def test_a_suite_without_a_budget_has_no_runs() -> None:
    with pytest.raises(UserError, match="has no budget: write how long a run may take, as in 10m"):
        specs_of(Suite(methods="rs"), [Choice("l")], [Choice("rs")], DATA)


def test_excluding_every_task_is_a_mistake_without_a_file_too() -> None:
    with pytest.raises(UserError, match=r"^exclude leaves out all 2 tasks: name fewer under it$"):
        selected(Suite(tasks=["iris", "wine"], exclude=["iris", "wine"]), offline=True)


def test_the_runs_of_some_ids_are_in_the_order_of_the_ids() -> None:
    specs = [RunSpec("l", "t", "m", fold) for fold in range(4)]

    kept = narrowed(specs, [run_id(specs[3]), run_id(specs[1]), run_id(specs[3])], None)

    assert [spec.fold for spec in kept] == [3, 1]
    with pytest.raises(UnknownNameError, match="unknown run 'l/t/m/fold-4_seed-0'"):
        narrowed(specs, ["l/t/m/fold-4_seed-0"], None)


@given(st.integers(1, 40), st.integers(0, 50))
def test_any_number_of_shards_is_a_partition(n: int, runs: int) -> None:
    specs = [RunSpec("l", "t", "m", fold) for fold in range(runs)]

    parts = [narrowed(specs, (), (k, n)) for k in range(1, n + 1)]

    assert sorted(spec.fold for part in parts for spec in part) == list(range(runs))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/", "/2", "-1/3", "1/2/3", "1.5/3"])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="write K/N with K from 1 to N"):
        parse_shard(text)


def test_the_id_of_a_run_is_the_path_of_its_trace() -> None:
    assert run_id(RunSpec("xgboost", "iris", "a/mine.py:Mine", 3, 7)) == "xgboost/iris/Mine/fold-3_seed-7"
