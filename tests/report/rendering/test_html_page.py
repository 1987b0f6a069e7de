"""What stands in the page is text, whatever it holds, and numbers that sort as numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.report.build import Request, build
from cfo_bench.report.contents import Figure, Table
from cfo_bench.report.method_styles import style_of
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.html_page import LearnerPart, Page, alternative
from cfo_bench.report.rendering.html_table import MAX_ROWS, sheet
from cfo_bench.report.rendering.layout import href, prose, table_file
from cfo_bench.report.sections import built_section, final_scores
from cfo_bench.results.run import Run
from tests.helpers.runs import with_settings

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]
SCRIPT = "<script>alert(1)</script>"


def rows(*values: Any) -> Table:
    return Table("t", "Title", "Note.", ("name", "value"), [[f"row {i}", v] for i, v in enumerate(values)])


def html(table: Table) -> str:
    return sheet(table, "t", "", {"cfo": style_of("cfo")})


def test_names_that_are_markup_are_shown_as_text(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", 'rs"><img src=x onerror=alert(1)>'):
        write_run(SCRIPT, method, 0, TRIALS)

    build(Request(tmp_path / "results", tmp_path / "out", formats=("html", "csv")))

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "<img src=x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    (data,) = (tmp_path / "out").rglob("curves/*.js")
    script = data.read_text(encoding="utf-8")
    assert "<" not in script
    _, task = json.loads("[" + script.strip().removeprefix("cfoNumbers(").removesuffix(");") + "]")
    assert task["name"] == SCRIPT


def test_the_page_asks_nothing_of_the_network(by_hand: list[Any], tmp_path: Path) -> None:
    build(Request(tmp_path / "results", tmp_path / "out", formats=("html",)))

    files = [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".html", ".css", ".js")]
    assert {path.suffix for path in files} == {".html", ".css", ".js"}
    for path in files:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.|fetch\(|XMLHttpRequest|import\(", text), path


def test_a_folded_table_says_how_many_rows_it_has() -> None:
    one, many = (sheet(rows(*range(n)), "t", "", {}, folded=True) for n in (1, 1200))

    assert "<span>1 row</span>" in one and "<span>1,200 rows</span>" in many


def test_cells_of_the_optimality_table_sort_from_the_best_to_the_worst() -> None:
    text = html(rows("-5.9%", "**1.0524 (1199s)**", "×2.8", "×12.0", None))

    keys = re.findall(r'data-v="([^"]*)"', text)
    assert keys == ["1000000005.9", "0", "2.8", "12.0", ""]
    assert "<strong>1.0524 (1199s)</strong>" in text


def test_a_column_of_numbers_has_one_number_of_decimals_and_keeps_them_all_to_sort_by() -> None:
    text = html(rows(1.0, 12.3456, 5.25))

    assert re.findall(r'data-v="([^"]*)">([^<]*)<', text) == [
        ("1.0", "1.00"),
        ("12.3456", "12.35"),
        ("5.25", "5.25"),
    ]


def shown(*values: Any) -> list[str]:
    return re.findall(r">([^<]+)</td>", html(rows(*values)))


def test_numbers_small_and_large_keep_their_digits() -> None:
    assert shown(1.5e-7, 2.5e8) == ["1.50e\u221207", "2.50e+08"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.0, 0.00042, 0.25), ["0.00000", "0.00042", "0.25000"]),
        ((-0.0114, -0.0005698, 0.0), ["\u22120.01140", "\u22120.00057", "0.00000"]),
        ((0.04, 1.7e-17, 0.0), ["4.00e\u221202", "1.70e\u221217", "0.00e+00"]),
        ((1234.5, 0.00012), ["1,234.50000", "0.00012"]),
        ((-0.00004, 12.5), ["\u22120.000040", "12.500000"]),
        ((-3, 1_200), ["\u22123", "1,200"]),
    ],
)
def test_the_numbers_of_a_column_are_written_in_one_way(values: tuple[float, ...], texts: list[str]) -> None:
    assert shown(*values) == texts


def test_scores_sort_by_their_number_whether_they_are_the_best_or_not() -> None:
    text = html(
        rows("**0.9687 ± 0.0273**", "0.9573 ± 0.0335", "-0.1200", "no result", "0.9100 (auto-sklearn)")
    )

    assert re.findall(r'data-v="([^"]*)"', text) == ["0.9687", "0.9573", "-0.1200", "0.9100"]
    assert (
        '<td class="best" data-v="0.9687"><strong>0.9687<small> ±\u00a00.0273</small></strong></td>' in text
    )
    assert ">\u22120.1200<" in text and "auto-sklearn" in text


def test_a_long_note_stands_below_its_table_but_for_its_first_sentence() -> None:
    note = "One row for each `method`, over 12 tasks. " + "What a column means. " * 12
    text = html(replace(rows(1), note=note.strip()))

    above, below = text.split("<table")
    assert "One row for each <code>method</code>, over 12 tasks.</p>" in above
    assert "What a column means" not in above and below.count("What a column means.") == 12
    short = html(replace(rows(1), note="One row. And another sentence."))
    assert "One row. And another sentence.</p>" in short.split("<table")[0]
    assert short.endswith("</table></div></div></div>")


def test_a_table_that_is_too_long_for_a_page_says_how_much_is_shown() -> None:
    text = html(rows(*range(MAX_ROWS + 5)))

    assert text.count("<tr>") == MAX_ROWS + 1
    assert f"the first {MAX_ROWS:,} of {MAX_ROWS + 5:,} rows" in text


@pytest.mark.parametrize(("height", "is_long"), [(1300, False), (1400, True)])
def test_a_picture_that_fills_more_than_a_screen_opens_with_a_click(
    by_hand: list[Run], height: int, is_long: bool
) -> None:
    results = LearnerResults("xgboost", by_hand)
    section = built_section(final_scores.FinalScoresSection(), results)
    assert section is not None
    standings = results.overview
    part = LearnerPart("xgboost", standings, [], results.scores, [section], {}, (), [None] * 3)
    picture = str(layout.figure_file("xgboost", "final-scores", "png"))

    found = Page(("html", "png"), lambda file: (1460, height if str(file) == picture else 300)).render(
        [part], []
    )

    shown, _, folded = found.partition('<details class="more"><summary>1 more figure</summary>')
    assert (picture in folded, picture in shown) == (is_long, not is_long)
    assert bool(folded) is is_long


def test_the_sheets_of_one_figure_are_not_torn_apart(many_tasks: list[Run]) -> None:
    results = LearnerResults(
        "xgboost",
        [with_settings(run, task=f"{run.task}{at}") for at in (1, 2) for run in many_tasks],
    )
    section = built_section(final_scores.FinalScoresSection(), results)
    assert section is not None
    standings = results.overview
    part = LearnerPart("xgboost", standings, [], results.scores, [section], {}, (), [None] * 16)
    first, last = (str(layout.figure_file("xgboost", f"final-scores-{n}", "png")) for n in (1, 2))

    # Only the first sheet is full.
    page = Page(("html", "png"), lambda file: (1460, 3000 if str(file) == first else 300)).render([part], [])

    shown, _, folded = page.partition('<details class="more">')
    assert first in folded and last in folded
    assert first not in shown and last not in shown


def test_bands_are_shown_at_first_over_five_folds_and_not_over_five_seeds_of_one(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "rs"):
        for seed in range(5):
            write_run("seeds", method, 0, TRIALS, seed=seed)
            write_run("folds", method, seed, TRIALS, learner="dnn")

    build(Request(tmp_path / "results", tmp_path / "out", formats=("html",)))

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    # The learners stand in the order of their names.
    assert re.findall(r'data-view="band"( checked)?', page) == [" checked", ""]


def test_a_table_without_rows_has_no_place_on_the_page(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        write_run("t", method, 0, TRIALS)

    build(Request(tmp_path / "results", tmp_path / "out", formats=("html", "csv")))

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<tbody>\n\n</tbody>" not in page
    assert (tmp_path / "out" / "xgboost" / "tables" / "missing.csv").is_file()


def test_a_number_stays_on_the_line_of_its_unit() -> None:
    assert prose("5 % of 2 s & 3 seconds, 4 MB") == "5\u00a0% of 2\u00a0s &amp; 3 seconds, 4\u00a0MB"
    assert (
        prose("rs (p = 0.03), bohb (p < 0.001)") == "rs (p\u00a0=\u00a00.03), bohb (p\u00a0&lt;\u00a00.001)"
    )


def drawn_from(table: Table, **others: Any) -> Figure:
    return Figure("f", "Elo ratings", "Higher is better.", (table,), canvas, **others)


def canvas() -> Any:
    raise AssertionError("it need not be drawn")


def test_the_words_for_a_figure_don_t_begin_with_its_title_twice() -> None:
    assert alternative(drawn_from(rows(1), alt="Elo ratings as dots: cfo 1000.")) == (
        "Elo ratings as dots: cfo 1000."
    )
    assert alternative(drawn_from(rows(1), alt="Dots: cfo 1000.")) == "Elo ratings. Dots: cfo 1000."
    sheet_2 = replace(drawn_from(rows(1), alt="Elo ratings as dots."), title="Elo ratings (2/2)")
    assert alternative(sheet_2) == "Elo ratings (2/2) as dots."


def test_a_figure_without_words_of_its_own_tells_all_numbers_of_its_table() -> None:
    table = Table("t", "Title", "", ("method", "tasks", "fit", "idle"), [["cfo", 12, 0.5, 0.25]])

    assert alternative(drawn_from(table)) == "Elo ratings. Higher is better. cfo fit 0.5, idle 0.25."


def test_words_between_backticks_are_code() -> None:
    assert prose("`cfo-bench best` makes <a> `b`.") == (
        "<code>cfo-bench best</code> makes &lt;a&gt; <code>b</code>."
    )


def test_a_name_of_any_kind_is_a_file_and_a_link_to_it() -> None:
    assert str(table_file("xgboost", "curves-a/b?<c>", "csv")) == "xgboost/tables/curves-a%2Fb%3F%3Cc%3E.csv"
    assert href(table_file("xgboost", "a%b", "csv")) == "xgboost/tables/a%2525b.csv"
    assert str(table_file("..", "x", "csv")) == "%2E%2E/tables/x.csv"


ODD_NAMES = ("xgboost", "a/b?<c>", "..", ".", "…", "a b@c+d,e=f~g%h", "名前", "\x1b", "-rf")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_what_a_report_makes_is_known_by_its_name(name: str) -> None:
    files = [layout.table_file(name, name, kind) for kind in layout.TABLE_FORMATS]
    files += [layout.figure_file(name, name, kind) for kind in layout.FIGURE_FORMATS]
    files += [layout.curves_file(name, 1234), layout.asset_file("report.css"), layout.INDEX]

    assert all(layout.is_of_report(str(file)) for file in files)


NOT_OF_A_REPORT = (
    "", ".", "..", "/", "own.txt", "/etc/passwd", "../x/tables/y.csv", "../tables/y.csv", "a/tables/../y.csv",
    "a/tables/b/y.csv", "./tables/y.csv", "a/tables/y.txt", "a/figures/y.csv", "a/tables/y.csv\n", "a\0b",
    ".cache/manifest.json", "assets/mine.js", "assets/../index.html", "a/tables", "a/curves/x.js",
)  # fmt: skip


@pytest.mark.parametrize("name", NOT_OF_A_REPORT)
def test_no_other_name_is_taken_for_one_of_a_report(name: str) -> None:
    assert not layout.is_of_report(name)


def test_a_section_without_tables_and_figures_is_absent_but_for_its_warnings(
    write_run: Any, tmp_path: Path
) -> None:
    # cfo, the baseline, shares no task with rs: there are no speed-ups.
    write_run("t", "cfo", 0, [(1, 0.2, 1)])
    write_run("u", "rs", 0, [(1, 0.2, 1)])
    build(Request(tmp_path / "results", tmp_path / "out", formats=("html",)))

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")

    assert 'id="xgboost-final-scores"' in page and 'id="xgboost-speed-ups"' not in page
    assert "#xgboost-speed-ups" not in page
    notices = page[page.index('class="notices"') :].partition("</section>")[0]
    assert "How much faster: no speed-ups: cfo shares no task with another method" in notices
