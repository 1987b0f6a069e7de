"""`cfo-bench surrogate`: models of one's own traces, to compare methods in seconds instead of hours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cfo_bench.surrogates.library import TaskFit

PATH = click.Path(path_type=Path)


@click.group(short_help="Fit models to traces, to simulate runs.")
def surrogate() -> None:
    """Models that predict loss, seconds and failure, to use in place of training: see docs/simulation.md."""


@surrogate.command(short_help="Fit surrogates to the traces of results folders.")
@click.argument("results", nargs=-1, required=True, type=PATH)
@click.option(
    "-o", "--out", required=True, type=PATH, help="The file to write, for cfo-bench run --surrogate."
)
@click.option("--force", is_flag=True, help="Write it even if its quality is below what is asked for.")
def fit(results: Sequence[Path], out: Path, force: bool) -> None:
    """Fit one surrogate for each learner and task, and say how good it is.

    Each method is left out in turn and predicted from the others: the table has the rank correlation and the
    median error of its losses, of its best tenth alone (near), the rank correlation of its seconds and the
    factor by which they are off, and the share of its trials that are far from every other one.

    `all` is over the trials of all methods, each predicted without its method, and the share of the search
    space that is far from every trial. Below a rank correlation of 0.3 for losses or 0.5 for seconds nothing
    is written, unless with --force.
    """
    from cfo_bench.surrogates.library import fit_surrogate

    click.echo(_HEAD)
    done = fit_surrogate(results, out, force=force, on_fit=_show)
    for line in done.skipped:
        click.echo(f"left out: {line}", err=True)
    poor = [one for one in done.fits if not one.quality.is_enough]
    if poor:
        names = ", ".join(f"{one.learner} on {one.task}" for one in poor)
        click.echo(f"below the quality that is asked for, and written all the same: {names}", err=True)
    click.echo(
        f"{done.path}: {len(done.fits)} surrogates of {done.traces} traces (SHA-256 {done.traces_sha256})"
    )
    click.echo(f"run them: cfo-bench run --surrogate {done.path} --method cfo --method rs --budget 60")


@surrogate.command(short_help="Say what a file of surrogates holds.")
@click.argument("file", type=PATH)
@click.argument("results", nargs=-1, type=PATH)
def show(file: Path, results: Sequence[Path]) -> None:
    """Print the surrogates of FILE: their trials and quality.

    With RESULTS, folders of runs on it, also print which share of each method's trials was far from every
    recorded configuration: there the surrogate extrapolated.
    """
    from cfo_bench.surrogates.library import extrapolation, surrogates_in

    found = surrogates_in(file)
    click.echo(
        f"{file}: SHA-256 {found.sha256}, by cfo-bench {found.made_by}, fitted to {found.traces} traces "
        f"(SHA-256 {found.traces_sha256})"
    )
    click.echo(
        f"{'learner':<16}{'task':<24}{'folds':>6}{'loss rank':>11}{'seconds rank':>14}{'space far':>11}"
    )
    for one in found.surrogates:
        quality = one.quality
        click.echo(
            f"{one.learner:<16}{one.task:<24}{len(one.offsets):>6}{_rank(quality.get('loss_rank')):>11}"
            f"{_rank(quality.get('seconds_rank')):>14}{_percent(quality.get('far_of_space')):>11}"
        )
    if results:
        click.echo(f"\n{'learner':<16}{'task':<24}{'method':<18}{'trials':>8}{'far':>7}")
        for share in extrapolation(found, results):
            click.echo(
                f"{share.learner:<16}{share.task:<24}{share.method:<18}{share.trials:>8}{_percent(share.far):>7}"
            )


_HEAD = (
    f"{'learner, task':<34}{'left out':<14}{'trials':>7}{'loss rank':>11}{'error':>10}{'near rank':>11}"
    f"{'error':>10}{'sec. rank':>11}{'factor':>8}{'far':>6}"
)


def _show(one: TaskFit) -> None:
    quality = one.quality
    for left in quality.left_out:
        click.echo(
            f"{'':<34}{left.method:<14}{left.trials:>7}{_rank(left.loss_rank):>11}{left.loss_error:>10.4f}"
            f"{_rank(left.near_rank):>11}{left.near_error:>10.4f}{_rank(left.seconds_rank):>11}"
            f"{left.seconds_factor:>8.2f}{_percent(left.far_share):>6}"
        )
    click.echo(
        f"{f'{one.learner}, {one.task}':<34}{'all':<14}{one.trials:>7}{_rank(quality.loss_rank):>11}{'':>31}"
        f"{_rank(quality.seconds_rank):>11}{'':>8}{_percent(quality.far_of_space):>6}"
    )


def _rank(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "-"


def _percent(value: object) -> str:
    return f"{100 * value:.0f}%" if isinstance(value, float) else "-"
