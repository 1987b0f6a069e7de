"""The charts of sections: lines, boxes, rows of dots, heat maps.

A chart draws each method in its colour. With many methods only the leaders are in colour: the others are
thin and grey. Functions that end in `_in_words` give the numbers of a chart for its text alternative.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.report.contents import CellValue, LinePlot, Table
from cfo_bench.report.method_styles import style_of
from cfo_bench.report.numbers.ranking import MOST_COLOURED
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# A confidence interval over fewer folds is so wide that it hides the lines.
FEWEST_FOR_A_BAND = 5
# Values that differ by more than this factor are drawn on a log axis.
_LOG_RANGE = 20.0

BOX_COLUMNS = ("low_whisker", "quartile_1", "median", "quartile_3", "high_whisker", "mean")
# Fewer values are drawn as points.
FEWEST_FOR_A_BOX = 6

# The size of a sheet of dot plots: columns, and the inches of a row and of a plot's width.
_SHEET_COLUMNS, _ROW, _PLOT_WIDTH = 3, 0.155, 1.85
# The maximum number of ticks of a small plot.
_TICKS = 4
# Beyond this, the arithmetic of round ticks overflows, and the limits are the ticks.
_HUGE = 1e100

# Inches of a cell of a heat map, of one with a standard deviation, and of a letter.
_CELL_WIDTH, _WIDE_CELL, _CELL_HEIGHT, _LETTER = 0.36, 0.5, 0.24, 0.065


# --- lines over time, with the method's name at the end of its line -----------------------------------


def draw_lines(table: Table, lines: LinePlot, leaders: Collection[str]) -> Canvas:
    """Draw the picture of a figure that is an interactive line plot on the page.

    Parameters
    ----------
    table : Table
        One row for each method and point, in the order of x.
    lines : LinePlot
        The columns and axes.
    leaders : collection of str
        The methods that stand out if there are many.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    canvas, (axes,) = style.panels(1, 1, 3.0, 2.3)
    if lines.log_x:
        axes.set_xscale("log")
    paint_lines(axes, table.records(), lines, leaders)
    style.dress(axes, x=lines.x_label, y=lines.y_label)
    if lines.log_x:
        style.log_ticks(axes.xaxis)
    if axes.get_yscale() == "log":
        style.log_ticks(axes.yaxis)
    return canvas


def paint_lines(
    axes: Axes, records: Sequence[Mapping[str, Any]], lines: LinePlot, leaders: Collection[str]
) -> None:
    """Draw the lines and their names; the scale of the horizontal axis has to be set before."""
    methods = list(dict.fromkeys(row["method"] for row in records))
    grey = muted(methods, leaders)
    values = [max(row[lines.y], lines.floor) for row in records]
    if lines.band is not None and lines.fits_band:
        bounds = [row[name] for row in records if row["method"] in leaders for name in lines.band]
        values += [max(bound, lines.floor) for bound in bounds if bound is not None]
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
        drawstyle = "steps-post" if lines.steps else "default"
        axes.plot(x, y, drawstyle=drawstyle, **style.line_of(method, method in grey))
        if lines.band is not None and method in leaders and points[0][lines.band[0]] is not None:
            low, high = ([max(row[name], lines.floor) for row in points] for name in lines.band)
            colour, step = style_of(method).colour, "post" if lines.steps else None
            axes.fill_between(x, low, high, step=step, color=colour, alpha=0.15, linewidth=0)  # type: ignore[arg-type]
        ends[method] = y[-1]
    style.end_labels(axes, ends, grey)


def is_wide(values: Sequence[float]) -> bool:
    """Whether values are drawn on a log axis."""
    return min(values) > 0 and max(values) / min(values) > _LOG_RANGE


def muted(methods: Sequence[str], leaders: Collection[str]) -> set[str]:
    """The methods that are drawn in grey: none if there are few."""
    return set() if len(methods) <= MOST_COLOURED else set(methods) - set(leaders)


