"""Where the search is in its space as time goes by: hyperparameters of the best configurations so far."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cfo_bench.report.contents import CellValue, Figure, LinePlot, Section, Table
from cfo_bench.report.numbers.hyperparameters import MOMENTS, footprint, numeric_names
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import ends_in_words, is_wide, paint_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_COLUMNS = 3
# Hyperparameters that are drawn; the table has all.
_MOST_DRAWN = 12


def section(results: LearnerResults) -> Section | None:
    """None if no configuration of an incumbent is known, or none has a number in it."""
    names, others = numeric_names(results)
    table = _table(results, names)
    if not table.rows:
        return None
    drawn = names[:_MOST_DRAWN]
    figure = Figure(
        "footprint",
        "Hyperparameters of the best configurations over time",
        "The value in the best configuration so far: the median over tasks of the median over a task's "
        "runs. A line starts when every task has a result. Where a line still moves at the end, the search "
        "had not settled; where it never moves, nothing better was found than the value at the start."
        + (f" The first {len(drawn)} of {len(names)} hyperparameters." if len(drawn) < len(names) else ""),
        (table,),
        partial(draw, table, tuple(drawn), results.leaders),
        alt=f"A panel for each of {', '.join(drawn)}. "
        + ends_in_words(_known(table, drawn[0]), _lines(drawn[0])),
    )
    return Section(
        "footprint",
        "Where the search goes",
        "The values of the hyperparameters in the best configuration so far, as time goes by.",
        figures=(figure,),
        warnings=(f"not shown, as these are no numbers: {', '.join(others)}",) if others else (),
    )


def _table(results: LearnerResults, names: list[str]) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        for share, values in zip(MOMENTS, footprint(results, method, names).tolist(), strict=True):
            known = [None if math.isnan(value) else value for value in values]
            if any(value is not None for value in known):
                rows.append([method, share, *known])
    return Table(
        "footprint",
        "Hyperparameters of the best configurations over time",
        "One row for each method and moment (share of the budget): the value of each hyperparameter in the "
        "best configuration so far, the median over tasks of the median over a task's runs.",
        ("method", "share", *names),
        rows,
        verbatim=tuple(names),
    )


def _known(table: Table, name: str) -> Table:
    """The rows in which a hyperparameter has a value."""
    at = table.columns.index(name)
    rows = [row for row in table.rows if row[at] is not None]
    return replace(table, rows=rows)


def _lines(name: str, log_y: bool = False) -> LinePlot:
    return LinePlot("share", name, "share of the budget", name, log_y=log_y)


def draw(table: Table, names: tuple[str, ...], best: tuple[str, ...]) -> Canvas:
    canvas, plots = style.panels(len(names), _COLUMNS, 1.5, 1.45)
    for axes, name in zip(plots, names, strict=True):
        records = _known(table, name).records()
        axes.set_xscale("log")
        lines = _lines(name, log_y=is_wide([row[name] for row in records]))
        paint_lines(axes, records, lines, best)
        style.dress(axes, style.shortened(name, 30), lines.x_label)
        style.log_ticks(axes.xaxis)
        if lines.log_y:
            style.log_ticks(axes.yaxis)
        else:
            axes.locator_params(axis="y", nbins=4, min_n_ticks=2)
    return canvas
