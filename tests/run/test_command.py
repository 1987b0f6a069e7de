"""The command that repeats a run."""

from __future__ import annotations

import dataclasses
import shlex

from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.cli.run import run
from cfo_bench.records import DataRef, Problem, RunSpec
from cfo_bench.run.header import command_line

IRIS = DataRef("iris", "bundled")


def test_a_command_leaves_out_what_is_so_by_default() -> None:
    spec = RunSpec("xgboost", "iris", "cfo", 3, budget_seconds=60.0)

    assert command_line(spec, IRIS) == "cfo-bench run --task iris --method cfo --budget 60 --folds 3"


def test_a_command_has_everything_else() -> None:
    spec = RunSpec(
        "other", "iris", "cfo", 0, seed=5, budget_seconds=0.1, max_trials=9, options={"a": None, "b": "x y"},
        learner_options={"c": True}, n_folds=4, parallel=2, threads=3, memory_mb=100,
        trial_timeout_seconds=2.5, clock="virtual", validation="holdout", holdout_share=0.25,
    )  # fmt: skip

    words = shlex.split(command_line(spec, IRIS))

    given_by = {
        "--learner": "other", "--seed": "5", "--budget": "0.1", "--max-trials": "9", "--n-folds": "4",
        "--parallel": "2", "--threads": "3", "--memory": "100", "--trial-timeout": "2.5",
        "--clock": "virtual", "--validation": "holdout", "--holdout-share": "0.25",
        "--learner-option": "c=True",
    }  # fmt: skip
    for flag, value in given_by.items():
        assert words[words.index(flag) + 1] == value
    assert [words[i + 1] for i, word in enumerate(words) if word == "--option"] == ["a=null", "b=x y"]


def test_a_command_names_the_file_with_its_target() -> None:
    data = DataRef("my data", "file", "/data/my data.csv", "the target", Problem.BINARY)

    words = shlex.split(command_line(RunSpec("xgboost", "my data", "rs", 0), data))

    assert words[2:8] == ["--data", "/data/my data.csv", "--target", "the target", "--problem", "binary"]
    assert "--task" not in words


def test_a_command_names_the_folder_whose_index_has_the_task() -> None:
    data = DataRef("adult", "folder", "/data/sub/adult.csv", "y", None, "/data")

    words = shlex.split(command_line(RunSpec("xgboost", "adult", "rs", 0), data))

    assert words[words.index("--data-dir") + 1] == "/data"


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_a_budget_is_written_with_every_digit(seconds: float) -> None:
    words = shlex.split(command_line(RunSpec("xgboost", "iris", "rs", 0, budget_seconds=seconds), IRIS))

    assert float(words[words.index("--budget") + 1]) == seconds


def test_every_field_of_a_spec_can_be_given_on_the_command_line() -> None:
    options = {parameter.name for parameter in run.params}
    other_names = {
        "task": "tasks", "method": "methods", "learner": "learners", "fold": "folds", "seed": "seeds",
        "variant": "variants",
    }  # fmt: skip

    for field in dataclasses.fields(RunSpec):
        assert other_names.get(field.name, field.name) in options
