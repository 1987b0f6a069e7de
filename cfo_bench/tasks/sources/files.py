"""Reads CSV, Parquet and ARFF files into typed columns.

A file that cannot be read is a one-line error. The readers start no threads, because the processes of runs
are forked from the process that reads.
"""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cfo_bench.errors import DataError
from cfo_bench.files.writing import open_regular
from cfo_bench.tasks.columns import Column, check_named, check_names
from cfo_bench.tasks.from_pandas import from_pandas, joined, labelled
from cfo_bench.tasks.sources import DATA_FORMATS

# A large file is read in pieces of this many cells, so that the parser needs little memory.
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
        with open_regular(path):  # the readers below would wait for a pipe forever
            pass
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: it needs column names and rows")
        return list(READERS[format_name](path))
    except (DataError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        name = "UTF-16" if error.encoding.startswith("utf-16") else "UTF-8"
        raise DataError(f"{path} is not {name} text (byte {error.start}): save it as UTF-8") from None
    except Exception as error:  # parsers raise all kinds of exceptions on broken files
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path} can't be read as {format_name}: {reason}") from None


def _csv(path: Path) -> Iterator[Column]:
    """Cells with a header. Empty cells, `?` and what pandas reads as missing are missing."""
    form = csv_form(str(path))
    with path.open(encoding=form["encoding"], newline="") as file:
        rows = csv.reader(file, delimiter=form["sep"], skipinitialspace=True)
        header = next((row for row in rows if row), [])
    if not header:
        raise DataError(f"{path} is empty: it needs column names and rows")
    check_named(header, str(path))
    pieces = _csv_pieces(path, header, form)
    whole = {place: joined(pieces.pop(place)) for place in range(len(header))}
    # If one piece has numbers or dates and another has text, the whole column is read again as labels.
    texts = [place for place, column in whole.items() if column is None]
    pieces = _csv_pieces(path, header, form, texts) if texts else {}
    for place in range(len(header)):
        column = whole.pop(place) or joined(pieces.pop(place))
        assert column is not None  # all pieces are labels
        yield column


def _csv_pieces(
    path: Path, header: list[str], form: Mapping[str, Any], texts: Sequence[int] = ()
) -> dict[int, list[Column]]:
    """Every column in pieces of rows, with types that depend on their values; the columns in `texts` as
    labels.

    Columns are identified by their positions, because pandas would silently rename a second `a` to `a.1`.
    """
    options: dict[str, Any] = {"usecols": texts, "dtype": "str"} if texts else {}
    typed = labelled if texts else from_pandas
    pieces: dict[int, list[Column]] = {place: [] for place in texts or range(len(header))}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            with pd.read_csv(
                path,
                **form,
                header=0,
                names=list(range(len(header))),
                index_col=False,
                skipinitialspace=True,
                na_values=["?"],
                low_memory=False,
                chunksize=max(1, CELLS_AT_ONCE // len(header)),
                **options,
            ) as frames:
                for frame in frames:
                    for place, column in pieces.items():
                        column.append(typed(header[place], frame[place], str(path)))
        except pd.errors.ParserWarning:  # pandas would cut the rows off silently
            raise DataError(
                f"{path} has rows longer than its header of {len(header)} names: correct them"
            ) from None
    return pieces


def csv_form(path: str) -> dict[str, str]:
    """The encoding, the separator and the decimal sign of a file, as `pandas.read_csv` takes them.

    The separator is the one of comma, semicolon, tab and vertical bar that gives the first rows the same
    number of cells, and the most; the comma if none does. Where it is not the comma, numbers have decimal
    commas if some cells are written like 1,5 and none like 1.5.
    """
    with open(path, "rb") as file:  # at least two rows besides the last one, which may be cut off
        head = file.read(2**16) + b"".join(file.readline() for _ in range(3))
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = head.decode(encoding, errors="ignore")
    form, most = {"encoding": encoding, "sep": ",", "decimal": "."}, 1
    for separator in (",", ";", "\t", "|"):
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
        rows = [row for row in lines if row]
        rows = rows[:-1] if len(head) > 2**16 else rows
        widths = {len(row) for row in rows}
        if len(widths) == 1 and max(widths) > most:
            cells = [cell for row in rows[1:] for cell in row]
            has_commas, has_points = (
                any(re.fullmatch(rf"[-+]?\d+{sign}\d+([eE][-+]?\d+)?", cell) for cell in cells)
                for sign in (",", r"\.")
            )
            is_decimal = separator != "," and has_commas and not has_points
            most = max(widths)
            form = {**form, "sep": separator, "decimal": "," if is_decimal else "."}
    return form


_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def assumptions(path: Path) -> list[str]:
    """The assumptions about a file that is not plain comma-separated text, in one line; otherwise no line."""
    if DATA_FORMATS.get(path.suffix.lower()) != "csv":
        return []
    form = csv_form(str(path))
    parts = [
        *(["UTF-16 text"] if form["encoding"] == "utf-16" else []),
        *([f"separated by {_SEPARATORS[form['sep']]}"] if form["sep"] != "," else []),
        *(["with decimal commas"] if form["decimal"] == "," else []),
    ]
    return [f"{path.name} is read as {', '.join(parts)}"] if parts else []


def _parquet(path: Path) -> Iterator[Column]:
    """An index that pandas stored is left out. A column that pandas stored as a category is a category."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
        check_names(file.schema_arrow.names, str(path), can_drop=False)
        stored = file.schema_arrow.pandas_metadata or {"index_columns": [], "columns": []}
        names = [name for name in file.schema_arrow.names if name not in stored["index_columns"]]
        categories = {
            column["name"] for column in stored["columns"] if column["pandas_type"] == "categorical"
        }
        at_once = max(1, CELLS_AT_ONCE // max(file.metadata.num_rows, 1))
        for some in (names[i : i + at_once] for i in range(0, len(names), at_once)):
            # For a name with a dot, pyarrow may also read other columns: select again.
            table = file.read(some, use_threads=False).select(some)
            for i, name in enumerate(some):
                # Parquet keeps categories of text as categories, but those of numbers as numbers.
                if name in categories and not pa.types.is_dictionary(table.schema.types[i]):
                    table = table.set_column(i, name, table.column(i).cast(pa.string()).dictionary_encode())
            # Without pandas' metadata, the columns have plain dtypes, never nullable ones.
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
            raise DataError(f"{path} has two columns of one name ({error}): rename one in the file") from None
    attributes = content["attributes"]
    values = list(zip(*content["data"], strict=True)) or [()] * len(attributes)
    for (name, kind), column in zip(attributes, values, strict=True):
        dtype = "category" if isinstance(kind, list) else "str" if kind == "STRING" else "float64"
        yield from_pandas(name, pd.Series(column, dtype=dtype), str(path))


def _readable_arff(lines: Iterable[str]) -> Iterator[str]:
    """The lines, without two things that liac-arff refuses: tabs between words, and dates."""
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
