"""`cfo-bench replay`: a trace follows from its method and seed, or one line says where it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program

RUN = "run --learner hpobench-mlp --task hpobench:vehicle --budget 1h --folds 0 -q --method"


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
