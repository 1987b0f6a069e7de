"""Reports in a browser: each is made by the first test that needs it, and one window shows them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cfo_bench.report.build import Request, build
from cfo_bench.report.method_styles import _KNOWN
from tests.helpers.browser import Browser, running_driver

# A task that is called like a script.
ODD = "<script>alert(1)</script>"

# A plot is drawn a little after it has got its size.
DRAWN = (
    "return [...document.querySelectorAll('.plot > svg')].every((svg) =>"
    "svg.viewBox.baseVal?.width === Math.max(svg.parentElement.clientWidth, 240))"
)


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def window(folder: Path) -> Iterator[Browser]:
    with running_driver() as driver:
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
    window.wait(DRAWN)
    yield window
    assert window.console() == []


@pytest.fixture
def six_methods(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path:
    """A report with its figures on eight tasks and six methods, and a file that is no trace."""
    index = folder / "six" / "index.html"
    if not index.exists():
        write_run = request.getfixturevalue("write_run")
        for task in range(8):
            for place, method in enumerate(("cfo-tuned", "cfo", "flow2", "tpe", "flaml-cfo", "rs")):
                for fold in range(5):
                    loss = 0.1 + 0.01 * place + 0.003 * ((fold + place) % 5) + 0.001 * task
                    trials = [(1, 0.45, 1), (5 + place, 0.3, 1), (40, loss, 2)]
                    write_run(f"task-{task}", method, fold, trials)
        (tmp_path / "results" / "notes.jsonl").write_text("no trace\n")
        build(Request(tmp_path / "results", folder / "six", formats=("html", "csv", "png")))
    return index


@pytest.fixture
def narrow(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path:
    """A report on tasks with a long metric, of which the losses of one differ a hundredfold."""
    index = folder / "narrow" / "index.html"
    if not index.exists():
        write_run = request.getfixturevalue("write_run")
        for method, last in (("cfo", 0.004), ("rs", 0.008)):
            for fold in range(2):
                for task, end in (("wide", last), ("even", 0.3 + last)):
                    trials = [(1, 0.45, 1), (5, 0.4, 1), (40, end, 2)]
                    write_run(task, method, fold, trials, metric="balanced_accuracy")
        build(Request(tmp_path / "results", folder / "narrow", formats=("html", "csv")))
    return index


@pytest.fixture
def two_learners(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path:
    """A report on two tasks and two learners, of which `lightgbm` is the first."""
    index = folder / "two" / "index.html"
    if not index.exists():
        write_run = request.getfixturevalue("write_run")
        for learner in ("lightgbm", "xgboost"):
            for task in ("breast_cancer", "wine"):
                for method, last in (("cfo", 0.1), ("rs", 0.2)):
                    write_run(task, method, 0, [(1, 0.45, 1), (40, last, 2)], learner=learner)
        build(Request(tmp_path / "results", folder / "two", formats=("html", "csv", "png")))
    return index
