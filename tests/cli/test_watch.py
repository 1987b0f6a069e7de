"""`cfo-bench watch` in a browser, beside a suite that is really running; how it starts, and how it ends."""

from __future__ import annotations

import json
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

# Each wait of a test in the browser may take 100 seconds.
pytestmark = pytest.mark.timeout(400)

SUITE = "run --task wine --learner xgboost --method cfo --method rs --budget 6 --folds 0 -q"
COUNTED = "document.querySelector('#runs > .live:last-child')?.textContent ?? ''"
FOLD = "document.getElementById('xgboost-provenance').closest('details')"
METHOD = "document.querySelector('.explorer [data-method][value=cfo]')"
SCORE = "document.querySelector('.explorer [data-view=asScore]:not([checked])')"
STATUS = "[...document.querySelectorAll('.runs .status')].map((cell) => cell.textContent)"
# The lines of all running runs.
CURVES = (
    "[...document.querySelectorAll('#curves-of-runs .line')].map((line) => line.getAttribute('d')).join()"
)


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


def wait_for(browser: Browser, condition: str, what: str) -> None:
    """Until an expression is true. Unlike `Browser.wait`, the page may be loaded again meanwhile."""
    wait_until(lambda: browser.run(f"return {condition}"), what, seconds=100, tick=0.1)


def test_the_page_follows_a_suite_until_all_is_done(bench: Bench, browser: Browser) -> None:
    (bench.folder / "results").mkdir()
    process, url = watching(bench)
    browser.post("/url", {"url": url})
    suite = bench.python("-m", "cfo_bench", *SUITE.split(), output=subprocess.DEVNULL)

    # The incumbent and the curve of the run that is running, which grow.
    wait_for(browser, CURVES, "a curve")
    first = browser.run(f"return {CURVES}")
    wait_for(browser, f"{STATUS}.includes('running')", "a running run")
    wait_for(browser, f"![{json.dumps(first)}, ''].includes({CURVES})", "a longer curve")
    assert "n_estimators=" in browser.run("return document.querySelector('.runs td.wide').textContent")

    # The report comes when a run has finished, and again with the next one.
    wait_for(browser, "!!document.querySelector('article.learner')", "a report")
    assert suite.wait(timeout=100) == 0
    wait_for(browser, f"({COUNTED}).includes('2 runs')", "the last report")
    wait_for(browser, f"{STATUS}.join() === 'done,done'", "the end of all runs")
    assert "All done" in browser.run("return document.querySelector('.left').textContent")
    assert browser.console() == []

    # The command does not end by itself, and its end is seen.
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0
    wait_for(
        browser, "document.getElementById('connection').textContent.startsWith('no connection')", "the end"
    )


def test_what_the_reader_has_chosen_opened_and_scrolled_to_stays(
    bench: Bench, browser: Browser, write_run: Any
) -> None:
    tasks = ("wine", "iris", "digits")
    trials = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]
    for task in tasks:
        write_run(task, "cfo", 0, trials)
    _, url = watching(bench)
    browser.post("/url", {"url": url})
    wait_for(browser, "!!document.querySelector('img')", "the report with pictures")
    browser.click("#theme")
    theme = browser.run("return document.documentElement.dataset.theme")
    browser.run(f"{FOLD}.open = true; {METHOD}.click(); {SCORE}.click()")
    browser.run(f"scrollBy({{top: {FOLD}.getBoundingClientRect().top - 300, behavior: 'instant'}})")
    top = browser.run(f"return {FOLD}.getBoundingClientRect().top")
    assert top < 450  # it is in the upper half of the window
    headings = browser.run("return document.querySelectorAll('h2').length")

    # A second method brings sections on ranks and targets above what is being read.
    for task in tasks:
        write_run(task, "rs", 0, trials)
    wait_for(browser, f"({COUNTED}).includes('6 runs') && !!document.querySelector('img')", "the last report")

    assert browser.run("return document.querySelectorAll('h2').length") > headings
    assert browser.run("return document.documentElement.dataset.theme") == theme
    assert browser.run(f"return [{FOLD}.open, {METHOD}.checked, {SCORE}.checked]") == [True, False, True]
    wait_for(browser, f"Math.abs({FOLD}.getBoundingClientRect().top - {top}) < 10", "the place")


def test_a_table_of_runs_that_came_later_shows_that_there_is_more(
    bench: Bench, browser: Browser, write_run: Any
) -> None:
    (bench.folder / "results").mkdir()
    browser.resize(390, 900)
    _, url = watching(bench)
    browser.post("/url", {"url": url})

    write_run("wine", "cfo", 0, [(1.0, 0.4, 0.5)], reason=None)  # without a report, the page stays

    wait_for(browser, f"{STATUS}.join() === 'interrupted'", "the run")
    wait_for(browser, "!!document.querySelector('#table-of-runs .edges.more-right')", "the shade")
    assert browser.run("return document.querySelector('#table-of-runs .scroll').tabIndex") == 0


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
