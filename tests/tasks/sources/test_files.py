"""CSV, Parquet and ARFF files, whole and broken."""

from __future__ import annotations

import math
import tempfile
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import DataError
from cfo_bench.tasks import file_ref, inspect
from cfo_bench.tasks.columns import Column, ColumnKind
from cfo_bench.tasks.sources.files import assumptions, read_columns


def columns_of(path: Path, content: str | bytes) -> dict[str, Column]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return {column.name: column for column in read_columns(path)}


def refusal(path: Path, content: str | bytes | None = None) -> str:
    """The one line that a file is refused with."""
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read_columns(path)
    message = str(caught.value)
    assert "\n" not in message and path.name in message
    return message


# --- any file -----------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no file" in refusal(tmp_path / "absent.csv")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.csv").mkdir()
    assert "is a folder" in refusal(tmp_path / "data.csv")


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.csv.gz"])
def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    assert ".csv, .tsv, .parquet, .pq, .arff" in refusal(tmp_path / name, "a,y\n1,2\n")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arff"])
def test_a_file_of_no_bytes_is_refused(tmp_path: Path, ending: str) -> None:
    assert "is empty" in refusal(tmp_path / f"data.{ending}", b"")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arff"])
def test_bytes_that_are_no_table_are_refused(tmp_path: Path, ending: str) -> None:
    noise = np.random.default_rng(0).bytes(5000)
    refusal(tmp_path / f"data.{ending}", b"\xff" + noise)


def test_the_ending_may_be_in_capitals(tmp_path: Path) -> None:
    assert list(columns_of(tmp_path / "DATA.CSV", "a,y\n1,2\n")) == ["a", "y"]


# --- CSV ----------------------------------------------------------------------------------------


def test_csv_columns_are_typed_by_what_they_hold(tmp_path: Path) -> None:
    columns = columns_of(
        tmp_path / "data.csv",
        "whole,real,flag,text,day\n1,0.5,True,red,2024-02-29\n,-1e3,False,,\n3,?,True,blue,1970-01-02\n",
    )
    kinds = {name: column.kind for name, column in columns.items()}
    assert kinds == {
        "whole": ColumnKind.NUMBER,
        "real": ColumnKind.NUMBER,
        "flag": ColumnKind.NUMBER,
        "text": ColumnKind.CATEGORY,
        "day": ColumnKind.DATE,
    }
    np.testing.assert_array_equal(columns["whole"].values, [1, math.nan, 3])
    np.testing.assert_array_equal(columns["real"].values, [0.5, -1000, math.nan])
    np.testing.assert_array_equal(columns["flag"].values, [1, 0, 1])
    np.testing.assert_array_equal(columns["text"].values, [1, -1, 0])
    assert columns["text"].labels == ("blue", "red")
    np.testing.assert_array_equal(columns["day"].values, [19782, math.nan, 1])


def test_csv_numbers_are_read_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=2000) * 10.0 ** rng.integers(-200, 200, 2000)
    text = "a\n" + "\n".join(map(repr, numbers.tolist())) + "\n"
    np.testing.assert_array_equal(columns_of(tmp_path / "data.csv", text)["a"].values, numbers)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    columns = columns_of(tmp_path / "data.csv", "\ufeffa,y\r\n1,2\r\n")
    assert list(columns) == ["a", "y"] and columns["y"].values.tolist() == [2]


def test_spaces_after_commas_do_not_count(tmp_path: Path) -> None:
    columns = columns_of(tmp_path / "data.csv", 'a, text\n1, red\n2, "red"\n3, ?\n')
    assert columns["text"].labels == ("red",) and columns["text"].values.tolist() == [0, 0, -1]


def test_two_csv_columns_of_one_name_keep_it_and_are_refused_unless_they_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,y,a,b\n" + "1,0,red,2\n5,1,blue,6\n" * 20)
    assert [(c.name, c.kind.value) for c in read_columns(path)] == [
        ("a", "number"), ("y", "number"), ("a", "category"), ("b", "number"),
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"column 'a' occurs 2 times: rename .* leave all .* --drop a"):
        inspect(file_ref(path, "y"), 2)
    assert inspect(file_ref(path, "y", drop=["a"]), 2).n_features == 1


