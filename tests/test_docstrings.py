"""Every example in a docstring runs. Modules without one are not imported."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "cfo_bench").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))

    assert outcome.attempted > 0, f"{name} holds '>>> ' outside its docstrings, where nothing runs it"
    assert outcome.failed == 0, "the failed examples are in the captured output"
