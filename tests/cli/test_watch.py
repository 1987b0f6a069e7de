"""`cfo-bench watch` in a browser, beside a suite that is really running; how it starts, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.bench import Bench, Process
from tests.helpers.browser import Browser, running_driver
from tests.helpers.processes import wait_until

SUITE = "run --task wine --learner xgboost --method cfo --method rs --budget 6 --folds 0 -q"
VERSION = "Number(document.getElementById('runs')?.dataset.report)"
FOLD = "document.getElementById('xgboost-provenance').closest('details')"
STATUS = "[...document.querySelectorAll('.runs .status')].map((cell) => cell.textContent)"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    started = Bench(tmp_path)
    yield started
    started.clean_up()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with running_driver() as driver:
        opened = Browser(driver, tmp_path / "profile", 1300, 900)
        yield opened
        opened.quit()


def watching(bench: Bench, *words: object) -> tuple[Process, str]:
    process = bench.python("-m", "cfo_bench", "watch", "results", *words, output=subprocess.PIPE)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.mark.timeout(300)
def test_the_page_follows_a_suite_until_all_is_done(bench: Bench, browser: Browser) -> None:
    suite = bench.python("-m", "cfo_bench", *SUITE.split(), output=subprocess.DEVNULL)
    bench.wait_until(bench.trial_lines, "a trial")
    process, url = watching(bench)
    browser.post("/url", {"url": url})

    # The incumbent and the curve of the run that is running, which grow.
    wait_until(
        lambda: browser.run("return document.querySelectorAll('#curves-of-runs .line').length"), "a curve"
    )
    assert browser.run(f"return {STATUS}")[0] == "running"
    curve = "document.querySelector('#curves-of-runs .line')?.getAttribute('d')"
    first = browser.run(f"return {curve}")
    wait_until(lambda: browser.run(f"return {curve}") not in (first, None), "a longer curve")
    assert "n_estimators=" in browser.run("return document.querySelector('.runs td.wide').textContent")

    # The report comes when a run has finished; what the reader has chosen then stays.
    wait_until(
        lambda: browser.run("return !!document.querySelector('article.learner')"), "a report", seconds=100
    )
    version = browser.run(f"return {VERSION}")
    browser.click("#theme")
    theme = browser.run("return document.documentElement.dataset.theme")
    browser.run(f"{FOLD}.open = true; window.stays = 1")
    browser.run(f"{FOLD}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    top = browser.run(f"return {FOLD}.getBoundingClientRect().top")
    assert suite.wait(timeout=100) == 0
    wait_until(
        lambda: browser.run(f"return {VERSION} > {version}"),
        "the last report",
        seconds=100,
    )
    assert browser.run("return window.stays") is None  # the page was loaded again
    assert browser.run("return document.documentElement.dataset.theme") == theme
    browser.wait(f"return {FOLD}.open")
    browser.wait(f"return Math.abs({FOLD}.getBoundingClientRect().top - {top}) < 40")
    wait_until(lambda: browser.run(f"return {STATUS}") == ["done", "done"], "the end of all runs")
    assert "All done" in browser.run("return document.querySelector('.left').textContent")
    assert browser.console() == []

    # The command does not end by itself, and its end is seen.
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0
    browser.wait("return document.getElementById('connection').textContent.startsWith('no connection')")


def test_the_scroll_position_stays_though_sections_above_come_and_go(
    bench: Bench, browser: Browser, write_run: Any
) -> None:
    trials = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]
    for task in ("wine", "iris", "digits"):
        write_run(task, "cfo", 0, trials)
    _, url = watching(bench)
    browser.post("/url", {"url": url})
    wait_until(lambda: browser.run(f"return {VERSION} === 2"), "the report with pictures", seconds=100)
    browser.wait("return document.readyState === 'complete'")
    browser.click("#theme")  # an action of the reader ends the search for the earlier place
    browser.run(f"{FOLD}.open = true; window.stays = 1")
    browser.run(f"{FOLD}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    top = browser.run(f"return {FOLD}.getBoundingClientRect().top")
    headings = browser.run("return document.querySelectorAll('h2').length")

    # A second method brings sections on ranks and targets.
    for task in ("wine", "iris", "digits"):
        write_run(task, "rs", 0, trials)
        wait_until(
            lambda: browser.run("return !window.stays && document.readyState === 'complete'"),
            "another report",
            seconds=100,
        )
        browser.run("window.stays = 1")

    wait_until(lambda: browser.run(f"return {VERSION} >= 4"), "the last report", seconds=100)
    assert browser.run("return document.querySelectorAll('h2').length") > headings
    browser.wait(f"return {FOLD}.open && Math.abs({FOLD}.getBoundingClientRect().top - {top}) < 40")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_an_error_and_without_leftovers(
    bench: Bench, write_run: Any, tmp_path: Path, number: signal.Signals
) -> None:
    write_run("wine", "cfo", 0, [(1.0, 0.4, 0.5)])
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = bench.python(
        *("-m", "cfo_bench", "watch", "results"), output=subprocess.PIPE, TMPDIR=str(temporary)
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with socket.create_connection(("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))) as visitor:
        visitor.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert visitor.recv(15) == b"HTTP/1.0 200 OK"  # the report is being built now
        process.send_signal(number)
        out, err = process.communicate(timeout=20)

    assert process.returncode == 0
    assert (out, err) == ("", "cfo-bench: serving until Ctrl-C\n")
    assert list(temporary.iterdir()) == []
    bench.assert_no_process_is_left()


def test_a_port_that_is_in_use_is_an_error_in_one_line(program: Any, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        answer = program(f"watch results --port {port}")

    assert answer.returncode == 2 and answer.stdout == ""
    assert answer.stderr.count("\n") == 1 and f"port {port}" in answer.stderr
    assert "choose another --port" in answer.stderr
