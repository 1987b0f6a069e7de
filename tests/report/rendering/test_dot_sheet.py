"""Plots of dots have round ticks, and limits that fit the dots."""

from __future__ import annotations

import pytest

from cfo_bench.report.rendering.charts import Dot, Plot, ticks


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.98, 0.9801), (-3.0, 7.0), (0.9, 0.96), (-1e9, 5e9), (1e300, 1e308)]
)
def test_an_axis_has_two_ticks_or_more_with_different_texts(low: float, high: float) -> None:
    found = ticks(low, high)

    assert 2 <= len(found) <= 8
    assert all(low <= value <= high for value, _ in found)
    assert len({text for _, text in found}) == len(found)


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
