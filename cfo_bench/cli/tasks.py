"""`cfo-bench tasks`: what can be learnt."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A folder of data sets with an index.csv.  [default: $CFO_BENCH_DATA]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tasks(data_dir: Path | None, as_json: bool) -> None:
    """List the tasks that are at hand, with one line each."""
    from dataclasses import asdict

    from cfo_bench.cli.tables import show
    from cfo_bench.tasks import listing

    rows = [asdict(row) for row in listing(data_dir)]
    if not as_json:
        rows = [{"task": row.pop("name"), **row} for row in rows]
    show(rows, as_json, right=() if as_json else ("rows", "features"))
