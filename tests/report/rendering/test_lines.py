"""Names at the ends of lines keep apart, axes have ticks, few values are points, dots don't hide dots."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
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
    box,
    draw_lines,
    ends_in_words,
    lanes,
    muted,
    paint_boxes,
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
    """Seven tasks, all methods that have a look of their own, five folds."""
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
    found = style.spread(places, step)

    assert len(found) == len(places)
    assert all(two - one >= step - 1e-12 for one, two in pairwise(found))
    assert all(-1e-12 <= place <= 1 + 1e-12 for place in found)


def test_places_that_are_apart_stay_where_they_are() -> None:
    assert style.spread([0.1, 0.4, 0.9], 0.1) == [0.1, 0.4, 0.9]


@pytest.mark.parametrize(
    "ends", [(1, 3600), (0.3, 0.35), (1.2, 9), (90, 101), (1e-9, 1e9), (0.11, 0.9), (99.9999, 100), (3, 4)]
)
def test_a_log_axis_has_two_to_eight_ticks_inside_its_ends(ends: tuple[float, float]) -> None:
    found = style._log_places(*ends)

    assert 2 <= len(found) <= 11 and found == sorted(set(found))
    assert ends[0] <= found[0] and found[-1] <= ends[1]


def test_dots_on_one_lane_are_apart_and_lone_dots_are_in_the_middle() -> None:
    places = [1.0, 1.01, 5.0, 1.02, 9.0, 1.0]

    found = lanes(places, 0.5)

    assert found[2] == found[4] == 0
    assert all(
        found[a] != found[b] or abs(places[a] - places[b]) >= 0.5 for a, b in combinations(range(6), 2)
    )
    assert set(found) == {0, 1, -1, 2}


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
    own = {line.get_color() for line in axes.lines if line.get_drawstyle() == "steps-post"}
    assert own == {style.MUTED, style_of("cfo").colour}


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
    (band,) = [one for one in axes.collections if isinstance(one, PolyCollection)]
    heights = np.concatenate([path.vertices for path in band.get_paths()])[:, 1]
    assert (heights.min(), heights.max()) == (0.01, 0.9)
    assert min(float(np.min(np.asarray(line.get_ydata()))) for line in axes.lines[:2]) == 0.01


def test_a_text_alternative_has_the_axes_and_where_the_lines_end() -> None:
    table = lines_of(["rs", "cfo"], [2.0, 1.25])

    assert ends_in_words(table, RANKS) == (
        "Lines: mean rank against share of the budget. At the end: cfo 1.25, rs 2."
    )


def static_figures(digests: list[Run]) -> list[Figure]:
    return [figure for one in sections(LearnerResults("xgboost", digests)) for figure in one.figures]


@pytest.mark.slow
def test_every_axis_has_two_ticks_and_no_names_collide(crowd: list[Run]) -> None:
    found = static_figures(crowd)

    assert len(found) > 12
    for figure in found:
        canvas = figure.draw()
        canvas.draw_without_rendering()
        for axes in canvas.axes:
            if not axes.axison:
                continue
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                ticks = [place for place in axis.get_majorticklocs() if low <= place <= high]
                assert len(ticks) >= 2, f"{figure.name}: {axis}"
            renderer = canvas.canvas.get_renderer()  # type: ignore[attr-defined]
            boxes = [text.get_window_extent(renderer) for text in axes.texts]
            # Two points of the boxes are above and below the letters.
            crossed = [
                (one, other)
                for one, other in combinations(boxes, 2)
                if min(one.y1, other.y1) - max(one.y0, other.y0) > 0.35 * one.height
                and min(one.x1, other.x1) - max(one.x0, other.x0) > 0
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
