"""The speed benchmarks say their figures in one form, and docs/performance.md is made of them."""

from __future__ import annotations

import ast
import importlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.figures import figure
from scripts import bench
from scripts.docs import performance
from tests.helpers.program import ROOT

FACTS = {
    "date": "2026-01-02",
    "checkout": "abc123-dirty",
    "cfo_bench": {"version": "0.2.0", "commit": None},
    "machine": {"cpu": "a processor", "cores": 2, "memory_mb": 24576, "os": "Linux"},
    "python": "3.11.7",
    "packages": {"numpy": "2.4.6"},
}


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    assert figure("ask + tell", 21.44444, "µs", at_most=40)
    assert not figure("inside", 95.96, "%", at_least=96)
    assert figure("trials a second", 12345.6)
    lines = ["== benchmarks/deadline.py", "other words", *capsys.readouterr().out.splitlines(), "took 61 s"]
    return "\n".join([json.dumps(FACTS), *lines, "ended with exit code 1"])


def test_a_figure_is_read_as_it_was_printed(capsys: pytest.CaptureFixture[str]) -> None:
    facts, found = performance.read(printed(capsys))

    assert facts == FACTS
    assert [asdict(one) for one in found] == [
        {
            "name": "deadline",
            "rows": [
                ["ask + tell", "21.44 µs", "at most 40 µs", "kept"],
                ["inside", "95.96 %", "at least 96 %", "MISSED"],
                ["trials a second", "12,346", "", ""],
            ],
            "seconds": 61,
            "has_failed": True,
        }
    ]


def test_the_page_has_the_machine_the_limits_and_what_was_missed(capsys: pytest.CaptureFixture[str]) -> None:
    page = performance.figures(printed(capsys))

    assert "1 of 2 limits kept" in page
    assert "a processor, 2 cores, 24 GB" in page and "`abc123-dirty`" in page and "numpy 2.4.6" in page
    assert "| inside | 95.96 % | at least 96 % | **missed** |" in page
    assert "**A limit was missed, or the benchmark failed.**" in page
    assert "How long after the end of its budget does a run end" in page


@pytest.mark.parametrize("name", bench.benchmarks())
def test_a_benchmark_says_what_it_measures_in_one_sentence_and_prints_figures(name: str) -> None:
    sentence = performance.question(name)

    assert sentence.endswith(("?", ".")) and len(sentence) < 150
    assert "figure(" in (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")


def test_an_unknown_benchmark_is_refused_with_the_names_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["deadlines"]) == 2
    assert "no benchmark 'deadlines': choose from ask_tell" in capsys.readouterr().err


PROGRAMS = [path for folder in ("benchmarks", "scripts") for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_names_that_a_benchmark_or_script_imports_from_the_package_exist(path: Path) -> None:
    """Most of them are too slow to be run by the tests."""
    imports = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cfo_bench")
    ]
    for node in imports:
        module = importlib.import_module(node.module or "")
        for alias in node.names:
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")


def test_the_race_of_methods_prints_their_ranks_and_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        {
            "group": "real",
            "problem": problem,
            "method": method,
            "seed": 0,
            "bests": [loss] * 5,
            "start": 1.0,
            "budget": 3.0,
            "trials": 9,
            "own_seconds": 0.0,
            "cut": False,
        }
        for problem in ("adult", "car")
        for method, loss in (("cfo-tuned", 0.1), ("cfo", 0.2))
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(run) + "\n" for run in runs))
    monkeypatch.setattr("sys.argv", ["tuned_race.py", "show", str(file), "--base", "cfo-tuned"])

    race = importlib.import_module("benchmarks.studies.tuned_race")

    assert race.main() == 0
    [first, second] = capsys.readouterr().out.splitlines()[-2:]
    assert first.split()[:6] == ["cfo-tuned", *["1.00"] * 5]
    assert second.split()[-2:] == ["0.5", "2/0"]  # p of two problems; better and worse
