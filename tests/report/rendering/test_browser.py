"""The page in a real browser: Chromium, spoken to over the WebDriver protocol."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.report.build import Request, build
from cfo_bench.report.looks import _KNOWN

pytestmark = pytest.mark.timeout(240)

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the protocol marks an element


class Browser:
    """One window, by the few commands of the protocol that the tests need."""

    def __init__(self, driver: str, profile: Path, width: int, height: int) -> None:
        options = {"args": [*ARGUMENTS, f"--window-size={width},{height}", f"--user-data-dir={profile}"]}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        # The driver is on this machine: no proxy knows it.
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        self._url = f"{driver}/session"
        self._url += "/" + self.post("", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def post(self, command: str, content: dict[str, Any]) -> Any:
        return self._ask("POST", command, json.dumps(content).encode())

    def _ask(self, verb: str, command: str, data: bytes | None = None) -> Any:
        request = urllib.request.Request(
            self._url + command, data, {"Content-Type": "application/json"}, method=verb
        )
        try:
            with self._open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            pytest.fail(f"{command}: {json.load(error)['value']['message']}")

    def visit(self, page: Path, fragment: str = "") -> None:
        self.post("/url", {"url": page.resolve().as_uri() + fragment})
        self.wait("return document.readyState === 'complete'")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str) -> None:
        """Until a script's answer is true."""
        script = f"""const done = arguments[arguments.length - 1], until = Date.now() + 20000;
            const is = () => {{ {condition} }};
            const look = () => is() ? done(true) : Date.now() > until ? done(false) : setTimeout(look, 20);
            look();"""
        assert self.post("/execute/async", {"script": script, "args": []}), f"never true: {condition}"

    def click(self, selector: str) -> None:
        """As a person does: the element has to be visible and not covered."""
        self.run(
            "document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})",
            selector,
        )
        found = self.post("/element", {"using": "css selector", "value": selector})
        self.post(f"/element/{found[ELEMENT]}/click", {})

    def press(self, selector: str, keys: str) -> None:
        found = self.post("/element", {"using": "css selector", "value": selector})
        self.post(f"/element/{found[ELEMENT]}/value", {"text": keys})

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        self.devtools(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def console(self) -> list[str]:
        """What went wrong since it was last asked."""
        return [
            line["message"] for line in self.post("/se/log", {"type": "browser"}) if line["level"] != "INFO"
        ]

    def quit(self) -> None:
        self._ask("DELETE", "")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("chromedriver")
    if program is None or not (shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("no chromium and chromedriver here: on Debian, apt-get install chromium chromium-driver")
    process = subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = next(
        (match[1] for line in process.stdout if (match := re.search(r"successfully on port (\d+)", line))),
        None,
    )
    assert port is not None, "chromedriver did not say where it listens"
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()
    process.stdout.close()


ODD = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture
def page(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path:
    """A report on nine tasks, one of them called like a script, made by the first test that needs it.

    It has no figures, which take longer than all the rest.
    """
    index = folder / "out" / "index.html"
    if not index.exists():
        request.getfixturevalue("many_tasks")
        write_run = request.getfixturevalue("write_run")
        for method in ("cfo", "rs", "bohb", "mine"):
            write_run(ODD, method, 0, [(1, 0.45, 0.5), (30, 0.2, 1)])
        build(Request(tmp_path / "results", folder / "out", formats=("html", "csv")))
    return index


@pytest.fixture(scope="module")
def window(driver: str, folder: Path) -> Iterator[Browser]:
    opened = Browser(driver, folder / "profile", 1300, 900)
    yield opened
    opened.quit()


@pytest.fixture
def browser(window: Browser, page: Path) -> Iterator[Browser]:
    """The page, freshly opened, with its first curves drawn; what went wrong in it is an error."""
    window.resize(1300, 900)
    window.visit(page)
    window.wait("return document.querySelectorAll('.explorer svg .line').length >= 16")
    window.run("document.querySelector('.explorer .controls').open = true")
    yield window
    window.run("localStorage.clear()")  # the theme that a test has chosen
    assert window.console() == []


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

    box = browser.run(
        "const one = document.querySelector(arguments[0]);"
        "one.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const box = one.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]",
        plot,
    )
    x, y = round(box[0] + box[2] / 3), round(box[1] + box[3] / 2)
    drag = [
        {"type": "pointerMove", "x": x, "y": y},
        {"type": "pointerDown", "button": 0},
        {"type": "pointerMove", "x": x + round(box[2] / 3), "y": y},
        {"type": "pointerUp", "button": 0},
    ]
    browser.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": drag}]})
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

    browser.click("#theme")
    assert ground() == light
    browser.click("#theme")
    assert ground() == dark


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


# --- a page with all methods --------------------------------------------------------------------


@pytest.fixture
def crowded(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path:
    """A report with its figures on seven tasks and fourteen methods, some of which end at the same loss."""
    index = folder / "crowded" / "index.html"
    if not index.exists():
        write_run = request.getfixturevalue("write_run")
        for task in range(7):
            for place, method in enumerate(list(_KNOWN)[:14]):
                loss = 0.1 + 0.02 * (place // 3) + 0.001 * task
                write_run(f"task-{task}", method, 0, [(1, 0.45, 1), (5 + place, 0.3, 1), (40, loss, 2)])
        build(Request(tmp_path / "results", folder / "crowded", formats=("html", "csv", "png")))
    return index


@pytest.fixture(params=[1400, 390])
def crowd(request: pytest.FixtureRequest, window: Browser, crowded: Path) -> Iterator[Browser]:
    """That page with everything opened, on a wide screen and on a phone's."""
    window.resize(request.param, 900)
    window.prefer("light")
    window.visit(crowded)
    window.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    window.wait("return document.querySelectorAll('.explorer svg .line').length >= 4 * 14")
    yield window
    assert window.console() == []


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
def test_no_heading_of_a_table_is_an_identifier_but_for_hyperparameters(crowd: Browser) -> None:
    heads = crowd.run("return [...document.querySelectorAll('thead th')].map((one) => one.textContent)")

    assert len(heads) > 100
    # Hyperparameters keep the names that they have in configurations and figures.
    assert {head for head in heads if "_" in head} == {"n_estimators", "max_leaves"}


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
