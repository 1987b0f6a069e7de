"""The options of `cfo-bench run`, and the suite that they describe."""

from __future__ import annotations

import re
from pathlib import Path

from click import Option
from click.testing import CliRunner

from cfo_bench.cli.run import run
from cfo_bench.settings import settings_of
from cfo_bench.suite.model import Suite
from cfo_bench.terminal.command_options import GROUPS, suite_of


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

    without = [setting.name for setting in settings_of(Suite) if not setting.flags]
    assert without == ["exclude", "engine_options", "cluster"]
    for setting in settings_of(Suite):
        if setting.flags:
            assert options[setting.name].opts == setting.flags


def test_an_engine_in_a_file_is_not_imported_unless_a_flag_is_for_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit('imported')\n")

    suite = suite_of(
        None, {"methods": ("rs",), "budget_seconds": 1.0, "engine": f"{tmp_path / 'mine.py'}:Mine"}
    )

    assert suite.engine.endswith("mine.py:Mine")
