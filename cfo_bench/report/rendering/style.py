"""The appearance of figures: sizes for a two-column paper, axes, ticks, labels, legends, and saving to files.

Everything is set on the artists, and nothing in matplotlib's global state. Therefore the same numbers give
the same bytes, whatever else the process has drawn.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cfo_bench.files.writing import write_whole
from cfo_bench.report.method_styles import style_of

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches: the width of one column, and of both columns, of a paper.
COLUMN, PAGE = 3.5, 7.2
DOTS_PER_INCH = 200

_FONT = "DejaVu Sans"  # a part of matplotlib
TEXT, SMALL = 8.0, 7.0  # points
INK, SOFT, GRID, FAINT, MUTED = "#222222", "#767676", "#DDDDDD", "#999999", "#B4B4B4"

# Inches between the baselines of two labels at the ends of lines, and the room to the right for them.
_LABEL_STEP, LABEL_ROOM = 0.098, 0.85
# Inches left, above and below the axes of a panel, for their labels and title.
_LEFT, _ABOVE, _BELOW = 0.55, 0.28, 0.42


def canvas(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """An empty figure of this size in inches. By default its layout makes room for labels and legends."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor="white", layout=layout)


def panels(
    count: int,
    columns: int,
    width: float,
    height: float,
    *,
    left: float = _LEFT,
    right: float = LABEL_ROOM,
    above: float = _ABOVE,
    below: float = _BELOW,
) -> tuple[Figure, list[Axes]]:
    """A figure with axes of `width` by `height` inches, row by row, and these margins around each.

    By default there is room to the right for `end_labels`.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    outer = left + width + right, above + height + below
    whole = columns * outer[0], rows * outer[1]
    figure = canvas(*whole, layout=None)
    every = []
    for at in range(count):
        row, column = divmod(at, columns)
        x, y = column * outer[0] + left, (rows - 1 - row) * outer[1] + below
        place = x / whole[0], y / whole[1], width / whole[0], height / whole[1]
        every.append(figure.add_axes(place))
    return figure, every


def end_labels(axes: Axes, ends: Mapping[str, float], muted: Collection[str] = ()) -> None:
    """Write each method's name at the end of its line, on axes of `panels`; `ends` are values of y.

    Names that would overlap are moved apart. Call it when the limits are final.
    """
    from matplotlib.collections import LineCollection

    high = axes.get_position().height * axes.figure.get_figheight()  # type: ignore[union-attr]
    step = min(_LABEL_STEP / high, 1.08 / max(len(ends), 1))
    to_axes = axes.transAxes.inverted()
    wanted = {
        method: float(to_axes.transform(axes.transData.transform((axes.get_xlim()[1], value)))[1])
        for method, value in ends.items()
    }
    order = sorted(wanted, key=lambda method: wanted[method])
    size = min(SMALL - 1, 72 * step * high * 0.95)
    places = spread([wanted[method] for method in order], step)
    axes.add_collection(
        LineCollection(
            [
                [(1.0, min(max(wanted[method], 0.0), 1.0)), (1.035, place)]
                for method, place in zip(order, places, strict=True)
            ],
            colors=[MUTED if method in muted else style_of(method).colour for method in order],
            transform=axes.transAxes,
            linewidths=0.6,
            clip_on=False,
        ),
        autolim=False,
    )
    for method, place in zip(order, places, strict=True):
        axes.text(
            1.045,
            place,
            short(method, 14),
            transform=axes.transAxes,
            va="center",
            fontsize=size,
            color=SOFT if method in muted else INK,
        )


def spread(places: Sequence[float], step: float) -> list[float]:
    """Ascending positions, moved as little as possible so that neighbours are at least `step` apart.

    They stay between 0 and 1, or as close to that as their number allows.
    """
    groups: list[list[float]] = []  # of adjacent places: the middle of the group, and its size
    for place in places:
        groups.append([place, 1])
        while True:
            middle, size = groups[-1]
            half = (size - 1) / 2 * step
            middle = min(max(middle, half), max(1 - half, half))
            groups[-1][0] = middle
            if len(groups) < 2 or middle - half - (groups[-2][0] + (groups[-2][1] - 1) / 2 * step) >= step:
                break
            before, number = groups[-2]
            groups[-2:] = [[(before * number + middle * size) / (number + size), number + size]]
    return [middle + (at - (size - 1) / 2) * step for middle, size in groups for at in range(int(size))]


def dress(axes: Axes, title: str = "", x: str = "", y: str = "", grid: str = "both") -> None:
    """Set titles and font sizes, a light grid and no box; `grid` is x, y, both or nothing."""
    axes.set_title(plain(title), fontsize=TEXT, color=INK, y=1.0)
    axes.set_xlabel(plain(x), fontsize=TEXT, color=INK)
    axes.set_ylabel(plain(y), fontsize=TEXT, color=INK)
    axes.tick_params(which="both", labelsize=SMALL, colors=INK, width=0.6, length=2.5)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(True, axis=grid, color=GRID, linewidth=0.5)  # type: ignore[arg-type]
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set(linewidth=0.6, color=FAINT)


def log_ticks(axis: Any) -> None:
    """Two to seven ticks, as plain numbers if these are shorter. Call it when the limits are final."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(_log_places(*axis.get_view_interval())))
    axis.set_major_formatter(FuncFormatter(_short))
    axis.set_minor_locator(NullLocator())


