"""`cfo-bench methods NAME`: what a method is told, what it supports, its packages and its times."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import cfo_bench
from benchmarks.suggestion_cost import searches
from cfo_bench.cli.main import cli
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.description import SET_BY_RUN, described_method, suggestion_costs
from scripts.docs.suggestion_cost import MARK, PAGE, table
from tests.cli.conftest import Program
from tests.helpers.terminals import on_a_terminal

# A method that has every option that a run sets, fails if one is not set, and can't be resumed.
CURIOUS = f"""
from cfo_bench.optimizers.baselines import RandomSearch

class Curious(RandomSearch):
    replays = False

    def __init__(self, space, start, seed=0, *, {", ".join(f"{name}=None" for name in SET_BY_RUN)}):
        super().__init__(space, start, seed)
        self.told = [{", ".join(SET_BY_RUN)}]

    def ask(self):
        assert None not in self.told
        return super().ask()
"""


def described(name: str) -> Any:
    answer = CliRunner().invoke(cli, ["methods", name, "--json"], catch_exceptions=False)
    assert answer.exit_code == 0
    return json.loads(answer.stdout)


@pytest.fixture
def curious(tmp_path: Path) -> str:
    file = tmp_path / "curious.py"
    file.write_text(CURIOUS)
    return f"{file}:Curious"


def test_a_method_is_described_with_its_packages_as_they_are_installed() -> None:
    gpei = described("gpei")

    assert gpei["reference"] == "https://arxiv.org/abs/1206.2944"
    assert gpei["packages"] == {"scikit-optimize": importlib.metadata.version("scikit-optimize")}
    assert described("rs")["packages"] == {}


@pytest.mark.parametrize(
    ("name", "knows_budget", "chooses_rows", "runs_parallel"),
    [
        ("rs", False, False, True),
        ("gpei", False, False, False),
        ("gp-cooled", True, False, False),
        ("bohb", False, True, True),
        ("flaml-cfo", False, False, False),
    ],
)
def test_what_a_method_supports_and_is_told_is_that_of_its_class(
    name: str, knows_budget: bool, chooses_rows: bool, runs_parallel: bool
) -> None:
    method = described(name)

    assert method["knows_budget"] is knows_budget
    assert method["chooses_rows"] is chooses_rows
    assert method["runs_parallel"] is runs_parallel
    assert method["can_be_resumed"] is True
    assert (SET_BY_RUN["budget_seconds"] in method["told"]) is knows_budget
    assert (SET_BY_RUN["n_rows"] in method["told"]) is chooses_rows
    assert (SET_BY_RUN["cost_related"] in method["told"]) is (name == "flaml-cfo")


def test_a_method_that_can_not_be_resumed_is_described_so(curious: str) -> None:
    method = described(curious)

    assert method["can_be_resumed"] is False
    assert method["milliseconds_per_suggestion"] == {}


def test_a_budget_that_only_an_option_uses_is_described_so() -> None:
    if missing := METHODS.row("botorch-eips").missing:
        pytest.skip(f"needs {missing}")
    method = described_method("botorch-eips")

    assert method.knows_budget is False
    assert SET_BY_RUN["budget_seconds"] in method.told
    assert method.in_words()["budget"].startswith("used only with an option")


def test_a_program_is_described_with_the_versions_that_it_reports() -> None:
    peer = Path(__file__).resolve().parents[1] / "contract" / "random_peer.py"
    name = f"exec:{shlex.join([sys.executable, str(peer)])}"

    method = described(name)

    python = ".".join(map(str, sys.version_info[:3]))
    assert method["program"] == f"cfo-bench {cfo_bench.__version__}, Python {python}"
    assert described_method(name).in_words()["needs"] == method["program"]
    assert "the summary and the report of its runs" in described_method(name).in_words()["suggestion"]


def test_a_run_sets_every_option_of_which_a_method_is_said_to_be_told(curious: str, program: Program) -> None:
    line = "run --task synthetic-1k --learner synthetic-5d --clock virtual --budget 1e3 --max-trials 1 -q"
    answer = program(f"{line} --folds 0 --method", curious)

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert set(SET_BY_RUN.values()) <= set(described(curious)["told"])


def test_the_properties_are_above_the_options_and_fit_80_columns() -> None:
    lines = on_a_terminal(80, "-m", "cfo_bench", "methods", "gp-cooled")

    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    version = importlib.metadata.version("scikit-optimize")
    assert f"\n    needs       scikit-optimize {version}\n" in text
    assert text.index("\n    suggestion  ") < text.index("\nn_initial_points=10  (a whole number)\n")


# --- the measured times --------------------------------------------------------------------------


def test_every_method_that_searches_has_times_at_10_100_and_300_trials() -> None:
    costs = suggestion_costs()["methods"]

    assert set(searches()) <= costs.keys()
    for name, cost in costs.items():
        assert list(cost["milliseconds"]) == ["10", "100", "300"], name
        assert min(cost["milliseconds"].values()) > 0, name


def test_the_page_of_the_methods_has_the_times_of_the_package() -> None:
    assert PAGE.read_text(encoding="utf-8").partition(MARK)[2].strip() == table(suggestion_costs()).strip()
