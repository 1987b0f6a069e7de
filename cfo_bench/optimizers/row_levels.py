"""The levels of methods that train on part of the rows: all rows, an `eta`-th of them, and so on."""

from __future__ import annotations

import math

from cfo_bench.optimizers.option_checks import check_counts, check_number


def levels(n_rows: int | None, min_rows: int, eta: int) -> list[float]:
    """The rows of each level, down to `min_rows`, all of them last; plain floats, as packages want them.

    If the number of rows isn't known, the only level is all of them. An OptionError for wrong options.
    """
    check_counts(min_rows=min_rows, eta=eta)
    check_number("eta", eta, 2)
    if n_rows is None:
        return [math.inf]
    found = [float(n_rows)]
    while found[0] / eta >= min_rows:
        found.insert(0, found[0] / eta)
    return found


def budget_range(found: list[float]) -> tuple[float, float]:
    """The least and the largest budget for a package that counts the levels between them by a logarithm.

    The least is a little below the lowest level: a rounding error must not cost one. A single level of
    unknown size is 1.
    """
    most = found[-1] if math.isfinite(found[-1]) else 1.0
    return (found[0] if len(found) > 1 else most) * 0.999, most


def rows_at(budget: float, found: list[float]) -> int | None:
    """The rows of the level that a package calls `budget`; None is all of them."""
    _, most = budget_range(found)
    return None if round(budget) >= round(most) else max(round(budget), 1)
