"""What is seen of a page with all methods, on a wide screen and on a phone's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.browser import Browser

pytestmark = pytest.mark.timeout(240)

# What has nothing to do with the width of the screen.
at_one_width = pytest.mark.parametrize("crowd", [1400], indirect=True)


def test_a_table_that_is_wider_than_its_box_shows_that_there_is_more(crowd: Browser) -> None:
    crowd.wait(
        "return [...document.querySelectorAll('.scroll')].every((box) =>"
        "(box.scrollWidth > box.clientWidth + 1) === box.parentElement.classList.contains('more-right'))"
    )
    wide = crowd.run("return document.querySelectorAll('.edges.more-right').length")
    assert wide >= 1
    assert crowd.run("return document.documentElement.scrollWidth <= innerWidth")

    # At the end of the table nothing more is announced, and the first column is still there.
    end = crowd.run(
        "const box = document.querySelector('.edges.more-right').firstElementChild; box.scrollLeft = 1e6;"
        "return [box.querySelector('tbody th'), box].map((one) => one.getBoundingClientRect().left)"
    )
    crowd.wait(
        "const box = [...document.querySelectorAll('.scroll')].find((one) => one.scrollLeft > 0);"
        "return !box.parentElement.classList.contains('more-right')"
    )
    assert end[0] == pytest.approx(end[1], abs=1)


OVERLAPS = """
const crossed = [];
for (const svg of document.querySelectorAll('.panel .plot > svg')) {
  for (const kind of ['.label text', '.tick-x', '.tick-y']) {
    const texts = [...svg.querySelectorAll(kind)];
    const boxes = texts.map((one) => [one.textContent, one.getBoundingClientRect()]);
    for (const [at, [one, a]] of boxes.entries()) for (const [other, b] of boxes.slice(at + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 0.5 && high > 2.5) crossed.push(`${svg.ariaLabel.slice(0, 30)}: ${one} and ${other}`);
    }
  }
}
return crossed"""


def test_names_at_the_ends_of_lines_and_numbers_of_axes_don_t_collide(crowd: Browser) -> None:
    names = crowd.run(
        "return document.querySelector('.explorer .plot svg').querySelectorAll('.label text').length"
    )
    assert names == 14
    assert crowd.run(OVERLAPS) == []


def test_names_at_the_ends_of_lines_are_whole(crowd: Browser) -> None:
    cut = crowd.run(
        "return [...document.querySelectorAll('.plot .label text')].filter((one) =>"
        "one.getBoundingClientRect().right > one.closest('svg').getBoundingClientRect().right + 0.5)"
        ".map((one) => one.textContent)"
    )
    assert cut == []


def test_every_axis_of_a_chart_has_two_ticks(crowd: Browser) -> None:
    few = crowd.run(
        "return [...document.querySelectorAll('.plot > svg')].filter((svg) =>"
        "svg.querySelectorAll('.tick-x').length < 2 || svg.querySelectorAll('.tick-y').length < 2)"
        ".map((svg) => svg.ariaLabel)"
    )
    assert few == []


@at_one_width
def test_only_leaders_are_in_colour_where_there_are_many_and_all_where_there_are_few(crowd: Browser) -> None:
    def muted() -> int:
        count: int = crowd.run(
            "return document.querySelector('.explorer .plot svg').querySelectorAll('.curve.muted').length"
        )
        return count

    assert muted() == 14 - 5  # the best four are tied with others; cfo is the baseline
    for method in ("rs", "bohb", "smac", "tpe", "hyperband", "gpei"):
        crowd.run(f"document.querySelector('input[data-method][value={method}]').click()")
    assert muted() == 0


@at_one_width
def test_every_figure_says_in_words_what_it_shows(crowd: Browser) -> None:
    texts = crowd.run(
        "return [...document.querySelectorAll('main img')].map((one) => one.alt)"
        ".concat([...document.querySelectorAll('.plot > svg')].map((one) => one.ariaLabel))"
    )
    assert len(texts) > 10
    assert [text for text in texts if len(text) < 60] == []
    figures = crowd.run(
        "return [...document.querySelectorAll('main figure')]"
        ".filter((one) => !one.querySelector('img[alt], svg[aria-label]')).length"
    )
    assert figures == 0


@at_one_width
def test_a_swatch_shows_the_dashes_of_the_line(crowd: Browser) -> None:
    dashes = crowd.run(
        "const of = (name) => document.getElementById('line-' + name).firstElementChild;"
        "return [of('cfo').getAttribute('stroke-dasharray'), of('flow2').getAttribute('stroke-dasharray'),"
        "getComputedStyle(of('cfo')).stroke]"
    )
    assert dashes[0] is None and dashes[1] == "6 2.25"
    assert dashes[2] == "rgb(200, 84, 0)"


def test_without_scripts_pictures_stand_for_the_plots_and_a_link_opens_its_fold(
    window: Browser, crowded: Path
) -> None:
    window.resize(1400, 900)
    window.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        # Another page first: to the same page with another fragment a browser goes without loading it.
        window.post("/url", {"url": "about:blank"})
        window.post("/url", {"url": crowded.resolve().as_uri() + "#xgboost-frugality"})
        assert window.run("return document.getElementById('xgboost-frugality').checkVisibility()")
        pictures = window.run(
            "return [...document.querySelectorAll('noscript img')].map((one) => one.getAttribute('src'))"
        )
        seen = window.run("return document.querySelector('noscript img').checkVisibility()")
        controls = "return [...document.querySelectorAll('button, .controls, .filter, .panel')]"
        useless = window.run(f"{controls}.filter((one) => one.checkVisibility()).length")
        wide = window.run("return document.documentElement.scrollWidth > innerWidth")
    finally:
        window.devtools("Emulation.setScriptExecutionDisabled", value=False)

    assert seen and useless == 0 and not wide
    assert {Path(file).stem for file in pictures} >= {"performance", "ranks-over-time"}


@at_one_width
def test_no_heading_of_a_table_is_an_identifier(crowd: Browser) -> None:
    heads = crowd.run("return [...document.querySelectorAll('thead th')].map((one) => one.textContent)")

    assert len(heads) > 100
    assert [head for head in heads if "_" in head] == []
