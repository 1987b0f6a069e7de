"""The numbers of a box."""

from __future__ import annotations

from cfo_bench.report.rendering.charts import BOX_COLUMNS, box, is_outlier


def test_no_whisker_ends_inside_the_box() -> None:
    # The first quartile lies between 91 and 98, and 98 is the furthest value within reach of it.
    values = [86.0, 91.0, 98.0, 99.0, 99.4, 99.6, 99.8, 101.0]

    row = dict(zip(BOX_COLUMNS, box(values), strict=True))

    assert row["low_whisker"] == row["quartile_1"] == 96.25
    assert [value for value in values if is_outlier(row, value)] == [86.0, 91.0]
