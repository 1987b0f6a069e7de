"""`cfo-bench report` and `cfo-bench status`, on the traces of real runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import WriteRun
from tests.helpers.terminals import on_a_terminal

RUN = (
    "run --learner synthetic --clock virtual --task synthetic-1k --method cfo --method rs "
    "--budget 50 --max-trials 20 --folds 0-1 -q"
)


@pytest.fixture
def results(program: Any, tmp_path: Path) -> Path:
    answer = program(RUN)
    assert answer.returncode == 0, answer.stderr
    return tmp_path / "results"


def test_a_report_prints_who_wins_and_where_to_look(program: Any, results: Path) -> None:
    answer = program("report results --format html,csv")

    assert answer.returncode == 0, answer.stderr
    assert "tasks won" in answer.stdout and "cfo" in answer.stdout
    assert answer.stderr.rstrip().endswith("results/report/index.html")
    assert "reading traces (4)" in answer.stderr
    assert (results / "report" / "index.html").is_file()


@pytest.mark.parametrize(("leads", "is_told"), [("cfo", True), ("", False)])
def test_on_a_terminal_a_report_keeps_to_the_width_and_has_no_empty_column(
    write_run: WriteRun, tmp_path: Path, leads: str, is_told: bool
) -> None:
    methods = ("cfo", "rs", "bohb")
    for task, winner in zip(("one", "two", "three"), methods, strict=True):
        for method in methods:
            write_run(task, method, 0, [(1, 0.4, 1), (5, 0.1 if method == (leads or winner) else 0.2, 1)])

    lines = on_a_terminal(60, "-m", "cfo_bench", "report", tmp_path / "results", "--format", "csv")

    lines = [line.rsplit("\x1b[K", 1)[-1] for line in lines]  # without what stood there before
    assert max(map(len, lines[:-1])) <= 60  # the last is where the report is
    said = " ".join(" ".join(lines).split())
    # Nobody reaches the best score on half of the tasks: then nobody is slower by a factor.
    assert ("slower" in said) == ("Slower by:" in said) == is_told


def test_a_budget_on_the_command_line_is_a_time(program: Any, results: Path) -> None:
    answer = program("report results --format csv --budget 10s --json -o elsewhere")

    assert answer.returncode == 0, answer.stderr
    assert (results.parent / "elsewhere" / "synthetic" / "tables" / "normalised-scores.csv").is_file()
    rows = (results.parent / "elsewhere/synthetic/tables/normalised-scores.csv").read_text().splitlines()
    assert {row.rsplit(",", 1)[1] for row in rows[1:]} == {"10.0"}


def test_json_is_all_that_stands_on_stdout(program: Any, results: Path) -> None:
    answer = program("report results --format csv --json -o elsewhere")

    found = json.loads(answer.stdout)
    assert found["out"] == "elsewhere"
    (learner,) = found["learners"]
    assert {one["method"] for one in learner["standings"]} == {"cfo", "rs"}
    assert all(Path(file).suffix == ".csv" for file in found["files"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("nowhere", "no folder 'nowhere'"),
        ("results --format word", "unknown format 'word': choose from all, csv, html"),
        ("results --format ,", "--format names nothing"),
        ("results --method smac", "unknown method in these results 'smac': choose from cfo, rs"),
        ("results --baseline smac", "unknown baseline 'smac'"),
        ("results --format csv --open", "--open needs html"),
        (
            "results --budget soon",
            "--budget 'soon' is not a time: write seconds above 0, or a time such as 90s",
        ),
        (
            "results --budget 2m",
            "no finished runs to report: 4 of 4 runs left out, as their budget is below 120",
        ),
        ("results --references nowhere.csv", "can't read the references 'nowhere.csv': No such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    program: Any, results: Path, arguments: str, said: str
) -> None:
    answer = program(f"report {arguments}")

    assert answer.returncode == 2
    line = answer.stderr.strip().splitlines()[-1]
    assert said in line and "Traceback" not in answer.stderr
    assert answer.stdout == ""


def test_scores_of_others_stand_beside_ours(program: Any, results: Path, tmp_path: Path) -> None:
    metric = json.loads(next(results.rglob("*.jsonl")).read_bytes().splitlines()[0])["metric"]
    (tmp_path / "theirs.csv").write_text(f"task,metric,score,source\nsynthetic-1k,{metric},0.5,a blog\n")

    answer = program("report results --references theirs.csv --references paper --format csv")

    assert answer.returncode == 0, answer.stderr
    (table,) = (results / "report").rglob("final-scores.csv")
    assert "0.5,a blog" in table.read_text()
    assert "published test scores" in answer.stderr


def test_a_mistake_in_the_references_names_file_line_and_value(
    program: Any, results: Path, tmp_path: Path
) -> None:
    (tmp_path / "theirs.csv").write_text("task,metric,score,source\nadult,auc,93,me\n")

    answer = program("report results --references theirs.csv")

    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1].endswith(
        "theirs.csv, line 2: auc '93' is outside 0 to 1: write a share, not percent"
    )


def test_the_importance_of_hyperparameters_is_computed_on_request(program: Any, results: Path) -> None:
    answer = program("report results --importance --format csv")

    assert answer.returncode == 0, answer.stderr
    (table,) = (results / "report").rglob("importance.csv")
    head, row = table.read_text().splitlines()
    assert head.startswith("task,") and head.endswith("interactions,trials_used,trials")
    assert row.startswith("synthetic-1k,") and row.endswith(",80,80")


def test_status_tells_what_is_done_and_what_is_missing(program: Any, results: Path) -> None:
    (gone,) = results.rglob("rs/fold-1_seed-0.jsonl")
    gone.unlink()
    (cut,) = results.rglob("cfo/fold-1_seed-0.jsonl")
    cut.write_bytes(b"\n".join(cut.read_bytes().splitlines()[:-1]) + b"\n")
    asked = json.loads(program("status results --json").stdout)
    assert sorted(run["progress"] for run in asked) == ["done", "done", "interrupted", "waiting"]
    (results / "runs.plan").unlink()  # what was not asked for is not waiting

    answer = program("status results")

    assert answer.returncode == 0
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert ["all", "2", "1", "1"] in rows
    assert "synthetic-1k rs fold 1" in answer.stdout.partition("missing:")[2]
    runs = json.loads(program("status results --json").stdout)
    assert sorted(run["progress"] for run in runs) == ["done", "done", "interrupted", "missing"]


def test_a_folder_without_results_has_no_status(program: Any, tmp_path: Path) -> None:
    answer = program("status")

    assert answer.returncode == 2
    assert "no folder 'results'" in answer.stderr


def test_a_report_can_be_made_of_a_read_only_folder(program: Any, results: Path, tmp_path: Path) -> None:
    shutil.move(results, tmp_path / "kept")
    for path in (tmp_path / "kept").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)

    answer = program("report kept -o out --format csv")

    assert answer.returncode == 0, answer.stderr
    assert list((tmp_path / "out").rglob("optimality.csv"))
