"""Names and errors never move a terminal's cursor."""

from __future__ import annotations

import pytest

from cfo_bench.terminal.tables import one_line, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("\x07\x7f\r", "\\x07\\x7f\\r"),
        ("\u202etxt", "\\u202etxt"),
        ("caf\udce9", "caf\\udce9"),
        ("名前 é\tx\ny", "名前 é\tx\ny"),
    ],
)
def test_what_a_terminal_would_obey_is_an_escape(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_one_line_has_no_line_end() -> None:
    assert one_line("a\nb\x1b") == "a\\nb\\x1b"
