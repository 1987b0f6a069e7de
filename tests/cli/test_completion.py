"""Tab completion, by the protocol that the shells speak."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cfo_bench.cli.main import cli
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from tests.helpers.traces import write_run

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(program: Callable[..., subprocess.CompletedProcess[str]]) -> Complete:
    """What bash offers for a line of words, the last of which is being typed."""

    def offered(*words: str, **variables: str) -> list[str]:
        line = " ".join(("cfo-bench", *words))
        protocol = {"_CFO_BENCH_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
        answer = program(**{**protocol, **variables})
        assert answer.returncode == 0, answer.stderr
        assert answer.stderr == ""
        return [word.partition(",")[2] for word in answer.stdout.splitlines() if word]

    return offered


def test_commands_are_offered(complete: Complete) -> None:
    assert complete("") == sorted(cli.commands)
    assert complete("ru") == ["run"]


def test_options_are_offered(complete: Complete) -> None:
    assert complete("run", "--max") == ["--max-trials"]


def test_methods_are_offered(complete: Complete) -> None:
    assert complete("run", "--method", "cfo") == [
        name for name in sorted(METHODS.rows()) if name[:3] == "cfo"
    ]


def test_families_of_methods_are_offered_up_to_the_colon(complete: Complete) -> None:
    assert complete("run", "--method", "optuna") == ["optuna-gp", "optuna:", "optunahub:"]


def test_learners_are_offered(complete: Complete) -> None:
    families = [f"{name}:" for name in LEARNERS.families]
    assert complete("run", "--learner", "") == sorted([*LEARNERS.rows(), *families])


def test_suites_are_offered_beside_files(complete: Complete) -> None:
    assert complete("run", "paper-") == [
        *("paper-dnn", "paper-xgboost", "paper-yahpo"),
        "paper-",  # which asks for files
    ]


def test_tasks_are_offered(complete: Complete) -> None:
    assert "breast_cancer" in complete("run", "--task", "brea")
    assert complete("run", "--task", "no-such") == []


def test_tasks_of_a_folder_are_offered(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("name,file,target,problem\nzebra,z.csv,y,\n", encoding="utf-8")

    assert complete("run", "--data-dir", str(tmp_path), "--task", "zeb") == ["zebra"]
    assert complete("run", "--task", "zeb", CFO_BENCH_DATA=str(tmp_path)) == ["zebra"]


def test_a_wrong_folder_offers_nothing_and_says_nothing(complete: Complete, tmp_path: Path) -> None:
    assert complete("run", "--data-dir", str(tmp_path / "nowhere"), "--task", "ir") == []


def test_names_of_a_results_folder_are_offered_by_commands_that_read_it(
    complete: Complete, tmp_path: Path
) -> None:
    for results, method in (("results", "rs"), ("other", "cfo@scale=ln"), ("other", "cfo")):
        write_run(tmp_path / results, "iris", method, 0, [(1.0, 0.5, 1.0)])

    assert complete("best", "other", "--method", "") == ["cfo", "cfo@scale=ln"]
    assert complete("report", "other", "results", "--method", "") == ["cfo", "cfo@scale=ln", "rs"]
    assert complete("best", "--method", "") == ["rs"]
    assert complete("best", "--task", "") == ["iris"] and complete("best", "--learner", "x") == ["xgboost"]
    assert complete("best", "nowhere", "--method", "") == []


@pytest.mark.parametrize("name", ["$(touch harmed)", "a;touch harmed", "`touch harmed`", "a\nplain,b", "a b"])
def test_a_name_in_results_that_a_shell_would_interpret_is_not_offered(
    complete: Complete, tmp_path: Path, name: str
) -> None:
    for method in ("rs", name):
        write_run(tmp_path / "results", "iris", method, 0, [(1.0, 0.5, 1.0)])

    assert complete("best", "--method", "") == ["rs"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(
    program: Callable[..., subprocess.CompletedProcess[str]], shell: str
) -> None:
    answer = program(_CFO_BENCH_COMPLETE=f"{shell}_source")

    assert answer.returncode == 0
    assert f"_CFO_BENCH_COMPLETE={shell}_complete" in answer.stdout
