"""`cfo-bench compare`: find the best method and learner for the user's own file, within a given time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfo_bench.registry import label
from cfo_bench.settings import VALIDATIONS
from cfo_bench.terminal.command_options import learner_names, method_names, own_data
from cfo_bench.terminal.printing import print_text, show_json, show_prose, show_table

if TYPE_CHECKING:
    from cfo_bench.comparison.answer import Comparison
    from cfo_bench.report.numbers.significance import Estimate


@click.command(short_help="Which method and learner are best on your data?")
@own_data
@click.option(
    "--for",
    "for_seconds",
    default="10m",
    show_default=True,
    metavar="TIME",
    help="Total time of the command.",
)
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="NAME",
    help="A learner to compare, or a FILE.yaml that describes an estimator.  [default: chosen for you]",
    shell_complete=learner_names,
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="A method to compare.  [default: chosen for you]",
    shell_complete=method_names,
)
@click.option(
    "--metric",
    metavar="NAME",
    help="The metric to optimise, as in cfo-bench run: f1, file.py:function  [default: by the problem type]",
)
@click.option(
    "--validation",
    type=click.Choice(VALIDATIONS),
    default="holdout",
    show_default=True,
    help="Score on rows that no method has seen (holdout), or on those by which trials are selected.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="N",
    help="Seed of folds, methods and models.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Runs at the same time.  [default: all cores]",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the traces.  [default: named after the file and the time, as in compare-my-600s]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress, only errors and the answer.")
def compare(
    data_file: Path | None,
    target: str | None,
    drop: Sequence[str],
    drop_missing_target: bool | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compare methods and learners on your own file, and name the best.

    \b
        cfo-bench compare --data my.csv --target y --for 10m

    Learners, methods and the budget of each run are chosen so that everything, including the loading of the
    data, finishes in the given time; folds are added while there is time. The answer names the best method
    and learner, or states that no difference is significant, with the reasons. The last line of the answer
    is the command that trains the model.
    """
    from cfo_bench.comparison.compare import compare as compare_methods
    from cfo_bench.engines import scheduling
    from cfo_bench.machine.processes import age_seconds
    from cfo_bench.terminal.progress import progress

    if data_file is None:
        raise click.UsageError("missing option '--data'")
    if target is None:
        raise click.UsageError(
            f"missing option '--target': cfo-bench tasks show --data {data_file} lists the columns"
        )
    scheduling.exits_at_once = True
    with progress(quiet) as show:
        comparison = compare_methods(
            data_file,
            target,
            drop=drop,
            drop_missing_target=bool(drop_missing_target),
            spent_seconds=age_seconds(),
            on_event=show,
            **options,
        )
    if as_json:
        words = {name: getattr(comparison, name) for name in ("verdict", "reasons", "sentence")}
        show_json({**asdict(comparison), "results": str(comparison.results), **words})
        return
    print_text("")
    _show(comparison)


def _show(comparison: Comparison) -> None:
    """Print the table of scores, the verdict on its own line, the reasons, and the next command."""
    rows = [
        [label(candidate.learner), candidate.method, *_score(candidate.score)]
        for candidate in comparison.candidates
    ]
    if comparison.forest is None:
        rows.append(["random forest", "", "not finished", ""])
    constant = comparison.constant
    rows.append(["constant", "", "not finished" if constant is None else f"{constant:.4f}", ""])
    kind = "test" if comparison.by_test else "validation"
    show_table(("learner", "method", f"{kind} {comparison.metric_facts}", "95 % interval"), rows, right=(2,))
    print_text("", err=False)
    show_prose(comparison.verdict)
    print_text("", err=False)
    for reason in comparison.reasons:
        show_prose(f"- {reason}", indent="  ")
    print_text("\nThe command that trains the model:\n", err=False)
    print_text(comparison.best_command, err=False)


def _score(score: Estimate) -> list[str]:
    interval = "" if score.low is None else f"{score.low:.4f} … {score.high:.4f}"
    return [f"{score.mean:.4f}", interval]
