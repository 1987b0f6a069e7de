"""Whether a value fits an annotation, and how that reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Optional, Protocol

import pytest

from cfo_bench.registry import fits, in_words, parameter_types

if TYPE_CHECKING:
    from decimal import Decimal


class SupportsStep(Protocol):
    def step(self) -> float: ...


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [0, -3], [0.5, "1", True, None]),
        (float, [0, 0.5], ["1", True, None]),
        (bool, [True, False], [0, 1, "true", None]),
        (str, ["", "x"], [1, None, True]),
        (float | None, [1, 0.5, None], ["x", False]),
        (Optional[int], [1, None], [0.5]),  # noqa: UP045
        (Literal["a", "b"], ["a", "b"], ["c", None, 1]),
        (Literal[1, 2], [1, 2], [True, 1.0, "1"]),
        (int | Literal["2d"], [3, "2d"], ["d", 0.5]),
        (list[int], [[], [1], ["unchecked"]], [1, "x", (1,)]),
        (Any, [1, "x", None], []),
        (SupportsStep, [1, "x", None], []),
        ("a name that was never resolved", [1, "x"], []),
    ],
)
def test_a_value_fits_or_it_does_not(hint: Any, good: list[object], bad: list[object]) -> None:
    assert all(fits(value, hint) for value in good)
    assert not any(fits(value, hint) for value in bad)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "a whole number"),
        (float | None, "a number or null"),
        (Literal["log2", "ln"], "log2 or ln"),
        (int | Literal["d"], "a whole number or d"),
        (bool, "true or false"),
        (dict, "dict"),
        (Any, "anything"),
    ],
)
def test_an_annotation_reads_as_words(hint: Any, words: str) -> None:
    assert in_words(hint) == words


def test_annotations_for_type_checkers_only_are_left_unchecked() -> None:
    class Mine:
        def __init__(self, *, step: Decimal) -> None: ...

    class Plain:
        def __init__(self, *, step: float) -> None: ...

    assert parameter_types(Mine) == {}
    assert parameter_types(Plain)["step"] is float