def _log_places(low: float, high: float) -> list[float]:
    """Powers of ten; with few of them also 2 and 5; in a range of less than a factor of 2 equal steps."""
    low, high = min(low, high), max(low, high)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = max(1, -(-len(powers) // 7))
    tens, fine = (
        [
            factor * 10.0**power
            for power in powers
            if power % every == 0
            for factor in factors
            if low <= factor * 10.0**power <= high
        ]
        for factors in ((1,), (1, 2, 5))
    )
    if len(tens) > 2 or (len(tens) == 2 and len(fine) > 5):
        return tens
    if len(fine) > 1:
        return fine
    step = 10.0 ** math.floor(math.log10(high - low))
    for part in (1.0, 0.5, 0.2, 0.1):
        width = step * part
        steps = range(math.ceil(low / width), math.floor(high / width) + 1)
        if len(steps) > 1:
            return [round(at * width, 12) for at in steps]
    return [low, high]


def _short(value: float, _: int) -> str:
    return f"{value:g}" if 1e-4 < value < 1e6 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def line_of(method: str, muted: bool = False) -> dict[str, Any]:
    """The arguments for drawing a method's line; thin and grey if `muted`."""
    style = style_of(method)
    dashes = (0, style.dashes) if style.dashes else "-"
    if muted:
        return {"color": MUTED, "linestyle": dashes, "linewidth": 0.7, "zorder": 1.5}
    return {"color": style.colour, "linestyle": dashes, "linewidth": 1.4}


def legend(figure: Figure, handles: Sequence[Any], columns: int = 4) -> None:
    """A legend below the axes."""
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=min(columns, max(len(handles), 1)),
        fontsize=SMALL,
        frameon=False,
        handlelength=2.4,
        columnspacing=1.4,
        labelcolor=INK,
    )


def line_handle(method: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=plain(method), **line_of(method))


def others_handle(count: int, **how: Any) -> Any:
    """One legend entry for all methods that are drawn in grey."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=MUTED, label=f"{count} others", **how)


def marker_handle(method: str, label: str = "") -> Any:
    from matplotlib.lines import Line2D

    style = style_of(method)
    how: dict[str, Any] = {"linestyle": "", "marker": style.marker, "markersize": 5, "color": style.colour}
    return Line2D([], [], label=plain(label or method), **how)


def plain(text: str) -> str:
    """Text in which a dollar sign does not start a formula."""
    return text.replace("$", r"\$")


def shortened(text: str, max_letters: int) -> str:
    return text if len(text) <= max_letters else text[: max_letters - 1] + "…"


def short(name: str, max_letters: int) -> str:
    """A name for a figure: with at most `max_letters` letters, and plain."""
    return plain(shortened(name, max_letters))


def save(figure: Figure, path: Path) -> None:
    """Save a figure as PNG or PDF, by the suffix of the path, without dates or names of programs in it."""
    from matplotlib import rc_context

    kind = path.suffix.removeprefix(".")
    anonymous = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    }
    content = io.BytesIO()
    # Type 42 fonts, because many publishers refuse matplotlib's Type 3. Characters that are missing in the
    # font are drawn as boxes; the page and the tables show them correctly.
    with rc_context({"pdf.fonttype": 42, "font.sans-serif": [_FONT]}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(content, format=kind, dpi=DOTS_PER_INCH, metadata=anonymous[kind])
    write_whole(path, content.getvalue())
