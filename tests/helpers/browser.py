"""A real browser for tests: Chromium, spoken to over the WebDriver protocol."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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

    def point(self, x: float, y: float, *, kind: str = "mouse", to: float | None = None) -> None:
        """The mouse moves there; with `to` or a finger, it is pressed, moved to the side, and let go."""
        actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(x), "y": round(y)}]
        if to is not None or kind == "touch":
            actions.append({"type": "pointerDown", "button": 0})
        if to is not None:
            # More than one step, as of a hand.
            actions += [
                {"type": "pointerMove", "x": round(x + part * (to - x)), "y": round(y)}
                for part in (0.2, 0.6, 1.0)
            ]
        if len(actions) > 1:
            actions.append({"type": "pointerUp", "button": 0})
        pointer = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": actions}
        self.post("/actions", {"actions": [pointer]})

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, right and bottom in the window; the element is scrolled to its middle."""
        found = self.run(
            "const one = document.querySelector(arguments[0]);"
            "one.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const box = one.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]",
            selector,
        )
        return found[0], found[1], found[2], found[3]

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


@contextmanager
def running_driver() -> Iterator[str]:
    """The address of a driver; the test is skipped where there is none."""
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
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
