"""Line plots with one line for each method, whose name stands at the line's end.

With many methods only the leaders are in colour: the others are thin and grey.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.report.contents import CellValue, LinePlot, Table
from cfo_bench.report.method_styles import in_order, style_of
from cfo_bench.report.numbers.ranking import MOST_COLOURED
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


# --- boxes -----------------------------------------------------------------------------------------
# Box plots: the numbers of a box, and how a column of boxes is drawn.
#
# A box is the quartiles; its whiskers end at the furthest value within 1.5 times the box's length, and
# what lies beyond them is an outlier. Fewer values than a box has numbers are drawn as points instead.


BOX_COLUMNS = ("low_whisker", "quartile_1", "median", "quartile_3", "high_whisker", "mean")
# Fewer values than this are no distribution.
FEWEST_FOR_A_BOX = 6


def box(values: list[float]) -> list[CellValue]:
    """The columns above of these values; of fewer than FEWEST_FOR_A_BOX only median and mean."""
    mean = math.fsum(values) / len(values)
    if len(values) < FEWEST_FOR_A_BOX:
        return [None, None, float(np.median(values)), None, None, mean]
    first, middle, third = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    # An interpolated quartile of equal values may be off by its rounding.
    reach = 1.5 * (third - first) + 1e-12 * max(abs(first), abs(third))
    # Between two values, a quartile may lie beyond the furthest value: no whisker ends inside the box.
    return [
        min(first, *(value for value in values if value >= first - reach)),
        *(first, middle, third),
        max(third, *(value for value in values if value <= third + reach)),
        mean,
    ]


def is_outlier(row: Mapping[str, Any], value: float) -> bool:
    """Whether a value lies beyond the whiskers of a row; one that is off by its rounding does not."""
    low, high = row["low_whisker"], row["high_whisker"]
    return not low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high)


def paint_boxes(
    axes: Axes,
    boxes: Sequence[Mapping[str, Any]],
    values: Mapping[str, Sequence[float]],
    floor: float = -math.inf,
) -> None:
    """Horizontal boxes, the first on top, each in its method's colour, or points where values are few.

    `boxes` are rows with a `method` and the columns above, of all its `values`. What lies below the `floor`
    is drawn there.
    """
    for at, row in enumerate(reversed(boxes)):
        method = row["method"]
        if len(values[method]) < FEWEST_FOR_A_BOX:
            _paint_points(axes, at, method, [max(value, floor) for value in values[method]])
        else:
            outliers = [max(value, floor) for value in values[method] if is_outlier(row, value)]
            _paint_box(axes, at, {name: max(row[name], floor) for name in BOX_COLUMNS[:-1]}, method, outliers)
    labels = [style.short(row["method"], 18) for row in reversed(boxes)]
    axes.set_yticks(range(len(boxes)), labels)
    axes.set_ylim(-0.6, len(boxes) - 0.4)


def values_in_words(values: Mapping[str, Sequence[float]]) -> str:
    """What a drawing of boxes or points says, for its text alternative."""
    few = any(len(own) < FEWEST_FOR_A_BOX for own in values.values())
    parts = [
        f"{method} {', '.join(f'{value:.3g}' for value in sorted(own))}"
        if few
        else f"{method} {float(np.median(own)):.3g}"
        for method, own in values.items()
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


# --- dots ------------------------------------------------------------------------------------------
# Rows of dots: dots that would hide each other are set apart, on lanes above and below the row's middle.


def lanes(places: Sequence[float], least: float) -> list[int]:
    """A lane for each place, such that two on the same lane are at least `least` apart.

    Lane 0 is the middle of the row; then come 1, -1, 2, -2 and so on.
    """
    found = [0] * len(places)
    last: list[float] = []  # the last place on each lane, in the order above
    for at in sorted(range(len(places)), key=lambda at: places[at]):
        free = next((n for n, place in enumerate(last) if places[at] - place >= least), len(last))
        if free == len(last):
            last.append(places[at])
        last[free] = places[at]
        found[at] = (free + 1) // 2 * (1 if free % 2 else -1)
    return found


# --- dot sheet -------------------------------------------------------------------------------------
# A sheet of small dot plots, one for each task: a row for each method, a dot with its interval.
#
# All plots are drawn on one pair of axes whose unit is an inch, and lines of a kind together: plots of their
# own would take ten times as long to draw, and there are as many as tasks.


COLUMNS = 3

# Inches.
_ROW = 0.155
_PLOT_WIDTH = 1.85
_LEFT, _RIGHT, _TOP, _BOTTOM = 1.1, 0.15, 0.25, 0.42
_GAP, _RISE = 0.25, 0.66

_TICKS = 4
# Beyond this the arithmetic of round ticks overflows: the limits are the ticks.
_HUGE = 1e100


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
    mark: float | None = None  # where a grey line is drawn
    reverse: bool = False  # lower values to the right
    bounds: tuple[float, float] = (-math.inf, math.inf)  # what the values can't be beyond

    def limits(self) -> tuple[float, float]:
        """From left to right. They fit the dots, and the mark: intervals can be wider than all together."""
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
    """The plots row by row, with the methods in this order from top to bottom."""
    columns = min(COLUMNS, len(plots))
    rows = -(-len(plots) // columns)
    above = max(len(plot.lines) for plot in plots)
    height = _ROW * (len(methods) + above) + 0.1
    width = _LEFT + _RIGHT + columns * _PLOT_WIDTH + (columns - 1) * _GAP
    whole = _TOP + _BOTTOM + rows * height + (rows - 1) * _RISE
    canvas = style.canvas(width, whole, layout=None)
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(whole, 0)
    lines = _Lines()
    for at, plot in enumerate(plots):
        row, column = divmod(at, columns)
        frame = _Frame(
            plot.limits(), _LEFT + column * (_PLOT_WIDTH + _GAP), _TOP + row * (height + _RISE), height
        )
        if column == 0:
            for place, method in enumerate(methods):
                name = style.short(method, 16)
                _write(axes, _LEFT - 0.08, frame.at_row(place + above), name, ha="right", va="center")
        _paint(axes, lines, plot, frame, methods, above)
    lines.draw(axes)
    return canvas


class _Lines:
    """The lines of all plots: one collection for each way to draw them."""

    def __init__(self) -> None:
        self._by_look: dict[tuple[tuple[str, Any], ...], list[tuple[Any, str]]] = {}

    def add(self, start: tuple[float, float], end: tuple[float, float], colour: str, **look: Any) -> None:
        self._by_look.setdefault(tuple(look.items()), []).append(((start, end), colour))

    def down(self, x: float, frame: _Frame, colour: str, **look: Any) -> None:
        """From the top of a plot to its bottom."""
        self.add((x, frame.top), (x, frame.bottom), colour, **look)

    def draw(self, axes: Axes) -> None:
        from matplotlib.collections import LineCollection

        for kind, lines in self._by_look.items():
            places, colours = zip(*lines, strict=True)
            axes.add_collection(LineCollection(places, colors=colours, **dict(kind)), autolim=False)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a plot lies on the sheet, in inches from the top left."""

    limits: tuple[float, float]
    left: float
    top: float
    height: float

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def at(self, value: float) -> float:
        """The place of a value; one beyond the limits is put on the edge."""
        left, right = self.limits
        return self.left + _PLOT_WIDTH * min(max((value - left) / (right - left), 0.0), 1.0)

    def at_row(self, row: int) -> float:
        return self.top + 0.05 + _ROW * (row + 0.5)


