"""The colour, marker, line and order of methods: the same in every table, figure and report.

A method is always called by the name that users type after `--method`. Two methods with the same kind of line
have colours that people with red-green colour blindness can tell apart too, on white and on a dark
background (tests/report/test_method_styles.py computes it).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """How a method is drawn."""

    method: str
    colour: str  # on white
    dark: str  # on a dark background
    marker: str  # as matplotlib calls it
    dashes: tuple[float, ...] = ()  # lengths of dashes and gaps in points; empty for a solid line


_DASHED, _DOTTED, _MIXED = (4.0, 1.5), (1.0, 1.0), (4.0, 1.5, 1.0, 1.5)

# In the order of tables and legends: the paper's methods, then the others.
_KNOWN = {
    style.method: style
    for style in (
        MethodStyle("rs", "#3B3B3B", "#D2D2D2", "x"),
        MethodStyle("bohb", "#0076C2", "#108BD4", "v"),
        MethodStyle("gpei", "#149D6F", "#089462", "s"),
        MethodStyle("gpeips", "#56B4E9", "#6DC4F4", "D"),
        MethodStyle("smac", "#AB6C9B", "#C677A5", "^"),
        MethodStyle("cfo-0", "#E7A000", "#F7AC13", "P"),
        MethodStyle("cfo", "#C85400", "#D55E00", "o"),
        MethodStyle("cfo-tuned", "#882355", "#C68AA0", "H", _DASHED),
        MethodStyle("flow2", "#332288", "#9D95D2", "*", _DASHED),
        MethodStyle("tpe", "#AB479D", "#B065B7", "<", _DOTTED),
        MethodStyle("hyperopt-tpe", "#661100", "#A7784A", ">", _DOTTED),
        MethodStyle("hyperband", "#005453", "#528D86", "h", _DOTTED),
        MethodStyle("flaml-cfo", "#999933", "#999933", "p", _MIXED),
        MethodStyle("blendsearch", "#117733", "#61AA79", "d", _MIXED),
        MethodStyle("tpe-multivariate", "#40BF59", "#67E467", "X", _DASHED),
        MethodStyle("optuna-gp", "#3826D9", "#8D67E4", "8", _MIXED),
        MethodStyle("gp-cooled", "#40BF80", "#99E6B8", "1", _DOTTED),
        MethodStyle("cma-es", "#66ADCC", "#7DDDE8", "2", _DASHED),
        MethodStyle("dehb", "#7C3CDD", "#C8A9D6", "3", _DOTTED),
        MethodStyle("smac-mf", "#19244D", "#939CEC", "4", _MIXED),
    )
}

# For all other methods; none of these is used above. Black is reserved for lines that are no method's.
_OTHER_COLOURS = ("#7B3F00", "#6699CC", "#B5006B", "#5D8A00", "#44AA99", "#7F7FFF")
_OTHER_MARKERS = ("+", "|", "_", ".")
_OTHER_DASHES = ((6.0, 2.0), (2.0, 2.0), (6.0, 2.0, 2.0, 2.0))


def style_of(method: str) -> MethodStyle:
    """The style of a method, always the same for the same name."""
    if method in _KNOWN:
        return _KNOWN[method]
    draw = hashlib.sha256(method.encode()).digest()
    colour = _OTHER_COLOURS[draw[0] % len(_OTHER_COLOURS)]
    return MethodStyle(
        method,
        colour,
        dark_colour(colour),
        _OTHER_MARKERS[draw[1] % len(_OTHER_MARKERS)],
        _OTHER_DASHES[draw[2] % len(_OTHER_DASHES)],
    )


def in_order(methods: Iterable[str]) -> list[str]:
    """The paper's methods in the paper's order, then the others by name."""
    known = list(_KNOWN)
    return sorted(set(methods), key=lambda name: (known.index(name) if name in known else len(known), name))


def dark_colour(colour: str) -> str:
    """The colour, made lighter if it is too dark for a dark background."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    for share in (0.0, 0.15, 0.3, 0.45, 0.6, 0.75):
        mixed = [round(part + (255 - part) * share) for part in parts]
        if _luminance(mixed) > 0.2:
            break
    return "#" + "".join(f"{part:02X}" for part in mixed)


def _luminance(colour: Sequence[int]) -> float:
    """As WCAG defines it, 0 for black and 1 for white."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
