"""The colour, marker, line and place of each method: the same in every table, figure and report.

Colours are Okabe and Ito's and, beyond the paper's methods, Tol's: people who see red and green alike
can tell them apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """How a method is shown; `dashes` are in points, empty for a whole line."""

    label: str
    colour: str
    marker: str
    dashes: tuple[float, ...] = ()


# In the order in which methods stand in tables and legends: the paper's, then the others.
_KNOWN = {
    "rs": Look("RS", "#777777", "x"),
    "bohb": Look("BOHB", "#0072B2", "v"),
    "gpei": Look("GPEI", "#009E73", "s"),
    "gpeips": Look("GPEIPS", "#56B4E9", "D"),
    "smac": Look("SMAC", "#CC79A7", "^"),
    "cfo-0": Look("CFO-0", "#E69F00", "P"),
    "cfo": Look("CFO", "#D55E00", "o"),
    "cfo-tuned": Look("CFO tuned", "#882255", "o", (4, 1.5)),
    "flow2": Look("FLOW²", "#332288", "*", (4, 1.5)),
    "tpe": Look("TPE (Optuna)", "#AA4499", "<", (1, 1)),
    "hyperopt-tpe": Look("TPE (Hyperopt)", "#661100", ">", (1, 1)),
    "hyperband": Look("Hyperband", "#005F5F", "h", (1, 1)),
    "flaml-cfo": Look("CFO (FLAML)", "#999933", "p", (4, 1.5, 1, 1.5)),
    "blendsearch": Look("BlendSearch", "#117733", "d", (4, 1.5, 1, 1.5)),
}

# For all other methods; none of these is used above. Black is not used, since it has its own meaning.
_OTHER_COLOURS = ("#7B3F00", "#6699CC", "#B5006B", "#5D8A00", "#44AA99", "#7F7FFF")
_OTHER_MARKERS = ("H", "8", "X", "1", "2", "3", "4")
_OTHER_DASHES = ((6, 2), (2, 2), (6, 2, 2, 2))


def look(method: str) -> Look:
    """The look of a method, always the same for the same name."""
    if method in _KNOWN:
        return _KNOWN[method]
    draw = hashlib.sha256(method.encode()).digest()
    return Look(
        method,
        _OTHER_COLOURS[draw[0] % len(_OTHER_COLOURS)],
        _OTHER_MARKERS[draw[1] % len(_OTHER_MARKERS)],
        _OTHER_DASHES[draw[2] % len(_OTHER_DASHES)],
    )


def in_order(methods: Iterable[str]) -> list[str]:
    """The paper's methods in the paper's order, then the others by name."""
    known = list(_KNOWN)
    return sorted(set(methods), key=lambda name: (known.index(name) if name in known else len(known), name))
