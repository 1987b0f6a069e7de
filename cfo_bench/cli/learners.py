"""`cfo-bench learners`: what can be tuned."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learners(as_json: bool) -> None:
    """List the learners, with one line each."""
    from cfo_bench.cli.tables import show
    from cfo_bench.learners import LEARNERS

    show(("learner", "what it is", "available"), [
        (name, row.summary, "yes" if row.missing is None else f"pip install 'cfo-bench[{row.extra}]'")
        for name, row in sorted(LEARNERS.rows().items())
    ], as_json)  # fmt: skip
