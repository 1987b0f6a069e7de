"""`cfo-bench methods`, `cfo-bench learners` and `cfo-bench schema`: what is available, and its formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from cfo_bench.terminal.printing import (
    fits_terminal,
    one_line,
    print_text,
    show,
    show_json,
    show_prose,
    text_table,
)

if TYPE_CHECKING:
    from cfo_bench.optimizers.description import MethodDescription
    from cfo_bench.registry import DescribedOption, Registry, Row


@click.command(short_help="List the methods, or describe one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(name: str | None, as_json: bool) -> None:
    """List the methods, one per line, or the properties and options of the method NAME.

    The properties are its reference, packages and versions, the information that it receives, what it
    supports, and the measured time of a suggestion.

    If no method has this name, the command lists the methods whose name, group, description or package
    contains NAME, or that another tool calls NAME, such as gp_minimize.
    """
    from cfo_bench.optimizers import METHODS

    _show_registry(METHODS, name, as_json)


@click.command(short_help="List the learners, or the options of one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learners(name: str | None, as_json: bool) -> None:
    """List the learners, one per line, or the options of the learner NAME.

    If no learner has this name, the command lists those whose name, description or package contains NAME.
    """
    from cfo_bench.learners import LEARNERS

    _show_registry(LEARNERS, name, as_json)


@click.command(short_help="Print the JSON Schema of suites, or of traces.")
@click.argument("what", type=click.Choice(["suite", "trace"]), default="suite", metavar="[suite|trace]")
def schema(what: str) -> None:
    """Print the JSON Schema of a suite file, or of the lines of a trace.  [default: suite]

    Editors use it to complete keys and to mark mistakes: see docs/suites.md.
    """
    import json

    if what == "suite":
        from cfo_bench.suite.file import suite_schema as schema_of
    else:
        from cfo_bench.results.schema import trace_schema as schema_of
    print_text(json.dumps(schema_of(), indent=2, ensure_ascii=False), err=False)


def _show_registry(registry: Registry, name: str | None, as_json: bool) -> None:
    """Print the rows of a registry, with the install command of unavailable ones; or describe one row."""
    from cfo_bench.errors import UserError

    listed = registry.listed()
    if name is not None:
        try:
            registry.row(name)
        except UserError:
            if not (listed := registry.matching(name)):
                raise
        else:
            _show_one(registry, name, as_json)
            return
    rows = _in_groups(registry, listed)
    has_groups = any(row.group for _, row in rows)
    if as_json:
        as_dicts = [
            {"name": name, "summary": row.summary, "available": row.missing is None, "extra": row.extra}
            | ({"group": row.group, "source": row.source or None} if has_groups else {})
            for name, row in rows
        ]
        show_json(as_dicts)
        return
    as_dicts = [
        {
            registry.kind: name,
            **({"group": row.group} if has_groups else {}),
            "available": "yes" if row.missing is None else row.remedy,
            "what it is": row.summary,
            **({"from": row.source} if has_groups else {}),
        }
        for name, row in rows
    ]
    cells = [list(map(str, row.values())) for row in as_dicts]
    if fits_terminal(text_table(list(as_dicts[0]), cells)):
        show(as_dicts)
    else:
        _show_below_each_other(rows)


def _show_below_each_other(rows: Sequence[tuple[str, Row]]) -> None:
    """Print each name with its summary, availability and source below it, for a narrow terminal."""
    group = ""
    for name, row in rows:
        if row.group != group:
            group = row.group
            print_text(f"{group}:", err=False)
        print_text(name, err=False)
        available = "available" if row.missing is None else f"not available: {row.remedy}"
        for text in (row.summary, available, row.source):
            if text:
                show_prose(f"    {text}", indent="    ")


def _in_groups(registry: Registry, rows: Mapping[str, Row]) -> list[tuple[str, Row]]:
    """The rows by group, in the registry's order of groups."""
    order = list(dict.fromkeys(row.group for row in [*registry.builtin.values(), *rows.values()]))
    return sorted(rows.items(), key=lambda pair: (order.index(pair[1].group), pair[0]))


def _show_one(registry: Registry, name: str, as_json: bool) -> None:
    """Print the options of a learner, or the properties and options of a method."""
    options = registry.described_options(name)
    keys = ("default", "takes", "does")
    listed = [{"option": option.name} | {key: getattr(option, key) for key in keys} for option in options]
    if registry.kind == "method":
        from cfo_bench.optimizers.description import described_method

        described = described_method(name)
        if as_json:
            show_json(asdict(described) | {"options": listed})
            return
        _show_properties(described)
        print_text("", err=False)
    if as_json:
        show_json(listed)
    elif options:
        _show_options(options)
    else:
        print_text(f"{registry.kind} {name!r} has no options", err=False)


def _show_properties(method: MethodDescription) -> None:
    """Print a line for each property of a method."""
    properties = method.in_words()
    show_prose(f"{method.method}: {method.summary}", indent="    ")
    width = max(map(len, properties)) + 2
    for name, text in properties.items():
        show_prose(f"    {name:<{width}}{text}", indent=" " * (4 + width))


def _show_options(options: Sequence[DescribedOption]) -> None:
    """Print a line for each option with its default and type, and its description below."""
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size().columns, 100)
    for option in options:
        print_text(one_line(f"{option.name}={_as_written(option.default)}  ({option.takes})"), err=False)
        for line in textwrap.wrap(one_line(option.does), width - 4):
            print_text(f"    {line}", err=False)


def _as_written(value: object) -> str:
    """The value as it is written on the command line."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
