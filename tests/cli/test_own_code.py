"""A trace counts only for the user's own files that it was made with."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from cfo_bench.cli.main import cli
from cfo_bench.errors import OtherRunError
from cfo_bench.results.run import read_run
from cfo_bench.results.schema import Header

VIRTUAL = "run --task synthetic-1k --clock virtual --budget 60 --max-trials 3 --folds 0 -q --results r "

METRIC = """
def cost(truth, prediction):
    return {weight} * float(((truth == 1) & (prediction == 0)).sum())

cost.higher_is_better = False
"""

LEARNER = """
from cfo_bench.learners.synthetic import Synthetic5

class Mine(Synthetic5):
    weight = {weight}
"""

METHOD = """
from cfo_bench.optimizers.baselines import RandomSearch

class Mine(RandomSearch):
    weight = {weight}
"""

PROGRAM = """
import json, sys

weight = {weight}
for line in sys.stdin:
    message = json.loads(line)
    answer = {{"ok": True}}
    if message["do"] == "hello":
        answer = {{"protocol": 1}}
    elif message["do"] == "begin":
        start = message["start"]
    elif message["do"] == "ask":
        answer = {{"config": start}}
    print(json.dumps(answer), flush=True)
"""


def cfo_bench(line: str) -> Result:
    return CliRunner().invoke(cli, shlex.split(line))


def header_of(path: Path) -> Header:
    run = read_run(path)
    assert run is not None
    return run.header


@pytest.mark.parametrize(
    ("role", "source", "line"),
    [
        ("method", METHOD, f"{VIRTUAL} --learner synthetic --method mine.py:Mine"),
        ("learner", LEARNER, f"{VIRTUAL} --learner mine.py:Mine --method rs"),
        ("method", PROGRAM, f"{VIRTUAL} --learner synthetic --method 'exec:{sys.executable} mine.py'"),
        (
            "metric",
            METRIC,
            "run --task breast-cancer --learner knn --method rs --budget 60 --max-trials 1 --folds 0 -q "
            "--results r --metric mine.py:cost",
        ),
    ],
    ids=["method", "learner", "program", "metric"],
)
def test_a_run_with_a_file_that_was_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, source: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(source.format(weight=1), encoding="utf-8")
    first = cfo_bench(line)
    assert first.exit_code == 0, first.output
    [path] = tmp_path.rglob("*.jsonl")
    before, code = path.read_bytes(), header_of(path).own_code
    assert cfo_bench(line).exit_code == 0 and path.read_bytes() == before  # the same file: done

    file.write_text(source.format(weight=25), encoding="utf-8")
    refused = cfo_bench(line)

    assert isinstance(refused.exception, OtherRunError)
    message = str(refused.exception)
    assert "\n" not in message and "fold-0_seed-0.jsonl belongs to another run (file mine.py " in message
    assert message.endswith(": use another --results, or --force to run it again")
    assert path.read_bytes() == before
    assert code is not None and list(msgspec.to_builtins(code)) == [role]


def test_a_run_with_a_file_that_was_changed_is_run_again_with_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = f"{VIRTUAL} --learner synthetic --method mine.py:Mine"
    codes = []
    for weight in (1, 25):
        (tmp_path / "mine.py").write_text(METHOD.format(weight=weight), encoding="utf-8")
        forced = cfo_bench(f"{line} --force")
        assert forced.exit_code == 0, forced.output
        [path] = tmp_path.rglob("*.jsonl")
        codes.append(header_of(path).own_code)

    assert None not in codes and codes[0] != codes[1]
    assert cfo_bench(line).exit_code == 0


def test_a_run_of_built_in_parts_has_no_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert cfo_bench(f"{VIRTUAL} --learner synthetic --method rs").exit_code == 0

    [path] = tmp_path.rglob("*.jsonl")
    assert header_of(path).own_code is None and b"own_code" not in path.read_bytes()
