"""Charts: names at the ends of lines, ticks and limits, boxes or points, dots that don't hide dots."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection

from cfo_bench.report.contents import Figure, LinePlot, Table
from cfo_bench.report.method_styles import _KNOWN, style_of
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.ranking import MOST_LEADERS
from cfo_bench.report.reading.load import load
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import (
    BOX_COLUMNS,
    FEWEST_FOR_A_BOX,
    Dot,
    Plot,
    box,
    dot_sheet,
    draw_lines,
    ends_in_words,
    is_outlier,
    lanes,
    muted,
    paint_boxes,
    ticks,
    values_in_words,
)
from cfo_bench.report.rendering.html_page import alternative
from cfo_bench.report.sections import sections
from cfo_bench.results.run import Run

RANKS = LinePlot("share", "mean_rank", "share of the budget", "mean rank", best_on_top=True)


def lines_of(methods: list[str], ends: list[float]) -> Table:
    rows = [
        [method, share, value]
        for method, end in zip(methods, ends, strict=True)
        for share, value in ((0.01, 7.0), (1.0, end))
    ]
    return Table("t", "T", "", ("method", "share", "mean_rank"), rows)


@pytest.fixture
def crowd(write_run: Any, tmp_path: Path) -> list[Run]:
    """Seven tasks, all methods that have a style of their own, five folds."""
    for task in range(7):
        for place, method in enumerate(_KNOWN):
            for fold in range(5):
                loss = 0.1 + 0.02 * (place // 3) + 0.003 * fold + 0.001 * task
                write_run(f"task-{task}", method, fold, [(1, 0.45, 1), (5 + place, 0.3, 1), (40, loss, 2)])
    return load(tmp_path / "results").runs


@pytest.mark.parametrize(
    ("places", "step"),
    [([0.1, 0.11, 0.12, 0.9, 1.0], 0.1), ([0.0, 0.0, 0.0], 0.5), ([0.5] * 6, 0.1), ([], 0.1), ([0.3], 0.2)],
)
def test_places_are_moved_apart_and_stay_in_order_and_inside(places: list[float], step: float) -> None:
    moved = style.spread(places, step)

    assert len(moved) == len(places)
    assert all(second - first >= step - 1e-12 for first, second in pairwise(moved))
    assert all(-1e-12 <= place <= 1 + 1e-12 for place in moved)


def test_places_that_are_apart_stay_where_they_are() -> None:
    assert style.spread([0.1, 0.4, 0.9], 0.1) == [0.1, 0.4, 0.9]


@pytest.mark.parametrize(
    "ends", [(1, 3600), (0.3, 0.35), (1.2, 9), (90, 101), (1e-9, 1e9), (0.11, 0.9), (99.9999, 100), (3, 4)]
)
def test_a_log_axis_has_two_to_eight_ticks_inside_its_ends(ends: tuple[float, float]) -> None:
    places = style._log_places(*ends)

    assert 2 <= len(places) <= 11 and places == sorted(set(places))
    assert ends[0] <= places[0] and places[-1] <= ends[1]


def test_dots_on_one_lane_are_apart_and_lone_dots_are_in_the_middle() -> None:
    places = [1.0, 1.01, 5.0, 1.02, 9.0, 1.0]

    lane_of = lanes(places, 0.5)

    assert lane_of[2] == lane_of[4] == 0
    assert all(
        lane_of[a] != lane_of[b] or abs(places[a] - places[b]) >= 0.5 for a, b in combinations(range(6), 2)
    )
    assert set(lane_of) == {0, 1, -1, 2}


@pytest.mark.parametrize("count", [FEWEST_FOR_A_BOX - 1, FEWEST_FOR_A_BOX])
def test_few_values_are_drawn_as_points_and_more_as_a_box(count: int) -> None:
    values = [float(value) for value in range(count)]
    row = {"method": "cfo", **dict(zip(BOX_COLUMNS, box(values), strict=True))}
    axes = style.canvas(3, 2).add_subplot()

    paint_boxes(axes, [row], {"cfo": values})

    points = [line for line in axes.lines if line.get_marker() == "o" and len(np.asarray(line.get_xdata()))]
    if count < FEWEST_FOR_A_BOX:
        assert not axes.patches and np.asarray(points[0].get_xdata()).tolist() == values
        assert values_in_words({"cfo": values}) == "Values: cfo 0, 1, 2, 3, 4."
    else:
        assert len(axes.patches) == 1 and not points
        assert values_in_words({"cfo": values}) == "Medians: cfo 2.5."


def test_a_value_below_the_floor_stands_at_the_floor() -> None:
    values = [-50.0, 1.0, 2.0]
    axes = style.canvas(3, 2).add_subplot()

    paint_boxes(axes, [{"method": "rs"}], {"rs": values}, floor=0.0)

    assert min(float(np.min(np.asarray(line.get_xdata()))) for line in axes.lines) == 0


def test_with_many_methods_all_but_the_leaders_are_grey() -> None:
    few, many = list(_KNOWN)[:8], list(_KNOWN)

    assert muted(few, ["cfo"]) == set()
    assert muted(many, ["cfo", "rs"]) == set(many) - {"cfo", "rs"}
    (axes,) = draw_lines(lines_of(many, [float(n) for n in range(len(many))]), RANKS, ["cfo"]).axes
    colours = {line.get_color() for line in axes.lines if line.get_drawstyle() == "steps-post"}
    assert colours == {style.MUTED, style_of("cfo").colour}


def test_the_leaders_are_the_best_four_and_the_baseline(crowd: list[Run]) -> None:
    # Three methods each end at the same loss. Equals come in the order of the table of looks.
    assert LearnerResults("xgboost", crowd).leaders == ("rs", "bohb", "gpei", "gpeips", "cfo")
    assert len(LearnerResults("xgboost", crowd, "rs").leaders) == MOST_LEADERS
    assert LearnerResults("xgboost", crowd, "not-run").leaders == ("rs", "bohb", "gpei", "gpeips")


def test_the_leaders_are_the_first_of_the_overview(write_run: Any, tmp_path: Path) -> None:
    # By plain ranks of the loss hyperband would be among the best: it is first by far less than 0.05 %.
    for task in range(3):
        for place, method in enumerate(_KNOWN):
            loss = 0.2 - 1e-9 * place if method != "cfo" else 0.3 + 0.01 * task
            write_run(f"task-{task}", method, 0, [(1, 0.45, 1), (5 + place, loss, 1)])
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)

    first = [standing.method for standing in results.overview.standings[:MOST_LEADERS]]

    assert set(results.leaders) == {*first, "cfo"}
    assert "blendsearch" not in first


def test_a_band_is_drawn_for_leaders_only_and_no_lower_than_the_floor() -> None:
    rows = [[method, share, 0.5 * share, 0.0, 0.9] for method in ("cfo", "rs") for share in (0.001, 0.1, 1.0)]
    table = Table("t", "T", "", ("method", "share", "value", "low", "high"), rows)
    lines = LinePlot("share", "value", "share", "value", log_y=True, band=("low", "high"), floor=0.01)

    (axes,) = draw_lines(table, lines, ["cfo"]).axes

    # The other collection are the strokes from the lines to their names.
    (band,) = [collection for collection in axes.collections if isinstance(collection, PolyCollection)]
    heights = np.concatenate([path.vertices for path in band.get_paths()])[:, 1]
    assert (heights.min(), heights.max()) == (0.01, 0.9)
    assert min(float(np.min(np.asarray(line.get_ydata()))) for line in axes.lines[:2]) == 0.01


def test_a_text_alternative_has_the_axes_and_where_the_lines_end() -> None:
    table = lines_of(["rs", "cfo"], [2.0, 1.25])

    assert ends_in_words(table, RANKS) == (
        "Lines: mean rank against share of the budget. At the end: cfo 1.25, rs 2."
    )


def static_figures(runs: list[Run]) -> list[Figure]:
    return [figure for built in sections(LearnerResults("xgboost", runs)) for figure in built.content.figures]


@pytest.mark.slow
def test_every_axis_has_two_ticks_and_no_names_collide(crowd: list[Run]) -> None:
    figures = static_figures(crowd)

    assert len(figures) > 12
    for figure in figures:
        canvas = figure.draw()
        renderer = FigureCanvasAgg(canvas).get_renderer()
        canvas.draw_without_rendering()
        for axes in canvas.axes:
            if not axes.axison:
                continue
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                places = [value for value in axis.get_majorticklocs() if low <= value <= high]
                assert len(places) >= 2, f"{figure.name}: {axis}"
            boxes = [text.get_window_extent(renderer) for text in axes.texts]
            # Two points of the boxes are above and below the letters.
            crossed = [
                (first, second)
                for first, second in combinations(boxes, 2)
                if min(first.y1, second.y1) - max(first.y0, second.y0) > 0.35 * first.height
                and min(first.x1, second.x1) - max(first.x0, second.x0) > 0
            ]
            assert crossed == [], figure.name


def test_every_figure_has_a_text_alternative_with_numbers(crowd: list[Run]) -> None:
    for figure in static_figures(crowd):
        text = alternative(figure)
        assert text.startswith(figure.title) and len(text) > len(figure.title) + 40
        assert any(sign.isdigit() for sign in text.removeprefix(figure.title)), figure.name
        # These name the best of each task, which are others here.
        is_of_best = figure.name.startswith(("performance", "final-scores", "differences"))
        assert is_of_best or "cfo" in text, figure.name


def test_no_whisker_ends_inside_the_box() -> None:
    # The first quartile lies between 91 and 98, and 98 is the furthest value within reach of it.
    values = [86.0, 91.0, 98.0, 99.0, 99.4, 99.6, 99.8, 101.0]

    row = dict(zip(BOX_COLUMNS, box(values), strict=True))

    assert row["low_whisker"] == row["quartile_1"] == 96.25
    assert [value for value in values if is_outlier(row, value)] == [86.0, 91.0]


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.98, 0.9801), (-3.0, 7.0), (0.9, 0.96), (-1e9, 5e9), (1e300, 1e308)]
)
def test_an_axis_has_two_ticks_or_more_with_different_texts(low: float, high: float) -> None:
    placed = ticks(low, high)

    assert 2 <= len(placed) <= 8
    assert all(low <= value <= high for value, _ in placed)
    assert len({text for _, text in placed}) == len(placed)


def test_ticks_are_round() -> None:
    assert [text for _, text in ticks(-0.31, 0.09)] == ["−0.3", "−0.2", "−0.1", "0.0"]


def test_wide_intervals_don_t_squeeze_the_dots() -> None:
    plot = Plot("t", "AUC", [Dot("a", 0.8, 0.1, 1.5), Dot("b", 0.9, None, None)], bounds=(0.0, 1.0))

    left, right = plot.limits()

    # One range of the dots, 0.1, on each side, with 8 % of it as a margin; an AUC ends at 1.
    assert left == pytest.approx(0.8 - 0.1 - 0.008)
    assert right == pytest.approx(1.0 + 0.003)
    reversed_plot = Plot("t", "log-loss", plot.dots, reverse=True)
    assert reversed_plot.limits()[0] > reversed_plot.limits()[1]


@pytest.mark.parametrize("reverse", [False, True])
def test_an_interval_that_is_cut_off_has_an_arrowhead_at_the_edge(reverse: bool) -> None:
    dots = [Dot("cfo", 0.5, 0.3, 0.51), Dot("rs", 0.52, 0.51, 0.53)]
    axes = dot_sheet([Plot("t", "AUC", dots, reverse=reverse)], ["cfo", "rs"]).axes[0]

    # Only the lower bound of cfo is far off. The axis runs from high to low if it is reversed.
    (arrow,) = axes.lines
    assert (arrow.get_marker(), arrow.get_ydata()[0]) == (">" if reverse else "<", 0)
    assert arrow.get_xdata()[0] == min(axes.get_xlim())


def test_the_mark_and_single_values_are_inside_the_limits() -> None:
    differences = Plot("t", "difference", [Dot("a", -0.0015), Dot("b", -0.001)], mark=0.0)
    folds = Plot("t", "AUC", [Dot("a", 0.8, each=(0.6, 0.9, 0.9)), Dot("b", 0.85)])

    assert differences.limits()[0] < -0.0015 and differences.limits()[1] > 0
    assert folds.limits()[0] < 0.6 and folds.limits()[1] > 0.9


def test_a_value_alone_has_ticks_around_it_that_can_be_read() -> None:
    left, right = Plot("t", "difference", [Dot("a", 0.000355)], mark=0.0).limits()

    assert left < 0 < 0.000355 < right
    left, right = Plot("t", "AUC", [Dot("a", 0.9)]).limits()
    assert all(len(text) <= 5 for _, text in ticks(left, right))
