"""A method in a program of its own keeps the contract of all methods; its Python can't import cfo-bench."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from cfo_bench.testing import MethodContract

CLIENT = Path(__file__).resolve().parents[2] / "examples" / "hill_climb.py"


class TestProgram(MethodContract):
    # Isolated, and without site-packages.
    method = f"exec:{shlex.join([sys.executable, '-I', '-S', str(CLIENT)])}"
    trials = 12
    repeats = True
    troubled_spaces = ("mixed",)


def test_the_client_is_short_and_needs_the_standard_library_only() -> None:
    lines = CLIENT.read_text(encoding="utf-8").splitlines()
    imported = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}

    assert len(lines) < 60
    assert imported <= set(sys.stdlib_module_names)
