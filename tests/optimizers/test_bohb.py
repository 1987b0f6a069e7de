from __future__ import annotations

import math

import numpy as np
import pytest

from cfo_bench.errors import RunError
from cfo_bench.optimizers.bohb import BOHB, Hyperband
from cfo_bench.records import Result, Status, Trial
from cfo_bench.space import Float, Int, Space

pytest.importorskip("hpbandster")

SPACE = Space([Int("trees", 4, 4096, log=True), Float("share", 0.6, 1.0)])
START = {"trees": 4, "share": 1.0}


def loss(trial: Trial) -> float:
    return abs(trial.config["share"] - 0.8)


def play(method: Hyperband, n: int) -> list[Trial]:
    trials = []
    for _ in range(n):
        trials.append(method.ask())
        method.tell(trials[-1], Result.ok(loss(trials[-1])))
    return trials


@pytest.mark.parametrize("method", [Hyperband, BOHB])
@pytest.mark.parametrize("n_rows", [None, 500, 10_000])
def test_few_rows_are_one_level_of_all_rows(method: type[Hyperband], n_rows: int | None) -> None:
    assert {trial.rows for trial in play(method(SPACE, START, n_rows=n_rows), 8)} == {None}


@pytest.mark.parametrize("method", [Hyperband, BOHB])
def test_brackets_of_hyperband_follow_each_other(method: type[Hyperband]) -> None:
    trials = play(method(SPACE, START, n_rows=90_000), 22 + 2)

    rows = [trial.rows for trial in trials]
    assert rows[:13] == [10_000] * 9 + [30_000] * 3 + [None]
    assert rows[13:22] == [30_000] * 3 + [None] + [None] * 3 + [10_000] * 2


def test_the_best_of_a_level_are_promoted() -> None:
    trials = play(Hyperband(SPACE, START, n_rows=90_000), 13)

    ranked = sorted(trials[:9], key=loss)
    assert sorted(map(loss, trials[9:12])) == [loss(trial) for trial in ranked[:3]]
    assert trials[12].config == ranked[0].config


def test_a_failed_start_is_never_promoted() -> None:
    method = Hyperband(SPACE, START, n_rows=90_000)
    method.tell(method.ask(), Result(Status.FAILED))

    assert START not in [trial.config for trial in play(method, 12)]


def test_where_every_trial_of_a_level_fails_the_next_has_new_ones() -> None:
    method = BOHB(SPACE, START, n_rows=30_000)

    for _ in range(30):
        trial = method.ask()
        method.tell(trial, Result(Status.MEMORY))

    assert trial.number == 29


def test_models_are_asked_once_there_are_enough_points() -> None:
    method = BOHB(SPACE, START, random_fraction=0.0)

    trials = play(method, 40)

    assert method._generator.kde_models
    late = [abs(trial.config["share"] - 0.8) for trial in trials[20:]]
    early = [abs(trial.config["share"] - 0.8) for trial in trials[1:8]]
    assert np.mean(late) < np.mean(early)


def test_a_model_that_fails_is_an_error_and_no_random_configuration() -> None:
    method = BOHB(SPACE, START, random_fraction=0.0)
    play(method, 12)
    method._generator.kde_models[math.inf]["good"].data[:] = math.nan

    with pytest.raises(RunError, match=r"hpbandster.s model failed: .*failed") as failure:
        method.ask()

    assert "\n" not in str(failure.value)


def test_several_trials_at_once_open_further_brackets() -> None:
    method = Hyperband(SPACE, START, n_rows=90_000, parallel=12)

    trials = [method.ask() for _ in range(12)]

    assert [trial.rows for trial in trials] == [10_000] * 9 + [30_000] * 3
    assert len(method._halvings) == 2
