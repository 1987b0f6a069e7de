"""`cfo-bench methods`: what can be compared."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(as_json: bool) -> None:
    """List the methods, with one line each."""
    from cfo_bench.cli.tables import show
    from cfo_bench.optimizers import METHODS

    show(("method", "what it is", "available"), [
        (name, row.summary, "yes" if row.missing is None else f"pip install 'cfo-bench[{row.extra}]'")
        for name, row in sorted(METHODS.rows().items())
    ], as_json)  # fmt: skip
