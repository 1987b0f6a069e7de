"""Flags over a suite file."""

from __future__ import annotations

from pathlib import Path

from cfo_bench.terminal.overrides import suite_of


def test_an_engine_in_a_file_is_not_imported_unless_a_flag_is_for_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit('imported')\n")

    suite = suite_of(
        None, {"methods": ("rs",), "budget_seconds": 1.0, "engine": f"{tmp_path / 'mine.py'}:Mine"}
    )

    assert suite.engine.endswith("mine.py:Mine")
