"""Numbers written as text, such as "37,684.09": told from labels, so that their owner can be told."""

from __future__ import annotations

import re
from collections.abc import Sequence

# 1,234.5 and 1.234,5 (with or without a currency or a percent sign), and numbers that float() reads.
_GROUPED = re.compile(r"[-+]?\s*[$€£¥]?\s*\d{1,3}(([,' ]\d{3})*(\.\d+)?|(\.\d{3})*(,\d+)?)\s*[%$€£¥]?")
# Of this many different texts in a column, such a share may be numbers: the others stand for "missing".
_ENOUGH_TEXTS, _NEARLY_ALL = 10, 0.9


def are_numbers(labels: Sequence[str]) -> bool:
    """Whether the texts of a column are numbers in a form that is not read as such, or nearly all are."""
    n_plain = sum(map(_is_plain, labels))
    n_numbers = sum(_is_plain(label) or _GROUPED.fullmatch(label.strip()) is not None for label in labels)
    if n_numbers == len(labels):
        # Plain numbers alone are read as numbers, unless the file says that they are categories.
        return n_plain < n_numbers
    return n_numbers >= _ENOUGH_TEXTS and n_numbers >= _NEARLY_ALL * len(labels)


def _is_plain(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def odd_example(labels: Sequence[str]) -> str:
    """One of them that is not read as a number."""
    return next((label for label in labels if not _is_plain(label)), labels[0])
