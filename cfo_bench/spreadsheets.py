"""Text for CSV files that people open in a spreadsheet: none of it is executed as a formula."""

from __future__ import annotations

import re

# How a formula begins, in ASCII or full width: spreadsheets ignore spaces before it. A number, also in
# percent, is none.
_FORMULA = re.compile(r"\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|\t")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?( ?%)?", re.ASCII | re.IGNORECASE)


def no_formula(text: str) -> str:
    """Text with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay.

    A carriage return becomes a new line: Python's csv module does not quote it, and a row would end there.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_no_formula(text: str) -> str:
    """What `no_formula` was given, but for its carriage returns and text that began with an apostrophe."""
    bare = text.removeprefix("'")
    return bare if bare != text and no_formula(bare) == text else text
