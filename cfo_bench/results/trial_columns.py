"""The trials of a trace as columns: traces have millions of lines in all, and columns are checked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter, le
from typing import Any

from cfo_bench.records import Status, TrialRecord
from cfo_bench.results.line_types import MOST, BadLineError, LineRow, are_configs

_OPTIONAL = tuple(TrialRecord._field_defaults)
_NEEDED = TrialRecord._fields[: -len(_OPTIONAL)]
_values_of = itemgetter(*_NEEDED)

_NONE = type(None)
_NUMBERS = {int, float}
# The types that a column of trials may have.
_COLUMN_TYPES: dict[str, set[type]] = {
    "number": {int},
    "config": {dict},
    "rows": {int, _NONE},
    "thread": {int},
    "status": {str},
    "loss": {*_NUMBERS, _NONE},
    "score": {*_NUMBERS, _NONE},
    "started": _NUMBERS,
    "ended": _NUMBERS,
    "ask_seconds": _NUMBERS,
    "fit_seconds": _NUMBERS,
    "validate_seconds": _NUMBERS,
    "tell_seconds": {*_NUMBERS, _NONE},
    "peak_memory_mb": {*_NUMBERS, _NONE},
    "error": {str, _NONE},
    "test_score": {*_NUMBERS, _NONE},
    "asked": {int, _NONE},
}
# The smallest number that a column may have; whole numbers also have a largest.
_LEAST = {
    **dict.fromkeys(("number", "thread", "started", "ended", "ask_seconds", "fit_seconds"), 0),
    **dict.fromkeys(("validate_seconds", "tell_seconds", "peak_memory_mb"), 0),
    **dict.fromkeys(("rows", "asked"), 1),
}
_WHOLE = ("number", "thread", "rows", "asked")
_STATUSES = frozenset(map(str, Status))


def columns_of(trials: list[LineRow]) -> dict[str, Sequence[Any]]:
    if not trials:
        return dict.fromkeys(TrialRecord._fields, ())
    needed = dict(zip(_NEEDED, zip(*map(_values_of, trials), strict=True), strict=True))
    return {**needed, **{name: [row.get(name) for row in trials] for name in _OPTIONAL}}


def check_columns(columns: Mapping[str, Sequence[Any]], at_once: int) -> None:
    """Raises BadLineError, which does not say where: see `validation`."""
    for name, column in columns.items():
        types = set(map(type, column))
        if not types <= _COLUMN_TYPES[name]:
            raise BadLineError(name)
        if name not in _LEAST or types <= {_NONE}:
            continue
        numbers = [value for value in column if value is not None] if _NONE in types else column
        if min(numbers) < _LEAST[name] or (name in _WHOLE and max(numbers) > MOST):
            raise BadLineError(name)
    if not are_configs(columns["config"]):
        raise BadLineError("config")
    statuses, numbers, ended = columns["status"], columns["number"], columns["ended"]
    if not _STATUSES.issuperset(statuses):
        raise BadLineError("status")
    if [status == "ok" for status in statuses] != [loss is not None for loss in columns["loss"]]:
        raise BadLineError("loss")
    if not all(map(le, columns["started"], ended)):
        raise BadLineError("ended")
    if at_once == 1:
        if list(numbers) != list(range(len(numbers))) or not all(map(le, ended, ended[1:])):
            raise BadLineError("number")
    elif numbers and (len(set(numbers)) < len(numbers) or max(numbers) >= len(numbers) + at_once):
        raise BadLineError("number")
