"""`report A B` and `status A B`: several results folders as one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cfo_bench import write_report
from cfo_bench.errors import UserError
from cfo_bench.records import EndReason, RunStatus
from cfo_bench.results.status import status
from tests.helpers.traces import write_run

TRIALS = [(10.0, 0.4, 10.0), (60.0, 0.3, 50.0)]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for fold in (0, 1):
        write_run(tmp_path / "a", "iris", "cfo", fold, TRIALS)
        write_run(tmp_path / "b", "iris", "rs", fold, TRIALS)
    return tmp_path / "a", tmp_path / "b"


def test_a_report_of_two_folders_compares_what_is_in_either(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    built = write_report(folders, tmp_path / "out", formats=["csv"])

    (found,) = built.overviews
    assert {one.method for one in found.standings} == {"cfo", "rs"}
    assert (tmp_path / "out" / ".cache").is_dir()
    assert not (folders[0] / "report").exists()


def test_the_same_run_in_two_folders_is_counted_once_and_another_one_is_named(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = folders
    shutil.copytree(a / "xgboost" / "iris" / "cfo", b / "xgboost" / "iris" / "cfo")
    write_run(a, "iris", "rs", 1, [(20.0, 0.35, 20.0)])

    built = write_report([a, b, a], tmp_path / "out", formats=["csv"])

    (same,) = [line for line in built.warnings if "more than once" in line]
    assert same.startswith("2 runs exist") and same.endswith("each is counted once: iris cfo fold 0, 1")
    (other,) = [line for line in built.warnings if "exists twice" in line]
    assert "rs, fold 1" in other
    assert other.endswith("it is left out") and str(a) in other and str(b) in other


def test_several_folders_need_a_place_for_their_report_and_lie_beside_each_other(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(
        UserError, match="2 results folders: name the folder of their report, as in -o report"
    ):
        write_report(folders)
    with pytest.raises(UserError, match=r"is inside .*: give only one of them"):
        write_report([tmp_path, folders[0]], tmp_path / "out")


def test_a_run_in_two_folders_is_as_far_as_where_it_is_farthest(folders: tuple[Path, Path]) -> None:
    a, b = folders
    write_run(a, "iris", "rs", 0, TRIALS, reason=EndReason.INTERRUPTED)

    found = status(a, b)

    assert [run.status for run in found.runs] == [RunStatus.DONE] * 4
    assert {run.status for run in status(a).runs} == {
        RunStatus.DONE, RunStatus.INTERRUPTED, RunStatus.MISSING,
    }  # fmt: skip
