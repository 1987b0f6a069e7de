"""The kinds of values that people write: how each is read, the rule in words, and its JSON Schema.

A value comes from a YAML file, with its line, or from Python, without one: see `Marked`.
"""

from __future__ import annotations

import enum
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, TypeGuard

from msgspec import Meta

from cfo_bench.errors import UnknownNameError, UserError, at_place

# Types of the values in records. Larger whole numbers do not fit into the columns of a table.
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1
NonNegativeInt = Annotated[int, Meta(ge=0, le=MOST_INT)]
PositiveInt = Annotated[int, Meta(ge=1, le=MOST_INT)]
PositiveFloat = Annotated[float, Meta(gt=0)]
OpenShare = Annotated[float, Meta(gt=0, lt=1)]
NonNegative = Annotated[float, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]


# --- values with their place -----------------------------------------------------------------------


MAX_SHOWN = 60  # characters of a value in an error message

YamlValue = str | int | float | bool | None | Sequence["Marked"] | Mapping[str, "Marked"] | object


@dataclass(frozen=True, slots=True)
class Marked:
    """A value with the place where it was written."""

    value: YamlValue  # lists and mappings hold Marked values; from Python, it may be any object
    where: str  # the file; "" for a value from Python
    line: int  # where the value begins
    key_line: int  # where its key is, for a value in a mapping

    @property
    def place(self) -> str:
        return f"{self.where}, line {self.line}" if self.where else ""

    @property
    def key_place(self) -> str:
        return f"{self.where}, line {self.key_line}" if self.where else ""

    def items(self) -> Sequence[Marked] | None:
        """The items of a list; None if the value is not a list."""
        if isinstance(self.value, Sequence) and not isinstance(self.value, str | bytes):
            return list(self.value)
        return None

    def plain(self) -> Any:
        """The value alone, without lines."""
        if isinstance(self.value, Mapping):
            return {key: item.plain() for key, item in self.value.items()}
        items = self.items()
        return self.value if items is None else [item.plain() for item in items]

    def shown(self) -> str:
        """The value for an error message, on one line and cut off after MAX_SHOWN characters."""
        text = repr(self.plain()).replace("\n", " ")
        return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"

    def wrong(self, what: str, rule: str) -> UserError:
        place = f"{self.place}: " if self.place else ""
        return UserError(f"{place}{what} is {self.shown()}: {rule}")


def mark(value: object) -> Marked:
    """A value from Python, marked like a value from a file."""
    if isinstance(value, Mapping):
        value = {key: mark(item) for key, item in value.items()}
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        value = [mark(item) for item in value]
    return Marked(value, "", 0, 0)


# --- numbers, seconds and memory as people write them: `1h30m`, `4GB` ------------------------------


LARGEST_NUMBER = 1e100

# YAML reads a number with an exponent, such as 1e-3, as text. Therefore text is also read as a number.
NUMBER = r"([0-9]{1,17}([.][0-9]{0,20})?|[.][0-9]{1,20})([eE][+-]?[0-9]{1,2})?"
_NOT_ZERO = r"(?=[^eE]*[1-9])"
_PART = r"[0-9]{1,9}([.][0-9]{1,6})?"
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_UNITS_IN_TURN = " ?".join(f"({_PART} ?{unit})?" for unit in _UNITS)

# The JSON Schema of a suite has these patterns, too.
DURATION = rf"^{_NOT_ZERO}({NUMBER}|{_UNITS_IN_TURN})$"
MEMORY = rf"^{_NOT_ZERO}{_PART} ?[mMgG][bB]$"
SHARE = "^[1-9]([.][0-9]{1,9})?[eE]-0?[1-9][0-9]?$"  # only numbers that YAML reads as text
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
    return number if number is not None and 0 < number <= MOST_INT else None


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
    return number if abs(number) < LARGEST_NUMBER else None


def whole_number(value: object) -> int | None:
    """A whole number, also from text; None for anything else."""
    if isinstance(value, str):
        return int(float(value)) if re.fullmatch(WHOLE, value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, bool):
        return None
    return int(value) if isinstance(value, Integral) else None


