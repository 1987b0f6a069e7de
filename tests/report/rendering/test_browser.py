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

# One browser at a time is enough for a small machine.
pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.timeout(240)]

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
    window.wait("return document.querySelectorAll('.panel svg .line').length >= 16")
    yield window
    assert window.console() == []


def lines(browser: Browser) -> set[str]:
    """The methods that are drawn, in all plots."""
    drawn: list[str] = browser.run(
        "return [...document.querySelectorAll('.panel .curve')].map((one) => one.dataset.method)"
    )
    return set(drawn)


def panels(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "return [...document.querySelectorAll('.panel')].map((one) => one.dataset.task)"
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
    headings = browser.run("return [...document.querySelectorAll('.panel h3')].map((one) => one.textContent)")
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
    assert re.match(r"[\d.]+ s: cfo 0\.\d+, ", said)
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
    link = ".panel .files a"
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


def test_every_control_has_a_name_and_every_picture_a_text(browser: Browser) -> None:
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
