"""No search: tries every value of one hyperparameter, to see how loss and cost depend on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.records import Result, Trial
from cfo_bench.space import Int, Space


class Study:
    """Tries one value after the other of the space's first hyperparameter; the others stay as at the start.

    values   such as 1-100 or 1,2,5-9; null: every value that there is
    """

    def __init__(
        self, space: Space, start: Mapping[str, Any], seed: int = 0, *, values: int | str | None = None
    ) -> None:
        start = space.check(start)
        first = space.params[0]
        if not isinstance(first, Int):
            raise OptionError(f"a study goes through whole numbers, and {first.name!r} is none")
        listed = range(first.low, first.high + 1) if values is None else parse_values(str(values))
        beyond = next((value for value in listed if not first.low <= value <= first.high), None)
        if beyond is not None:
            raise OptionError(
                f"values {values!r}: {first.name} = {beyond} is out of [{first.low}, {first.high}] here; "
                "leave it out"
            )
        self._trials = (Trial(i, {**start, first.name: value}) for i, value in enumerate(listed))

    def ask(self) -> Trial:
        try:
            return next(self._trials)
        except StopIteration:
            raise Exhausted("every value was tried") from None

    def tell(self, trial: Trial, result: Result) -> None:
        pass


def parse_values(text: str) -> list[int]:
    """`1-100`, `1,2,5-9` or `7`: whole numbers, ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise OptionError(f"values {text!r}: write 1-100, 1,2,5-9 or 7")
        if dash and int(high) < int(low):
            raise OptionError(f"values {text!r}: {part.strip()} goes down; give the lower one first")
        found.update(range(int(low), int(high or low) + 1))
    return sorted(found)