def ends_in_words(table: Table, lines: LinePlot) -> str:
    """The axes, and the last value of each line, the best first."""
    ends = {row["method"]: row[lines.y] for row in table.records()}
    order = sorted(ends, key=lambda method: ends[method], reverse=not lines.low_is_best)
    values = ", ".join(f"{method} {ends[method]:.3g}" for method in order)
    return f"Lines: {lines.y_label} against {lines.x_label}. At the end: {values}."


# --- boxes ----------------------------------------------------------------------------------------
# A box is the quartiles; its whiskers end at the furthest value within 1.5 times the box's length, and
# values beyond them are outliers.


def box(values: list[float]) -> list[CellValue]:
    """The BOX_COLUMNS of these values; for fewer than FEWEST_FOR_A_BOX, only median and mean."""
    mean = math.fsum(values) / len(values)
    if len(values) < FEWEST_FOR_A_BOX:
        return [None, None, float(np.median(values)), None, None, mean]
    first, middle, third = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    # An interpolated quartile of equal values may be off by its rounding.
    reach = 1.5 * (third - first) + 1e-12 * max(abs(first), abs(third))
    # A quartile between two values may lie beyond the furthest value, but no whisker ends inside the box.
    return [
        min(first, *(value for value in values if value >= first - reach)),
        *(first, middle, third),
        max(third, *(value for value in values if value <= third + reach)),
        mean,
    ]


def is_outlier(row: Mapping[str, Any], value: float) -> bool:
    """Whether a value lies beyond the whiskers of a row, by more than rounding."""
    low, high = row["low_whisker"], row["high_whisker"]
    return not low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high)


def paint_boxes(
    axes: Axes,
    boxes: Sequence[Mapping[str, Any]],
    values: Mapping[str, Sequence[float]],
    floor: float = -math.inf,
) -> None:
    """Horizontal boxes, the first on top, each in its method's colour; points if the values are few.

    `boxes` are rows with a `method` and the BOX_COLUMNS of all its `values`. Values below the `floor` are
    drawn there.
    """
    for at, row in enumerate(reversed(boxes)):
        method = row["method"]
        if len(values[method]) < FEWEST_FOR_A_BOX:
            _paint_points(axes, at, method, [max(value, floor) for value in values[method]])
        else:
            outliers = [max(value, floor) for value in values[method] if is_outlier(row, value)]
            _paint_box(axes, at, {name: max(row[name], floor) for name in BOX_COLUMNS[:-1]}, method, outliers)
    axes.set_yticks(range(len(boxes)), [style.short(row["method"], 18) for row in reversed(boxes)])
    axes.set_ylim(-0.6, len(boxes) - 0.4)


def values_in_words(values: Mapping[str, Sequence[float]]) -> str:
    """The medians of boxes, or all values that are drawn as points."""
    few = any(len(numbers) < FEWEST_FOR_A_BOX for numbers in values.values())
    parts = [
        f"{method} {', '.join(f'{value:.3g}' for value in sorted(numbers))}"
        if few
        else f"{method} {float(np.median(numbers)):.3g}"
        for method, numbers in values.items()
    ]
    return f"{'Values' if few else 'Medians'}: {'; '.join(parts)}."


def _paint_points(axes: Axes, at: float, method: str, values: Sequence[float]) -> None:
    colour = style_of(method).colour
    axes.plot([min(values), max(values)], [at, at], color=colour, linewidth=0.8, alpha=0.5)
    axes.plot(
        sorted(values), [at] * len(values), linestyle="", marker="o", markersize=4, color=colour, alpha=0.8
    )


def _paint_box(
    axes: Axes, at: float, row: Mapping[str, float], method: str, outliers: Sequence[float]
) -> None:
    colour = style_of(method).colour
    axes.bxp(
        [
            {
                "med": row["median"],
                "q1": row["quartile_1"],
                "q3": row["quartile_3"],
                "whislo": row["low_whisker"],
                "whishi": row["high_whisker"],
                "fliers": list(outliers),
            }
        ],
        positions=[at],
        widths=0.6,
        orientation="horizontal",
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour + "55", "edgecolor": colour, "linewidth": 1.0},
        medianprops={"color": style.INK, "linewidth": 1.4},
        whiskerprops={"color": colour, "linewidth": 1.0},
        capprops={"color": colour, "linewidth": 1.0},
        flierprops={"marker": "o", "markersize": 2.5, "markerfacecolor": colour, "markeredgecolor": "none"},
    )


