from __future__ import annotations

from pathlib import Path

from cfo_bench.files.cache import code_hash


def test_the_hash_changes_with_any_python_file_and_with_no_other(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    file, data = tmp_path / "inner" / "a.py", tmp_path / "inner" / "a.csv"
    file.write_text("x = 1")
    data.write_text("1")
    before = code_hash(tmp_path)
    data.write_text("2")
    assert code_hash(tmp_path) == before
    file.write_text("x = 2")
    assert code_hash(tmp_path) != before
    assert code_hash(tmp_path, data) != code_hash(tmp_path)
