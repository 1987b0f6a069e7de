"""`cfo-bench replay`: a trace follows from its method and seed, or one line says where it does not."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.helpers.program import ROOT

RUN = "run --learner hpobench-mlp --task hpobench:vehicle --budget 1h --folds 0 -q --method"

PLANNER = """
from cfo_bench import CFO

class Planner(CFO):
    knows_budget = True

    def __init__(self, space, start, seed=0, *, budget_seconds: float | None = None):
        super().__init__(space, start, seed + int(budget_seconds or 0))
"""


@pytest.mark.parametrize(
    "method", ["cfo", "rs", *(pytest.param(name, marks=pytest.mark.slow) for name in ("flaml-cfo", "bohb"))]
)
def test_a_trace_follows_from_its_method_and_seed(program: Program, tmp_path: Path, method: str) -> None:
    assert program(f"{RUN} {method} --max-trials 40").returncode == 0
    [path] = tmp_path.glob("results/*/*/*/*.jsonl")

    answer = program("replay --budget 60 --json", str(path))

    assert answer.returncode == 0, answer.stderr
    whole, short = json.loads(answer.stdout)["standings"]
    assert whole["budget_seconds"] == 3600 and whole["trials"] == 40
    trials = [json.loads(line) for line in path.read_text().splitlines()[1:-1]]
    assert short["best_loss"] == min(one["loss"] for one in trials if one["ended"] <= 60)
    assert short["found_at"] <= 60 and whole["best_loss"] <= short["best_loss"]


def test_a_method_that_plans_with_the_budget_is_replayed_with_it(program: Program, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLANNER)
    assert program(f"{RUN} mine.py:Planner --max-trials 5").returncode == 0
    [path] = tmp_path.glob("results/*/*/*/*.jsonl")

    answer = program("replay --trust-method", str(path))

    assert answer.returncode == 0, answer.stderr


def test_a_trace_that_was_changed_does_not_follow(program: Program, tmp_path: Path) -> None:
    assert program(f"{RUN} cfo --max-trials 9").returncode == 0
    [path] = tmp_path.glob("results/*/*/*/*.jsonl")
    lines = path.read_text().splitlines()
    row = json.loads(lines[4])
    row["config"]["depth"] = 3 if row["config"]["depth"] != 3 else 1
    lines[4] = json.dumps(row)
    path.write_text("\n".join(lines) + "\n")

    answer = program("replay", str(path))

    assert answer.returncode == 1
    assert "does not follow from its method and seed: trial 3 of the trace" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_longer_budget_or_no_trace_is_the_users_mistake(program: Program, tmp_path: Path) -> None:
    assert program(f"{RUN} rs --max-trials 3").returncode == 0
    [path] = tmp_path.glob("results/*/*/*/*.jsonl")

    longer, absent = program("replay --budget 2h", str(path)), program("replay nothing.jsonl")

    assert longer.returncode == absent.returncode == 2
    assert "--budget 7200: the run had 3600 s" in longer.stderr
    assert "no trace 'nothing.jsonl'" in absent.stderr


def test_names_of_a_foreign_trace_do_not_move_the_cursor(program: Program, tmp_path: Path) -> None:
    assert program(f"{RUN} rs --max-trials 3").returncode == 0
    [path] = tmp_path.glob("results/*/*/*/*.jsonl")
    header, *lines = path.read_text().splitlines()
    row = json.loads(header)
    row["spec"] |= {"task": "\x1b[2Jtask\n", "learner": "\x1b]0;x\x07learner"}
    path.write_text("\n".join([json.dumps(row), *lines, ""]))

    answer = program("replay", str(path))

    assert answer.returncode == 0, answer.stderr
    assert "on \\x1b[2Jtask\\n with \\x1b]0;x\\x07learner" in answer.stdout
    assert not set("\x1b\x07") & set(answer.stdout)


@pytest.mark.parametrize("low", ["x", {}, None, 10**400])
def test_a_space_that_is_none_is_one_line(program: Program, tmp_path: Path, low: object) -> None:
    words = "run --learner synthetic --task synthetic-1k --method rs --budget 60 --max-trials 2 --folds 0 -q"
    assert program(words).returncode == 0
    [path] = tmp_path.glob("results/*/*/*/*.jsonl")
    header, *lines = path.read_text().splitlines()
    row = json.loads(header)
    row["space"][2]["low"] = low
    path.write_text("\n".join([json.dumps(row), *lines, ""]))

    for command in ("replay", "export -o t.csv", "export --to deepcave caves"):
        answer = program(command, str(path if command == "replay" else tmp_path / "results"))
        assert answer.returncode in (0, 2) and "Traceback" not in answer.stderr
        assert answer.stderr.count("\n") == (command == "replay")


@pytest.mark.parametrize("kind", ["file", "program"])
def test_the_code_that_a_trace_names_is_run_only_if_it_is_trusted(
    program: Program, tmp_path: Path, kind: str
) -> None:
    shutil.copy(ROOT / "examples/hill_climb.py", tmp_path / "climb.py")
    (tmp_path / "mine.py").write_text("from cfo_bench import CFO\n\n\nclass Mine(CFO): ...\n")
    method, file = (
        ("mine.py:Mine", "mine.py") if kind == "file" else (f"exec:{sys.executable} climb.py", "climb.py")
    )
    assert program(f"{RUN} '{method}' --max-trials 3").returncode == 0
    [path] = tmp_path.glob("results/*/*/*/*.jsonl")
    source = (tmp_path / file).read_text()
    (tmp_path / file).write_text("open('ran', 'w').close()\n" + source)

    refused = program("replay", str(path))
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert method in refused.stderr and "--trust-method" in refused.stderr
    assert not (tmp_path / "ran").exists()

    trusted = program("replay --trust-method", str(path))
    assert trusted.returncode == 0, trusted.stderr
    assert (tmp_path / "ran").exists()
