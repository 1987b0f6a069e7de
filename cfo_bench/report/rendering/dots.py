"""Rows of dots: dots that would hide each other are set apart, on lanes above and below the row's middle."""

from __future__ import annotations

from collections.abc import Sequence


def lanes(places: Sequence[float], least: float) -> list[int]:
    """A lane for each place, such that two on the same lane are at least `least` apart.

    Lane 0 is the middle of the row; then come 1, -1, 2, -2 and so on.
    """
    found = [0] * len(places)
    last: list[float] = []  # the last place on each lane, in the order above
    for at in sorted(range(len(places)), key=lambda at: places[at]):
        free = next((n for n, place in enumerate(last) if places[at] - place >= least), len(last))
        if free == len(last):
            last.append(places[at])
        last[free] = places[at]
        found[at] = (free + 1) // 2 * (1 if free % 2 else -1)
    return found
