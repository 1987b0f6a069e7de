"""Values that know where they were written, for error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfo_bench.errors import UserError

SHOWN_CHARACTERS = 60

YamlValue = str | int | float | bool | None | Sequence["Marked"] | Mapping[str, "Marked"] | object


@dataclass(frozen=True, slots=True)
class Marked:
    """A value that knows where it was written."""

    value: YamlValue  # lists and mappings hold Marked values; from Python, it may be any object
    where: str  # the file; "" for a value that is from Python
    line: int  # where the value begins
    key_line: int  # where its key is, for a value in a mapping

    @property
    def place(self) -> str:
        return f"{self.where}, line {self.line}" if self.where else ""

    @property
    def key_place(self) -> str:
        return f"{self.where}, line {self.key_line}" if self.where else ""

    def items(self) -> Sequence[Marked] | None:
        """The items of a list; None for a value that is no list."""
        if isinstance(self.value, Sequence) and not isinstance(self.value, str | bytes):
            return list(self.value)
        return None

    def plain(self) -> Any:
        """The value alone, without lines."""
        if isinstance(self.value, Mapping):
            return {key: one.plain() for key, one in self.value.items()}
        items = self.items()
        return self.value if items is None else [one.plain() for one in items]

    def shown(self) -> str:
        """For an error message: on one line, and not too much of it."""
        text = repr(self.plain()).replace("\n", " ")
        return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"

    def wrong(self, what: str, rule: str) -> UserError:
        place = f"{self.place}: " if self.place else ""
        return UserError(f"{place}{what} is {self.shown()}: {rule}")


def mark(value: object) -> Marked:
    """A value from Python, to be read like one from a file."""
    if isinstance(value, Mapping):
        value = {key: mark(one) for key, one in value.items()}
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        value = [mark(one) for one in value]
    return Marked(value, "", 0, 0)
