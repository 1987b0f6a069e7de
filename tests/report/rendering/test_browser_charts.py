"""The interactive plots of the page, by mouse and by finger, on a wide screen and on a phone's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.browser import Browser
from tests.report.rendering.conftest import DRAWN

pytestmark = pytest.mark.timeout(240)

# The plot of the answer, and those of the first and of another task.
PLOTS = (".panel.chart", ".explorer .panel", ".explorer .panel:nth-child(4)")


def tip(browser: Browser, panel: str) -> list[float] | None:
    """Left, top, right and bottom of the values at the cursor; None if they are not shown."""
    found: list[float] | None = browser.run(
        "const tip = document.querySelector(`${arguments[0]} .tip`), box = tip.getBoundingClientRect();"
        "return tip.hidden ? null : [box.left, box.top, box.right, box.bottom]",
        panel,
    )
    return found


def size(browser: Browser) -> tuple[int, int]:
    width, height = browser.run("return [innerWidth, innerHeight]")
    return width, height


@pytest.mark.parametrize("panel", PLOTS)
@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_the_values_at_the_cursor_stand_whole_and_beside_it(crowd: Browser, panel: str, part: float) -> None:
    left, top, right, bottom = crowd.box(f"{panel} .plot > svg")
    crowd.point(left + part * (right - left), (top + bottom) / 2)

    shown = tip(crowd, panel)
    x = crowd.run("return document.querySelector(arguments[0]).getBoundingClientRect().x", f"{panel} .cursor")
    assert shown is not None
    width, height = size(crowd)
    assert shown[0] >= 0 and shown[1] >= 0 and shown[2] <= width and shown[3] <= height
    # Nothing is over it, nor does a box cut it off: its corners are what is seen there.
    hidden = crowd.run(
        "const tip = document.querySelector(`${arguments[0]} .tip`), box = tip.getBoundingClientRect();"
        "tip.style.pointerEvents = 'auto';"
        "const corners = [[box.left, box.top], [box.right, box.top], [box.left, box.bottom],"
        "[box.right, box.bottom]].map(([x, y]) => [x + (x > box.left ? -6 : 6), y + (y > box.top ? -6 : 6)]);"
        "const seen = corners.map(([x, y]) => tip.contains(document.elementFromPoint(x, y)));"
        "tip.style.pointerEvents = ''; return seen.filter((one) => !one).length",
        panel,
    )
    assert hidden == 0
    beside = max(shown[0] - x, x - shown[2], 0)
    below = max(shown[1] - bottom, top - shown[3], 0)
    assert beside < 20 and below < 20
    # The line at the cursor can be seen: the values are beside it, or below, as far as the window has room.
    assert not shown[0] < x < shown[2] or shown[1] > bottom or shown[3] > height - 10


@pytest.mark.parametrize("crowd", [390], indirect=True)
def test_a_tap_reads_the_values_and_a_finger_that_moves_goes_on_reading(crowd: Browser) -> None:
    panel = ".explorer .panel"

    def head() -> str:
        text: str = crowd.run(
            "return document.querySelector(`${arguments[0]} .tip strong`).textContent", panel
        )
        return text

    left, top, right, bottom = crowd.box(f"{panel} .plot > svg")
    middle, wide = (top + bottom) / 2, right - left
    before = crowd.run("return document.querySelector(arguments[0]).textContent", f"{panel} .plot > svg")

    crowd.point(left + 0.3 * wide, middle, kind="touch")
    assert tip(crowd, panel) is not None
    tapped = head()
    crowd.point(left + 0.3 * wide, middle, kind="touch", to=left + 0.6 * wide)
    assert tip(crowd, panel) is not None and head() != tapped

    after = crowd.run("return document.querySelector(arguments[0]).textContent", f"{panel} .plot > svg")
    assert after == before and crowd.run("return document.querySelector('.panel .reset').hidden")
    # A tap elsewhere ends it.
    crowd.point(left + 0.3 * wide, crowd.box(f"{panel} h3")[1] + 5, kind="touch")
    crowd.run("document.querySelector('h1').scrollIntoView({block: 'center', behavior: 'instant'})")
    crowd.point(30, crowd.box("h1")[1] + 5, kind="touch")
    assert tip(crowd, panel) is None


CUT = """
return [...document.querySelectorAll('.plot > svg')].flatMap((svg) => {
  const whole = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.left < whole.left - 0.5 || box.right > whole.right + 0.5
      || box.top < whole.top - 0.5 || box.bottom > whole.bottom + 0.5;
  }).map((one) => one.textContent);
})"""


@pytest.mark.parametrize("width", [1400, 390, 320])
def test_no_word_of_a_chart_is_cut_off(window: Browser, narrow: Path, width: int) -> None:
    window.resize(width, 900)
    window.visit(narrow)
    window.wait("return document.querySelectorAll('.explorer svg .line').length === 4")
    window.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    window.wait(DRAWN)

    names = window.run(
        "return [...document.querySelectorAll('.explorer .name-y')].map((one) => one.textContent).join(' ')"
    )
    assert "mean best loss (1 − balanced accuracy)" in names
    assert window.run(CUT) == []


def test_no_word_of_a_chart_with_many_methods_is_cut_off(crowd: Browser) -> None:
    assert crowd.run(CUT) == []


def ticks(browser: Browser, task: str) -> list[float]:
    found: list[Any] = browser.run(
        "return [...document.querySelectorAll(`.panel[data-task=${arguments[0]}] .tick-y`)]"
        ".map((one) => Number(one.textContent))",
        task,
    )
    return sorted(found)


def test_losses_that_differ_much_are_on_a_log_axis_until_the_reader_chooses(
    window: Browser, narrow: Path
) -> None:
    def is_log(task: str) -> bool:
        found = ticks(window, task)
        return len(found) > 2 and found[0] > 0 and found[-1] >= 20 * found[0]

    window.resize(1400, 900)
    window.visit(narrow)
    window.wait("return document.querySelectorAll('.explorer svg .line').length === 4")
    window.run("document.querySelector('.explorer .controls').open = true")
    assert is_log("wide") and not is_log("even")

    window.click("input[data-view=logValue][value='0']")
    assert not is_log("wide") and not is_log("even")
    window.click("input[data-view=logValue][value='1']")
    assert is_log("wide")
    window.click("input[data-view=logValue][value='']")
    assert is_log("wide") and not is_log("even")
    # A score has its own range: it is on a linear axis.
    window.click("input[data-view=asScore][value='1']")
    assert not is_log("wide") and not is_log("even")
    assert window.console() == []
