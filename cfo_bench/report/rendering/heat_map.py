"""A table of percentages as coloured cells, with the number in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

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
    return style.plain(style.shortened(name, 20))
