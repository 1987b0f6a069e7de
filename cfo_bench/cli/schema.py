"""`cfo-bench schema`: the JSON Schemas of what we read and write, for editors and other programs."""

from __future__ import annotations

import click


@click.command(short_help="Print the JSON Schema of suites, or of traces.")
@click.argument("what", type=click.Choice(["suite", "trace"]), default="suite", metavar="[suite|trace]")
def schema(what: str) -> None:
    """Print the JSON Schema of a suite file, or of the lines of a trace.  [default: suite]

    Editors use it to complete keys and to mark mistakes: see docs/suites.md.
    """
    from importlib import resources

    file = resources.files("cfo_bench").joinpath(f"schema/{what}.schema.json")
    click.echo(file.read_text(encoding="utf-8"), nl=False)