def _paint(axes: Axes, lines: _Lines, plot: Plot, frame: _Frame, methods: Sequence[str], above: int) -> None:
    middle = frame.left + _PLOT_WIDTH / 2
    title = style.short(plot.title, 30)
    _write(axes, middle, frame.top - 0.06, title, ha="center", va="bottom", fontsize=style.TEXT)
    _write(axes, middle, frame.bottom + 0.2, style.plain(plot.axis), ha="center", va="top")
    for value, text in ticks(*sorted(frame.limits)):
        _write(axes, frame.at(value), frame.bottom + 0.05, text, ha="center", va="top")
        lines.down(frame.at(value), frame, style.GRID, linewidth=0.5)
    if plot.mark is not None and min(frame.limits) <= plot.mark <= max(frame.limits):
        lines.down(frame.at(plot.mark), frame, style.FAINT, linewidth=1.0)
    right = frame.left + _PLOT_WIDTH
    lines.add((frame.left, frame.bottom), (right, frame.bottom), style.FAINT, linewidth=0.6)
    rows = {dot.method: frame.at_row(above + methods.index(dot.method)) for dot in plot.dots}
    for dot in plot.dots:
        if dot.low is not None and dot.high is not None:
            start, end = ((frame.at(bound), rows[dot.method]) for bound in (dot.low, dot.high))
            lines.add(start, end, style_of(dot.method).colour, linewidth=1.0, alpha=0.5)
        for value in dot.each:
            x, y = frame.at(value), rows[dot.method]
            colour = style_of(dot.method).colour
            lines.add((x, y - 0.3 * _ROW), (x, y + 0.3 * _ROW), colour, linewidth=0.8, alpha=0.6)
    axes.scatter(
        [frame.at(dot.value) for dot in plot.dots],
        [rows[dot.method] for dot in plot.dots],
        s=12,
        c=[style_of(dot.method).colour for dot in plot.dots],
        zorder=3,
    )
    for row, (value, name) in enumerate(plot.lines):
        x, on_left = frame.at(value), frame.at(value) > middle
        top = frame.at_row(row) - 0.4 * _ROW
        lines.add((x, top), (x, frame.bottom), style.INK, linewidth=0.8, linestyle=(0, (4, 2)))
        text = style.short(name, 22)
        beside = x + (-0.04 if on_left else 0.04)
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        side = "right" if on_left else "left"
        _write(axes, beside, frame.at_row(row), text, ha=side, va="center", bbox=ground, zorder=4)


