"""The options of `cfo-bench run` that say what to run."""

from __future__ import annotations

import re

from click import Option
from click.testing import CliRunner

from cfo_bench.cli.run import run
from cfo_bench.settings import settings_of
from cfo_bench.suite.model import Suite
from cfo_bench.terminal.options import GROUPS


def test_every_option_is_in_one_group_of_the_help_text() -> None:
    flags = [option.opts[-1] for option in run.params if isinstance(option, Option)]
    grouped = [flag for group in GROUPS.values() for flag in group]

    assert sorted(grouped) == sorted([*flags, "--help"])


def test_the_help_text_shows_the_groups_and_their_options_in_order() -> None:
    text = CliRunner().invoke(run, ["--help"], terminal_width=200).output

    shown = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, flags=re.MULTILINE)
    assert shown == [flag for group in GROUPS.values() for flag in group]
    titles = [line[:-1] for line in text.splitlines() if re.fullmatch(r"\w[\w ]*:", line)]
    assert titles == list(GROUPS)


def test_every_setting_of_a_suite_has_an_option_unless_it_says_that_it_has_none() -> None:
    options = {option.name: option for option in run.params if isinstance(option, Option)}

    without = [one.name for one in settings_of(Suite) if not one.flags]
    assert without == ["exclude", "engine_options", "cluster"]
    for one in settings_of(Suite):
        if one.flags:
            assert options[one.name].opts == one.flags
