"""The page in a real browser: what is switched, sorted, folded and linked."""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.helpers.browser import Browser
from tests.report.rendering.conftest import ODD

pytestmark = pytest.mark.timeout(240)


def lines(browser: Browser) -> set[str]:
    """The methods that are drawn, in all plots."""
    drawn: list[str] = browser.run(
        "return [...document.querySelectorAll('.explorer .curve')].map((one) => one.dataset.method)"
    )
    return set(drawn)


def panels(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "return [...document.querySelectorAll('.explorer .panel')].map((one) => one.dataset.task)"
    )
    return found


def test_methods_and_tasks_are_switched_off_and_on(browser: Browser) -> None:
    assert lines(browser) == {"cfo", "rs", "bohb", "mine"}

    browser.click("input[data-method][value=rs]")
    assert lines(browser) == {"cfo", "bohb", "mine"}
    browser.click("input[data-method][value=rs]")
    assert lines(browser) == {"cfo", "rs", "bohb", "mine"}

    shown = panels(browser)
    assert len(shown) == 4
    browser.click(f"input[data-curves][value={json.dumps(shown[0])}]")
    assert panels(browser) == shown[1:]
    browser.click("input[data-curves][value=shuttle]")
    browser.wait("return !!document.querySelector('.panel[data-task=shuttle] svg .line')")
    assert panels(browser) == [*shown[1:], "shuttle"]


def test_a_task_called_like_a_script_is_text(browser: Browser) -> None:
    assert ODD in panels(browser)
    headings = browser.run(
        "return [...document.querySelectorAll('.explorer .panel h3')].map((one) => one.textContent)"
    )
    assert ODD in headings
    assert browser.run("return [...document.scripts].every((one) => !one.textContent.includes('alert'))")
    cells = browser.run("return [...document.querySelectorAll('tbody th')].map((one) => one.textContent)")
    assert ODD in cells


def test_axes_can_be_switched_and_zoomed_by_mouse_and_keyboard(browser: Browser) -> None:
    plot = ".panel[data-task=BNG_pbc] svg"

    def labels() -> str:
        text: str = browser.run("return document.querySelector(arguments[0]).textContent", plot)
        return text

    before = labels()
    browser.click("input[data-view=asScore][value='1'] ")
    assert "score" in labels() and "score" not in before
    browser.click("input[data-view=asScore][value='0']")
    browser.click("input[data-view=logTime][value='0']")
    assert labels() != before
    browser.click("input[data-view=logTime][value='1']")
    assert labels() == before

    # Arrow keys read the values out, + zooms in, 0 shows all again.
    browser.press(plot, "\ue014\ue014")
    said = browser.run("return document.querySelector('.panel[data-task=BNG_pbc] [aria-live]').textContent")
    assert re.match(r"wall-clock seconds [\d.]+: cfo 0\.\d+, ", said)
    browser.press(plot, "++")
    assert labels() != before
    assert browser.run("return !document.querySelector('.panel[data-task=BNG_pbc] .reset').hidden")
    browser.press(plot, "0")
    assert labels() == before

    left, top, right, bottom = browser.box(plot)
    third = (right - left) / 3
    browser.point(left + third, (top + bottom) / 2, to=left + 2 * third)
    assert labels() != before
    assert "cfo" in browser.run("return document.querySelector('.panel[data-task=BNG_pbc] .tip').textContent")
    browser.click(".panel[data-task=BNG_pbc] .reset")
    assert labels() == before


def test_a_table_is_sorted_and_filtered(browser: Browser) -> None:
    table = "#xgboost-table-optimality"

    def names(visible_only: bool = False) -> list[str]:
        found: list[str] = browser.run(
            "return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]"
            ".filter((row) => !arguments[1] || !row.hidden).map((row) => row.cells[0].textContent)",
            table,
            visible_only,
        )
        return found

    given = names()
    browser.click(f"{table} thead th:first-child button")
    ascending = names()
    browser.click(f"{table} thead th:first-child button")
    assert names() == ascending[::-1] != given
    assert browser.run(f"return document.querySelector('{table} thead th').ariaSort") == "descending"
    browser.click(f"{table} thead th:first-child button")
    assert names() == given

    browser.press(f"{table}-filter", "shut")
    assert names(visible_only=True) == ["shuttle"]


def test_scores_sort_by_their_number_whether_they_are_the_best_or_not(browser: Browser) -> None:
    table = "#xgboost-table-scores"

    def scores() -> list[float]:
        found: list[str] = browser.run(
            "return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map((row) =>"
            "row.cells[3].textContent)",
            table,
        )
        return [float(text.split()[0].replace("\u2212", "-")) for text in found]

    assert browser.run("return !!document.querySelector(`${arguments[0]} td:nth-child(4).best`)", table)
    given = scores()
    browser.click(f"{table} thead th:nth-child(4) button")
    assert scores() == sorted(given) != given
    browser.click(f"{table} thead th:nth-child(4) button")
    assert scores() == sorted(given, reverse=True)


def test_a_link_leads_to_its_file(browser: Browser, page: Path) -> None:
    link = ".explorer .panel a.csv"
    address = browser.run("return document.querySelector(arguments[0]).href", link)

    file = Path(urllib.request.url2pathname(urllib.parse.urlsplit(address).path))
    assert file.read_text(encoding="utf-8").startswith("task,method,seconds,mean_loss")
    links = browser.run("return [...document.querySelectorAll('main a[href]')].map((one) => one.href)")
    files = {urllib.request.url2pathname(urllib.parse.urlsplit(one).path) for one in links if "#" not in one}
    assert len(files) > 20
    assert all(Path(file).is_file() for file in files)


