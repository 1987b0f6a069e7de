"""Errors as a user reads them: one line each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cfo_bench import errors
from cfo_bench.errors import (
    RunError,
    SpaceError,
    UnknownNameError,
    UserError,
    at_place,
    brief_line,
    describe,
    did_you_mean,
)


def test_an_error_of_ours_is_described_by_its_text_and_any_other_by_its_kind_too() -> None:
    assert describe(SpaceError("x = 7")) == "x = 7"
    assert describe(ValueError("a\n  b")) == "ValueError: a b"
    assert describe(ValueError()) == "ValueError"


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError


def test_whatever_an_exception_says_is_one_printable_line_that_is_not_long() -> None:
    assert describe(ValueError("\x1b[2J\udc80\0")) == r"ValueError: \x1b[2J\udc80\x00"
    assert describe(Speechless()) == "Speechless"
    assert describe(ValueError("x" * 2**20)) == f"ValueError: {'x' * 1988}…"
    assert brief_line("a b " * 3, 3) == "a b…" and brief_line("  a\n b ") == "a b"
    assert brief_line(" " * 9 + "a", 2) == "…"


def test_a_similar_word_is_suggested_and_a_strange_one_is_not() -> None:
    assert did_you_mean("cfoo", ["rs", "cfo"]) == " (did you mean 'cfo'?)"
    assert did_you_mean("zzz", ["rs", "cfo"]) == ""


def test_an_unknown_name_lists_what_there_is_and_few_of_very_many() -> None:
    assert str(UnknownNameError("method", "cfoo", ["rs", "cfo"])) == (
        "unknown method 'cfoo' (did you mean 'cfo'?): choose from cfo, rs"
    )
    many = UnknownNameError("task", "zzz", [f"task-{n:03}" for n in range(200)])
    assert str(many).endswith("choose from task-000, task-001, task-002, task-003, task-004 or 195 others")


def test_a_users_error_is_told_with_its_place_and_any_other_error_as_it_is() -> None:
    with pytest.raises(UserError, match=r"^suite\.yaml:3: no such thing$"), at_place("suite.yaml:3"):
        raise UserError("no such thing")
    with pytest.raises(UserError, match=r"^no such thing$"), at_place(""):
        raise UserError("no such thing")
    with pytest.raises(RunError, match=r"^it died$"), at_place("suite.yaml:3"):
        raise RunError("it died")


def test_an_extra_is_installed_by_name_or_into_a_checkout_that_is_not_installed(tmp_path: Path) -> None:
    ask = "from cfo_bench.errors import install_command; print(install_command('tables'))"
    # Without site-packages, with a copy of the package in a folder with a space.
    checkout = tmp_path / "a clone"
    (checkout / "cfo_bench").mkdir(parents=True)
    (checkout / "cfo_bench" / "errors.py").write_bytes(Path(errors.__file__).read_bytes())

    def printed() -> str:
        command = [sys.executable, "-S", "-c", ask]
        return subprocess.run(
            command, cwd=checkout, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert printed() == "pip install 'cfo-bench[tables]'"
    (checkout / "pyproject.toml").touch()
    assert printed() == f"pip install '{checkout}[tables]'"
    assert errors.install_command("tables") == "pip install 'cfo-bench[tables]'"


def test_without_a_compiler_the_command_for_the_baselines_names_the_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CC", "a-compiler-nobody-has")

    assert errors.install_command("baselines,dnn") == (
        "pip install 'cfo-bench[baselines,dnn]' (it also needs a C compiler and Python's headers; "
        "on Debian: apt install gcc python3-dev)"
    )
    assert errors.install_command("tables") == "pip install 'cfo-bench[tables]'"
