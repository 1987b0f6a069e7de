"""The kinds of values that people write: how each is read, the rule in words, and its JSON Schema.

A value comes from a YAML file, where it knows its line, or from Python, where it has none: see `Marked`.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from cfo_bench import quantities
from cfo_bench.errors import UnknownNameError, UserError, told_at
from cfo_bench.marked import Marked

Schema = dict[str, Any]

# At least one character that is not white space, and no control characters.
TEXT = r"^[^\x00-\x1f]*[^\s\x00-\x1f][^\x00-\x1f]*$"


class Kind(ABC):
    """One kind of value."""

    name: str = ""  # in the `$defs` of the suite's schema; "": its schema is written out in place
    metavar: str | None = None  # what `--help` calls the value

    @abstractmethod
    def read(self, key: str, marked: Marked) -> Any:
        """The checked value of `key`, or a UserError. A value that was read before is returned as it is."""

    @abstractmethod
    def schema(self) -> Schema:
        """What may be written in a suite file."""

    def trace_schema(self) -> Schema:
        """What stands in a trace once the value was read."""
        return self.schema()

    def plain(self, value: Any) -> Any:
        """A value as it would be written; None where that takes more than a word."""
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
    """A kind whose values are read one by one, by a `rule` that fits into half a sentence."""

    rule: str

    @abstractmethod
    def parse(self, value: object) -> Any:
        """The value, or None where it breaks the rule."""

    def read(self, key: str, marked: Marked) -> Any:
        found = self.parse(marked.value)
        if found is None:
            raise marked.wrong(key, self.rule)
        return found


class Count(Parsed):
    """A whole number from 1 on."""

    name = "count"
    metavar = "N"
    rule = "write a whole number from 1 on"

    def parse(self, value: object) -> int | None:
        number = quantities.whole_number(value)
        return number if number is not None and number >= 1 else None

    def schema(self) -> Schema:
        return {"oneOf": [self.trace_schema(), {"type": "string", "pattern": quantities.WHOLE}]}

    def trace_schema(self) -> Schema:
        return {"type": "integer", "minimum": 1}


class UpTo(Parsed):
    """A whole number from 0 to `most`."""

    metavar = "N"

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        self.rule = f"write a whole number from 0 to {most}"

    def parse(self, value: object) -> int | None:
        number = None if isinstance(value, str) else quantities.whole_number(value)
        return number if number is not None and 0 <= number <= self.most else None

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": 0, "maximum": self.most}


class Duration(Parsed):
    """Seconds above 0."""

    name = "duration"
    metavar = "TIME"
    rule = quantities.DURATION_RULE

    def parse(self, value: object) -> float | None:
        return quantities.seconds(value)

    def schema(self) -> Schema:
        number = {**self.trace_schema(), "exclusiveMaximum": quantities.MOST}
        return {"oneOf": [number, {"type": "string", "pattern": quantities.DURATION}]}

    def trace_schema(self) -> Schema:
        return {"type": "number", "exclusiveMinimum": 0}


class Memory(Parsed):
    """Megabytes, at least one."""

    name = "memory"
    metavar = "SIZE"
    rule = quantities.MEMORY_RULE

    def parse(self, value: object) -> int | None:
        return quantities.megabytes(value)

    def schema(self) -> Schema:
        pattern = f"({quantities.WHOLE})|({quantities.MEMORY})"
        return {"oneOf": [self.trace_schema(), {"type": "string", "pattern": pattern}]}

    def trace_schema(self) -> Schema:
        return {"type": "integer", "minimum": 1}


class Share(Parsed):
    """A number between 0 and 1, both excluded."""

    name = "share"
    metavar = "SHARE"
    rule = "write a number between 0 and 1"

    def parse(self, value: object) -> float | None:
        if isinstance(value, str) and not re.fullmatch(quantities.SHARE, value):
            return None
        number = quantities.plain_number(value)
        return number if number is not None and 0 < number < 1 else None

    def schema(self) -> Schema:
        return {"oneOf": [self.trace_schema(), {"type": "string", "pattern": quantities.SHARE}]}

    def trace_schema(self) -> Schema:
        return {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}


class OneOf(Kind):
    """One of a few words."""

    def __init__(self, known: Sequence[str], metavar: str | None = None) -> None:
        self.known, self.metavar = known, metavar

    def read(self, key: str, marked: Marked) -> str:
        if not isinstance(marked.value, str):
            raise marked.wrong(key, f"choose from {', '.join(self.known)}")
        with told_at(marked.place):
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
        return None  # that it is off needs no word


class Text(Parsed):
    """A name or an address."""

    name = "text"
    rule = "write some text; put quotes around a number"

    def parse(self, value: object) -> str | None:
        return value if is_text(value) else None

    def schema(self) -> Schema:
        return {"type": "string", "pattern": TEXT}


def is_text(value: object) -> TypeGuard[str]:
    """Whether it can name a thing or a file: not blank, no control characters, no half characters."""
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
    """A list of at least one, or a single one without the brackets. Read as a tuple."""

    def __init__(self, one: Kind) -> None:
        self.one, self.metavar = one, one.metavar

    def read(self, key: str, marked: Marked) -> tuple[Any, ...]:
        items = marked.items()
        if items is None:
            return (self.one.read(key, marked),)
        if not items:
            with told_at(marked.place):
                raise UserError(f"{key} is an empty list: write at least one, or leave the key out")
        return tuple(self.one.read(key, item) for item in items)

    def schema(self) -> Schema:
        item = self.one.reference()
        return {"oneOf": [item, {"type": "array", "minItems": 1, "items": item}]}

    def plain(self, value: Any) -> Any:
        return self.one.plain(value[0]) if len(value) == 1 else None

    def parts(self) -> Sequence[Kind]:
        return (self.one,)
