"""Box plots: the numbers of a box, and how a column of boxes is drawn.

A box is the quartiles; its whiskers end at the furthest value within 1.5 times the box's length, and
what lies beyond them is an outlier. Fewer values than a box has numbers are drawn as points instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.report.contents import CellValue
from cfo_bench.report.looks import look
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    labels = [style.plain(style.shortened(look(row["method"]).label, 18)) for row in reversed(boxes)]
    axes.set_yticks(range(len(boxes)), labels)
    axes.set_ylim(-0.6, len(boxes) - 0.4)


def values_in_words(values: Mapping[str, Sequence[float]]) -> str:
    """What a drawing of boxes or points says, for its text alternative."""
    few = any(len(own) < FEWEST_FOR_A_BOX for own in values.values())
    parts = [
        f"{look(method).label} {', '.join(f'{value:.3g}' for value in sorted(own))}"
        if few
        else f"{look(method).label} {float(np.median(own)):.3g}"
        for method, own in values.items()
    ]
    return f"{'Values' if few else 'Medians'}: {'; '.join(parts)}."


def _paint_points(axes: Axes, at: float, method: str, values: Sequence[float]) -> None:
    colour = look(method).colour
    axes.plot([min(values), max(values)], [at, at], color=colour, linewidth=0.8, alpha=0.5)
    axes.plot(
        sorted(values), [at] * len(values), linestyle="", marker="o", markersize=4, color=colour, alpha=0.8
    )


def _paint_box(
    axes: Axes, at: float, row: Mapping[str, float], method: str, outliers: Sequence[float]
) -> None:
    colour = look(method).colour
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
