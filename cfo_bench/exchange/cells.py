"""Values of hyperparameters and texts as cells of a CSV file, and back: each comes back as what it was.

A number, true, false and null are written as JSON writes them, text as it is. Text that would be read as
something else is written as JSON, in quotes. Text that a spreadsheet would execute gets an apostrophe.
"""

from __future__ import annotations

import json
import math
from typing import Any

from cfo_bench.space import LEAST_INT, MOST_INT, Value
from cfo_bench.spreadsheets import from_no_formula, no_formula


def cell(value: Value) -> str:
    """The value of a hyperparameter; an empty cell means that there is no such hyperparameter."""
    if not isinstance(value, str):
        return json.dumps(value)
    return text_cell(value) if _literal(value) is _NO_LITERAL else json.dumps(value, ensure_ascii=False)


def value_of(text: str) -> Value:
    """The value in a cell that is not empty."""
    found = _literal(text)
    if found is not _NO_LITERAL:
        return found  # type: ignore[no-any-return]
    return from_no_formula(text)


def text_cell(text: str) -> str:
    """A text in a column that holds nothing but texts."""
    if not text or text[0] in "'\"" or "\r" in text:
        return json.dumps(text, ensure_ascii=False)
    return no_formula(text)


def text_of(text: str) -> str | None:
    """The text in such a cell; None for an empty one."""
    if not text:
        return None
    found = _literal(text) if text[0] == '"' else None
    return found if isinstance(found, str) else from_no_formula(text)


_NO_LITERAL = object()
_PYTHON = {"True": True, "False": False}  # as pandas writes them


def _literal(text: str) -> Any:
    """What the text is as JSON, if it is a number that a trace can hold, a text, true, false or null."""
    try:
        value = _PYTHON[text] if text in _PYTHON else json.loads(text)
    except (ValueError, RecursionError):
        return _NO_LITERAL
    if isinstance(value, dict | list) or text != text.strip():
        return _NO_LITERAL
    if isinstance(value, float) and not math.isfinite(value):
        return _NO_LITERAL
    if isinstance(value, int) and not LEAST_INT <= value <= MOST_INT:
        return _NO_LITERAL
    return value
