"""Tables and paragraphs on terminals of any width."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from cfo_bench.terminal.tables import text_table

ROWS = [["breast_cancer", "cfo-tuned", "3", "log_loss ↓", "0.9913 ± 0.0084", "1.5 s", "74", "21.1%"]]
COLUMNS = ("task", "method", "folds", "metric", "validation score", "time to it", "trials", "overhead")

SHOW = f"""
from cfo_bench.terminal.tables import show_prose, show_table
show_table({COLUMNS!r}, {ROWS!r}, (2, 4, 5, 6, 7))
show_prose("one two three four five six seven eight nine ten eleven twelve thirteen\\n\\nshort")
"""


def on_a_terminal(columns: int) -> list[str]:
    """What is shown on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        [sys.executable, "-c", SHOW], env=environment, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                drawn += os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
    os.close(ours)
    assert process.returncode == 0, drawn.decode()
    return drawn.decode().splitlines()


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
    lines = on_a_terminal(columns)

    assert max(map(len, lines)) <= columns
    assert not any(line.endswith("…") for line in lines)
    assert any(line.startswith("breast_cancer") and line.endswith("21.1%") for line in lines)
    # Words stay whole, and so does the empty line.
    assert " ".join(lines).endswith("eight nine ten eleven twelve thirteen  short")
    assert "" in lines


@pytest.mark.parametrize("columns", [40, 60])
def test_a_table_that_does_not_fit_has_cells_on_several_lines_and_loses_nothing(columns: int) -> None:
    lines = on_a_terminal(columns)
    table = lines[: lines.index(next(line for line in lines if line.startswith("one two")))]

    assert max(map(len, lines)) <= columns
    assert not any("…" in line for line in lines)
    letters = "".join(sorted("".join(table).replace(" ", "").replace("-", "")))
    whole = "".join(sorted("".join([*COLUMNS, *ROWS[0]]).replace(" ", "").replace("-", "")))
    assert letters == whole