def test_dark_is_the_systems_wish_or_the_buttons(browser: Browser) -> None:
    def ground() -> str:
        colour: str = browser.run("return getComputedStyle(document.body).backgroundColor")
        return colour

    browser.prefer("light")
    light = ground()
    browser.prefer("dark")
    dark = ground()
    assert light == "rgb(255, 255, 255)" and dark != light

    name = "return document.getElementById('theme').innerText"
    assert browser.run(name) == "Light"
    browser.click("#theme")
    assert ground() == light and browser.run(name) == "Dark"
    browser.click("#theme")
    assert ground() == dark and browser.run(name) == "Light"


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_a_small_screen(browser: Browser, width: int) -> None:
    browser.resize(width, 700)
    browser.run("window.dispatchEvent(new Event('resize'))")

    browser.wait(f"return document.documentElement.scrollWidth <= {width}")


FOLDS = "return [...document.querySelectorAll('details.fold')].map((fold) => fold.open)"


def test_the_answer_and_what_supports_it_are_open_and_the_rest_is_folded(browser: Browser) -> None:
    folds = browser.run(FOLDS)
    assert len(folds) > 3 and not any(folds)

    order = browser.run(
        "return [...document.querySelectorAll('.answer, main figure, .explorer, details.fold')]"
        ".filter((one) => !one.parentElement.closest('details'))"
        ".map((one) => one.tagName + '.' + one.className)"
    )
    assert order[0] == "P.answer" and order[1].startswith("FIGURE")
    first_fold = order.index("DETAILS.fold")
    assert "DIV.explorer" in order[:first_fold]
    assert set(order[first_fold:]) == {"DETAILS.fold"}


def test_a_fold_is_opened_by_a_link_into_it_and_by_the_keyboard(browser: Browser, page: Path) -> None:
    browser.click(".contents a[href='#xgboost-frugality']")
    browser.wait("return document.getElementById('xgboost-frugality').closest('details').open")
    assert sum(browser.run(FOLDS)) == 1

    browser.visit(page, "#xgboost-table-machines")
    browser.wait("return document.getElementById('xgboost-table-machines').checkVisibility()")

    assert sum(browser.run(FOLDS)) == 2
    browser.press("details.fold:not([open]) summary", "\ue007")
    assert sum(browser.run(FOLDS)) == 3


@pytest.mark.parametrize("name", ["page", "crowded", "narrow", "two_learners"])
@pytest.mark.parametrize("width", [1400, 390])
def test_no_script_fails_on_any_page(
    window: Browser, request: pytest.FixtureRequest, name: str, width: int
) -> None:
    page: Path = request.getfixturevalue(name)
    window.resize(width, 900)
    window.visit(page)

    assert window.console() == []
    # What is done last: on a narrow screen the contents are closed.
    assert window.run("return document.querySelector('.contents details').open") == (width == 1400)
    window.wait("return document.querySelectorAll('.contents a[aria-current]').length === 1")


def shown_learner(browser: Browser) -> list[str]:
    """The learner that is seen, the one whose contents are seen, and the one in the box."""
    found: list[str] = browser.run(
        "const seen = (selector) => [...document.querySelectorAll(selector)]"
        ".filter((one) => !one.hidden).map((one) => one.dataset.learner ?? one.dataset.contentsOf).join();"
        "return [seen('.learner'), seen('[data-contents-of]'), document.getElementById('learner').value]"
    )
    return found


def test_of_two_learners_one_is_seen_and_a_link_leads_to_the_other(
    window: Browser, two_learners: Path
) -> None:
    window.resize(1400, 900)
    window.visit(two_learners)
    assert shown_learner(window) == ["lightgbm"] * 3

    window.run("location.hash = '#xgboost-frugality'")
    window.wait("return document.getElementById('xgboost-frugality').checkVisibility()")
    assert shown_learner(window) == ["xgboost"] * 3
    window.press("#learner", "lightgbm")
    assert shown_learner(window) == ["lightgbm"] * 3

    window.post("/url", {"url": "about:blank"})
    window.visit(two_learners, "#xgboost-table-machines")
    window.wait("return document.getElementById('xgboost-table-machines').checkVisibility()")
    assert shown_learner(window) == ["xgboost"] * 3
    assert window.console() == []


def test_printing_opens_all_folds_and_closes_them_again(browser: Browser) -> None:
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert all(browser.run(FOLDS))
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert not any(browser.run(FOLDS))


def test_what_has_the_keyboard_s_focus_is_seen(browser: Browser) -> None:
    browser.press("details.fold summary", "")
    browser.press("body", "\ue004\ue004")

    style = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert browser.run("return document.activeElement !== document.body") and style == "solid"


def test_every_control_has_a_name_and_every_picture_a_text(browser: Browser) -> None:
    browser.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    nodes = browser.devtools("Accessibility.getFullAXTree")["nodes"]
    controls = {
        "button",
        "checkbox",
        "radio",
        "link",
        "searchbox",
        "combobox",
        "image",
        "img",
        "table",
        "region",
    }
    nameless = [
        node["role"]["value"]
        for node in nodes
        if not node.get("ignored")
        and node.get("role", {}).get("value") in controls
        and not node.get("name", {}).get("value", "").strip()
    ]

    assert nameless == []
    roles = {node["role"]["value"] for node in nodes if "role" in node}
    assert {"main", "navigation", "heading", "columnheader", "rowheader"} <= roles
