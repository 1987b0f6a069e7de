"""`cfo-bench methods`: what can be compared."""

from __future__ import annotations

import click


@click.command(short_help="List the methods, or the options of one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(name: str | None, as_json: bool) -> None:
    """List the methods, with one line each; or the options of the method NAME."""
    from cfo_bench.optimizers import METHODS
    from cfo_bench.terminal.tables import show_registry

    show_registry(METHODS, name, as_json)