# --- a sheet of small dot plots, one for each task ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dot:
    """A method's value, with the bounds of its interval or with the single values that it is the mean of."""

    method: str
    value: float
    low: float | None = None
    high: float | None = None
    each: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """One small plot."""

    title: str
    axis: str  # the name of the horizontal axis
    dots: Sequence[Dot]
    lines: Sequence[tuple[float, str]] = ()  # dashed lines, each with its name
    mark: float | None = None  # the position of a grey line
    reverse: bool = False  # lower values to the right
    bounds: tuple[float, float] = (-math.inf, math.inf)  # the range of possible values

    def limits(self) -> tuple[float, float]:
        """The left and right limit. They fit dots, lines and mark; intervals that are much wider are cut off.

        An arrowhead at the edge marks an interval that is cut off.
        """
        values = [value for dot in self.dots for value in (dot.value, *dot.each)]
        values += [value for value, _ in self.lines] + ([] if self.mark is None else [self.mark])
        low, high = min(values), max(values)
        room = high - low if high - low > 1e-3 * max(abs(low), abs(high)) else 0.05 * abs(high) or 0.05
        left = min([dot.low for dot in self.dots if dot.low is not None] + [low])
        right = max([dot.high for dot in self.dots if dot.high is not None] + [high])
        left, right = max(left, low - room) - 0.08 * room, min(right, high + room) + 0.08 * room
        left, right = max(left, self.bounds[0] - 0.03 * room), min(right, self.bounds[1] + 0.03 * room)
        return (right, left) if self.reverse else (left, right)


