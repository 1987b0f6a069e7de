"""The plots of trials in a real browser, and the choice of the target."""

from __future__ import annotations

import pytest

from tests.helpers.browser import Browser

pytestmark = pytest.mark.timeout(240)

PLOT = ".trials .plot > svg"
OPEN = "document.querySelector('.trials').closest('details').open = true"
# The number of pieces of the paths of a method: dots, or the points of lines.
PIECES = (
    "return [...document.querySelectorAll(`.trials [data-method=${arguments[0]}] .${arguments[1]}`)]"
    ".reduce((sum, path) => sum + (path.getAttribute('d').match(/[ML]/g) ?? []).length, 0)"
)


def pieces(browser: Browser, method: str, kind: str) -> int:
    number: int = browser.run(PIECES, method, kind)
    return number


@pytest.fixture
def trials(browser: Browser) -> Browser:
    """The page with its plot of trials, which is loaded when it comes into sight."""
    loaded = "return [...document.scripts].some((script) => script.src.includes('/trials/'))"
    assert not browser.run(loaded)
    browser.run(OPEN)
    browser.run("document.querySelector('.trials').scrollIntoView({behavior: 'instant'})")
    browser.wait(f"return !!document.querySelector('{PLOT} .line')")
    assert browser.run(loaded)
    return browser


def view(browser: Browser, name: str) -> None:
    browser.click(f".trials input[value={name}]")


def test_loss_against_cost_has_every_trial_and_the_path_of_the_incumbents(trials: Browser) -> None:
    for method in ("cfo", "rs", "bohb"):
        # Each of three trials is better than the one before.
        assert pieces(trials, method, "dots:not(.incumbent)") == 3
        assert pieces(trials, method, "line") == 3
    trials.click(".trials input[data-method][value=rs]")
    assert pieces(trials, "rs", "dots") == 0 and pieces(trials, "cfo", "line") == 3


def test_parallel_coordinates_can_be_narrowed_and_name_what_the_cost_depends_on(trials: Browser) -> None:
    view(trials, "coordinates")
    # A trial is a line over two hyperparameters and the loss.
    assert pieces(trials, "cfo", "line") == 9
    marked = trials.run(
        "return [...document.querySelectorAll('.trials .cost-related')].map((name) => name.textContent)"
    )
    assert marked == ["n_estimators *", "max_leaves *"]

    trials.box(PLOT)  # is now in the middle of the window
    last = trials.run(
        "return [...document.querySelectorAll('.trials line.axis')].at(-1).getBoundingClientRect().toJSON()"
    )
    # The lower half of the axis of the loss has the best trial alone.
    middle = (last["top"] + last["bottom"]) / 2
    drag = [
        {"type": "pointerMove", "x": round(last["x"]), "y": round(middle)},
        {"type": "pointerDown", "button": 0},
        {"type": "pointerMove", "x": round(last["x"]), "y": round(last["bottom"])},
        {"type": "pointerUp", "button": 0},
    ]
    pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": drag}
    trials.post("/actions", {"actions": [pointer]})
    assert pieces(trials, "cfo", "line") == 3
    trials.point(last["x"], middle, to=last["x"])  # a click shows all again
    assert pieces(trials, "cfo", "line") == 9


def test_slices_have_a_dot_for_each_trial_and_hyperparameter(trials: Browser) -> None:
    view(trials, "slices")
    assert pieces(trials, "cfo", "dots") == 2 * 3


def test_a_trial_is_read_by_pointer_and_by_keyboard(trials: Browser) -> None:
    trials.press(PLOT, "\ue014")  # the right arrow
    said = trials.run("return document.querySelector('.trials [aria-live]').textContent")
    assert said.startswith("loss 0.1") and "n_estimators 12" in said and "cost 2" in said
    dot = trials.run("return document.querySelector('.trials circle.dot').getBoundingClientRect().toJSON()")
    trials.run("document.activeElement.blur()")
    trials.point(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    assert "n_estimators12" in trials.run("return document.querySelector('.trials .tip').textContent")


def test_another_task_is_loaded_when_it_is_chosen(trials: Browser) -> None:
    trials.run(
        "const task = document.querySelector('.trials select'); task.selectedIndex = 3;"
        "task.dispatchEvent(new Event('change')); window.wanted = task.options[3].textContent"
    )
    trials.wait("return document.querySelector('.trials h3').textContent === window.wanted")
    trials.wait(f"return !!document.querySelector('{PLOT} .line')")
    assert trials.run("return document.querySelectorAll('.trials svg').length") == 1 + len(
        trials.run("return [...document.querySelectorAll('.trials .choices .swatch')].map(() => 1)")
    )


def test_the_target_of_the_runtime_distribution_can_be_chosen(browser: Browser) -> None:
    browser.run("for (const fold of document.querySelectorAll('details.fold')) fold.open = true")
    browser.wait("return !!document.querySelector('.panel:has(.target) svg .line')")
    plot = ".panel:has(.target) .line"
    lines = f"return [...document.querySelectorAll('{plot}')].map((line) => line.getAttribute('d'))"
    options = browser.run(
        "return [...document.querySelectorAll('.target option')].map((option) => option.textContent)"
    )
    assert options[0] == "all 51" and "regret 0.01" in options
    before = browser.run(lines)
    browser.run(
        "const target = document.querySelector('.target select'); target.value = 'regret 0.01';"
        "target.dispatchEvent(new Event('change'))"
    )
    assert browser.run(lines) != before
