"""Line plots with one line for each method, whose name stands at the line's end.

With many methods only the leaders are in colour: the others are thin and grey.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cfo_bench.report.contents import LinePlot, Table
from cfo_bench.report.looks import in_order, look
from cfo_bench.report.numbers.leaders import MOST_COLOURED
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# A confidence interval over fewer folds is so wide that it hides the lines.
FEWEST_FOR_A_BAND = 5

# Values that differ by more than this factor are shown on a log axis.
_LOG_RANGE = 20.0


def draw_lines(table: Table, lines: LinePlot, leaders: Collection[str]) -> Canvas:
    """The picture of a figure that is `lines` on the page."""
    canvas, (axes,) = style.panels(1, 1, 3.0, 2.3)
    records = table.records()
    if lines.log_x:
        axes.set_xscale("log")
    paint_lines(axes, records, lines, leaders)
    style.dress(axes, x=lines.x_label, y=lines.y_label)
    if lines.log_x:
        style.log_ticks(axes.xaxis)
    if axes.get_yscale() == "log":
        style.log_ticks(axes.yaxis)
    return canvas


def paint_lines(
    axes: Axes, records: Sequence[Mapping[str, Any]], lines: LinePlot, leaders: Collection[str]
) -> None:
    """Draws the lines and their names; the scales of the axes are set before."""
    methods = in_order({row["method"] for row in records})
    grey = muted(methods, leaders)
    values = [max(row[lines.y], lines.floor) for row in records]
    low, high = min(values), max(values)
    if lines.log_y:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.25, high * 1.25)
    else:
        margin = 0.06 * (high - low or abs(high) or 1.0)
        axes.set_ylim(low - margin, high + margin)
    xs = [row[lines.x] for row in records]
    axes.set_xlim(min(xs), max(xs) if max(xs) > min(xs) else min(xs) * 1.5 or 1.0)
    if lines.best_on_top:
        axes.invert_yaxis()
    ends = {}
    for method in methods:
        points = [row for row in records if row["method"] == method]
        x = [row[lines.x] for row in points]
        y = [max(row[lines.y], lines.floor) for row in points]
        axes.plot(
            x,
            y,
            drawstyle="steps-post" if lines.steps else "default",
            **style.line_of(method, method in grey),
        )
        if lines.band is not None and method in leaders and points[0][lines.band[0]] is not None:
            low, high = ([max(row[name], lines.floor) for row in points] for name in lines.band)
            colour, step = look(method).colour, "post" if lines.steps else None
            axes.fill_between(x, low, high, step=step, color=colour, alpha=0.15, linewidth=0)  # type: ignore[arg-type]
        ends[method] = y[-1]
    style.end_labels(axes, ends, grey)


def is_wide(values: Sequence[float]) -> bool:
    """Whether values are better shown on a log axis."""
    return min(values) > 0 and max(values) / min(values) > _LOG_RANGE


def muted(methods: Sequence[str], leaders: Collection[str]) -> set[str]:
    """The methods that are drawn in grey: none if there are few."""
    return set() if len(methods) <= MOST_COLOURED else set(methods) - set(leaders)


def ends_in_words(table: Table, lines: LinePlot) -> str:
    """What the lines show, for a text alternative: the axes, and where the lines end, the best first."""
    ends = {row["method"]: row[lines.y] for row in table.records()}
    order = sorted(ends, key=lambda method: ends[method], reverse=not lines.low_is_best)
    values = ", ".join(f"{look(method).label} {ends[method]:.3g}" for method in order)
    return f"Lines: {lines.y_label} against {lines.x_label}. At the end: {values}."
