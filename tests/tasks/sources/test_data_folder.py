"""The index of a folder of data sets, and what can be wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfo_bench.errors import DataError
from cfo_bench.tasks.sources.data_folder import read_index

HEADER = "name,file,target,problem\n"


def refusal(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_index(folder, "--data-dir")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path / "absent")
    assert "absent" in message and "--data-dir" in message


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    assert "no index.csv" in refusal(tmp_path) and "name, file, target, problem" in refusal(tmp_path)


def test_an_index_without_a_needed_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("name,file\na,a.csv\n")
    assert "has no column target, problem" in refusal(tmp_path)


def test_an_empty_index_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("")
    assert "has no column name, file, target, problem" in refusal(tmp_path)


def test_an_index_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_bytes(b"name\xff\xfe")
    assert "can't be read" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a,a.csv,y,ranking", "problem is 'ranking': choose from binary, multiclass, regression"),
        ("a,,y,binary", "file is empty"),
        ("a,a.csv", "target is empty"),
        ("../a,a.csv,y,binary", "a name can't be '../a'"),
        (".a,a.csv,y,binary", "a name can't be '.a'"),
        ("ok,b.csv,y,binary", "has the name 'ok' twice"),
    ],
)
def test_a_wrong_line_is_refused_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "index.csv").write_text(f"{HEADER}ok,ok.csv,y,binary\n{line}\n")
    assert reason in refusal(tmp_path)


def test_a_relative_file_is_relative_to_the_folder_and_an_absolute_one_is_kept(tmp_path: Path) -> None:
    elsewhere = tmp_path.parent / "b.csv"
    (tmp_path / "index.csv").write_text(f"{HEADER}a,sub/a.csv,y,\nb,{elsewhere},y,\n")
    a, b = read_index(tmp_path, "--data-dir")
    assert a.path == tmp_path / "sub" / "a.csv" and b.path == elsewhere


def test_sizes_that_are_absent_or_no_numbers_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("name,file,target,problem,rows\na,a.csv,y,,many\n")
    (row,) = read_index(tmp_path, "--data-dir")
    assert row.rows is None and row.features is None and row.problem is None
