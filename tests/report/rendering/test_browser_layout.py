"""What is seen of a page with all methods, on a wide screen and on a phone's."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from cfo_bench.report.method_styles import _KNOWN
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.html_page import PAPER_PIXELS
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


@at_one_width
@pytest.mark.parametrize("width", [1400, 1160, 768, 390])
def test_the_text_of_a_picture_can_be_read_on_any_screen(crowd: Browser, width: int) -> None:
    crowd.resize(width, 900)
    pictures = crowd.run(
        "return [...document.querySelectorAll('figure img')].filter((one) => one.checkVisibility())"
        ".map((one) => [one.getAttribute('src'), one.clientWidth, one.clientHeight,"
        "one.getAttribute('width'), one.getAttribute('height')])"
    )

    assert len(pictures) > 8
    for name, wide, high, *pixels in pictures:
        own = [int(size) for size in pixels]
        share = wide / own[0]
        # Names at the ends of lines are smaller than all other text.
        points = style.SMALL - 1 if own[0] > PAPER_PIXELS else style.SMALL
        assert points / 72 * style.DOTS_PER_INCH * share > 8.9, name
        assert share < 0.76, name
        assert high / wide == pytest.approx(own[1] / own[0], rel=0.02), name
    assert crowd.run("return document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("crowd", [390], indirect=True)
def test_a_picture_that_goes_on_says_so_on_both_sides_and_can_be_scrolled_by_the_keyboard(
    crowd: Browser,
) -> None:
    crowd.wait("return !!document.querySelector('figure .edges.more-right')")
    crowd.run(
        "window.box = document.querySelector('figure .edges.more-right').firstElementChild;"
        "box.scrollLeft = 30; box.parentElement.scrollIntoView({behavior: 'instant'})"
    )
    for side, pseudo in (("left", "::before"), ("right", "::after")):
        crowd.wait(f"return getComputedStyle(box.parentElement, '{pseudo}').opacity === '1'")
        assert crowd.run(f"return getComputedStyle(box.parentElement, '{pseudo}').{side}") == "0px"
    assert crowd.run("return [box.tabIndex, box.role, box.ariaLabel.length > 5]") == [0, "region", True]
    # What has nothing to scroll is no stop for the keyboard.
    crowd.resize(1400, 900)
    crowd.wait("return [...document.querySelectorAll('figure .scroll')].every((one) => one.tabIndex === -1)")


@at_one_width
def test_a_shade_at_the_edge_is_seen_on_light_and_on_dark(crowd: Browser) -> None:
    def shades(of: str) -> list[int]:
        """How light the shade is, and what it lies on, from 0 to 255."""
        found: list[int] = crowd.run(
            "const light = (colour) => Number(colour.match(/\\d+/)[0]);"
            "const edges = document.querySelector(arguments[0]);"
            "return [light(getComputedStyle(edges, '::after').backgroundImage.match(/rgba?\\(.*?\\)/)[0]),"
            "light(getComputedStyle(document.body).backgroundColor)]",
            of,
        )
        return found

    for scheme in ("light", "dark"):
        crowd.prefer(scheme)
        for of in (".sheet .edges", "figure .edges"):
            shade, ground = shades(of)
            assert abs(shade - ground) > 100, f"{of} on {scheme}"
    crowd.prefer("light")


@at_one_width
def test_on_a_dark_page_pictures_have_the_colours_of_the_charts(crowd: Browser) -> None:
    crowd.prefer("dark")
    colours = {method: (style.colour, style.dark) for method, style in _KNOWN.items()}
    # A pixel of each colour goes through the filter that the page puts on its pictures.
    filtered = crowd.run(
        "const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});"
        "const {filter} = getComputedStyle(document.querySelector('.picture img'));"
        "return Object.entries(arguments[0]).map(([method, [colour]]) => {"
        "pen.filter = filter; pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);"
        "return [method, [...pen.getImageData(0, 0, 1, 1).data]] })",
        colours,
    )
    blend = "return getComputedStyle(document.querySelector('.picture img')).mixBlendMode"
    assert crowd.run(blend) == "screen"
    for method, pixel in filtered:
        dark = [int(colours[method][1][at : at + 2], 16) for at in (1, 3, 5)]
        assert pixel[:3] == pytest.approx(dark, abs=3), method

    crowd.run("document.documentElement.dataset.theme = 'light'")
    assert crowd.run("return getComputedStyle(document.querySelector('.picture img')).filter") == "none"
    crowd.prefer("light")
    assert crowd.run(blend) == "normal"


# The words of printed tables that are broken, or stand beyond the edge of their table or of the paper.
LOST = """
const lost = [];
for (const table of document.querySelectorAll('table.data')) {
  if (!table.checkVisibility()) continue;
  const { right, bottom } = table.closest('.edges').getBoundingClientRect();
  for (const cell of table.querySelectorAll('td:not([title]), th')) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      for (const word of text.data.matchAll(/[^ -]+/g)) {
        const range = new Range();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const boxes = [...range.getClientRects()];
        if (new Set(boxes.map((one) => Math.round(one.top))).size > 1) lost.push(`broken: ${word[0]}`);
        const isOut = (one) => one.right > right + 1 || one.bottom > bottom + 1;
        if (boxes.some(isOut)) lost.push(`cut off: ${word[0]}`);
      }
    }
  }
}
return lost"""


@at_one_width
@pytest.mark.parametrize("paper", [718, 560])
def test_nothing_of_a_table_is_lost_in_print(crowd: Browser, paper: int) -> None:
    crowd.devtools("Emulation.setEmulatedMedia", media="print")
    crowd.resize(paper, 1000)
    try:
        sizes = crowd.run(
            "return [...document.querySelectorAll('table.data')].filter((one) => one.checkVisibility())"
            ".map((one) => parseFloat(getComputedStyle(one).fontSize))"
        )
        assert len(sizes) > 4 and 4 < min(sizes) < max(sizes) < 9
        assert crowd.run(LOST) == []
    finally:
        crowd.devtools("Emulation.setEmulatedMedia", media="")


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


# The cells of a table row whose text is not whole inside the window, by their column.
HIDDEN = """
const table = document.getElementById('xgboost-table-scores');
table.scrollIntoView({ block: 'center', behavior: 'instant' });
const { right } = table.closest('.scroll').getBoundingClientRect();
return [...table.tBodies[0].rows[0].cells].flatMap((cell, at) => {
  const range = new Range();
  range.selectNodeContents(cell);
  return range.getBoundingClientRect().right > right + 1 ? [at] : [];
})"""


@pytest.mark.parametrize(("width", "visible"), [(1400, 6), (390, 2)])
def test_final_scores_are_seen_without_scrolling(
    window: Browser, six_methods: Path, width: int, visible: int
) -> None:
    window.resize(width, 900)
    window.visit(six_methods)

    heads = window.run(
        "return [...document.querySelectorAll('#xgboost-table-scores thead button')]"
        ".map((head) => head.innerText.trim())"
    )
    assert heads == ["task", "cfo-tuned", "cfo", "flow2", "tpe", "flaml-cfo", "rs"]
    # The column of tasks is the first.
    assert window.run(HIDDEN) == list(range(1 + visible, 7))
    title = window.run("return document.getElementById('xgboost-table-scores').closest('.sheet').innerText")
    assert title.startswith("Final scores: AUC ↑ (validation)")


def test_the_title_is_first_then_the_verdict_and_the_warnings(window: Browser, six_methods: Path) -> None:
    window.resize(1400, 900)
    window.visit(six_methods)
    tops = window.run(
        "return ['h1', '.answer', '.notices', 'main figure'].map((part) =>"
        "document.querySelector(part).getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    assert "notes.jsonl" in window.run("return document.querySelector('.notices').innerText")


def test_a_table_that_a_figure_shows_is_folded(window: Browser, six_methods: Path) -> None:
    window.visit(six_methods)
    folded = "return document.getElementById('xgboost-table-speed-ups').closest('details.sheet')?.open"
    assert window.run(folded) is False
    assert window.run("return document.getElementById('xgboost-table-scores').checkVisibility()")


def test_the_page_prints_on_at_most_twelve_sheets(window: Browser, six_methods: Path) -> None:
    window.resize(1400, 900)
    window.visit(six_methods)
    window.wait("return document.querySelectorAll('.explorer svg .line').length >= 4 * 6")

    printed = window.devtools("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)

    pages = re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))
    assert 5 < len(pages) <= 12


@at_one_width
def test_a_swatch_shows_the_dashes_of_the_line(crowd: Browser) -> None:
    dashes = crowd.run(
        "const of = (name) => document.getElementById('line-' + name).firstElementChild;"
        "return [of('cfo').getAttribute('stroke-dasharray'), of('flow2').getAttribute('stroke-dasharray'),"
        "getComputedStyle(of('cfo')).stroke]"
    )
    assert dashes[0] is None and dashes[1] == "6 2.25"
    assert dashes[2] == "rgb(196, 90, 3)"


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
def test_no_heading_of_a_table_is_an_identifier_but_for_hyperparameters(crowd: Browser) -> None:
    heads = crowd.run("return [...document.querySelectorAll('thead th')].map((one) => one.textContent)")

    assert len(heads) > 100
    # Hyperparameters keep the names that they have in configurations and figures.
    assert {head for head in heads if "_" in head} == {"n_estimators", "max_leaves"}
