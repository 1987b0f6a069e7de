"""`minimize`: a function of one's own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfo_bench import Categorical, Float, Int, Result, Space, Trial, load_results, minimize
from cfo_bench.errors import SpaceError, UserError


def test_a_method_that_asks_for_the_budget_is_told_it(tmp_path: Path) -> None:
    file = tmp_path / "asks.py"
    file.write_text(
        """
from cfo_bench.plugins import Trial

class Asks:
    def __init__(self, space, start, seed, *, budget_seconds: float | None = None):
        self.x = -1.0 if budget_seconds is None else budget_seconds

    def ask(self):
        return Trial(0, {"x": self.x})

    def tell(self, trial, result): ...
""",
        encoding="utf-8",
    )
    space, method = Space([Float("x", -1.0, 100.0)]), f"{file}:Asks"

    def found(**limits: Any) -> float:
        best = minimize(lambda config: config["x"], space, {"x": 0.0}, method=method, **limits)
        return float(best.config["x"])

    assert found(max_trials=1, budget_seconds=77.0) == 77.0
    assert found(max_trials=1) == -1.0


# --- the history, first configurations, and a callback ----------------------------------------------

SPACE = Space([Int("k", 1, 1000, log=True), Float("x", 0.01, 10.0), Categorical("c", ("a", None))])
START = {"k": 1, "x": 10.0, "c": "a"}


def bowl(config: dict[str, Any]) -> float:
    return math.log2(config["k"] / 200) ** 2 + (config["x"] - 0.3) ** 2 + (config["c"] == "a")


def test_the_history_has_every_trial_with_its_configuration_loss_and_seconds() -> None:
    evaluated = []

    def loss(config: dict[str, Any]) -> float:
        evaluated.append(config)
        if len(evaluated) == 3:
            raise ValueError("no such model")
        return bowl(config)

    best = minimize(loss, SPACE, START, max_trials=12, method="cfo")

    history = best.history
    assert list(history) == ["status", "loss", "seconds", "error", "config.k", "config.x", "config.c"]
    assert history["config.k"].tolist() == [config["k"] for config in evaluated]
    assert history["loss"].min() == best.loss == bowl(best.config)
    assert (history["seconds"] >= 0).all()
    assert history["status"].tolist() == ["ok", "ok", "failed", *["ok"] * 9]
    assert history["error"][2] == "ValueError: no such model" and math.isnan(history["loss"][2])


@pytest.mark.parametrize("method", ["cfo", "cfo-tuned", "rs"])
def test_given_configurations_are_tried_first_and_the_method_starts_at_the_best(method: str) -> None:
    initial = [{"k": 500, "x": 5.0, "c": None}, {"k": 210, "x": 0.31, "c": None}, START]

    best = minimize(bowl, SPACE, START, initial=initial, max_trials=30, method=method)

    history = best.history
    assert history["config.k"].tolist()[:3] == [500, 210, 1]
    assert best.trials == len(history) == 30
    assert best.loss <= bowl(initial[1])
    assert not history.duplicated(["config.k", "config.x", "config.c"]).any()
    if method == "cfo":
        # Its first step is √3 long: the search is around k = 210, not around k = 1.
        assert history["config.k"][3] > 210 / 2**1.8


def test_a_search_continues_from_the_history_of_another_one() -> None:
    first = minimize(bowl, SPACE, START, max_trials=20, method="cfo", seed=1)
    called = []

    def loss(config: dict[str, Any]) -> float:
        called.append(config)
        return bowl(config)

    second = minimize(loss, SPACE, START, max_trials=20, method="cfo", seed=2, history=first.history)

    assert second.trials == len(called) == 20
    assert START not in called and first.config not in called
    assert second.loss <= first.loss
    assert len(second.history) == 40
    pd.testing.assert_frame_equal(second.history[:20], first.history)


def test_an_earlier_result_that_stays_the_best_is_the_answer() -> None:
    known = pd.DataFrame({"config.k": [200], "config.x": [0.3], "config.c": [None], "loss": [0.0]})

    best = minimize(bowl, SPACE, START, max_trials=3, method="rs", history=known)

    assert (best.config, best.loss, best.seconds) == ({"k": 200, "x": 0.3, "c": None}, 0.0, 0.0)


def test_the_trials_of_a_results_folder_are_a_history(tmp_path: Path) -> None:
    from cfo_bench import Suite, run_suite
    from cfo_bench.learners.synthetic import Synthetic5

    learner = Synthetic5()
    space = learner.space(1000)
    suite = Suite(
        tasks=["synthetic-1k"],
        learners=["synthetic-5d"],
        methods=["rs"],
        folds="0",
        clock="virtual",
        budget_seconds=600,
        max_trials=5,
        results=str(tmp_path),
    )
    assert not run_suite(suite).failures
    trials = load_results(tmp_path).trials

    best = minimize(
        lambda config: 2.0, space, learner.start(space), max_trials=2, method="cfo", history=trials
    )

    assert best.loss == trials["loss"].min()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"config.k": [1], "config.x": [1.0], "loss": [1.0]}, "no column 'config.c'"),
        ({"config.k": [1], "config.x": [1.0], "config.c": ["a"]}, "no column 'loss'"),
        ({"config.k": [1, 5000], "config.x": 1.0, "config.c": "a", "loss": 1.0}, "row 1 .* k = 5000"),
    ],
)
def test_a_history_that_does_not_fit_the_space_is_refused(frame: dict[str, Any], words: str) -> None:
    with pytest.raises((UserError, SpaceError), match=words):
        minimize(bowl, SPACE, START, max_trials=3, history=pd.DataFrame(frame))


def test_first_configurations_and_a_history_of_another_type_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="initial is one configuration: give a list of them"):
        minimize(bowl, SPACE, START, max_trials=3, initial=START)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="history is a list: give a pandas DataFrame"):
        minimize(bowl, SPACE, START, max_trials=3, history=[{"loss": 1.0}])  # type: ignore[arg-type]


def test_a_callback_may_return_the_true_of_numpy() -> None:
    best = minimize(bowl, SPACE, START, max_trials=9, method="rs", callback=lambda *_: np.bool_(True))

    assert best.trials == 1


def test_a_callback_sees_every_trial_and_may_stop_the_search() -> None:
    seen: list[tuple[Trial, Result]] = []

    def stop_below_three(trial: Trial, result: Result) -> bool:
        seen.append((trial, result))
        return result.value < 3

    best = minimize(bowl, SPACE, START, max_trials=500, method="cfo", callback=stop_below_three)

    assert best.trials == len(seen) < 500
    assert [trial.number for trial, _ in seen] == list(range(len(seen)))
    assert seen[-1][0].config == best.config and seen[-1][1].loss == best.loss < 3
