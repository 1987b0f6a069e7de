"""What a method that is a program of its own is called, and where its files are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import UserError
from cfo_bench.registry import (
    beside,
    existing_program,
    is_in_file,
    is_program,
    is_users_code,
    label,
    program_label,
    words_of,
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("exec:venv/bin/python my_method.py", "my_method"),
        ("exec:python3.11 'my dir/my method.py' --fast", "my method"),
        ("exec:python -u -m hebo.client", "client"),
        ("exec:target/release/my-rust --config a.yaml", "my-rust"),
        ("exec:./own.py", "own"),
        ("exec:Rscript bo.R", "bo"),
        ("exec:env A=1 julia --project=. run.jl", "run"),
        ("exec:python tool.py --class a.py:B", "tool"),
        ("exec:python 'open", "exec:python 'open"),
        ("exec:", "exec:"),
    ],
)
def test_a_program_is_called_by_its_script(name: str, short: str) -> None:
    assert program_label(name) == label(name) == short
    assert is_program(name) and is_users_code(name) and not is_in_file(name)


@given(st.text(max_size=20))
def test_any_command_of_a_trace_has_a_label(command: str) -> None:
    assert label(f"exec:{command}")


@pytest.mark.parametrize(("name", "words"), [("exec:  ", "no program"), ("exec:python 'x", "quotes")])
def test_a_command_without_words_is_refused_in_one_line(name: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        words_of(name)
    assert "\n" not in str(refused.value)


def test_a_program_that_is_not_there_is_refused() -> None:
    assert existing_program(f"exec:{sys.executable} -V") == [sys.executable, "-V"]
    with pytest.raises(UserError, match="no program 'pthon'"):
        existing_program("exec:pthon mine.py")


def test_files_beside_a_suite_are_found_from_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "a suite"
    folder.mkdir()
    for name in ("mine.py", "run", "python"):
        (folder / name).touch()

    moved = beside(folder, "exec:python mine.py --seed 3 /x/other.py")
    assert words_of(moved) == ["python", str(folder / "mine.py"), "--seed", "3", "/x/other.py"]
    assert words_of(beside(folder, "exec:./run it")) == [str(folder / "run"), "it"]
    assert beside(Path(), "exec:./run  it") == "exec:./run  it"
