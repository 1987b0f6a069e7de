"""`cfo-bench learners`: what can be tuned."""

from __future__ import annotations

import click


@click.command(short_help="List the learners, or the options of one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learners(name: str | None, as_json: bool) -> None:
    """List the learners, with one line each; or the options of the learner NAME."""
    from cfo_bench.learners import LEARNERS
    from cfo_bench.terminal.tables import show_registry

    show_registry(LEARNERS, name, as_json)
