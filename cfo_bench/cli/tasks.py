"""`cfo-bench tasks`: what can be learnt."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--data-dir", type=click.Path(path_type=Path), help="A folder of data sets with an index.csv.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tasks(data_dir: Path | None, as_json: bool) -> None:
    """List the tasks that are at hand, with one line each."""
    from cfo_bench.cli.tables import show
    from cfo_bench.tasks import listing

    show(("task", "problem", "rows", "features", "source", "note"), [
        (row.name, row.problem, row.rows, row.features, row.source, row.note) for row in listing(data_dir)
    ], as_json)  # fmt: skip
