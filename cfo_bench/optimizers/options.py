"""Checks of option values, and the options that a run sets.

A wrong value raises an OptionError with the option, the value and the rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cfo_bench.errors import OptionError


def with_facts_of_run(
    options: Mapping[str, Any], n_rows: int | None, cost_related: Sequence[str], budget_seconds: float
) -> dict[str, Any]:
    """The options of a method. Those that a run sets get its values, whatever their defaults are."""
    facts = {"n_rows": n_rows, "cost_related": list(cost_related), "budget_seconds": budget_seconds}
    return {**options, **{name: value for name, value in facts.items() if name in options}}


def check_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise OptionError(f"{option} {value!r}: choose from {', '.join(choices)}")


def check_length(option: str, value: object) -> None:
    """A length may be None, whose meaning the option defines."""
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and value > 0):  # type: ignore[arg-type, operator]
        raise OptionError(f"{option} {value!r}: it is a length, so give a number above 0, or null")


def check_count(option: str, value: object, least: int = 1) -> None:
    if not (isinstance(value, int) and not isinstance(value, bool) and value >= least):
        raise OptionError(f"{option} {value!r}: give a whole number from {least} on")


def check_counts(**counts: object) -> None:
    for option, value in counts.items():
        check_count(option, value)


def check_flag(option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{option} {value!r}: give true or false")


def check_number(option: str, value: object, low: float, high: float = math.inf) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and low <= value <= high and math.isfinite(value)):  # type: ignore[arg-type, operator]
        limits = f"from {low:g} on" if high == math.inf else f"from {low:g} to {high:g}"
        raise OptionError(f"{option} {value!r}: give a number {limits}")


def check_names(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    if unknown := sorted(set(names).difference(known)):
        raise OptionError(f"{option} {unknown}: name hyperparameters of the space, {', '.join(known)}")
