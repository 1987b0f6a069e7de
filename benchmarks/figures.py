"""How a benchmark prints a figure: one line of one form, beside the limit that it is held against.

    figure | ask + tell of cfo after 100,000 trials        |     21.4 µs | at most 40 µs  | kept

`make bench` collects these lines; `python -m scripts.docs.performance` makes docs/performance.md of them.
"""

from __future__ import annotations


def figure(
    name: str, value: float, unit: str = "", *, at_most: float | None = None, at_least: float | None = None
) -> bool:
    """Prints it, and returns whether its limit is kept. Without a limit it is only told."""
    if at_most is not None:
        limit, kept = f"at most {in_words(at_most, unit)}", value <= at_most
    elif at_least is not None:
        limit, kept = f"at least {in_words(at_least, unit)}", value >= at_least
    else:
        limit, kept = "", True
    verdict = ("kept" if kept else "MISSED") if limit else ""
    print(f"figure | {name:60} | {in_words(value, unit):>12} | {limit:18} | {verdict}", flush=True)
    return kept


def in_words(value: float, unit: str) -> str:
    """Four digits are enough, and all digits of a larger number."""
    number = f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{number} {unit}".rstrip()
