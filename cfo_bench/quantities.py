"""Numbers, seconds and memory as people write them: `1h30m`, `4GB`. And a duration as people read it."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real

MOST = 1e100  # no number is larger

# YAML takes a number with an exponent, such as 1e-3, for text: so text is read as a number, too.
NUMBER = r"([0-9]{1,17}([.][0-9]{0,20})?|[.][0-9]{1,20})([eE][+-]?[0-9]{1,2})?"
_NOT_ZERO = r"(?=[^eE]*[1-9])"
_PART = r"[0-9]{1,9}([.][0-9]{1,6})?"
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_UNITS_IN_TURN = " ?".join(f"({_PART} ?{unit})?" for unit in _UNITS)

# The JSON Schema of a suite has these patterns, too.
DURATION = rf"^{_NOT_ZERO}({NUMBER}|{_UNITS_IN_TURN})$"
MEMORY = rf"^{_NOT_ZERO}{_PART} ?[mMgG][bB]$"
SHARE = "^[1-9]([.][0-9]{1,9})?[eE]-0?[1-9][0-9]?$"  # only what YAML takes for text
WHOLE = r"^[1-9][0-9]{0,8}([eE][+]?[0-9])?$"

DURATION_RULE = "write seconds above 0, or a time such as 90s, 10m, 1h30m or 2d"
MEMORY_RULE = "write megabytes above 0, or an amount such as 512MB or 4GB"


def seconds(value: object) -> float | None:
    """Seconds above 0; None for anything else."""
    number = plain_number(value)
    if number is None and isinstance(value, str) and re.fullmatch(DURATION, value):
        parts = re.findall(rf"({_PART}) ?([dhms])", value)
        number = sum(float(part[0]) * _UNITS[part[-1]] for part in parts)
    return number if number is not None and number > 0 else None


def megabytes(value: object) -> int | None:
    """Whole megabytes, at least one; None for anything else."""
    number = whole_number(value)
    if number is None and isinstance(value, str) and re.fullmatch(MEMORY, value):
        amount = float(value[:-2])
        number = math.ceil(amount * (1024 if value[-2] in "gG" else 1))
    return number if number is not None and number > 0 else None


def plain_number(value: object) -> float | None:
    """A finite number, also from text; None for anything else."""
    if isinstance(value, str):
        return float(value) if re.fullmatch(NUMBER, value) else None
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return number if abs(number) < MOST else None


def whole_number(value: object) -> int | None:
    """A whole number, also from text; None for anything else."""
    if isinstance(value, str):
        return int(float(value)) if re.fullmatch(WHOLE, value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, bool):
        return None
    return int(value) if isinstance(value, Integral) else None


def duration(seconds: float) -> str:
    """Seconds in words: `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    )
