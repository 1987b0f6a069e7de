"""The options of `cfo-bench run` that say what to run."""

from __future__ import annotations

from click import Option

from cfo_bench.cli.run import run
from cfo_bench.settings import settings_of
from cfo_bench.suite.model import Suite


def test_the_options_are_in_the_order_that_users_know() -> None:
    known = [
        "--task", "--data", "--target", "--problem", "--method", "--budget", "--learner", "--folds",
        "--n-folds", "--seed", "--results", "--max-trials", "--jobs", "--threads", "--parallel", "--memory",
        "--trial-timeout", "--data-dir", "--clock", "--validation", "--holdout-share", "--tasks", "--engine",
        "--option", "--learner-option", "--cluster", "--scheduler", "--workers", "--cluster-option",
    ]  # fmt: skip

    flags = [option.opts[-1] for option in run.params if isinstance(option, Option)]

    assert [flag for flag in flags if flag in known] == known


def test_every_setting_of_a_suite_has_an_option_unless_it_says_that_it_has_none() -> None:
    options = {option.name: option for option in run.params if isinstance(option, Option)}

    without = [one.name for one in settings_of(Suite) if not one.flags]
    assert without == ["exclude", "engine_options", "cluster"]
    for one in settings_of(Suite):
        if one.flags:
            assert options[one.name].opts == one.flags
