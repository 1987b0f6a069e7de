"""`cfo-bench surrogate`: models fitted to traces, to compare methods in seconds instead of hours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfo_bench.terminal.command_options import PATH
from cfo_bench.terminal.printing import one_line, print_text, show_table

if TYPE_CHECKING:
    from cfo_bench.surrogates.building import TaskFit


@click.group(short_help="Fit models to traces, to simulate runs.")
def surrogate() -> None:
    """Models that predict loss, seconds and failure, to use in place of training: see docs/simulation.md."""


@surrogate.command(short_help="Fit surrogates to the traces of results folders.")
@click.argument("results", nargs=-1, required=True, type=PATH)
@click.option(
    "-o", "--out", required=True, type=PATH, help="The file to write, for cfo-bench run --surrogate."
)
@click.option("--force", is_flag=True, help="Write the file even if the quality is too low.")
def fit(results: Sequence[Path], out: Path, force: bool) -> None:
    """Fit one surrogate for each learner and task, and print its quality.

    Each method is left out in turn and predicted from the others: the table has the rank correlation and the
    median error of its losses, the same for its best tenth alone (near), the rank correlation of its seconds
    and their median factor, and the share of its trials that are far from every other trial.

    `all` is over the trials of all methods, each predicted without its method, and the share of the search
    space that is far from every trial. Below a rank correlation of 0.3 for losses or 0.5 for seconds nothing
    is written, except with --force.
    """
    from cfo_bench.surrogates.building import fit_surrogate

    print_text(_HEAD, err=False)
    fitted = fit_surrogate(results, out, force=force, on_fit=_show)
    for line in fitted.skipped:
        print_text(one_line(f"left out: {line}"))
    poor = [f"{fit.learner} on {fit.task}" for fit in fitted.fits if not fit.quality.is_enough]
    if poor:
        print_text(one_line(f"written in spite of its low quality: {', '.join(poor)}"))
    print_text(
        f"{fitted.path}: {len(fitted.fits)} surrogates of {fitted.traces} traces "
        f"(SHA-256 {fitted.traces_sha256})",
        err=False,
    )
    print_text(
        f"run them: cfo-bench run --surrogate {fitted.path} --method cfo --method rs --budget 60", err=False
    )


@surrogate.command(short_help="Print the surrogates of a file.")
@click.argument("file", type=PATH)
@click.argument("results", nargs=-1, type=PATH)
def show(file: Path, results: Sequence[Path]) -> None:
    """Print the surrogates of FILE: their trials and quality.

    With RESULTS (results folders of runs on these surrogates), also print the share of each method's trials
    that are far from every recorded configuration. For these trials, the surrogate extrapolated.
    """
    from cfo_bench.surrogates.building import extrapolation, surrogates_in

    content = surrogates_in(file)
    print_text(
        f"{file}: SHA-256 {content.sha256}, by cfo-bench {content.made_by}, "
        f"fitted to {content.traces} traces (SHA-256 {content.traces_sha256})",
        err=False,
    )
    rows = [
        [
            surrogate.learner,
            surrogate.task,
            f"{len(surrogate.offsets)}",
            _rank(surrogate.quality.get("loss_rank")),
            _rank(surrogate.quality.get("seconds_rank")),
            _percent(surrogate.quality.get("far_of_space")),
        ]
        for surrogate in content.surrogates
    ]
    show_table(("learner", "task", "folds", "loss rank", "seconds rank", "space far"), rows, (2, 3, 4, 5))
    if results:
        shares = [
            [share.learner, share.task, share.method, f"{share.trials}", _percent(share.far)]
            for share in extrapolation(content, results)
        ]
        print_text("", err=False)
        show_table(("learner", "task", "method", "trials", "far"), shares, (3, 4))


_HEAD = (
    f"{'learner, task':<34}{'left out':<14}{'trials':>7}{'loss rank':>11}{'error':>10}{'near rank':>11}"
    f"{'error':>10}{'sec. rank':>11}{'factor':>8}{'far':>6}"
)


def _show(fit: TaskFit) -> None:
    quality = fit.quality
    for left in quality.left_out:
        print_text(
            f"{'':<34}{one_line(left.method):<14}{left.trials:>7}{_rank(left.loss_rank):>11}{left.loss_error:>10.4f}"
            f"{_rank(left.near_rank):>11}{left.near_error:>10.4f}{_rank(left.seconds_rank):>11}"
            f"{left.seconds_factor:>8.2f}{_percent(left.far_share):>6}",
            err=False,
        )
    names = one_line(f"{fit.learner}, {fit.task}")
    print_text(
        f"{names:<34}{'all':<14}{fit.trials:>7}{_rank(quality.loss_rank):>11}{'':>31}"
        f"{_rank(quality.seconds_rank):>11}{'':>8}{_percent(quality.far_of_space):>6}",
        err=False,
    )


def _rank(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "-"


def _percent(value: object) -> str:
    return f"{100 * value:.0f}%" if isinstance(value, float) else "-"
