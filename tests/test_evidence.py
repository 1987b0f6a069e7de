"""The script of docs/evidence.md: what it makes of an archive, and what it prints."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cfo_bench import export_to_archive
from scripts.docs import evidence
from tests.helpers.traces import write_run

PAGE_FOLDER = Path(__file__).resolve().parents[1] / "docs" / "evidence"
SMALL = 200_000  # bytes of an archive that is read and drawn in a few seconds


def archived(docs: Path, study: str, losses: dict[str, dict[str, float]], tmp_path: Path) -> None:
    """An archive with a run for each method and task, each of which reaches its loss after 20 of 100 s."""
    for task, methods in losses.items():
        for method, loss in methods.items():
            write_run(tmp_path / study, task, method, 0, [(1.0, 0.5, 0.5), (20.0, loss, 0.5)])
    (docs / study).mkdir(parents=True)
    export_to_archive(tmp_path / study, docs / study / "runs.parquet")


def scores(folder: Path) -> list[dict[str, str]]:
    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_tables_and_figures_come_from_the_archive_alone(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    archived(docs, "xgboost", {"adult": {"cfo": 0.1, "rs": 0.2}, "kc1": {"cfo": 0.2, "rs": 0.1}}, tmp_path)
    (docs / "xgboost" / "leftover.csv").write_text("of an earlier report")

    evidence.rebuild("xgboost", docs)

    names = {path.name for path in (docs / "xgboost").iterdir()}
    assert {"runs.parquet", "scores.csv", "settings.csv", "regret.png"} < names
    assert "leftover.csv" not in names
    assert [(row["task"], row["rs"], row["cfo"]) for row in scores(docs / "xgboost")] == [
        ("adult", "0.8000", "0.9000"),
        ("kc1", "0.9000", "0.8000"),
    ]


def test_a_report_of_two_archives_reads_the_longer_runs_at_the_shorter_budget(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    archived(docs, "xgboost", {"adult": {"cfo": 0.1, "rs": 0.2}}, tmp_path)
    archived(docs, "xgboost-early", {"adult": {"cfo-0": 0.3}}, tmp_path)

    evidence.rebuild("xgboost-early", docs)

    # After 12 s only the first trial has ended.
    [row] = scores(docs / "xgboost-early")
    assert (row["rs"], row["cfo-0"], row["cfo"]) == ("0.5000", "0.5000", "0.5000")


def test_the_summary_counts_the_cells_of_the_paper_and_names_the_tasks_that_cfo_does_not_win(
    tmp_path: Path,
) -> None:
    docs = tmp_path / "docs"
    losses = {
        "adult": {"cfo": 0.1, "rs": 0.2, "tpe": 0.3},
        "kc1": {"cfo": 0.2, "rs": 0.1, "tpe": 0.05},
    }
    archived(docs, "xgboost", losses, tmp_path)
    evidence.rebuild("xgboost", docs)

    lines = evidence.summary(docs / "xgboost")

    # In the paper, rs is behind cfo on both.
    assert lines[1] == "  rs against cfo: 1 of 2 (50%)"
    assert lines[2] == "  all against cfo: 1 of 2 (50%)"
    assert lines[4:] == [
        "cfo does not reach the best score on 1 tasks:",
        "  kc1 (auc): tpe 0.9500, rs 0.9000, cfo 0.8000 (-33.3%)",
    ]


def cells(folder: Path) -> list[tuple[str, int, int, str | float]]:
    """Every cell of the tables: the name of the file, the row, the column, and a number or text."""
    return [
        (path.name, row, column, number_or_text(text))
        for path in sorted(folder.glob("*.csv"))
        for row, texts in enumerate(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        for column, text in enumerate(texts)
    ]


def number_or_text(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(path.parent.name, marks=() if path.stat().st_size < SMALL else pytest.mark.slow)
        for path in sorted(PAGE_FOLDER.glob("*/runs.parquet"))
    ],
)
def test_the_files_of_the_page_are_those_of_its_archives(study: str, tmp_path: Path) -> None:
    for archive in evidence.STUDIES[study].archives:
        (tmp_path / archive).mkdir()
        (tmp_path / archive / "runs.parquet").symlink_to(PAGE_FOLDER / archive / "runs.parquet")

    evidence.rebuild(study, tmp_path)

    rebuilt, committed = cells(tmp_path / study), cells(PAGE_FOLDER / study)
    assert [cell[:-1] for cell in rebuilt] == [cell[:-1] for cell in committed]
    for now, before in zip(rebuilt, committed, strict=True):
        # The last digits depend on the vector unit of the processor.
        assert now[-1] == (pytest.approx(before[-1]) if isinstance(before[-1], float) else before[-1]), now
