"""Box plots: the numbers of a box, and how a column of boxes is drawn.

A box is the quartiles; its whiskers end at the furthest value within 1.5 times the box's length, and
what lies beyond them is an outlier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.report.contents import CellValue
from cfo_bench.report.looks import look
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOX_COLUMNS = ("low_whisker", "quartile_1", "median", "quartile_3", "high_whisker", "mean")


def box(values: list[float]) -> list[CellValue]:
    """The columns above of these values."""
    first, middle, third = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    # An interpolated quartile of equal values may be off by its rounding.
    reach = 1.5 * (third - first) + 1e-12 * max(abs(first), abs(third))
    return [
        min(value for value in values if value >= first - reach),
        *(first, middle, third),
        max(value for value in values if value <= third + reach),
        math.fsum(values) / len(values),
    ]


def is_outlier(row: Mapping[str, Any], value: float) -> bool:
    """Whether a value lies beyond the whiskers of a row; one that is off by its rounding does not."""
    low, high = row["low_whisker"], row["high_whisker"]
    return not low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high)


def paint_boxes(axes: Axes, boxes: list[dict[str, Any]], outliers: dict[str, list[float]]) -> None:
    """Horizontal boxes, the first on top, each in its method's colour.

    `boxes` are rows with a `method` and the columns above; `outliers` are the values to draw, by method.
    """
    for at, row in enumerate(reversed(boxes)):
        found = look(row["method"])
        axes.bxp(
            [
                {
                    "med": row["median"],
                    "q1": row["quartile_1"],
                    "q3": row["quartile_3"],
                    "whislo": row["low_whisker"],
                    "whishi": row["high_whisker"],
                    "fliers": outliers[row["method"]],
                }
            ],
            positions=[at],
            widths=0.6,
            orientation="horizontal",
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": found.colour + "55", "edgecolor": found.colour, "linewidth": 1.0},
            medianprops={"color": style.INK, "linewidth": 1.4},
            whiskerprops={"color": found.colour, "linewidth": 1.0},
            capprops={"color": found.colour, "linewidth": 1.0},
            flierprops={
                "marker": "o",
                "markersize": 2.5,
                "markerfacecolor": found.colour,
                "markeredgecolor": "none",
            },
        )
    labels = [style.plain(style.shortened(look(row["method"]).label, 18)) for row in reversed(boxes)]
    axes.set_yticks(range(len(boxes)), labels)
    axes.set_ylim(-0.6, len(boxes) - 0.4)