def _write(axes: Axes, x: float, y: float, text: str, **how: Any) -> None:
    axes.text(x, y, text, **{"fontsize": style.SMALL, "color": style.INK, **how})


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Two or more round values between the limits, with the digits that tell them apart."""
    from matplotlib.ticker import MaxNLocator

    values: list[float] = [low, high]
    for most in range(_TICKS, 4 * _TICKS, 2) if max(abs(low), abs(high)) < _HUGE else ():
        found = MaxNLocator(most, steps=(1, 2, 5, 10)).tick_values(low, high)
        inside = [float(value) for value in found if low <= value <= high]
        if len(inside) > 1:
            values = inside
            break
    if max(map(abs, values)) >= 1e5:
        return [(value, f"{value:.3g}".replace("-", "−")) for value in values]
    digits = min(max(-math.floor(math.log10(values[1] - values[0]) + 1e-9), 0), 8)
    return [(value, f"{value:.{digits}f}".replace("-", "−")) for value in values]


# --- heat map --------------------------------------------------------------------------------------
# A table of percentages as coloured cells, with the number in each.


# Inches of a cell, of one with a spread, and of a letter.
_WIDTH, _WIDE, _HEIGHT, _LETTER = 0.36, 0.5, 0.24, 0.065


def heat_map(
    percent: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Sequence[str],
    spread: Sequence[Sequence[float]] | None = None,
) -> Canvas:
    """`colours` go from 0 to 100 percent, evenly; a cell that is NaN stays empty.

    A `spread` stands in each cell behind the number, as in `45 ±6`.
    """
    from matplotlib.colors import LinearSegmentedColormap

    size = (_WIDE if spread else _WIDTH) * len(columns), _HEIGHT * len(rows)
    left, above = (0.15 + _LETTER * max(len(_short(name)) for name in names) for names in (rows, columns))
    canvas, (axes,) = style.panels(1, 1, *size, left=left, right=0.15, above=above, below=0.1)
    scale = LinearSegmentedColormap.from_list("percent", colours)
    axes.imshow(percent, cmap=scale, vmin=0, vmax=100, aspect="auto")
    for i, row in enumerate(percent):
        for j, value in enumerate(row):
            if not math.isnan(value):
                text = f"{value:.0f} ±{spread[i][j]:.0f}" if spread else f"{value:.0f}"
                axes.text(j, i, text, ha="center", va="center", fontsize=style.SMALL, color=style.INK)
    style.dress(axes, grid="")
    axes.set_xticks(range(len(columns)), [_short(name) for name in columns], rotation=90)
    axes.set_yticks(range(len(rows)), [_short(name) for name in rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return canvas


def _short(name: str) -> str:
    return style.short(name, 20)


# --- lines -----------------------------------------------------------------------------------------


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
            colour, step = style_of(method).colour, "post" if lines.steps else None
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
    values = ", ".join(f"{method} {ends[method]:.3g}" for method in order)
    return f"Lines: {lines.y_label} against {lines.x_label}. At the end: {values}."