def dot_sheet(plots: Sequence[Plot], methods: Sequence[str]) -> Canvas:
    """The plots row by row, with a row for each method, in this order from top to bottom."""
    columns = min(_SHEET_COLUMNS, len(plots))
    rows = -(-len(plots) // columns)
    above = max(len(plot.lines) for plot in plots)
    height = _ROW * (len(methods) + above) + 0.75
    canvas = style.canvas(1.0 + columns * (_PLOT_WIDTH + 0.2), rows * height)
    every = list(canvas.subplots(rows, columns, sharey=True, squeeze=False).flat)
    for axes in every[len(plots) :]:
        axes.remove()
    for axes, plot in zip(every, plots, strict=False):
        _paint_dots(axes, plot, {method: at for at, method in enumerate(methods)})
    every[0].set_yticks(range(len(methods)), [style.short(method, 16) for method in methods])
    every[0].set_ylim(len(methods) - 0.4, -0.6 - above)
    return canvas


def _paint_dots(axes: Axes, plot: Plot, rows: Mapping[str, int]) -> None:
    limits = plot.limits()
    axes.set_xlim(*limits)
    style.dress(axes, style.shortened(plot.title, 30), grid="x")
    axes.set_xlabel(style.plain(plot.axis), fontsize=style.SMALL, color=style.INK)
    axes.set_xticks(*zip(*ticks(*sorted(limits)), strict=True))
    axes.tick_params(length=0)
    axes.tick_params(axis="y", pad=5)  # room for an arrowhead at the edge
    axes.spines["left"].set_visible(False)
    if plot.mark is not None:
        axes.axvline(plot.mark, color=style.FAINT, linewidth=1.0, zorder=1)
    marks = [(dot, rows[dot.method], style_of(dot.method).colour) for dot in plot.dots]
    if intervals := [
        (row, dot.low, dot.high, colour)
        for dot, row, colour in marks
        if dot.low is not None and dot.high is not None
    ]:
        places, lows, highs, colours = zip(*intervals, strict=True)
        axes.hlines(places, lows, highs, colors=colours, linewidth=1.0, alpha=0.5)
        left, right = sorted(limits)
        cut = [(left, row, colour) for row, low, _, colour in intervals if low < left]
        cut += [(right, row, colour) for row, _, high, colour in intervals if high > right]
        for edge, row, colour in cut:
            points_left = (edge == left) != plot.reverse
            axes.plot(edge, row, "<" if points_left else ">", color=colour, markersize=3, clip_on=False)
    if strokes := [(value, row, colour) for dot, row, colour in marks for value in dot.each]:
        values, places, colours = zip(*strokes, strict=True)
        below, above = np.array(places) - 0.3, np.array(places) + 0.3
        axes.vlines(values, below, above, colors=colours, linewidth=0.8, alpha=0.6)
    values, places, colours = zip(*((dot.value, row, colour) for dot, row, colour in marks), strict=True)
    axes.scatter(values, places, s=12, c=colours, zorder=3)
    middle = sum(limits) / 2
    for at, (value, name) in enumerate(plot.lines, start=-len(plot.lines)):
        is_on_right = (value > middle) != plot.reverse
        axes.vlines(value, at - 0.4, len(rows) - 0.4, colors=style.INK, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.annotate(
            style.short(name, 22),
            (value, at),
            (-3 if is_on_right else 3, 0),
            textcoords="offset points",
            ha="right" if is_on_right else "left",
            va="center",
            fontsize=style.SMALL,
            color=style.INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            zorder=4,
        )


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Two or more round values between the limits, with enough digits to distinguish them."""
    from matplotlib.ticker import MaxNLocator

    values: list[float] = [low, high]
    for most in range(_TICKS, 4 * _TICKS, 2) if max(abs(low), abs(high)) < _HUGE else ():
        candidates = MaxNLocator(most, steps=(1, 2, 5, 10)).tick_values(low, high)
        inside = [float(value) for value in candidates if low <= value <= high]
        if len(inside) > 1:
            values = inside
            break
    if max(map(abs, values)) >= 1e5:
        return [(value, f"{value:.3g}".replace("-", "−")) for value in values]
    digits = min(max(-math.floor(math.log10(values[1] - values[0]) + 1e-9), 0), 8)
    return [(value, f"{value:.{digits}f}".replace("-", "−")) for value in values]


def lanes(places: Sequence[float], least: float) -> list[int]:
    """A lane for each dot of a row, so that dots on the same lane are at least `least` apart.

    Lane 0 is the middle of the row; then come 1, -1, 2, -2 and so on.
    """
    lane_of = [0] * len(places)
    last: list[float] = []  # the last position on each lane, in the order above
    for at in sorted(range(len(places)), key=lambda at: places[at]):
        free = next((n for n, place in enumerate(last) if places[at] - place >= least), len(last))
        if free == len(last):
            last.append(places[at])
        last[free] = places[at]
        lane_of[at] = (free + 1) // 2 * (1 if free % 2 else -1)
    return lane_of


# --- a heat map of percentages ----------------------------------------------------------------------


def heat_map(
    percent: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Sequence[str],
    spread: Sequence[Sequence[float]] | None = None,
) -> Canvas:
    """A table of coloured cells with their numbers; `colours` are spread evenly from 0 to 100 percent.

    A cell that is NaN is empty. A `spread` follows the number, as in `45 ±6`.
    """
    from matplotlib.colors import LinearSegmentedColormap

    row_names, column_names = ([style.short(name, 20) for name in names] for names in (rows, columns))
    size = (_WIDE_CELL if spread else _CELL_WIDTH) * len(columns), _CELL_HEIGHT * len(rows)
    left, above = (0.15 + _LETTER * max(map(len, names)) for names in (row_names, column_names))
    canvas, (axes,) = style.panels(1, 1, *size, left=left, right=0.15, above=above, below=0.1)
    scale = LinearSegmentedColormap.from_list("percent", colours)
    axes.imshow(percent, cmap=scale, vmin=0, vmax=100, aspect="auto")
    for i, row in enumerate(percent):
        for j, value in enumerate(row):
            if not math.isnan(value):
                text = f"{value:.0f} ±{spread[i][j]:.0f}" if spread else f"{value:.0f}"
                axes.text(j, i, text, ha="center", va="center", fontsize=style.SMALL, color=style.INK)
    style.dress(axes, grid="")
    axes.set_xticks(range(len(columns)), column_names, rotation=90)
    axes.set_yticks(range(len(rows)), row_names)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return canvas
