"""The group of commands: help, exit codes, and how a mistake reaches a person."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from cfo_bench import __version__
from cfo_bench.cli import main as module
from cfo_bench.cli.main import cli
from cfo_bench.errors import RunError, UserError
from tests.helpers.program import ROOT


def commands_below(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it, such as `surrogate fit`."""
    for name, command in group.commands.items():
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from commands_below(command, f"{path}{name} ")


COMMANDS: list[tuple[str, click.Command]] = [("", cli), *commands_below(cli, "")]
DOCS = "\n".join(
    path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
)


def call_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of the program called with these words, in this process."""
    monkeypatch.setattr(sys, "argv", ["cfo-bench", *arguments])
    with pytest.raises(SystemExit) as caught:
        module.main()
    return 0 if caught.value.code is None else int(caught.value.code)


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_command_and_every_option_has_help(name: str, command: click.Command) -> None:
    assert command.help, name
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[0]}"


@pytest.mark.parametrize("name", [name for name, _ in COMMANDS if name])
def test_every_command_is_mentioned_in_the_documentation(name: str) -> None:
    assert re.search(rf"\bcfo-bench {name}\b", DOCS), f"no page of docs/ mentions cfo-bench {name}"


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_help_fits_the_terminal(name: str, command: click.Command, width: int) -> None:
    text = CliRunner().invoke(cli, [*name.split(), "--help"], terminal_width=width).output

    assert max(len(line) for line in text.splitlines()) <= width
    commands = text.partition("Commands:")[2]
    assert "..." not in commands, "a summary that was cut off"


def test_the_help_of_run_keeps_options_and_explanations_on_one_line() -> None:
    text = CliRunner().invoke(cli, ["run", "--help"], terminal_width=100).output

    flags = [line for line in text.splitlines() if line.lstrip().startswith("-")]
    assert all("  " in line.strip() for line in flags), "an option whose explanation starts a line of its own"


def test_the_version_is_the_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call_main(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"cfo-bench, version {__version__}\n"


def test_no_command_shows_the_help_and_is_a_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call_main(monkeypatch) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Usage: cfo-bench" in said.err and "  run " in said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rum"], "no such command 'rum'"),
        (["run", "--tsk", "iris"], "no such option '--tsk'"),
        (["run", "--task", "iris", "--budget", "1"], "missing option '--method'"),
        (["run", "--task", "iris", "--method", "cfo"], "missing option '--budget'"),
        (["run", "--task", "iris", "--method", "cfo", "--budget", "-1"], "'-1': write seconds above 0"),
        (["run", "--task", "iris", "--method", "cfo", "--budget", "0"], "'0': write seconds above 0"),
        (["run", "--task", "iris", "--method", "cfo", "--budget", "nan"], "'nan': write seconds above 0"),
        (["run", "--task", "iris", "--method", "cfo", "--budget", "inf"], "'inf': write seconds above 0"),
        (
            ["run", "--task", "iris", "--method", "cfo", "--budget", "1w"],
            "such as 90s, 10m, 1h30m or 2d",
        ),
        (
            ["run", "--task", "iris", "--method", "cfo", "--budget", "1", "--jobs", "0"],
            "0 is not in the range",
        ),
        (
            ["run", "--task", "iris", "--method", "cfo", "--budget", "1", "--clock", "sun"],
            "'sun' is not one of",
        ),
        (
            ["run", "--task", "iris", "--method", "cfo", "--budget", "1", "--seed", "-3"],
            "-3 is not in the range",
        ),
        (
            ["run", "--task", "iris", "--method", "cfo", "--budget", "1", "--folds", "one"],
            "'--folds': 'one': write all, 0, 0-4 or 0,3 (",
        ),
    ],
)
def test_a_mistake_in_the_words_is_one_line_with_the_way_to_the_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert call_main(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert said in line
    assert line.endswith("--help)")


@pytest.mark.parametrize(
    ("error", "exit_code", "said"),
    [
        (UserError("bad: do good"), 2, "cfo-bench: bad: do good\n"),
        (RunError("broken"), 1, "cfo-bench: broken\n"),
        (KeyboardInterrupt(), 130, "cfo-bench: stopped\n"),
        (click.FileError("a.txt", "gone"), 1, "cfo-bench: Could not open file 'a.txt': gone\n"),
    ],
)
def test_each_kind_of_error_has_its_exit_code_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    exit_code: int,
    said: str,
) -> None:
    @click.command()
    def fails() -> None:
        """Fails."""
        raise error

    monkeypatch.setitem(cli.commands, "fails", fails)

    assert call_main(monkeypatch, "fails") == exit_code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.lstrip("\n") == said
