"""A table as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cfo_bench.report.contents import Table
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering.table_files import in_words, to_csv, to_latex, to_markdown
from cfo_bench.report.sections import sections
from cfo_bench.results.run import Run

TABLE = Table(
    "odd names",
    "Odd & ends",
    "100 % of_it.",
    ("task", "score", "cell", "done"),
    [
        ["a_b|c", 0.1 + 0.2, "**1.0524 (1199s)**", True],
        ["<b>$x$</b>", None, "×2.8", False],
        ["line\nbreak, comma", math.nan, "-5.9%", None],
        ["back\\slash", 123456.7, "no result", True],
    ],
)


def test_csv_has_every_digit_nothing_for_nothing_and_no_bold() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(TABLE))))

    assert rows == [
        ["task", "score", "cell", "done"],
        ["a_b|c", "0.30000000000000004", "1.0524 (1199s)", "yes"],
        ["<b>$x$</b>", "", "×2.8", "no"],
        ["line\nbreak, comma", "", "-5.9%", ""],
        ["back\\slash", "123456.7", "no result", "yes"],
    ]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "  =1", "\t=1", "**=1**", "\uff1d1", "-"],
)
def test_csv_has_no_text_that_a_spreadsheet_takes_for_a_formula(text: str) -> None:
    [[column], [cell]] = csv.reader(io.StringIO(to_csv(Table("t", "t", "", (text,), [[text]]))))

    assert column == f"'{text}" or text.startswith("**")
    assert cell == f"'{text.strip('*')}"


@pytest.mark.parametrize(("text", "shown"), [("\r=1", "'\n=1"), ("a\r\n=1", "a\n=1"), ("a\r=1", "a\n=1")])
def test_csv_has_no_carriage_return_that_would_end_a_row(text: str, shown: str) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(Table("t", "t", "", ("a",), [[text]])), newline="")))

    assert rows == [["a"], [shown]]


@pytest.mark.parametrize("text", ["-5.9%", "+3", "-1e-5", "-.5 %", "a=b", "cfo-0", "×2.8", "", " x"])
def test_csv_keeps_other_text_and_numbers_as_they_are(text: str) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(Table("t", "t", "", ("a", "b"), [[text, -0.5]])))))

    assert rows[1] == [text, "-0.5"]


def test_markdown_keeps_a_row_on_a_line_and_shows_tags_as_text() -> None:
    assert to_markdown(TABLE) == (
        "## Odd &amp; ends\n\n100 % of_it.\n\n"
        "| task | score | cell | done |\n"
        "| --- | ---: | --- | --- |\n"
        "| a_b\\|c | 0.3 | **1.0524 (1199s)** | yes |\n"
        "| &lt;b>$x$&lt;/b> | – | ×2.8 | no |\n"
        "| line break, comma | – | -5.9% | – |\n"
        "| back\\\\slash | 123457 | no result | yes |\n"
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("[click](javascript:alert(1))", r"\[click](javascript:alert(1))"),
        (r"\[click](javascript:alert(1))", r"\\\[click](javascript:alert(1))"),
        ("![image](http://x/y.png)", r"!\[image](http://x/y.png)"),
        ("**[bold](javascript:x)**", r"**\[bold](javascript:x)**"),
        ("<javascript:x>", "&lt;javascript:x>"),
        ("`code` *a* | b", r"`code` \*a\* \| b"),
        ("[id]: javascript:x", r"\[id]: javascript:x"),
    ],
)
def test_markdown_has_no_link_and_no_emphasis_of_foreign_text(text: str, escaped: str) -> None:
    lines = to_markdown(Table("t", text, text, ("a",), [[text]])).splitlines()

    assert lines[6] == f"| {escaped} |"
    for line in (lines[0].removeprefix("## "), lines[2]):
        assert line == escaped.replace("**", r"\*\*")


def test_latex_is_escaped_and_ruled_by_booktabs() -> None:
    lines = to_latex(TABLE).splitlines()

    assert r"\begin{tabular}{lrll}" in lines
    assert r"\toprule" in lines and r"\midrule" in lines and r"\bottomrule" in lines
    assert r"\caption{Odd \& ends. 100 \% of\_it.}" in lines
    assert r"\label{tab:odd-names}" in lines
    assert r"a\_b\textbar{}c & 0.3 & \textbf{1.0524 (1199s)} & yes \\" in lines
    assert r"\textless{}b\textgreater{}\$x\$\textless{}/b\textgreater{} & -- & $\times$2.8 & no \\" in lines
    assert r"line break, comma & -- & -5.9\% & -- \\" in lines
    assert r"back\textbackslash{}slash & 123457 & no result & yes \\" in lines


def test_a_long_heading_is_stacked() -> None:
    table = Table("t", "t", "n", ("ci_low", "name"), [[0.5, "a long name of a task"]])

    assert r"\shortstack[r]{95 \%\\interval\\from} & name \\" in to_latex(table).splitlines()


def test_a_wide_table_is_turned() -> None:
    table = Table("t", "t", "n", tuple("abcdefghijklm"), [["a word"] * 13])

    assert r"\begin{sidewaystable}" in to_latex(table)
    assert r"\begin{landscape}" in to_latex(replace(table, rows=[*table.rows] * 40))


def test_a_table_longer_than_a_page_is_broken_over_pages() -> None:
    table = Table("t", "t", "n", ("n",), [[n] for n in range(61)])

    assert r"\begin{longtable}{r}" in to_latex(table)
    assert r"\begin{tabular}" not in to_latex(table)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (1.5e-7, "1.5e-07"),
        (12345.6, "12346"),
        (7, "7"),
        (1_000_000, "1000000"),
        (math.inf, "inf"),
    ],
)
def test_numbers_are_for_people(value: float, text: str) -> None:
    assert in_words(value) == text


def all_tables(digests: list[Run]) -> list[Table]:
    """Those that are shown and those behind a figure, which may be the same."""
    every = sections(LearnerResults("xgboost", digests))
    behind = [table for built in every for figure in built.content.figures for table in figure.tables]
    return [*(table for built in every for table in built.content.tables), *behind]


def test_every_table_of_a_report_has_distinct_columns_and_whole_rows(by_hand: list[Run]) -> None:
    tables = all_tables(by_hand)

    assert len(tables) > 20
    for table in tables:
        assert len(set(table.columns)) == len(table.columns), table.name
        assert {len(row) for row in table.rows} <= {len(table.columns)}, table.name


def test_tables_of_one_name_are_one_table(many_tasks: list[Run]) -> None:
    tables = all_tables(many_tasks)
    by_name = {table.name: table for table in tables}

    assert len(by_name) < len(tables)  # there are some of one name
    assert [table.name for table in tables if by_name[table.name] != table] == []


def test_the_same_runs_give_the_same_bytes_whatever_their_order(many_tasks: list[Run]) -> None:
    def texts(digests: list[Run]) -> list[str]:
        return [write(table) for table in all_tables(digests) for write in (to_csv, to_markdown, to_latex)]

    assert texts(many_tasks) == texts(many_tasks[::-1])


HEAD = r"\documentclass{article}\usepackage{array,booktabs,graphicx,longtable,pdflscape,rotating}"


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex: apt install texlive-latex-recommended"
)
def test_every_table_of_a_report_compiles_and_fits_on_its_page(
    by_hand: list[Run], many_tasks: list[Run], tmp_path: Path
) -> None:
    long_words = ["0123456789abcdef" * 4, "optuna:" + "sampler" * 8, "several words " * 9, 0.5]
    wide = Table("wide", "Wide", "", tuple(f"a column {i}" for i in range(9)), [[*long_words, *"abcde"]])
    tables = [TABLE, wide, replace(wide, name="long", rows=[*wide.rows] * 80), *all_tables(by_hand)]
    # Each table on a page of its own, and a label once.
    by_name = {table.name: to_latex(table) for table in [*tables, *all_tables(many_tasks)]}
    pages = "\\clearpage\n".join(by_name.values())
    (tmp_path / "t.tex").write_text(rf"{HEAD}\begin{{document}}{pages}\end{{document}}", encoding="utf-8")

    # Without a page that nobody looks at, no fonts are made.
    answer = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert answer.returncode == 0, answer.stdout[-3000:]
    assert [line for line in answer.stdout.splitlines() if "Overfull" in line or "Float too" in line] == []
