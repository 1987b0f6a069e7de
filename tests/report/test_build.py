"""The folder of a report: what is in it, what is drawn again, and that it is the same every time."""

from __future__ import annotations

import importlib
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.records import EndReason
from cfo_bench.report.build import Built, Request, build
from cfo_bench.report.contents import Figure, Table
from cfo_bench.report.library import write_report
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.load import Selection, load
from cfo_bench.report.sections import sections
from tests.report.reading.test_consistency import change

# Figures take a second each: they are drawn where they are what is tested.
TEXT = ("html", "csv", "markdown", "latex")
TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


def report(folder: Path, out: str = "out", **options: Any) -> Built:
    return build(Request(**{"results": folder / "results", "out": folder / out, **options}))


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".cache" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Links(HTMLParser):
    """Every file that a page points at."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src", "data-csv", "data-curves") and value and value[0] != "#":
                self.files.append(value)


def test_the_report_is_whole_and_every_link_leads_to_a_file(by_hand: list[Any], tmp_path: Path) -> None:
    built = report(tmp_path)

    out = tmp_path / "out"
    links = Links()
    links.feed((out / "index.html").read_text(encoding="utf-8"))
    files = {link for link in links.files if not link.startswith("data:")}
    assert len(files) > 40
    assert not [link for link in files if not (out / unquote(link)).is_file()]
    assert {path.suffix for path in built.files} == {*(".html", ".css", ".js", ".csv", ".md", ".tex", ".png")}
    assert "cfo-bench report --format all" in (out / "index.html").read_text(encoding="utf-8")
    assert all(path.is_file() for path in built.files)
    assert built.drawn > 5 and built.kept == 0


def test_a_report_in_all_formats_has_pdf_files_with_links_to_them(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        write_run("t", method, 0, TRIALS)
    built = write_report(tmp_path / "results", tmp_path / "out", formats=["all"])

    pictures = [{path.stem for path in built.files if path.suffix == suffix} for suffix in (".png", ".pdf")]
    assert pictures[0] == pictures[1] and len(pictures[0]) == built.drawn > 0
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "figures/performance.pdf" in page and "--format all" not in page


def test_the_same_traces_give_the_same_bytes(by_hand: list[Any], tmp_path: Path) -> None:
    report(tmp_path, "one", formats=TEXT)
    report(tmp_path, "two", formats=TEXT)

    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_second_report_draws_only_what_has_changed(write_run: Any, tmp_path: Path) -> None:
    for learner in ("dnn", "xgboost"):
        for method in ("cfo", "rs"):
            write_run("t", method, 0, TRIALS, learner=learner)
    first = report(tmp_path, formats=("png",))
    before = content(tmp_path / "out")

    again = report(tmp_path, formats=("png",))
    assert (again.drawn, again.kept) == (0, first.drawn)

    (tmp_path / "out" / "xgboost" / "figures" / "performance.png").unlink()
    assert report(tmp_path, formats=("png",)).drawn == 1
    assert content(tmp_path / "out") == before

    write_run("t", "rs", 0, [*TRIALS, (50, 0.1, 1)])
    changed = report(tmp_path, formats=("png",))
    after = content(tmp_path / "out")
    assert 0 < changed.drawn < first.drawn
    picture = "figures/performance.png"
    assert after[f"dnn/{picture}"] == before[f"dnn/{picture}"]
    assert after[f"xgboost/{picture}"] != before[f"xgboost/{picture}"]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="trace"),
        pytest.param({"baseline": "rs"}, id="baseline", marks=pytest.mark.slow),
        pytest.param({"budget_seconds": 4.0}, id="budget", marks=pytest.mark.slow),
        pytest.param({"selection": Selection(methods=["cfo", "rs"])}, id="methods", marks=pytest.mark.slow),
    ],
)
def test_a_picture_is_never_older_than_its_trace_and_its_options(
    write_run: Any, tmp_path: Path, options: dict[str, Any]
) -> None:
    """Whatever changes, the folder is that of a report made from nothing."""
    for method, loss in (("cfo", 0.2), ("rs", 0.3), ("bohb", 0.25)):
        write_run("t", method, 0, [(1, 0.4, 0.5), (5, loss, 1)])
    report(tmp_path, formats=("png",))

    write_run("t", "rs", 0, [(1, 0.4, 0.5), (5, 0.1, 1)])  # the same size as before
    report(tmp_path, formats=("png",), **options)
    report(tmp_path, "new", formats=("png",), **options)
    assert content(tmp_path / "out") == content(tmp_path / "new")


def test_a_picture_is_never_older_than_its_code(
    write_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run("t", "cfo", 0, TRIALS)
    first = report(tmp_path, formats=("png",))
    monkeypatch.setattr("cfo_bench.report.output._code", lambda: "other code")
    again = report(tmp_path, formats=("png",))
    assert first.drawn > 0 and (again.drawn, again.kept) == (first.drawn, 0)


def test_a_plug_in_s_figure_is_drawn_again_if_its_code_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "drawing_of_a_plug_in.py"
    module.write_text("def draw(): ...", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    figure = Figure("f", "F", "", (), importlib.import_module(module.stem).draw)

    before = figure.fingerprint()
    assert figure.fingerprint() == before
    module.write_text("def draw(): return 1", encoding="utf-8")
    assert figure.fingerprint() != before


def test_a_fingerprint_is_of_all_that_a_picture_is_drawn_with() -> None:
    table = Table("t", "T", "", ("a",), [[1.0]])
    numbers = np.zeros(5000)
    other = numbers.copy()
    other[2500] = 1.0  # where numpy's text has three dots

    def mark(draw: Any, *args: Any, of: Table = table, **keywords: Any) -> str:
        return Figure("f", "F", "", (of,), partial(draw, of, *args, **keywords)).fingerprint()

    draws = [
        mark(max),
        mark(min),
        mark(max, "cfo"),
        mark(max, best="cfo"),
        mark(max, best="rs"),
        mark(max, numbers),
        mark(max, other),
        mark(max, of=replace(table, rows=[[2.0]])),
    ]
    assert len(set(draws)) == len(draws)
    assert mark(max, {"cfo", "rs", "bohb"}) == mark(max, {"bohb", "rs", "cfo"})
    assert mark(max, numbers) == mark(max, numbers.copy())


@pytest.mark.slow
def test_a_picture_of_other_numbers_is_not_taken_for_ours_after_an_interruption(
    write_run: Any, tmp_path: Path
) -> None:
    for method, loss in (("cfo", 0.2), ("rs", 0.3)):
        write_run("t", method, 0, [(1, 0.4, 0.5), (5, loss, 1)])
    report(tmp_path, formats=("png",))
    whole = content(tmp_path / "out")

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "drawing figures" and done == total - 1:
            raise KeyboardInterrupt

    only_rs = Request(
        tmp_path / "results", tmp_path / "out", Selection(methods=["rs"]), baseline="rs", formats=("png",)
    )
    with pytest.raises(KeyboardInterrupt):
        build(only_rs, stop)
    assert content(tmp_path / "out") != whole

    report(tmp_path, formats=("png",))
    assert content(tmp_path / "out") == whole


def test_only_what_was_asked_for_is_made(by_hand: list[Any], tmp_path: Path) -> None:
    built = report(tmp_path, formats=("csv",))

    assert {path.suffix for path in built.files} == {".csv"}
    assert built.drawn == 0


def test_what_an_earlier_report_made_and_this_one_does_not_is_gone(
    by_hand: list[Any], tmp_path: Path
) -> None:
    report(tmp_path, formats=("csv", "latex"))
    (tmp_path / "out" / "my-notes.txt").write_text("mine")
    report(tmp_path, formats=("csv",), selection=Selection(tasks=["beta"]))

    names = content(tmp_path / "out")
    assert not [name for name in names if name.endswith(".tex") or "alpha" in name]
    assert "my-notes.txt" in names


def test_a_report_inside_its_results_does_not_read_itself(by_hand: list[Any], tmp_path: Path) -> None:
    first = report(tmp_path, "results/report", formats=("csv",))
    before = content(tmp_path / "results" / "report")
    report(tmp_path, "results/report", formats=("csv",))

    assert content(tmp_path / "results" / "report") == before
    assert first.overviews[0].tasks == 3


def test_two_learners_are_reported_side_by_side(write_run: Any, tmp_path: Path) -> None:
    for learner in ("xgboost", "dnn"):
        for method in ("cfo", "rs"):
            write_run("t", method, 0, TRIALS, learner=learner)

    built = report(tmp_path, formats=("html", "csv"))

    assert [one.learner for one in built.overviews] == ["dnn", "xgboost"]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert page.count('<article class="learner"') == 2 and '<select id="learner">' in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_what_is_wrong_with_the_runs_stands_at_the_top_of_the_page(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        write_run("t", method, 0, TRIALS)
    write_run("t", "cfo", 1, TRIALS, reason=EndReason.ERROR)
    (tmp_path / "results" / "notes.jsonl").write_text("hello\n")

    built = report(tmp_path, formats=("html",))

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    notices = page[page.index('class="notices"') :].partition("</section>")[0]
    assert "notes.jsonl, line 1 is not a record of a trace" in notices and "it broke" in notices
    assert any("notes.jsonl" in line for line in built.warnings)


def test_many_files_that_can_not_be_read_are_told_in_one_line(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        write_run("t", method, 0, TRIALS)
    for number in range(60):
        (tmp_path / "results" / f"notes-{number:02}.jsonl").write_text("hello\n")

    built = report(tmp_path, formats=("csv",))

    (line,) = (line for line in built.warnings if "notes" in line)
    assert line.startswith("60 files can't be read, and are left out (cfo-bench status names all): ")
    assert "notes-02.jsonl, line 1 is not a record of a trace" in line and line.endswith("; and 57 more")


def test_runs_of_which_none_is_finished_are_refused_in_one_line(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS, reason=None)

    with pytest.raises(UserError, match="no finished runs to report: 1 unfinished run left out"):
        report(tmp_path)
    assert not (tmp_path / "out" / "index.html").exists()


def test_a_baseline_that_was_not_run_is_refused_and_another_replaces_a_missing_cfo(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("rs", "bohb"):
        write_run("t", method, 0, TRIALS)

    with pytest.raises(UnknownNameError, match="unknown baseline 'smac': choose from bohb, rs"):
        report(tmp_path, baseline="smac", formats=("csv",))
    warning = "xgboost: cfo has no finished run, so rs is the baseline: --baseline selects another"
    assert warning in report(tmp_path, formats=("csv",)).warnings


def test_a_learner_of_ones_own_has_its_name_in_tables_unless_two_share_it(
    write_run: Any, tmp_path: Path
) -> None:
    def learners(*folders: str) -> list[str]:
        built = report(tmp_path, formats=("csv",), results=[tmp_path / name for name in folders])
        return [overview.learner for overview in built.overviews]

    for folder in ("results", "others"):
        path = write_run("t", "rs", 0, TRIALS)
        change(path, "spec", learner=f"estimator:{folder}.py:svm")
        target = tmp_path / folder / "svm" / "t" / "rs" / path.name
        target.parent.mkdir(parents=True)
        path.rename(target)

    assert learners("results") == ["svm"]
    assert (tmp_path / "out" / "svm" / "tables").is_dir()
    assert learners("results", "others") == ["estimator:results.py:svm", "estimator:others.py:svm"]


def test_the_methods_of_compare_have_differences_and_speed_ups_and_the_forest_no_headline(
    write_run: Any, tmp_path: Path
) -> None:
    forest = {"trees": 200, "tuning_share": 0.3}
    for fold in (0, 1):
        write_run("t", "cfo-tuned", fold, [(1, 0.4, 0.5), (5, 0.2, 0.5)])
        write_run("t", "tpe", fold, [(2, 0.3, 0.5), (9, 0.25, 0.5)])
        write_run("t", "rs", fold, TRIALS)
        write_run("t", "tuned-rf", fold, [(1, 0.2, 0.5)], options=forest, changed_options=forest)

    built = report(tmp_path, formats=("html", "csv"))

    assert not any("no differences" in line or "no speed-ups" in line for line in built.warnings)
    tables = tmp_path / "out" / "xgboost" / "tables"
    differences = pd.read_csv(tables / "paired-tests.csv")
    assert set(differences["method"]) == {"tpe", "rs"}
    assert set(pd.read_csv(tables / "speed-ups.csv")["method"]) == {"tpe", "rs"}
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "tuning_share" not in page[: page.index("<table")]


def test_an_out_that_can_not_be_made_is_refused_in_one_line(by_hand: list[Any], tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UserError, match="choose another -o"):
        report(tmp_path, "file/out", formats=("csv",))


def test_a_moved_report_still_works(by_hand: list[Any], tmp_path: Path) -> None:
    report(tmp_path, formats=("html", "csv"))
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")

    page = (tmp_path / "elsewhere" / "index.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in page


def test_a_budget_reads_longer_runs_as_if_they_had_ended_then(write_run: Any, tmp_path: Path) -> None:
    for task in ("t", "u", "v"):
        for fold in (0, 1):
            write_run(task, "cfo", fold, [(1, 0.4, 0.5), (3, 0.3, 0.5), (50, 0.1, 0.5)])
            write_run(task, "rs", fold, [(1, 0.4, 0.5), (2, 0.2, 0.5)])

    whole = report(tmp_path, formats=("csv",))
    short = report(tmp_path, formats=("csv",), budget_seconds=4.0)

    assert short.warnings[0] == "12 of 12 runs had longer budgets and are read as if they had ended at 4 s"
    # At 4 s rs has 0.2 and cfo 0.3; at the end cfo has 0.1.
    assert [one.method for one in whole.overviews[0].standings] == ["cfo", "rs"]
    assert [one.method for one in short.overviews[0].standings] == ["rs", "cfo"]


def test_a_method_that_was_given_a_longer_budget_stays_in_the_report(write_run: Any, tmp_path: Path) -> None:
    for task in ("t", "u", "v"):
        for fold in (0, 1):
            write_run(task, "cfo", fold, [(1, 0.4, 0.5), (3, 0.3, 0.5), (50, 0.1, 0.5)])
            for method, loss in (("rs", 0.2), ("tpe", 0.35)):
                change(write_run(task, method, fold, [(2, loss, 0.5)]), "spec", budget_seconds=4.0)

    built = report(tmp_path, formats=("csv",))

    assert [standing.method for standing in built.overviews[0].standings] == ["rs", "cfo", "tpe"]
    assert built.warnings[0] == (
        "3 tasks have runs with different budgets, such as task 't' with xgboost, 4 s (4 runs), 100 s "
        "(2 runs): all runs of a task are read as if they had ended at the largest budget that they share"
    )


def test_references_with_another_budget_scale_the_scores_and_are_no_part_of_the_facts(
    write_run: Any, tmp_path: Path
) -> None:
    for task in ("t", "u", "v"):
        for method, loss in (("cfo", 0.1), ("rs", 0.2)):
            write_run(task, method, 0, [(1, loss, 0.5)])
        for fold in range(3):
            change(write_run(task, "constant", fold, [(0.1, 0.5, 0.1)]), "spec", budget_seconds=2.0)
            change(write_run(task, "tuned-rf", fold, [(1.5, 0.25, 1)]), "spec", budget_seconds=2.0)

    for budget in (None, 1.2):
        (found,) = report(tmp_path, formats=("html", "csv"), budget_seconds=budget).overviews
        assert [(one.method, one.wins) for one in found.standings] == [("cfo", 3), ("rs", 0)]
        page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
        assert f"<li>budget of a run <b>{budget or 100:g} s</b></li>" in page
        # (0.5 - 0.1) / (0.5 - 0.25)
        assert "1.6000 (1s)" in (tmp_path / "out/xgboost/tables/optimality.csv").read_text()


def test_trials_past_the_budget_are_named_at_the_top(write_run: Any, tmp_path: Path) -> None:
    for task in ("t", "u", "v"):
        write_run(task, "cfo", 0, TRIALS)
        write_run(task, "rs", 0, [*TRIALS, (100.5, 0.1, 0.5), (150.0, 0.05, 0.5)])

    for _ in range(2):  # the second report has its digests from the cache
        built = report(tmp_path, formats=("html",))
        assert built.warnings[0] == (
            "xgboost: 6 trials of 3 runs ended past the budget, with a loss that does not count: "
            "t rs fold 0; u rs fold 0; v rs fold 0"
        )
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert built.warnings[0] in page[page.index('class="notices"') :].partition("</section>")[0]


def test_what_is_left_out_stands_at_the_top_with_numbers(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        for fold in range(4):
            write_run("t", method, fold, TRIALS)
    write_run("t", "bohb", 0, TRIALS)

    report(tmp_path, formats=("html",))

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    notices = page[page.index('class="notices"') :].partition("</section>")[0]
    assert "xgboost: 8 of 9 runs are compared" in notices
    assert "bohb on t (1 of 4)" in notices


def test_the_axes_of_virtual_runs_say_so(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        change(write_run("t", method, 0, TRIALS), "spec", clock="virtual")
    results = LearnerResults("xgboost", load(tmp_path / "results").runs)

    figures = [figure for built in sections(results) for figure in built.content.figures]

    labels = {
        axes.get_xlabel()
        for figure in figures
        if figure.name in ("curves-t", "time-to-best", "evaluation-time")
        for axes in figure.draw().axes
    }
    assert labels == {"virtual seconds", "virtual seconds to reach the best score"}


@pytest.mark.parametrize(("clock", "kind"), [("wall", ""), ("virtual", " (virtual)")])
def test_the_facts_say_if_their_times_are_virtual(
    write_run: Any, tmp_path: Path, clock: str, kind: str
) -> None:
    for method in ("cfo", "rs"):
        change(write_run("t", method, 0, TRIALS), "spec", clock=clock)

    report(tmp_path, formats=("html",))

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert f"<li>budget of a run <b>100 s{kind}</b></li>" in page
    assert f"<li>time in all <b>3.3 min{kind}</b></li>" in page


def test_only_tables_that_changed_are_written_again(write_run: Any, tmp_path: Path) -> None:
    for task in ("t", "u"):
        write_run(task, "cfo", 0, TRIALS)
    report(tmp_path, formats=("csv",))
    tables = sorted((tmp_path / "out").rglob("*.csv"))
    for table in tables:
        os.utime(table, (0, 0))
    write_run("u", "cfo", 0, [*TRIALS, (3.0, 0.1, 0.5)])
    report(tmp_path, formats=("csv",))

    written = {table.stem for table in tables if table.stat().st_mtime > 0}
    assert "curves-u" in written and "curves-t" not in written
    kept = content(tmp_path / "out")
    report(tmp_path, out="new", formats=("csv",))
    assert content(tmp_path / "new") == kept


def test_a_table_that_somebody_edited_is_written_again(by_hand: list[Any], tmp_path: Path) -> None:
    report(tmp_path, formats=TEXT)
    before = content(tmp_path / "out")
    for table in (tmp_path / "out").rglob("overview.*"):
        table.write_text("our method is the best", encoding="utf-8")
    report(tmp_path, formats=TEXT)

    assert content(tmp_path / "out") == before


def test_a_table_of_other_numbers_is_not_taken_for_ours_after_an_interruption(
    write_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run("t", "cfo", 0, TRIALS)
    report(tmp_path, formats=("csv",))
    before = content(tmp_path / "out")

    # The second report is interrupted when it has written new tables; the third one is of the old numbers.
    write_run("t", "cfo", 0, [*TRIALS, (3.0, 0.1, 0.5)])
    with monkeypatch.context() as patch:
        patch.setattr("cfo_bench.report.output.Folder.close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            report(tmp_path, formats=("csv",))
    assert content(tmp_path / "out") != before
    write_run("t", "cfo", 0, TRIALS)
    report(tmp_path, formats=("csv",))

    assert content(tmp_path / "out") == before


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_what_is_ignored_in_references_is_a_warning(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "rs"):
        write_run("t", method, 0, [(1, 0.4, 1)])
    theirs = tmp_path / "theirs.csv"
    theirs.write_text("task,metric,score,learner,remark\nt,auc,0.9,,x\nt,auc,0.8,XGBoost,\nt,auc,0.8,dnn,\n")

    built = write_report(tmp_path / "results", tmp_path / "out", references=[theirs], formats=["csv"])

    columns, learner, *_ = built.warnings
    assert columns == f"{theirs}: ignored, as these columns are not known: remark"
    assert learner.startswith("references are left out: unknown learner 'XGBoost': choose from ")
    assert "xgboost: 2 of the 3 references are of other tasks or learners" in built.warnings
