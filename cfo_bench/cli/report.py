"""`cfo-bench report`: make tables, figures and a page from traces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfo_bench.terminal.command_options import chosen_runs
from cfo_bench.terminal.printing import one_line, print_text, redraw_line, show_json, show_prose, show_table

if TYPE_CHECKING:
    from cfo_bench.report.build import Built
    from cfo_bench.report.numbers.overview import Overview


@click.command(short_help="Make tables, figures and a page from the traces.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    show_default="RESULTS/report",
    help="Folder of the report.",
)
@chosen_runs
@click.option(
    "--baseline",
    default="cfo",
    show_default="cfo, or another if it has no runs",
    metavar="NAME",
    help="The method that the others are compared with.",
)
@click.option(
    "--budget",
    metavar="TIME",
    help="Read longer runs as if they had ended at this time, such as 4s; leave out shorter ones.",
)
@click.option("--full-rows-only", is_flag=True, help="Only count trials on all training rows.")
@click.option(
    "--references",
    multiple=True,
    metavar="FILE",
    help="CSV with published scores of others, or `paper` for the paper's; can be repeated.",
)
@click.option(
    "--importance",
    is_flag=True,
    help="Also compute the importance of each hyperparameter (fANOVA); reads every trial, which is slow.",
)
@click.option(
    "--format",
    "formats",
    metavar="LIST",
    show_default="all but pdf",
    help="What to make, of html, png, pdf, csv, markdown and latex, with commas between; or `all`.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout, everything else on stderr."
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
def report(
    results: tuple[Path, ...],
    out: Path | None,
    learners: Sequence[str],
    tasks: Sequence[str],
    methods: Sequence[str],
    baseline: str,
    budget: str | None,
    full_rows_only: bool,
    references: Sequence[str],
    importance: bool,
    formats: str | None,
    as_json: bool,
    open_page: bool,
) -> None:
    """Make tables, figures and one page from the traces in RESULTS.  [default: results]

    Several RESULTS folders make one report, which needs -o. A run that is the same in two of them is counted
    once; a run that differs between them is left out, with a warning.

    The page, OUT/index.html, works from disk. Only finished runs are counted; the report lists the missing
    ones.
    """
    from cfo_bench.report.library import write_report
    from cfo_bench.report.rendering.layout import FORMATS, INDEX

    chosen = None if formats is None else [name.strip() for name in formats.split(",") if name.strip()]
    if chosen == []:
        raise click.UsageError("--format names nothing: give some of " + ", ".join(FORMATS))
    has_page = chosen is None or "html" in chosen or "all" in chosen
    if open_page and not has_page:
        raise click.UsageError("--open needs html among the --format")
    with _Progress() as progress:
        built = write_report(
            results or (Path("results"),),
            out,
            learners=learners,
            tasks=tasks,
            methods=methods,
            baseline=baseline,
            budget=budget,
            full_rows_only=full_rows_only,
            references=references,
            importance=importance,
            formats=chosen,
            on_progress=progress.report,
        )
    _print(built, as_json)
    page = built.out / INDEX
    print_text(f"\n{page if has_page else built.out}")
    if open_page:
        click.launch(str(page))


def _print(built: Built, as_json: bool) -> None:
    """Print the standings on stdout; with `as_json`, JSON on stdout and the standings on stderr."""
    for line in built.warnings:
        show_prose(f"cfo-bench: {one_line(line)}", err=True)
    if as_json:
        show_json(
            {
                "out": str(built.out),
                "learners": [_as_json(overview) for overview in built.overviews],
                "warnings": built.warnings,
                "files": [str(file) for file in built.files],
            }
        )
    for overview in built.overviews:
        show_prose(f"\n{one_line(f'{overview.learner}: {overview.verdict}')}\n", err=as_json)
        if overview.details:
            show_prose(f"{one_line(overview.details)}\n", err=as_json)
        if overview.standings:
            _show_standings(overview, err=as_json)


def _as_json(overview: Overview) -> dict[str, Any]:
    """An overview as JSON. Its key "not_shown" is kept for other programs: the methods that the leaders are
    not significantly better than.
    """
    from dataclasses import asdict

    row = asdict(overview) | {"verdict": overview.verdict}
    if overview.lead is not None:
        row["lead"]["not_shown"] = list(overview.lead.not_significant)
    return row


def _show_standings(overview: Overview, err: bool) -> None:
    def number(value: float | None, digits: int, unit: str = "") -> str:
        return "" if value is None else f"{value:.{digits}f}{unit}"

    columns = ("method", "mean rank", "tasks won", "reaches the best", "gap to the best", "slower by")
    rows = [
        [
            row.method,
            number(row.mean_rank, 2),
            f"{row.wins} of {overview.tasks}" + (f" ({row.ties} tied)" if row.ties else ""),
            f"{row.reached}",
            number(row.mean_gap_percent, 2, " %"),
            "" if row.slowdown is None else f"{'at least ' if row.never_reached else ''}×{row.slowdown:.1f}",
        ]
        for row in overview.standings
    ]
    slower = "Slower by: factor of the time to the best score (at least: it was not always reached). "
    note = (
        f"By the {overview.score_is}, mean over {overview.over}. Won: first to reach the best score, shared "
        f"if methods tie. Gap: difference of scaled scores. {slower if any(row[-1] for row in rows) else ''}"
        "A scaled score is 0 for a constant predictor, and 1 for a tuned random forest, or for a loss of 0 "
        "if no forest was run; in regression it is r2."
    )
    # The last column is empty if no method was slower by a known factor.
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    cells = [[row[i] for i in kept] for row in rows]
    show_table([columns[i] for i in kept], cells, right=range(1, len(kept)), err=err)
    show_prose(f"\n{note}", err=err)


class _Progress:
    """One line on stderr: redrawn in place on a terminal, elsewhere one line per stage."""

    def __init__(self) -> None:
        self._stage = ""
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal and self._stage:
            redraw_line("")

    def report(self, stage: str, done: int, total: int) -> None:
        if self._is_terminal:
            redraw_line(f"{stage} {done} of {total}")
        elif stage != self._stage and total:
            print_text(f"{stage} ({total})")
        self._stage = stage