def as_option(value: Any) -> Any:
    """The value of an option. YAML reads 1e-3 as text; here it becomes a number, also in lists."""
    if isinstance(value, Mapping):
        return {key: as_option(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_option(item) for item in value]
    is_number = isinstance(value, str) and re.fullmatch(f"[+-]?{NUMBER}", value)
    return float(value) if is_number and "e" in value.lower() else value


def duration(seconds: float) -> str:
    """Seconds in words: `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    )


# --- kinds of values -------------------------------------------------------------------------------


Schema = dict[str, Any]

MAX_SEED = 2**32 - 1  # the largest that numpy and scikit-learn accept

# At least one character that is not white space, and no control characters.
TEXT = r"^[^\x00-\x1f]*[^\s\x00-\x1f][^\x00-\x1f]*$"


class Kind(ABC):
    """One kind of value."""

    name: str = ""  # in the `$defs` of the suite's schema; "": its schema is written out in place
    metavar: str | None = None  # what `--help` calls the value

    @abstractmethod
    def read(self, key: str, marked: Marked) -> Any:
        """The checked value of `key`, or a UserError. A value that was already read is returned unchanged."""

    @abstractmethod
    def schema(self) -> Schema:
        """The schema of a value in a suite file."""

    def stored_schema(self) -> Schema:
        """The schema of the value in a trace."""
        return self.schema()

    def plain(self, value: Any) -> Any:
        """A value as a user would write it; None if this needs more than one word."""
        return value if isinstance(value, str | int | float) else None

    def parts(self) -> Sequence[Kind]:
        """The kinds that the schema refers to."""
        return ()

    def reference(self) -> Schema:
        """The schema for use inside another one."""
        return {"$ref": f"#/$defs/{self.name}"} if self.name else self.schema()

    def definitions(self) -> Iterator[tuple[str, Schema]]:
        """Every named schema that a reference to this kind needs."""
        if self.name:
            yield self.name, self.schema()
        for part in self.parts():
            yield from part.definitions()


class Parsed(Kind):
    """A kind whose values are read one by one; its `rule` ends the error message."""

    rule: str

    @abstractmethod
    def parse(self, value: object) -> Any:
        """The value, or None if it breaks the rule."""

    def read(self, key: str, marked: Marked) -> Any:
        value = self.parse(marked.value)
        if value is None:
            raise marked.wrong(key, self.rule)
        return value


class Count(Parsed):
    """A whole number from 1 on."""

    name = "count"
    metavar = "N"
    rule = "write a whole number from 1 on"

    def parse(self, value: object) -> int | None:
        number = whole_number(value)
        return number if number is not None and 1 <= number <= MOST_INT else None

    def schema(self) -> Schema:
        return {"oneOf": [self.stored_schema(), {"type": "string", "pattern": WHOLE}]}

    def stored_schema(self) -> Schema:
        return {"type": "integer", "minimum": 1, "maximum": MOST_INT}


class UpTo(Parsed):
    """A whole number from 0 to `most`."""

    metavar = "N"

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        self.rule = f"write a whole number from 0 to {most}"

    def parse(self, value: object) -> int | None:
        number = None if isinstance(value, str) else whole_number(value)
        return number if number is not None and 0 <= number <= self.most else None

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": 0, "maximum": self.most}


class Duration(Parsed):
    """Seconds above 0."""

    name = "duration"
    metavar = "TIME"
    rule = DURATION_RULE

    def parse(self, value: object) -> float | None:
        return seconds(value)

    def schema(self) -> Schema:
        number = {**self.stored_schema(), "exclusiveMaximum": LARGEST_NUMBER}
        return {"oneOf": [number, {"type": "string", "pattern": DURATION}]}

    def stored_schema(self) -> Schema:
        return {"type": "number", "exclusiveMinimum": 0}


class Memory(Parsed):
    """Megabytes, at least one."""

    name = "memory"
    metavar = "SIZE"
    rule = MEMORY_RULE

    def parse(self, value: object) -> int | None:
        return megabytes(value)

    def schema(self) -> Schema:
        pattern = f"({WHOLE})|({MEMORY})"
        return {"oneOf": [self.stored_schema(), {"type": "string", "pattern": pattern}]}

    def stored_schema(self) -> Schema:
        return {"type": "integer", "minimum": 1, "maximum": MOST_INT}


class Share(Parsed):
    """A number between 0 and 1, both excluded."""

    name = "share"
    metavar = "SHARE"
    rule = "write a number between 0 and 1"

    def parse(self, value: object) -> float | None:
        if isinstance(value, str) and not re.fullmatch(SHARE, value):
            return None
        number = plain_number(value)
        return number if number is not None and 0 < number < 1 else None

    def schema(self) -> Schema:
        return {"oneOf": [self.stored_schema(), {"type": "string", "pattern": SHARE}]}

    def stored_schema(self) -> Schema:
        return {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}


class SplitKind(enum.StrEnum):
    """How a column of the data makes the folds."""

    GROUP = "group"  # the rows of one value are never divided
    TIME = "time"  # earlier rows train, later rows validate
    COLUMN = "column"  # each value is a fold


class SplitBy(Parsed):
    """`group:COLUMN`, `time:COLUMN` or `column:COLUMN`."""

    metavar = "KIND:COLUMN"
    rule = "write group:COLUMN, time:COLUMN or column:COLUMN, with the name of a column"
    _pattern = rf"^({'|'.join(SplitKind)}):[^\x00-\x1f]+$"

    def parse(self, value: object) -> str | None:
        return value if isinstance(value, str) and re.fullmatch(self._pattern, value) else None

    def schema(self) -> Schema:
        return {"type": "string", "pattern": self._pattern}


class OneOf(Kind):
    """One of several words."""

    def __init__(self, known: Sequence[str], metavar: str | None = None) -> None:
        self.known, self.metavar = known, metavar

    def read(self, key: str, marked: Marked) -> str:
        if not isinstance(marked.value, str):
            raise marked.wrong(key, f"choose from {', '.join(self.known)}")
        with at_place(marked.place):
            if marked.value not in self.known:
                raise UnknownNameError(key, marked.value, self.known)
        return marked.value

    def schema(self) -> Schema:
        return {"enum": list(self.known)}


class Flag(Parsed):
    """Yes or no: on the command line an option without a value."""

    rule = "write true or false"

    def parse(self, value: object) -> bool | None:
        return value if isinstance(value, bool) else None

    def schema(self) -> Schema:
        return {"type": "boolean"}

    def plain(self, value: Any) -> None:
        return None


class Text(Parsed):
    """A name or an address."""

    name = "text"
    rule = "write some text; put quotes around a number"

    def __init__(self, metavar: str | None = None) -> None:
        self.metavar = metavar

    def parse(self, value: object) -> str | None:
        return value if is_text(value) else None

    def schema(self) -> Schema:
        return {"type": "string", "pattern": TEXT}


def is_text(value: object) -> TypeGuard[str]:
    """Whether the value can name a thing or a file: printable text that is not blank."""
    return isinstance(value, str) and re.fullmatch(TEXT, value) is not None and value.isprintable()


class FilePath(Parsed):
    """The path of a file or a folder; `~` is the user's home."""

    name = Text.name
    rule = Text.rule

    def __init__(self, metavar: str) -> None:
        self.metavar = metavar

    def parse(self, value: object) -> Path | None:
        if isinstance(value, Path):
            return value
        return Path(os.path.expanduser(value)) if is_text(value) else None

    def schema(self) -> Schema:
        return Text().schema()

    def plain(self, value: Any) -> str | None:
        return str(value) if isinstance(value, Path) else None


class Several(Kind):
    """A list of one or more values, or a single value without the brackets. Read as a tuple."""

    def __init__(self, item: Kind) -> None:
        self.item, self.metavar = item, item.metavar

    def read(self, key: str, marked: Marked) -> tuple[Any, ...]:
        items = marked.items()
        if items is None:
            return (self.item.read(key, marked),)
        if not items:
            with at_place(marked.place):
                raise UserError(f"{key} is an empty list: write at least one, or leave the key out")
        return tuple(self.item.read(key, item) for item in items)

    def schema(self) -> Schema:
        schema = self.item.reference()
        return {"oneOf": [schema, {"type": "array", "minItems": 1, "items": schema}]}

    def plain(self, value: Any) -> Any:
        return self.item.plain(value[0]) if len(value) == 1 else None

    def parts(self) -> Sequence[Kind]:
        return (self.item,)
