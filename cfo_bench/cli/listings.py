"""`cfo-bench methods`, `cfo-bench learners` and `cfo-bench schema`: what is available, and its formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cfo_bench.registry import Registry, Row


@click.command(short_help="List the methods, or the options of one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(name: str | None, as_json: bool) -> None:
    """List the methods, one per line, or the options of the method NAME."""
    from cfo_bench.optimizers import METHODS

    _show_registry(METHODS, name, as_json)


@click.command(short_help="List the learners, or the options of one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learners(name: str | None, as_json: bool) -> None:
    """List the learners, one per line, or the options of the learner NAME."""
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
    click.echo(json.dumps(schema_of(), indent=2, ensure_ascii=False))


def _show_registry(registry: Registry, name: str | None, as_json: bool) -> None:
    """Print the rows of a registry, with the command that installs an absent one; or one row's options."""
    from cfo_bench.terminal.printing import show

    if name is not None:
        _show_options(registry, name, as_json)
        return
    rows = _in_groups(registry)
    has_groups = any(row.group for _, row in rows)
    if as_json:
        listed = [
            {"name": name, "summary": row.summary, "available": row.missing is None, "extra": row.extra}
            | ({"group": row.group, "source": row.source or None} if has_groups else {})
            for name, row in rows
        ]
    else:
        listed = [
            {
                registry.kind: name,
                **({"group": row.group} if has_groups else {}),
                "available": "yes" if row.missing is None else row.remedy,
                "what it is": row.summary,
                **({"from": row.source} if has_groups else {}),
            }
            for name, row in rows
        ]
    show(listed, as_json)


def _in_groups(registry: Registry) -> list[tuple[str, Row]]:
    """All names of a registry and its families, by group in the registry's order of groups."""
    rows = registry.listed()
    order = list(dict.fromkeys(row.group for row in [*registry.builtin.values(), *rows.values()]))
    return sorted(rows.items(), key=lambda pair: (order.index(pair[1].group), pair[0]))


def _show_options(registry: Registry, name: str, as_json: bool) -> None:
    """Print the options of a method or learner: a line with default and type, and an explanation below."""
    import shutil
    import textwrap

    from cfo_bench.terminal.printing import one_line, show_json

    options = registry.described_options(name)
    if as_json:
        keys = ("default", "takes", "does")
        show_json(
            [{"option": option.name} | {key: getattr(option, key) for key in keys} for option in options]
        )
        return
    if not options:
        click.echo(f"{registry.kind} {name!r} has no options")
    width = min(shutil.get_terminal_size().columns, 100)
    for option in options:
        click.echo(one_line(f"{option.name}={_as_written(option.default)}  ({option.takes})"))
        for line in textwrap.wrap(one_line(option.does), width - 4):
            click.echo(f"    {line}")


def _as_written(value: object) -> str:
    """The value as it is written on the command line."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
