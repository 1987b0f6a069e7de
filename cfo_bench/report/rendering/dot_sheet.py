"""A sheet of small dot plots, one for each task: a row for each method, a dot with its interval.

All plots are drawn on one pair of axes whose unit is an inch, and lines of a kind together: plots of their
own would take ten times as long to draw, and there are as many as tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cfo_bench.report.looks import look
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

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
    canvas = style.canvas(width, whole)
    canvas.set_layout_engine(None)
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
                name = style.plain(style.shortened(look(method).label, 16))
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
    title = style.plain(style.shortened(plot.title, 30))
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
            lines.add(start, end, look(dot.method).colour, linewidth=1.0, alpha=0.5)
        for value in dot.each:
            x, y = frame.at(value), rows[dot.method]
            colour = look(dot.method).colour
            lines.add((x, y - 0.3 * _ROW), (x, y + 0.3 * _ROW), colour, linewidth=0.8, alpha=0.6)
    axes.scatter(
        [frame.at(dot.value) for dot in plot.dots],
        [rows[dot.method] for dot in plot.dots],
        s=12,
        c=[look(dot.method).colour for dot in plot.dots],
        zorder=3,
    )
    for row, (value, name) in enumerate(plot.lines):
        x, on_left = frame.at(value), frame.at(value) > middle
        top = frame.at_row(row) - 0.4 * _ROW
        lines.add((x, top), (x, frame.bottom), style.INK, linewidth=0.8, linestyle=(0, (4, 2)))
        text = style.plain(style.shortened(name, 22))
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
