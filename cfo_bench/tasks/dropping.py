"""What a user leaves out of a file: columns, and rows without a target."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.errors import DataError
from cfo_bench.metrics import Array
from cfo_bench.tasks.data_set import Column, ColumnKind, categories, check_names, named


def without_columns(
    columns: Sequence[Column], drop: Sequence[str], target: str | None, where: str
) -> list[Column]:
    """The columns but those that `drop` names; the target can't be among them."""
    check_names([column.name for column in columns], where)
    for name in drop:
        named(columns, name, "to drop", where)
        if name == target:
            raise DataError(f"--drop {name}: it is the target; name another column, or another --target")
    return [column for column in columns if column.name not in drop]


def with_target(columns: Sequence[Column], target: str, where: str) -> tuple[list[Column], int]:
    """The rows that have a target, and how many have none. A label that no row has any more is left out."""
    missing = named(columns, target, "for the target", where).missing
    n_missing = int(missing.sum())
    if not n_missing:
        return list(columns), 0
    if n_missing == len(missing):
        raise DataError(f"{where}: target {target!r} has no value in any row: name another --target")
    return [_rows(column, ~missing) for column in columns], n_missing


def _rows(column: Column, kept: Array) -> Column:
    values = column.values[kept]
    if column.kind is ColumnKind.CATEGORY:
        return categories(column.name, values, column.labels)
    return Column(column.name, column.kind, values)
