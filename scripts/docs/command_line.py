"""The page of all commands and options, from click."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from cfo_bench.cli.main import cli
from cfo_bench.terminal.options import GROUPS, GroupedCommand
from scripts.docs import markdown


def page() -> str:
    context = click.Context(cli, info_name="cfo-bench", **cli.context_settings)
    intro = (
        "Every command with all its options, as `cfo-bench COMMAND --help` prints them. A mistake on the "
        "command line is one line on stderr and exit code 2. Exit code 1 means that a run failed, or that "
        "the machine did (a full disk). Exit code 130 means that you stopped the command."
    )
    return markdown.page("Command line", intro, _sections(cli, context))


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    yield _section(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from _sections(found, click.Context(found, info_name=name, parent=context))


def _section(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## {context.command_path}", f"```text\n{usage}\n```", _description(command.help or "")]
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    records = {one.opts[-1]: found for one in options if (found := one.get_help_record(context))}
    groups = GROUPS if isinstance(command, GroupedCommand) else {}
    for title, names in {**groups, "": tuple(records)}.items():
        rows = [records.pop(name) for name in names if name in records]
        if rows:
            heading = f"**{title}**\n\n" if title else ""
            table = [(markdown.code(names), _words(text)) for names, text in rows]
            parts.append(heading + markdown.table(["option", "what it does"], table))
    return "\n\n".join(parts)


def _description(text: str) -> str:
    """Paragraphs; one that click leaves as it is (marked by a backspace) is code."""
    paragraphs = re.sub(r"^ +", "", text, flags=re.MULTILINE).strip().split("\n\n")
    shown = []
    for paragraph in paragraphs:
        if paragraph.startswith("\b\n"):
            lines = paragraph[2:].splitlines()
            words = "" if lines[0].startswith(("cfo-bench", "eval")) else lines.pop(0) + "\n\n"
            code = "\n".join(lines)
            shown.append(f"{words}```text\n{code}\n```")
        else:
            shown.append(_words(paragraph.replace("\n", " ")))
    return "\n\n".join(shown)


def _words(text: str) -> str:
    """Help text in Markdown: options are code, files of docs/ are links."""
    text = re.sub(r"(?<![`\w-])(--[a-z][\w-]*)", r"`\1`", text)
    return markdown.linked(text.replace("<", "&lt;"))
