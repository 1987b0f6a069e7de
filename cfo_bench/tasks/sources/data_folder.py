"""A folder of data sets, listed in its `index.csv`.

The columns name, file, target and problem are required; rows, features and note are optional and only
shown. A relative `file` is relative to the folder. An empty `problem` is inferred from the data.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path

from cfo_bench.errors import DataError
from cfo_bench.files.writing import open_regular
from cfo_bench.records import Problem

NEEDED = ("name", "file", "target", "problem")


@dataclass(frozen=True, slots=True)
class FolderRow:
    name: str
    folder: Path
    path: Path
    target: str
    problem: Problem | None
    rows: int | None
    features: int | None
    note: str | None


def read_index(folder: Path, given_by: str) -> list[FolderRow]:
    """The data sets of the folder in the order of its index. An error names `given_by`, the path's source."""
    index = Path(os.path.expanduser(folder)).resolve() / "index.csv"
    if not index.parent.is_dir():
        raise DataError(f"no folder {str(folder)!r}: {given_by} must name a folder that has an index.csv")
    try:
        with TextIOWrapper(open_regular(index), encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            names, lines = reader.fieldnames or [], list(reader)
    except FileNotFoundError:
        columns = ", ".join(NEEDED)
        raise DataError(f"no index.csv in {str(folder)!r}: write one with the columns {columns}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{index} can't be read: {error}") from None
    absent = [column for column in NEEDED if column not in names]
    if absent:
        raise DataError(f"{index} has no column {', '.join(absent)}: it needs {', '.join(NEEDED)}")
    rows = [_row(index, number, line) for number, line in enumerate(lines, start=1)]
    seen: set[str] = set()
    for row in rows:
        if row.name in seen:
            raise DataError(f"{index} has the name {row.name!r} twice: rename one")
        seen.add(row.name)
    return rows


def _row(index: Path, number: int, line: dict[str, str]) -> FolderRow:
    for column in ("name", "file", "target"):
        if not line[column]:
            raise DataError(f"{index}, row {number}: {column} is empty: every data set needs one")
    name, problem = line["name"], line["problem"]
    # The name becomes a folder of the results.
    if name.startswith(".") or "/" in name or "\\" in name:
        raise DataError(
            f"{index}, row {number}: a name can't be {name!r}: leave out slashes and a leading dot"
        )
    if problem and problem not in {known.value for known in Problem}:
        raise DataError(f"{index}, row {number}: problem is {problem!r}: choose from {', '.join(Problem)}")
    return FolderRow(
        name=name,
        folder=index.parent,
        path=index.parent / line["file"],
        target=line["target"],
        problem=Problem(problem) if problem else None,
        rows=_whole(line.get("rows")),
        features=_whole(line.get("features")),
        note=line.get("note") or None,
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
