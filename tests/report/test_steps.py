"""The steps of a report import only those before them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

REPORT = Path(__file__).resolve().parents[2] / "cfo_bench" / "report"
STEPS = ("reading", "numbers", "rendering", "sections")


def imported(step: str) -> set[str]:
    """The modules of the report that a step imports, such as `numbers.scores`."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (REPORT / step).rglob("*.py")]
    modules = [
        f"{node.module}.{alias.name}"
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    ]
    prefix = "cfo_bench.report."
    return {module.removeprefix(prefix) for module in modules if module.startswith(prefix)}


def test_every_folder_is_a_step() -> None:
    assert {path.parent.name for path in REPORT.glob("*/__init__.py")} == set(STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_imports_only_those_before_it(step: str) -> None:
    later = {*STEPS[STEPS.index(step) + 1 :], "build"}

    assert {module for module in imported(step) if module.split(".")[0] in later} == set()


def test_imports_of_earlier_steps_are_seen() -> None:
    assert "reading.published_scores.Reference" in imported("numbers")
    assert "rendering.style" in imported("sections")