def test_a_csv_column_called_like_pandas_renaming_is_kept(tmp_path: Path) -> None:
    assert list(columns_of(tmp_path / "data.csv", "a,a.1\n1,2\n")) == ["a", "a.1"]


def test_a_csv_column_without_a_name_is_refused(tmp_path: Path) -> None:
    assert "column 1 has no name" in refusal(tmp_path / "data.csv", ",a,y\n0,1,2\n")


@pytest.mark.parametrize(
    ("file", "separator", "name"),
    [
        ("data.csv", ";", "semicolons"),
        ("data.csv", "\t", "tabs"),
        ("data.tsv", "\t", "tabs"),
        ("data.csv", "|", "vertical bars"),
    ],
)
def test_another_separator_than_the_comma_is_read_and_reported(
    tmp_path: Path, file: str, separator: str, name: str
) -> None:
    path = tmp_path / file
    columns = columns_of(path, 'a,t,y\n1,"x,y",2\n3,z,4\n'.replace(",", separator).replace("x;y", "x,y"))
    assert list(columns) == ["a", "t", "y"] and columns["y"].values.tolist() == [2, 4]
    assert assumptions(path) == [f"{file} is read as separated by {name}"]


def test_decimal_commas_are_numbers_in_every_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces_of(2, 3, monkeypatch)
    path = tmp_path / "data.csv"
    columns = columns_of(path, "Preis, EUR;Menge;Art\n" + "1,5;-2;a\n0,25;3;b\n;4,75;c\n" * 4)
    assert columns["Preis, EUR"].values[:2].tolist() == [1.5, 0.25]
    assert columns["Menge"].values[:3].tolist() == [-2, 3, 4.75]
    assert columns["Art"].labels == ("a", "b", "c")
    assert assumptions(path) == ["data.csv is read as separated by semicolons, with decimal commas"]


