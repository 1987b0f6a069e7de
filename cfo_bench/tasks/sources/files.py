"""Reads CSV, Parquet and ARFF files into typed columns.

A file that can't be read is an error of one line. The readers start no threads, since the processes of
runs are forked from the one that reads.
"""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cfo_bench.errors import DataError
from cfo_bench.files.writing import open_regular
from cfo_bench.tasks.columns import Column, check_names
from cfo_bench.tasks.from_pandas import from_pandas, joined, labelled
from cfo_bench.tasks.sources import DATA_FORMATS

# A big file is read in pieces of this many cells, so that the parser needs little memory.
CELLS_AT_ONCE = 200_000

# `@attribute name date "format"`, the name perhaps quoted.
ARFF_DATE = re.compile(r"""(@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)date\b.*""", re.IGNORECASE)


def read_columns(path: Path) -> list[Column]:
    """Every column of a file, in its order."""
    format_name = DATA_FORMATS.get(path.suffix.lower())
    if os.path.isdir(path):
        raise DataError(f"{path} is a folder: give a file, or the folder with --data-dir")
    if not os.path.exists(path):
        raise DataError(f"no file {str(path)!r}: check the path")
    if format_name is None:
        raise DataError(
            f"{path} ends in {path.suffix!r}: the ending has to be one of {', '.join(DATA_FORMATS)}"
        )
    try:
        with open_regular(path):  # the readers below would wait for a pipe without end
            pass
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: it needs column names and rows")
        return list(READERS[format_name](path))
    except (DataError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
    except Exception as error:  # parsers raise all kinds of exceptions on broken files
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path} can't be read as {format_name}: {reason}") from None


def _csv(path: Path) -> Iterator[Column]:
    """Comma-separated with a header. Empty cells, `?` and what pandas reads as missing are missing."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next((row for row in csv.reader(file, skipinitialspace=True) if row), [])
    if not header:
        raise DataError(f"{path} is empty: it needs column names and rows")
    if len(header) == 1 and (other := re.search("[;\t|]", header[0])):
        raise DataError(f"{path} seems to be separated by {other[0]!r}: save it with commas")
    # pandas would rename a second `a` to `a.1` in silence.
    check_names(header, str(path))
    pieces = _csv_pieces(path, header)
    whole = {name: joined(pieces.pop(name)) for name in header}
    # If one piece has numbers or dates and another has text, the whole column is read again as labels.
    texts = [name for name, column in whole.items() if column is None]
    pieces = _csv_pieces(path, header, texts) if texts else {}
    for name in header:
        column = whole.pop(name) or joined(pieces.pop(name))
        assert column is not None  # labels are of one kind
        yield column


def _csv_pieces(path: Path, header: list[str], texts: Sequence[str] = ()) -> dict[str, list[Column]]:
    """Every column in pieces of some rows, typed by what they hold; with `texts`, these columns as labels."""
    options: dict[str, Any] = {"usecols": texts, "dtype": "str"} if texts else {}
    typed = labelled if texts else from_pandas
    pieces: dict[str, list[Column]] = {name: [] for name in texts or header}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            with pd.read_csv(
                path,
                encoding="utf-8-sig",
                header=0,
                names=header,
                index_col=False,
                skipinitialspace=True,
                na_values=["?"],
                low_memory=False,
                chunksize=max(1, CELLS_AT_ONCE // len(header)),
                **options,
            ) as frames:
                for frame in frames:
                    for name, column in pieces.items():
                        column.append(typed(name, frame[name], str(path)))
        except pd.errors.ParserWarning:  # pandas would cut the rows off silently
            raise DataError(
                f"{path} has rows longer than its header of {len(header)} names: mend it"
            ) from None
    return pieces


def _parquet(path: Path) -> Iterator[Column]:
    """An index that pandas stored is left out. A column that pandas stored as a category is a category."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
        check_names(file.schema_arrow.names, str(path))
        stored = file.schema_arrow.pandas_metadata or {"index_columns": [], "columns": []}
        names = [name for name in file.schema_arrow.names if name not in stored["index_columns"]]
        categories = {
            column["name"] for column in stored["columns"] if column["pandas_type"] == "categorical"
        }
        at_once = max(1, CELLS_AT_ONCE // max(file.metadata.num_rows, 1))
        for some in (names[i : i + at_once] for i in range(0, len(names), at_once)):
            # For a name with a dot, pyarrow may read other columns too: select once more.
            table = file.read(some, use_threads=False).select(some)
            for i, name in enumerate(some):
                # Parquet keeps categories of text as categories, but those of numbers as numbers.
                if name in categories and not pa.types.is_dictionary(table.schema.types[i]):
                    table = table.set_column(i, name, table.column(i).cast(pa.string()).dictionary_encode())
            # Without pandas' own metadata the columns come in plain dtypes, never in nullable ones.
            frame = table.to_pandas(use_threads=False, ignore_metadata=True, date_as_object=False)
            del table
            yield from (from_pandas(name, frame[name], str(path)) for name in some)
            del frame
            pa.default_memory_pool().release_unused()


def _arff(path: Path) -> Iterator[Column]:
    """Dense or sparse; nominal attributes are categories, `?` is missing."""
    import arff

    with path.open(encoding="utf-8-sig") as file:
        try:
            content = arff.load(_readable_arff(file))
        except arff.BadAttributeName as error:
            raise DataError(f"{path} has two columns of one name ({error}): rename or drop one") from None
    attributes = content["attributes"]
    values = list(zip(*content["data"], strict=True)) or [()] * len(attributes)
    for (name, kind), column in zip(attributes, values, strict=True):
        dtype = "category" if isinstance(kind, list) else "str" if kind == "STRING" else "float64"
        yield from_pandas(name, pd.Series(column, dtype=dtype), str(path))


def _readable_arff(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with two things changed that liac-arff refuses: tabs between words, and dates."""
    in_header = True
    for line in lines:
        if in_header and line.lstrip().lower().startswith("@attribute"):
            line = ARFF_DATE.sub(r"\1string", line.replace("\t", " "))
        in_header = in_header and not line.lstrip().lower().startswith("@data")
        yield line


READERS: dict[str, Callable[[Path], Iterator[Column]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "arff": _arff,
}
