"""`cfo-bench replay`: whether a trace follows from its method and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from cfo_bench.terminal.options import AsInSuite
from cfo_bench.values import Duration


@click.command(short_help="Check that a trace follows from its method and seed.")
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@click.option(
    "--budget",
    "budgets",
    type=AsInSuite(Duration()),
    multiple=True,
    metavar="TIME",
    help="Also print the result that the run would have had with this shorter budget; can be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay(trace: Path, budgets: Sequence[float], as_json: bool) -> None:
    """Check that a trace follows from its method and seed: the method is asked and told again.

    Nothing is trained. The exit code is 1, with one line that says where, if the method asks for other trials
    than the trace has.
    """
    from cfo_bench.metrics import METRICS
    from cfo_bench.run.replay import replay_trace
    from cfo_bench.terminal.tables import show, show_json

    found = replay_trace(trace, tuple(budgets))
    if as_json:
        show_json({"follows": True, "metric": found.metric, "standings": list(map(asdict, found.standings))})
        return
    spec = found.spec
    click.echo(
        f"{found.standings[0].trials} trials follow from {spec.method}, fold {spec.fold}, seed {spec.seed}, "
        f"on {spec.task} with {spec.learner}"
    )
    metric = METRICS[found.metric].name
    show(
        [
            {
                "budget": f"{one.budget_seconds:g} s",
                "trials": one.trials,
                "best loss": None if one.best_loss is None else f"{one.best_loss:.5f}",
                metric: None if one.best_score is None else f"{one.best_score:.5f}",
                "found at": None if one.found_at is None else f"{one.found_at:.1f} s",
            }
            for one in found.standings
        ],
        False,
        right=("budget", "trials", "best loss", metric, "found at"),
    )