def test_decimal_commas_are_seen_in_powers_of_ten_and_beside_a_point_they_are_text(tmp_path: Path) -> None:
    small, mixed = (columns_of(tmp_path / "data.csv", f"a;b\n1,5E-03;2\n{a}e-05;3\n") for a in ("2,5", "2.5"))
    assert small["a"].values.tolist() == [1.5e-3, 2.5e-5] and set(mixed["a"].labels) == {"1,5E-03", "2.5e-05"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_form_of_a_file_is_seen_if_its_header_is_longer_than_what_is_looked_at(
    tmp_path: Path, encoding: str
) -> None:
    header = ";".join(f"feature {i}" for i in range(9000))
    content = f"{header}\n" + f"{'0,5;' * 8999}1\n" * 3
    columns = columns_of(tmp_path / "data.csv", content.encode(encoding))
    assert len(columns) == 9000 and columns["feature 8998"].values.tolist() == [0.5] * 3


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read_and_reported(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "data.csv"
    mark = "" if encoding == "utf-16" else "\ufeff"
    columns = columns_of(path, (mark + "größe\ty\r\n1,5\tü\r\n2,5\tß\r\n").encode(encoding))
    assert columns["größe"].values.tolist() == [1.5, 2.5] and columns["y"].labels == ("ß", "ü")
    assert assumptions(path) == ["data.csv is read as UTF-16 text, separated by tabs, with decimal commas"]


@pytest.mark.parametrize(
    "content",
    [
        "a;b,y\n1,2\n3,4\n",  # a semicolon in a name
        "text,y\na;b;c,1\nd;e;f,2\n",
        "a\n1\n",
        "a,y\n1,2\n3\n",  # a short row
        'a,y\n"x\n;;",2\n',
    ],
)
def test_commas_that_separate_are_no_assumption(tmp_path: Path, content: str) -> None:
    path = tmp_path / "data.csv"
    assert len(columns_of(path, content)) == content.splitlines()[0].count(",") + 1
    assert assumptions(path) == []


def test_a_file_that_begins_as_another_one_ends_is_still_read_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = "".join(f"{i};{i},5;{'word ' * 40}\n" for i in range(1000))  # longer than what is looked at
    columns = columns_of(path, f"a;b;c\n{rows}")
    assert columns["b"].values[-1] == 999.5


@pytest.mark.parametrize("row", ["1,2,3", "1,2\n1,2,3", '1,"2\n1,2'])
def test_rows_that_do_not_fit_the_header_are_refused(tmp_path: Path, row: str) -> None:
    refusal(tmp_path / "data.csv", f"a,y\n{row}\n")


def test_text_in_another_encoding_is_told(tmp_path: Path) -> None:
    assert "not UTF-8" in refusal(tmp_path / "data.csv", "a,y\n1,é\n".encode("latin-1"))


def test_blank_lines_alone_are_an_empty_csv(tmp_path: Path) -> None:
    assert "is empty" in refusal(tmp_path / "data.csv", "\n\n")


def pieces_of(rows: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfo_bench.tasks.sources.files.CELLS_AT_ONCE", rows * columns)


CELLS = st.sampled_from(["1", "2.50", "-3", "", "?", "red", "2024-02-29", "1970-01-02", " 7", '"a,b"', "1e5"])
PLAIN = st.sampled_from(["1", "2.5", "", "?"])
TEXTS = st.sampled_from(["red", "blue", "", "10", "9"])
DAYS = st.sampled_from(["2024-02-29", "1970-01-02", ""])


@given(st.lists(st.tuples(PLAIN, TEXTS, DAYS), min_size=1, max_size=20), st.integers(1, 7))
def test_csv_read_in_pieces_is_csv_read_at_once(rows: list[tuple[str, ...]], at_once: int) -> None:
    assert_pieces_agree(rows, at_once)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12), st.integers(1, 5))
def test_csv_of_mixed_cells_read_in_pieces_keeps_every_label_as_it_is_written(
    rows: list[tuple[str, ...]], at_once: int
) -> None:
    assert_pieces_agree(rows, at_once)


def assert_pieces_agree(rows: list[tuple[str, ...]], at_once: int) -> None:
    names = "abc"[: len(rows[0])]
    text = "\n".join([",".join(names), *map(",".join, rows)]) + "\n"
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        whole = columns_of(Path(folder) / "data.csv", text)
        pieces_of(at_once, len(names), monkeypatch)
        pieces = columns_of(Path(folder) / "data.csv", text)
    for name in names:
        assert pieces[name].kind is whole[name].kind and pieces[name].labels == whole[name].labels
        np.testing.assert_array_equal(pieces[name].values, whole[name].values)
        assert pieces[name].values.dtype == whole[name].values.dtype


def test_numbers_before_late_text_are_labels_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces_of(2, 2, monkeypatch)
    columns = columns_of(
        tmp_path / "data.csv", "a,y\n1.0,1\n01,2\n?,3\n,4\n2024-01-01,5\n2024-01-02,6\nlate,7\n"
    )
    assert columns["a"].labels == ("01", "1.0", "2024-01-01", "2024-01-02", "late")
    assert columns["a"].values.tolist() == [1, 0, -1, -1, 2, 3, 4]
    assert columns["y"].values.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_a_row_that_is_too_long_is_refused_in_any_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces_of(2, 2, monkeypatch)
    refusal(tmp_path / "data.csv", "a,y\n" + "1,2\n" * 9 + "1,2,3\n")


def test_a_csv_header_without_rows_has_columns_without_values(tmp_path: Path) -> None:
    assert {
        name: len(column.values) for name, column in columns_of(tmp_path / "data.csv", "a,y\n").items()
    } == {
        "a": 0,
        "y": 0,
    }


# --- Parquet ------------------------------------------------------------------------------------


def test_a_cut_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": range(1000), "y": range(1000)}).to_parquet(path)
    whole = path.read_bytes()
    for kept in (4, len(whole) // 2, len(whole) - 1):
        assert "can't be read as parquet" in refusal(path, whole[:kept])


def test_a_parquet_file_with_damaged_pages_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": np.arange(5000.0)}), path, write_page_checksum=True)
    whole = bytearray(path.read_bytes())
    whole[100] ^= 1
    assert "can't be read as parquet" in refusal(path, bytes(whole))


def test_duplicate_parquet_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    assert refusal(path).endswith("column 'a' occurs 2 times: rename them in the file")


def test_a_stored_pandas_index_is_no_column(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": [1, 2], "y": [3, 4]}, index=[7, 9]).to_parquet(path)
    assert [column.name for column in read_columns(path)] == ["a", "y"]


def test_categories_of_numbers_stay_categories_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"zip": pd.Categorical([10, None, 9])}).to_parquet(path)
    (column,) = read_columns(path)
    assert column.kind is ColumnKind.CATEGORY
    assert column.labels == ("9", "10") and column.values.tolist() == [1, -1, 0]


def test_parquet_is_the_same_read_column_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.parquet"
    frame = pd.DataFrame(
        {
            "a": [1.5, None, 3.0] * 10,
            "a.b": pd.Categorical(["x", None, "y"] * 10),
            "a.b.c": ["2024-02-29", "1970-01-02", None] * 10,
            "zip": pd.Categorical([10, 9, None] * 10),
            "y": range(30),
        }
    )
    frame.to_parquet(path, row_group_size=7)
    whole = read_columns(path)
    monkeypatch.setattr("cfo_bench.tasks.sources.files.CELLS_AT_ONCE", 1)
    single = read_columns(path)
    assert [(c.name, c.kind, c.labels) for c in single] == [(c.name, c.kind, c.labels) for c in whole]
    assert [column.name for column in whole] == list(frame.columns)
    for column, other in zip(single, whole, strict=True):
        np.testing.assert_array_equal(column.values, other.values)


def test_reading_parquet_leaves_no_thread_behind(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": range(100_000), "b": ["x", "y"] * 50_000}).to_parquet(path)
    tasks = Path("/proc/self/task")
    before = len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()
    read_columns(path)
    after = len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()
    assert after <= before


# --- ARFF ---------------------------------------------------------------------------------------

ARFF = """% a comment
@RELATION mixed
@attribute size numeric
@attribute\tcolour\t{red, green, 'deep blue'}
@attribute 'bought on' date 'yyyy-MM-dd'
@attribute remark string
@attribute count integer
@data
"""


def test_a_dense_arff_file_is_read(tmp_path: Path) -> None:
    columns = columns_of(
        tmp_path / "data.arff",
        ARFF + "1.5,green,2020-01-01,hi,3\n?,?,?,?,?\n-2,'deep blue',1970-01-01,lo,4\n",
    )
    np.testing.assert_array_equal(columns["size"].values, [1.5, math.nan, -2])
    assert columns["colour"].labels == ("deep blue", "green")
    assert columns["colour"].values.tolist() == [1, -1, 0]
    np.testing.assert_array_equal(columns["bought on"].values, [18262, math.nan, 0])
    assert columns["remark"].labels == ("hi", "lo")
    np.testing.assert_array_equal(columns["count"].values, [3, math.nan, 4])


def test_a_sparse_arff_file_is_read_with_zero_and_the_first_category_left_out(tmp_path: Path) -> None:
    header = "@relation r\n@attribute a numeric\n@attribute c {no,yes}\n@attribute b numeric\n@data\n"
    columns = columns_of(tmp_path / "data.arff", header + "{0 2.5}\n{1 yes, 2 ?}\n{}\n")
    assert columns["a"].values.tolist() == [2.5, 0, 0]
    assert [columns["c"].labels[code] for code in columns["c"].values] == ["no", "yes", "no"]
    np.testing.assert_array_equal(columns["b"].values, [0, math.nan, 0])


@pytest.mark.parametrize(
    "content",
    [
        "no arff at all",
        "@relation r\n@attribute a blob\n@data\n1\n",
        ARFF + "1,purple,2020-01-01,x,1\n",
        ARFF + "1,red\n",
        ARFF + "one,red,2020-01-01,x,1\n",
    ],
)
def test_a_broken_arff_file_is_refused(tmp_path: Path, content: str) -> None:
    assert "can't be read as arff" in refusal(tmp_path / "data.arff", content)


def test_duplicate_arff_attributes_are_refused(tmp_path: Path) -> None:
    content = "@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n"
    message = refusal(tmp_path / "data.arff", content)
    assert "two columns of one name" in message and message.endswith("rename one in the file")
