"""`cfo-bench replay`: check that the method and seed of a trace reproduce its trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from cfo_bench.terminal.command_options import AsInSuite
from cfo_bench.terminal.printing import one_line, print_text, show, show_json
from cfo_bench.values import Duration


@click.command(short_help="Check that the method and seed of a trace reproduce its trials.")
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@click.option(
    "--budget",
    "budgets",
    type=AsInSuite(Duration()),
    multiple=True,
    metavar="TIME",
    help="Also print the result that the run would have had with this shorter budget; can be repeated.",
)
@click.option(
    "--trust-method",
    is_flag=True,
    help="Run the local file or program that TRACE names as its method: only if you trust TRACE's author.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay(trace: Path, budgets: Sequence[float], trust_method: bool, as_json: bool) -> None:
    """Check that the method and seed of TRACE reproduce its trials.

    The method gets the recorded results again, and nothing is trained. If it asks for other trials than
    those in the trace, the exit code is 1, and one line names the first of them.
    """
    from cfo_bench.run.replay import replay_trace

    replayed = replay_trace(trace, tuple(budgets), trust_method=trust_method)
    standings = replayed.standings
    if as_json:
        show_json({"follows": True, "metric": replayed.metric, "standings": list(map(asdict, standings))})
        return
    spec = replayed.spec
    names = one_line(f"{spec.method}, fold {spec.fold}, seed {spec.seed}, on {spec.task} with {spec.learner}")
    print_text(f"{standings[0].trials} trials follow from {names}", err=False)
    metric = replayed.metric
    show(
        [
            {
                "budget": f"{standing.budget_seconds:g} s",
                "trials": standing.trials,
                "best loss": None if standing.best_loss is None else f"{standing.best_loss:.5f}",
                metric: None if standing.best_score is None else f"{standing.best_score:.5f}",
                "found at": None if standing.found_at is None else f"{standing.found_at:.1f} s",
            }
            for standing in standings
        ],
        right=("budget", "trials", "best loss", metric, "found at"),
    )
