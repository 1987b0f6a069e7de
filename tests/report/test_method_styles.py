"""Every pair of methods can be told apart, by people who confuse red and green too, on white and on dark."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from cfo_bench.metrics import Array
from cfo_bench.optimizers import METHODS
from cfo_bench.report.method_styles import (
    _KNOWN,
    _OTHER_COLOURS,
    _OTHER_DASHES,
    dark_colour,
    in_order,
    style_of,
)
from cfo_bench.results.run import NOT_COMPARED

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
# Methods that are often on one page.
OFTEN_COMPARED = ("rs", "cfo", "cfo-0", "cfo-tuned", "flow2", "tpe", "flaml-cfo", "bohb", "blendsearch")
WHITE_GROUND, DARK_GROUND = "#FFFFFF", "#14171B"


def linear(colour: str) -> Array:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: Array) -> Array:
    x = TO_XYZ @ np.clip(vision @ linear(colour), 0, 1) / WHITE
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: str, other: str, vision: Array) -> float:
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_finds_a_pair_that_is_hard_to_tell_apart() -> None:
    grey, green = "#777777", "#009E73"

    assert difference(grey, green, VISION["normal"]) > 40
    assert difference(grey, green, VISION["deuteranopia"]) == pytest.approx(11, abs=0.5)


@pytest.mark.parametrize("vision", list(VISION))
@pytest.mark.parametrize("ground", ["colour", "dark"])
def test_methods_with_the_same_kind_of_line_have_colours_that_differ(vision: str, ground: str) -> None:
    close = [
        (first.method, second.method)
        for first, second in combinations(_KNOWN.values(), 2)
        if first.dashes == second.dashes
        and difference(getattr(first, ground), getattr(second, ground), VISION[vision]) < 20
    ]

    assert close == []


@pytest.mark.parametrize("vision", list(VISION))
@pytest.mark.parametrize("ground", ["colour", "dark"])
def test_methods_that_are_often_compared_have_colours_that_differ_clearly(vision: str, ground: str) -> None:
    least = 30 if vision == "normal" else 20
    close = [
        pair
        for pair in combinations(OFTEN_COMPARED, 2)
        if difference(*(getattr(style_of(method), ground) for method in pair), VISION[vision]) < least
    ]

    assert close == []


def test_every_method_that_comes_along_has_a_style_of_its_own() -> None:
    # tpe-multivariate is another name of tpe.
    assert set(METHODS.builtin) - {*NOT_COMPARED, "tpe-multivariate"} <= set(_KNOWN)


def test_known_methods_have_colours_and_markers_of_their_own_and_unknown_ones_keep_theirs() -> None:
    known = list(_KNOWN.values())

    assert len({style.colour for style in known}) == len({style.marker for style in known}) == len(known)
    assert style_of("mine") == style_of("mine")
    assert style_of("mine").colour not in {style.colour for style in known}
    assert not {style.dashes for style in known} & set(_OTHER_DASHES)


def test_every_colour_can_be_seen_on_its_background() -> None:
    colours = {style.colour for style in _KNOWN.values()} | set(_OTHER_COLOURS)
    darks = {style.dark for style in _KNOWN.values()} | {dark_colour(colour) for colour in _OTHER_COLOURS}

    assert min(contrast(colour, WHITE_GROUND) for colour in colours) > 2
    assert min(contrast(colour, DARK_GROUND) for colour in darks) > 3


@pytest.mark.parametrize(("colour", "dark"), [("#000000", "#FFFFFF"), ("#FFFFFF", "#000000")])
def test_a_dark_page_inverts_black_and_white(colour: str, dark: str) -> None:
    assert dark_colour(colour) == dark


def test_methods_stand_in_the_paper_s_order_and_others_after_them() -> None:
    assert in_order(["zeta", "flow2", "cfo", "alpha", "rs", "cfo-0"]) == [
        *("rs", "cfo-0", "cfo", "flow2"),
        *("alpha", "zeta"),
    ]
