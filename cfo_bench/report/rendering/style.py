"""How figures look: sizes and type for a two-column paper, axes, legends, and the files they are saved to.

Everything is set on the artists and nothing in matplotlib's global state, so that the same numbers give
the same bytes whatever else the process has drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cfo_bench.report.looks import look
from cfo_bench.safe_writing import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches: the width of one column, and of both columns, of a paper.
COLUMN, PAGE = 3.5, 7.2
DOTS_PER_INCH = 200

TEXT, SMALL = 8.0, 7.0
INK, GRID, FAINT = "#222222", "#DDDDDD", "#999999"


def canvas(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Axes, title: str = "", x: str = "", y: str = "", grid: str = "both") -> None:
    """Titles, type, a light grid and no box; `grid` is x, y, both or nothing."""
    axes.set_title(plain(title), fontsize=TEXT, color=INK)
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
    """Plain numbers where these are shorter. To be called last, when the limits of the axis are final."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    # With few powers of ten on the axis, 2 and 5 get a tick too.
    steps = (1.0, 2.0, 5.0) if low > 0 and high / low < 30 else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=steps, numticks=7))
    axis.set_major_formatter(FuncFormatter(_short))
    axis.set_minor_locator(NullLocator())  # minor ticks take a quarter of the drawing time


def _short(value: float, _: int) -> str:
    return f"{value:g}" if 1e-4 < value < 1e6 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def line_of(method: str) -> dict[str, Any]:
    """The arguments for drawing a method's line."""
    found = look(method)
    kind = (0, found.dashes) if found.dashes else "-"
    return {"color": found.colour, "linestyle": kind, "linewidth": 1.5 if method == "cfo" else 1.1}


def legend(figure: Figure, handles: Sequence[Any], columns: int = 4) -> None:
    """Below the figure, where it hides nothing."""
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


def line_handle(method: str, label: str = "") -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=plain(label or look(method).label), **line_of(method))


def marker_handle(method: str, label: str = "") -> Any:
    from matplotlib.lines import Line2D

    found = look(method)
    return Line2D(
        [],
        [],
        linestyle="",
        marker=found.marker,
        markersize=5,
        color=found.colour,
        label=plain(label or found.label),
    )


def plain(text: str) -> str:
    """Text in which a dollar sign does not start a formula."""
    return text.replace("$", r"\$")


def shortened(text: str, most: int = 28) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def save(figure: Figure, path: Path) -> None:
    """PNG or PDF by the path's suffix, without dates or names of programs in it.

    The layout is computed at the first save and then kept, so that all formats look alike.
    """
    import io
    import warnings

    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    content = io.BytesIO()
    # Type 42 fonts, since many publishers refuse matplotlib's Type 3. Characters that the font lacks are
    # drawn as boxes; the page and the tables show them properly.
    with rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        if figure.get_layout_engine() is not None:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        # Not by savefig, which draws everything twice.
        if path.suffix == ".pdf":
            nothing = {"CreationDate": None, "Producer": None, "Creator": None}
            FigureCanvasPdf(figure).print_pdf(content, metadata=nothing)  # type: ignore[no-untyped-call]
            figure.set_dpi(DOTS_PER_INCH)
        else:
            canvas = FigureCanvasAgg(figure)
            canvas.print_png(content, metadata={"Software": None})  # type: ignore[no-untyped-call]
    write_whole(path, content.getvalue())
