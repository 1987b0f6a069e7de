"""Text and tables on terminals of any width; names and errors never move the cursor."""

from __future__ import annotations

import pytest

from cfo_bench.terminal.printing import one_line, printable, text_table
from tests.helpers.terminals import on_a_terminal

ROWS = [["breast_cancer", "cfo-tuned", "3", "log-loss ↓", "0.9913 ± 0.0084", "1.5 s", "74", "21.1%"]]
COLUMNS = ("task", "method", "folds", "metric", "validation score", "time to best", "trials", "overhead")
RIGHT = (2, 4, 5, 6, 7)
LEARNERS = [[learner, *row] for learner in ("lightgbm", "xgboost") for row in ROWS]

SHOW = f"""
from cfo_bench.terminal.printing import show_prose, show_table
show_table({COLUMNS!r}, {ROWS!r}, {RIGHT!r})
show_prose("one two three four five six seven eight nine ten eleven twelve thirteen\\n\\nshort")
"""
BY_LEARNER = f"""
from cfo_bench.terminal.printing import show_table
show_table({("learner", *COLUMNS)!r}, {LEARNERS!r}, {[at + 1 for at in RIGHT]!r}, by=(0, 1, 4))
"""


def shown(columns: int, script: str = SHOW) -> list[str]:
    return on_a_terminal(columns, "-c", script)


def test_a_heading_wider_than_its_column_is_broken_between_words() -> None:
    table = text_table(["name", "time to it"], [["a", "1.5 s"], ["b", "2 s"]], right=[1], broken=True)

    assert table.splitlines() == [
        "       time",
        "name  to it",
        "----  -----",
        "a     1.5 s",
        "b       2 s",
    ]


@pytest.mark.parametrize("columns", [80, 160])
def test_the_table_of_a_run_fits_into_a_terminal(columns: int) -> None:
    lines = shown(columns)

    assert max(map(len, lines)) <= columns
    assert not any(line.endswith("…") for line in lines)
    assert any(line.startswith("breast_cancer") and line.endswith("21.1%") for line in lines)
    # Words stay whole, and so does the empty line.
    assert " ".join(lines).endswith("eight nine ten eleven twelve thirteen  short")
    assert "" in lines


@pytest.mark.parametrize("columns", [32, 40, 60])
def test_a_table_that_does_not_fit_loses_nothing_and_breaks_no_word(columns: int) -> None:
    lines = shown(columns)
    table = lines[: lines.index(next(line for line in lines if line.startswith("one two")))]

    assert max(map(len, lines)) <= columns
    assert not any("…" in line for line in lines)
    text = " ".join(" ".join(table).split())
    # A number is never torn from its deviation or its unit.
    assert [word for word in (*" ".join(COLUMNS).split(), *ROWS[0]) if word not in text] == []


@pytest.mark.parametrize("columns", [80, 60])
def test_what_rows_share_stands_above_them_where_columns_have_no_room(columns: int) -> None:
    lines = shown(columns, BY_LEARNER)

    assert max(map(len, lines)) <= columns
    assert [line for line in lines if "," in line] == [
        "lightgbm, breast_cancer, log-loss ↓",
        "xgboost, breast_cancer, log-loss ↓",
    ]
    rows = [line.split() for line in lines if line.startswith("cfo-tuned")]
    assert rows == [["cfo-tuned", "3", "0.9913", "±", "0.0084", "1.5", "s", "74", "21.1%"]] * 2


def test_a_table_with_room_enough_is_one() -> None:
    lines = shown(160, BY_LEARNER)

    assert len(lines) == 4 and lines[0].startswith("learner   task")


def test_columns_that_have_no_room_side_by_side_are_in_several_tables() -> None:
    methods = ["blendsearch", "hyperopt-tpe", "cfo-tuned", "rs"]
    rows = [["blood-transfusion", "3/3", "2/3", "1/3", "0/3"]]
    script = (
        "from cfo_bench.terminal.printing import show_table;"
        f"show_table({['task', *methods]!r}, {rows!r}, (1, 2, 3, 4))"
    )

    assert shown(36, script) == [
        "task               blendsearch",
        "-----------------  -----------",
        "blood-transfusion          3/3",
        "",
        "task               hyperopt-tpe",
        "-----------------  ------------",
        "blood-transfusion           2/3",
        "",
        "task               cfo-tuned   rs",
        "-----------------  ---------  ---",
        "blood-transfusion        1/3  0/3",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("\x07\x7f\r", "\\x07\\x7f\\r"),
        ("\u202etxt", "\\u202etxt"),
        ("\u200fa\u2028b", "\\u200fa\\u2028b"),
        ("caf\udce9", "caf\\udce9"),
        ("名前 é\tx\ny", "名前 é\tx\ny"),
    ],
)
def test_what_a_terminal_would_obey_is_an_escape(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_one_line_has_no_line_end() -> None:
    assert one_line("a\nb\x1b") == "a\\nb\\x1b"
