"""A suite in Python: its values, folds and cluster."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import UserError
from cfo_bench.suite.choices import Choice, Pick
from cfo_bench.suite.model import DEFAULTS, Cluster, Suite, parse_folds


def test_strings_and_lists_are_taken_as_in_a_file() -> None:
    suite = Suite(
        learners="dnn", tasks=["iris", {"tags": ["paper", "binary"]}, 1049], exclude="large",
        methods=["cfo", Choice("rs"), {"cfo-0": {"delta_init": 1}}], folds="0-2", seeds=range(3),
        budget_seconds="1h30m", trial_timeout_seconds=90, memory_mb="4GB", results="out",
        task_tables=["a.yaml"],
    )  # fmt: skip

    assert suite == Suite(
        learners=(Choice("dnn"),), tasks=(Pick("iris"), Pick(tags=("paper", "binary")), Pick("1049")),
        exclude=(Pick("large"),), methods=(Choice("cfo"), Choice("rs"), Choice("cfo-0", {"delta_init": 1})),
        folds="0-2", seeds=(0, 1, 2), budget_seconds=5400.0, trial_timeout_seconds=90.0, memory_mb=4096,
        results=Path("out"), task_tables=(Path("a.yaml"),),
    )  # fmt: skip
    assert (suite.methods[1].name, suite.tasks[1].tags, suite.learners) == (
        "rs", ("paper", "binary"), (Choice("dnn"),),
    )  # fmt: skip
    assert all(isinstance(choice, Choice) for choice in suite.methods) and isinstance(suite.results, Path)


@pytest.mark.parametrize(("written", "meant"), [([0, 3], "0,3"), (2, "2"), (range(2), "0,1"), ("all", "all")])
def test_folds_may_be_numbers(written: Any, meant: str) -> None:
    assert Suite(folds=written).folds == meant


def test_numbers_of_numpy_are_numbers() -> None:
    suite = Suite(threads=np.int64(2), holdout_share=np.float32(0.25), seeds=list(np.arange(2)))

    assert (suite.threads, suite.holdout_share, suite.seeds) == (2, 0.25, (0, 1))
    assert type(suite.threads) is int and type(suite.seeds[1]) is int


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threads": 0}, "threads is 0: write a whole number from 1 on"),
        ({"threads": True}, "threads is True: write a whole number from 1 on"),
        ({"threads": None}, "threads is None: write a whole number from 1 on"),
        ({"max_trials": 0}, "max_trials is 0: write a whole number from 1 on"),
        ({"budget_seconds": "soon"}, "budget_seconds is 'soon': write seconds above 0, or a time such as"),
        ({"budget_seconds": 10**400}, "budget_seconds is 1000000"),
        ({"memory_mb": "4GiB"}, "memory_mb is '4GiB': write megabytes above 0"),
        ({"clock": "virtul"}, "unknown clock 'virtul' (did you mean 'virtual'?)"),
        ({"methods": [3]}, "one of the methods is 3: write a name"),
        ({"methods": []}, "methods is an empty list: write at least one"),
        ({"methods": b"cfo"}, "one of the methods is b'cfo': write a name"),
        ({"tasks": [None]}, "one of the tasks is None: write the name of a task"),
        ({"tasks": {"tag": "paper"}}, "one of the tasks is {'tag': 'paper'}: write a name, or tags:"),
        ({"folds": "0..3"}, "folds is '0..3': write all, 0, 0-4 or 0,3"),
        ({"folds": [0.5]}, "folds is 0.5: write a whole number from 0 to"),
        ({"seeds": "0"}, "seeds is '0': write a whole number from 0 to 4294967295"),
        ({"seeds": np.zeros((3, 3))}, "seeds is array([[0., 0., 0.],        [0."),
        ({"results": 3}, "results is 3: write some text"),
        ({"cluster": {"kind": "slrm"}}, "unknown cluster.kind 'slrm' (did you mean 'slurm'?)"),
        ({"cluster": {"wrkers": 1}}, "unknown key 'cluster.wrkers'"),
        ({"cluster": {"kind": "join"}}, "cluster is {'kind': 'join'}: kind: join needs a scheduler"),
        ({"cluster": Cluster("slrm")}, "unknown cluster.kind 'slrm' (did you mean 'slurm'?)"),
        ({"cluster": Cluster("slurm", workers=0)}, "cluster.workers is 0: write a whole number from 1 on"),
        ({"cluster": Cluster("join")}, "cluster is Cluster(kind='join', scheduler=None"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_value_and_rule(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        Suite(**given)

    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_cluster_means_the_dask_engine_unless_an_engine_is_named() -> None:
    assert (DEFAULTS.engine, Suite(cluster={"workers": 2}).engine) == ("local", "dask")
    assert (Suite(cluster=Cluster()).engine, Suite(cluster={"kind": "local"}).engine) == ("dask", "dask")
    assert Suite(cluster=Cluster("slurm"), engine="local").engine == "local"
    assert replace(Suite(cluster=Cluster("slurm"), engine="local"), jobs=2).engine == "local"


def test_a_cluster_with_a_scheduler_is_joined() -> None:
    joined = Cluster("join", "tcp://a:1")

    assert Suite(cluster=Cluster(scheduler="tcp://a:1")).cluster == joined
    assert Suite(cluster={"scheduler": "tcp://a:1"}).cluster == joined
    assert Suite(cluster=Cluster("slurm", None, 4, {"cores": 8})).cluster == Cluster(
        "slurm", None, 4, {"cores": 8}
    )


def test_a_copy_with_a_change_is_checked_and_keeps_the_rest() -> None:
    suite = Suite(tasks="iris", methods=["cfo"], budget_seconds="1m", results="out")

    assert replace(suite, budget_seconds=60.0) == suite
    assert replace(suite, jobs=3).tasks == suite.tasks
    assert replace(suite, tasks=(), exclude=()).tasks == ()
    with pytest.raises(UserError, match="jobs is 0"):
        replace(suite, jobs=0)


def test_a_suite_survives_pickling() -> None:
    suite = Suite(tasks="iris", methods={"cfo": {"scale": "ln"}}, cluster={"scheduler": "tcp://a:1"})

    assert pickle.loads(pickle.dumps(suite)) == suite


# --- which folds to run -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "folds"),
    [
        ("all", [0, 1, 2, 3, 4]),
        (" all ", [0, 1, 2, 3, 4]),
        ("0", [0]),
        ("1-3", [1, 2, 3]),
        ("3-3", [3]),
        ("4,0", [0, 4]),
        ("0, 2-3 ,3", [0, 2, 3]),
    ],
)
def test_folds_are_read_in_every_form(text: str, folds: list[int]) -> None:
    assert parse_folds(text, 5) == folds


@pytest.mark.parametrize("text", ["", "-1", "1-", "-", "a", "1.5", "0,", "0;1", "1-2-3"])
def test_folds_that_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="write all, 0, 0-4 or 0,3"):
        parse_folds(text, 5)


@pytest.mark.parametrize("text", ["5", "0-5", "3-1", "0,3-1", "0-99999999999999"])
def test_folds_beyond_the_last_or_backwards_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"with 5 folds, give numbers from 0 to 4, the lower first"):
        parse_folds(text, 5)


@given(st.sets(st.integers(0, 99), min_size=1))
def test_any_set_of_folds_can_be_written(folds: set[int]) -> None:
    assert parse_folds(",".join(map(str, folds)), 100) == sorted(folds)
