"""Tables from disk: CSV, Parquet and ARFF files become typed columns.

A file that is broken in whatever way is told in one line. The readers start no threads: a run's
process is forked from one that must have none.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pandas as pd

from cfo_bench.errors import DataError
from cfo_bench.tasks.columns import from_pandas
from cfo_bench.tasks.table import Column, check_names

# `@attribute name date "format"`, the name perhaps quoted.
ARFF_DATE = re.compile(r"""(@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)date\b.*""", re.IGNORECASE)


def read_columns(path: Path) -> list[Column]:
    """Every column of a file, in its order."""
    reader = READERS.get(path.suffix.lower())
    if path.is_dir():
        raise DataError(f"{path} is a folder: give a file, or the folder with --data-dir")
    if not path.exists():
        raise DataError(f"no file {str(path)!r}: check the path")
    if reader is None:
        raise DataError(
            f"{path} ends in {path.suffix!r}: files are read by their ending, one of {', '.join(READERS)}"
        )
    try:
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: it needs column names and rows")
        frame = reader(path)
    except (DataError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
    except Exception as error:  # parsers meet broken files with all kinds of exceptions
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path} can't be read as {path.suffix.lower()[1:]}: {reason}") from None
    return [from_pandas(str(name), frame[name], str(path)) for name in frame.columns]


def _csv(path: Path) -> pd.DataFrame:
    """Comma-separated with a header; an empty cell, `?`, and what pandas takes for it, is missing."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next((row for row in csv.reader(file, skipinitialspace=True) if row), [])
    if not header:
        raise DataError(f"{path} is empty: it needs column names and rows")
    if len(header) == 1 and (other := re.search("[;\t|]", header[0])):
        raise DataError(f"{path} seems to be separated by {other[0]!r}: save it with commas")
    # pandas would rename a second `a` to `a.1` in silence.
    check_names(header, str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(
                path,
                encoding="utf-8-sig",
                header=0,
                names=header,
                index_col=False,
                skipinitialspace=True,
                na_values=["?"],
                low_memory=False,
            )
        except pd.errors.ParserWarning:  # pandas would cut the rows off and go on
            raise DataError(
                f"{path} has rows longer than its header of {len(header)} names: mend it"
            ) from None


def _parquet(path: Path) -> pd.DataFrame:
    """What pandas stored as its index is no column, what it stored as a category is one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
        check_names(file.schema_arrow.names, str(path))
        table = file.read(use_threads=False)
    stored = table.schema.pandas_metadata or {"index_columns": [], "columns": []}
    table = table.drop_columns([name for name in stored["index_columns"] if isinstance(name, str)])
    for i, name in enumerate(table.column_names):
        # Parquet keeps categories of text as such, but those of numbers as plain numbers.
        category = any(c["name"] == name and c["pandas_type"] == "categorical" for c in stored["columns"])
        if category and not pa.types.is_dictionary(table.schema.types[i]):
            table = table.set_column(i, name, table.column(i).cast(pa.string()).dictionary_encode())
    # Without pandas' own metadata the columns come in plain dtypes, never in nullable ones.
    frame: pd.DataFrame = table.to_pandas(use_threads=False, ignore_metadata=True, date_as_object=False)
    return frame


def _arff(path: Path) -> pd.DataFrame:
    """Dense or sparse; nominal attributes are categories, `?` is missing."""
    import arff

    with path.open(encoding="utf-8-sig") as file:
        try:
            content = arff.load(_readable_arff(file))
        except arff.BadAttributeName as error:
            raise DataError(f"{path} has two columns of one name ({error}): rename or drop one") from None
    attributes = content["attributes"]
    values = list(zip(*content["data"], strict=True)) or [()] * len(attributes)
    frame = {}
    for (name, kind), column in zip(attributes, values, strict=True):
        dtype = "category" if isinstance(kind, list) else "str" if kind == "STRING" else "float64"
        frame[name] = pd.Series(column, dtype=dtype)
    return pd.DataFrame(frame)


def _readable_arff(lines: Iterable[str]) -> Iterator[str]:
    """The lines with two things mended that liac-arff refuses: tabs between words, and dates."""
    in_header = True
    for line in lines:
        if in_header and line.lstrip().lower().startswith("@attribute"):
            line = ARFF_DATE.sub(r"\1string", line.replace("\t", " "))
        in_header = in_header and not line.lstrip().lower().startswith("@data")
        yield line


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".pq": _parquet,
    ".arff": _arff,
}
