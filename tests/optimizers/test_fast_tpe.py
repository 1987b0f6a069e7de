"""The fast TPE suggests what optuna's own does, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cfo_bench.optimizers.optuna_samplers import MultivariateTPE, OptunaTPE
from cfo_bench.records import Result, Status
from cfo_bench.space import Categorical, Config, Float, Int, Space

optuna = pytest.importorskip("optuna")

SPACE = Space(
    [
        Int("rounds", 7, 2981, log=True),
        Int("depth", 1, 15),
        Float("rate", 1e-3, 1.0, log=True),
        Float("share", 0.1, 1.0),
        Categorical("kind", ["a", "b", "c"]),
        Categorical("width", [16, 64, 256], ordered=True),
    ]
)
START = {"rounds": 7, "depth": 1, "rate": 0.3, "share": 1.0, "kind": "a", "width": 16}


def loss(config: Config) -> float:
    """Rough enough that the search goes on; several trials fail, and some losses are equal."""
    if config["depth"] == 13:
        return math.inf
    value = (math.log(config["rounds"]) - 5) ** 2 + (math.log(config["rate"]) + 2) ** 2 + config["share"]
    return round(value + 0.1 * config["depth"] + (config["kind"] == "b") + math.log2(config["width"]) / 9, 1)


def asked(method: Any, trials: int) -> list[Config]:
    found = []
    for _ in range(trials):
        trial = method.ask()
        found.append(trial.config)
        value = loss(trial.config)
        method.tell(trial, Result(Status.FAILED) if math.isinf(value) else Result.ok(value))
    return found


def asked_of_optuna(trials: int, **options: Any) -> list[Config]:
    """The same in a study of the user's own."""
    own = OptunaTPE(SPACE, START)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(constant_liar=False, **options))
    study.enqueue_trial(own.first_values)
    found = []
    for _ in range(trials):
        trial = study.ask(own._distributions)
        config = own._config(trial.params)
        found.append(config)
        study.tell(trial, loss(config))
    return found


@pytest.mark.parametrize(
    ("method", "options", "of_optuna"),
    [
        (OptunaTPE, {}, {"multivariate": False}),
        (OptunaTPE, {"n_startup_trials": 3, "n_ei_candidates": 70}, {"multivariate": False}),
        (MultivariateTPE, {}, {"multivariate": True}),
        (MultivariateTPE, {"group": True}, {"multivariate": True, "group": True}),
    ],
    ids=["tpe", "options", "multivariate", "group"],
)
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_it_suggests_what_optuna_suggests(
    method: type[Any], options: Mapping[str, Any], of_optuna: Mapping[str, Any]
) -> None:
    ours = asked(method(SPACE, START, 3, **options), 70)

    assert ours == asked_of_optuna(70, seed=3, **{**options, **of_optuna})


def test_trials_that_are_told_in_another_order_make_no_difference() -> None:
    method = OptunaTPE(SPACE, START, 1)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=1, multivariate=False, constant_liar=False)
    )
    study.enqueue_trial(method.first_values)
    for _ in range(20):
        ours, theirs = [], []
        for _ in range(3):
            ours.append(method.ask())
            theirs.append(study.ask(method._distributions))
        assert [one.config for one in ours] == [method._config(one.params) for one in theirs]
        for mine, its in zip(reversed(ours), reversed(theirs), strict=True):
            value = loss(mine.config)
            method.tell(mine, Result(Status.FAILED) if math.isinf(value) else Result.ok(value))
            study.tell(its, value)


def test_the_normal_distribution_is_optuna_s_to_the_last_bit() -> None:
    from optuna.samplers._tpe._truncnorm import _log_ndtr

    from cfo_bench.optimizers.normal_distribution import log_normal_cdf

    generator = np.random.default_rng(0)
    for scale in (1, 6, 30, 200):
        x = generator.normal(0, scale, (40, 50))
        assert (log_normal_cdf(x) == _log_ndtr(x)).all()
    edges = np.array([6.0, -20.0, np.nextafter(6, 7), np.nextafter(-20, 0), 1.0, -1.0, 0.0, 50.0, -1e4])
    assert (log_normal_cdf(edges) == _log_ndtr(edges)).all()


@pytest.mark.parametrize("size", [5, 150, 151, 1500, 2500])  # few, many, and so many that optuna approximates
@pytest.mark.parametrize("farthest", [0.9, 3.0], ids=["within the bounds", "beyond them, too"])
def test_the_densities_are_optuna_s_to_the_last_bit(size: int, farthest: float) -> None:
    from optuna.samplers._tpe import _truncnorm

    from cfo_bench.optimizers.fast_tpe import quick_normal_distribution

    generator = np.random.default_rng(size)
    centre, width = generator.uniform(-farthest, farthest, size), generator.uniform(0.01, 2, size)
    a, b = (-1 - centre) / width, (1 - centre) / width
    x = generator.uniform(-1, 1, (24, size))

    def densities() -> tuple[Any, ...]:
        mass = _truncnorm._log_gauss_mass(a, b)
        return mass, _truncnorm._log_ndtr(a), _truncnorm.logpdf(x, a=a, b=b, loc=centre, scale=width)

    with quick_normal_distribution():
        ours = densities()
    for mine, its in zip(ours, densities(), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_the_installed_optuna_was_compared() -> None:
    from cfo_bench.optimizers.fast_tpe import FastTPESampler

    assert isinstance(OptunaTPE(SPACE, START)._study.sampler, FastTPESampler)


def test_a_version_that_was_not_compared_gets_optuna_s_own_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optuna, "__version__", "5.7.0")

    assert type(OptunaTPE(SPACE, START)._study.sampler) is optuna.samplers.TPESampler


def test_several_trials_at_once_are_left_to_optuna() -> None:
    assert type(OptunaTPE(SPACE, START, parallel=2)._study.sampler) is optuna.samplers.TPESampler


def test_optuna_has_its_own_functions_back_after_a_suggestion() -> None:
    from optuna.samplers._tpe import _truncnorm

    before = dict(vars(_truncnorm))

    asked(OptunaTPE(SPACE, START), 15)

    assert vars(_truncnorm) == before
