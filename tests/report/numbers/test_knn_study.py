from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import RunSpec, Status
from cfo_bench.report.numbers.paper_tables import findings
from cfo_bench.report.sections.neighbours import figure_of, save_beside
from cfo_bench.results.run import Run
from cfo_bench.results.schema import TrialRecord
from tests.helpers.traces import header_of

HEADER = header_of(RunSpec("knn", "mv", "study", 0, 0), metric="r2")


def study(losses: Sequence[float | None], seconds: Sequence[float] | None = None) -> Run:
    """A study of K = 1, 2, 3, …; the cost grows with K where nothing else is said."""
    trials = [
        TrialRecord(
            number=i,
            config={"k": i + 1},
            rows=None,
            thread=0,
            status=Status.FAILED if loss is None else Status.OK,
            loss=loss,
            score=None,
            started=0.0,
            ended=1.0,
            ask_seconds=0.0,
            fit_seconds=0.5,
            validate_seconds=seconds[i] if seconds else float(i),
            tell_seconds=0.0,
            peak_memory_mb=None,
            error=None,
        )
        for i, loss in enumerate(losses)
    ]
    return Run(Path("study.jsonl"), HEADER, parsed=trials)


def test_the_lowest_loss_is_found_with_its_cost_the_cheapest_of_equals() -> None:
    found = findings(study([3.0, 1.0, 1.0, 2.0, 3.0]))
    assert (found.best_k, found.best_loss, found.best_seconds) == (2, 1.0, 1.5)


def test_a_loss_that_rises_from_the_optimum_on_rises_from_there() -> None:
    found = findings(study([9, 5, 2, 1, 2, 3, 4, 5, 6, 7]))
    assert (found.best_k, found.rises_from) == (4, 4)
    assert found.rank_correlation == pytest.approx(1.0)
    assert str(found).endswith("from K = 4 on it rises with the cost (rank correlation 1.00)")


def test_a_single_loss_that_jitters_does_not_count() -> None:
    assert findings(study([9, 1, 2, 3, 4, 5, 4.9, 6, 7, 8, 9])).rises_from == 2


def test_a_second_valley_moves_the_rise_behind_it() -> None:
    found = findings(study([1, 5, 8, 9, 9, 8, 6, 3, 2, 2, 3, 5, 6, 7, 8]))
    assert found.best_k == 1
    assert found.rises_from is not None and 8 <= found.rises_from <= 11


def test_a_loss_that_falls_to_the_end_never_rises() -> None:
    found = findings(study([9, 8, 7, 6, 5, 4]))
    assert (found.best_k, found.rises_from, found.rank_correlation) == (6, None, None)
    assert "the largest K of the study" in str(found)


def test_seconds_that_do_not_follow_are_not_said_to() -> None:
    found = findings(study([9, 1, 2, 3, 4, 5, 6], seconds=[7, 6, 5, 4, 3, 2, 1]))
    assert found.rank_correlation == pytest.approx(-1.0)
    assert "rises, but not with the cost (rank correlation -1.00)" in str(found)


def test_trials_without_a_loss_are_passed_over() -> None:
    assert findings(study([9, None, 1, 2, 3])).best_k == 3
    with pytest.raises(TraceError, match="no trial of the study has a loss"):
        findings(study([None, None]))


def test_the_figure_has_an_axis_for_the_loss_and_one_for_the_seconds() -> None:
    left, right = figure_of(study([9, 1, 2])).draw().axes
    assert left.get_ylabel() == "validation loss, 1 − r2" and "seconds" in right.get_ylabel()
    assert left.lines[0].get_ydata().tolist() == [9, 1, 2]
    assert right.lines[0].get_ydata().tolist() == [0.5, 1.5, 2.5]


def test_it_is_drawn_as_png_and_pdf_beside_the_trace(tmp_path: Path) -> None:
    png, pdf = save_beside(study([3, 1, 2]), tmp_path / "fold-0_seed-0.jsonl")
    assert (png.name, pdf.name) == ("fold-0_seed-0.png", "fold-0_seed-0.pdf")
    assert png.read_bytes().startswith(b"\x89PNG") and pdf.read_bytes().startswith(b"%PDF")
