"""Which folds to run: `all`, `0`, `0-4`, `0,3`, or a list of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cfo_bench.errors import UserError
from cfo_bench.kinds import Kind, Parsed, Schema, Several, UpTo
from cfo_bench.marked import Marked

_SOME = "[0-9]{1,18}(-[0-9]{1,18})?"
# More make no sense, and a list of all runs would not fit into memory.
MOST_FOLDS = 10_000
PATTERN = f"^ *(all|{_SOME}( *, *{_SOME})*) *$"


class Folds(Parsed):
    """Text such as `0-4`, or a list of numbers, which becomes such text."""

    metavar = "LIST"
    rule = "write all, 0, 0-4 or 0,3"
    _numbers = Several(UpTo("fold", 10**9))

    def parse(self, value: object) -> str | None:
        return value if isinstance(value, str) and re.fullmatch(PATTERN, value) else None

    def read(self, key: str, marked: Marked) -> str:
        if not isinstance(marked.value, str):
            return ",".join(map(str, self._numbers.read(key, marked)))
        found = self.parse(marked.value)
        if found is None:
            raise marked.wrong(key, f"{self.rule}, or a list of numbers")
        return found

    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "pattern": PATTERN}, *self._numbers.schema()["oneOf"]]}

    def parts(self) -> Sequence[Kind]:
        return (self._numbers,)


def parse_folds(text: str, n_folds: int, key: str = "--folds") -> list[int]:
    """The numbers of the folds, each below `n_folds`; `key` is what an error calls them."""
    if n_folds > MOST_FOLDS:
        raise UserError(f"{n_folds} folds: give a number of folds from 2 to {MOST_FOLDS}")
    if text.strip() == "all":
        return list(range(n_folds))
    if not re.fullmatch(PATTERN, text):
        raise UserError(f"{key} {text!r}: {Folds.rule}")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not low <= high < n_folds:
            raise UserError(
                f"{key} {text!r}: with {n_folds} folds, give numbers from 0 to {n_folds - 1}, the lower first"
            )
        found.update(range(low, high + 1))
    return sorted(found)
