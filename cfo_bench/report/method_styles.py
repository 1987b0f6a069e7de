"""The colour, marker, line and order of methods: the same in every table, figure and report.

A method always has the name that users type after `--method`. Two methods with the same kind of line have
colours that people with red-green colour blindness can also distinguish, on white and on a dark background.
The same holds for methods that are often compared (tests/report/test_method_styles.py checks this).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """How a method is drawn."""

    method: str
    colour: str  # on white
    marker: str  # as matplotlib calls it
    dashes: tuple[float, ...] = ()  # lengths of dashes and gaps in points; empty for a solid line

    @property
    def dark(self) -> str:
        """The colour on a dark background."""
        return dark_colour(self.colour)


_DASHED, _DOTTED, _MIXED, _LONG = (4.0, 1.5), (1.0, 1.0), (4.0, 1.5, 1.0, 1.5), (7.0, 1.5)

# The paper's methods, then the others: the order of methods without a rank, or with equal ranks.
_KNOWN = {
    style.method: style
    for style in (
        MethodStyle("rs", "#444444", "x"),
        MethodStyle("bohb", "#6D3E98", "v"),
        MethodStyle("gpei", "#0FAE6B", "s"),
        MethodStyle("gpeips", "#3CABF5", "D"),
        MethodStyle("smac", "#C06E9C", "^"),
        MethodStyle("cfo-0", "#CFA806", "P"),
        MethodStyle("cfo", "#C45A03", "o"),
        MethodStyle("cfo-tuned", "#1C8EFF", "H", _DASHED),
        MethodStyle("flow2", "#9EA7EE", "*", _DASHED),
        MethodStyle("tpe", "#CC7AAA", "<", _DOTTED),
        MethodStyle("hyperopt-tpe", "#8A3800", ">", _DOTTED),
        MethodStyle("hyperband", "#4E9840", "h", _DOTTED),
        MethodStyle("flaml-cfo", "#48B57B", "p", _MIXED),
        MethodStyle("blendsearch", "#256331", "d", _MIXED),
        MethodStyle("tpe-univariate", "#40BF59", "X", _DASHED),
        MethodStyle("optuna-gp", "#6A6FFF", "8", _MIXED),
        MethodStyle("gp-cooled", "#4DBF89", "1", _DOTTED),
        MethodStyle("cma-es", "#00BCB2", "2", _DASHED),
        MethodStyle("dehb", "#7C3CDD", "3", _DOTTED),
        MethodStyle("smac-mf", "#0070B7", "4", _MIXED),
        MethodStyle("botorch-ei", "#7942BD", "$E$", _LONG),
        MethodStyle("botorch-eips", "#F22106", "$S$", _LONG),
        MethodStyle("boca", "#D076AC", "$B$", _LONG),
        MethodStyle("fabolas", "#3C1617", "$F$", _LONG),
    )
}

# For all other methods; none of these is used above. Black is reserved for lines that belong to no method.
_OTHER_COLOURS = ("#7B3F00", "#6699CC", "#B5006B", "#5D8A00", "#44AA99", "#7F7FFF")
_OTHER_MARKERS = ("+", "|", "_", ".")
_OTHER_DASHES = ((6.0, 2.0), (2.0, 2.0), (6.0, 2.0, 2.0, 2.0))

# The brightness in the filter of a dark page.
_BRIGHTER = 1.2


def style_of(method: str) -> MethodStyle:
    """The style of a method, always the same for the same name."""
    if method in _KNOWN:
        return _KNOWN[method]
    draw = hashlib.sha256(method.encode()).digest()
    colour = _OTHER_COLOURS[draw[0] % len(_OTHER_COLOURS)]
    return MethodStyle(
        method,
        colour,
        _OTHER_MARKERS[draw[1] % len(_OTHER_MARKERS)],
        _OTHER_DASHES[draw[2] % len(_OTHER_DASHES)],
    )


def in_order(methods: Iterable[str]) -> list[str]:
    """The known methods in the order of `_KNOWN`, the paper's first; then the others by name."""
    known = list(_KNOWN)
    return sorted(set(methods), key=lambda name: (known.index(name) if name in known else len(known), name))


def dark_colour(colour: str) -> str:
    """The colour that the filter of a dark page (`.picture` in report.css) gives to this colour in a picture.

    The filter inverts the lightness and keeps the hue: `invert(1) hue-rotate(180deg) brightness(1.2)`, by the
    formulas of the Filter Effects specification.
    """
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    shift = 1 - 2 * (0.213 * red + 0.715 * green + 0.072 * blue)
    parts = [min(max(part + shift, 0.0), 1.0) for part in (red, green, blue)]
    return "#" + "".join(f"{round(255 * min(_BRIGHTER * part, 1.0)):02X}" for part in parts)
