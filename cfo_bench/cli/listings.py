"""`cfo-bench schema`: the JSON Schemas of what we read and write, for editors and other programs."""

from __future__ import annotations

import click

# --- methods ---------------------------------------------------------------------------------------
# `cfo-bench methods`: what can be compared.


@click.command(short_help="List the methods, or the options of one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(name: str | None, as_json: bool) -> None:
    """List the methods, with one line each; or the options of the method NAME."""
    from cfo_bench.optimizers import METHODS
    from cfo_bench.terminal.tables import show_registry

    show_registry(METHODS, name, as_json)


# --- learners --------------------------------------------------------------------------------------
# `cfo-bench learners`: what can be tuned.


@click.command(short_help="List the learners, or the options of one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learners(name: str | None, as_json: bool) -> None:
    """List the learners, with one line each; or the options of the learner NAME."""
    from cfo_bench.learners import LEARNERS
    from cfo_bench.terminal.tables import show_registry

    show_registry(LEARNERS, name, as_json)


# --- schema ----------------------------------------------------------------------------------------


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
