"""Samplers of Optuna as methods: those with a name of their own, and all others with their options."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cfo_bench.errors import OptionError, UnknownNameError, UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.optuna_samplers import OptunaTPE
from cfo_bench.records import Result, Status
from cfo_bench.space import Float, Int, Space

optuna = pytest.importorskip("optuna")

SPACE = Space([Int("trees", 4, 4096, log=True), Float("share", 0.6, 1.0)])
START = {"trees": 4, "share": 1.0}


def test_the_start_is_a_trial_of_the_study() -> None:
    method = OptunaTPE(SPACE, START)

    method.tell(method.ask(), Result.ok(0.7))

    [trial] = method._study.trials
    assert (trial.params, trial.value) == (START, 0.7)


def by_optuna(sampler: optuna.samplers.BaseSampler, n_trials: int) -> list[dict]:
    """The configurations of a study of Optuna itself, the start first."""
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(START)

    def loss(trial: optuna.Trial) -> float:
        trees = trial.suggest_int("trees", 4, 4096, log=True)
        return losses({"trees": trees, "share": trial.suggest_float("share", 0.6, 1.0)})

    study.optimize(loss, n_trials=n_trials)
    return [trial.params for trial in study.trials]


def losses(config: dict) -> float:
    return abs(config["share"] - 0.7) + abs(math.log2(config["trees"]) - 7)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tpe", {}),
        ("tpe-multivariate", {}),
        ("tpe-univariate", {"multivariate": False}),
    ],
)
def test_tpe_is_the_default_sampler_of_optuna_and_the_univariate_one_has_its_own_name(
    name: str, options: dict
) -> None:
    method, asked = METHODS.load(name)(SPACE, START, 5, **METHODS.options(name, {})), []
    for _ in range(40):
        trial = method.ask()
        asked.append(trial.config)
        method.tell(trial, Result.ok(losses(trial.config)))

    assert asked == by_optuna(optuna.samplers.TPESampler(seed=5, **options), 40)


def test_the_options_of_an_older_trace_of_tpe_make_it_univariate() -> None:
    recorded = {"n_startup_trials": 10, "n_ei_candidates": 24, "multivariate": False, "parallel": 1}

    assert METHODS.load("tpe")(SPACE, START, 5, **recorded)._study.sampler._multivariate is False


def test_it_draws_on_the_scale_that_is_declared() -> None:
    distributions = OptunaTPE(SPACE, START)._distributions

    assert distributions["trees"].log and not distributions["share"].log


def test_failed_trials_are_the_worst_of_the_study() -> None:
    method = OptunaTPE(SPACE, START)

    for status in (Status.FAILED, Status.TIMEOUT, Status.MEMORY):
        method.tell(method.ask(), Result(status))

    assert [trial.value for trial in method._study.trials] == [math.inf] * 3


def test_the_users_own_level_of_logging_is_put_back() -> None:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.DEBUG)

    OptunaTPE(SPACE, START)

    assert optuna.logging.get_verbosity() == optuna.logging.DEBUG
    optuna.logging.set_verbosity(before)


def test_the_model_turns_to_where_losses_are_low() -> None:
    method = OptunaTPE(SPACE, START, 0)
    shares = []
    for _ in range(40):
        trial = method.ask()
        shares.append(trial.config["share"])
        method.tell(trial, Result.ok(abs(trial.config["share"] - 0.7)))

    assert sum(abs(x - 0.7) for x in shares[25:]) / 15 < sum(abs(x - 0.7) for x in shares[1:10]) / 9


def test_the_options_are_the_samplers_own_with_its_defaults() -> None:
    assert METHODS.options("optuna:QMCSampler", {}) == {
        "qmc_type": "sobol",
        "scramble": False,
        "parallel": 1,
    }
    tpe = METHODS.options("optuna:TPESampler", {})
    assert (tpe["n_startup_trials"], tpe["multivariate"], tpe["constant_liar"]) == (10, None, True)


@pytest.mark.parametrize("option", ["seed", "gamma", "constraints_func", "warn_independent_sampling"])
def test_what_no_command_line_can_give_is_no_option(option: str) -> None:
    with pytest.raises(OptionError, match=f"has no option '{option}'"):
        METHODS.options("optuna:TPESampler", {option: 1})


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("group", "yes", "true or false"),
        ("n_startup_trials", 2.5, "a whole number"),
        ("multivariate", 1, "true or false or null"),
    ],
)
def test_values_are_checked_by_the_samplers_annotations(option: str, value: object, words: str) -> None:
    with pytest.raises(OptionError, match=f"option {option} of method .*: give {words}$"):
        METHODS.options("optuna:TPESampler", {option: value})


def test_options_reach_the_sampler() -> None:
    options = METHODS.options("optuna:TPESampler", {"multivariate": True, "group": True})

    sampler = METHODS.load("optuna:TPESampler")(SPACE, START, 5, **options)._study.sampler

    assert isinstance(sampler, optuna.samplers.TPESampler)
    assert (sampler._multivariate, sampler._group) == (True, True)


def test_options_that_exclude_each_other_are_one_line() -> None:
    options = METHODS.options("optuna:TPESampler", {"multivariate": False, "group": True})

    with pytest.raises(OptionError, match=r"^optuna:TPESampler refuses its options: ValueError: [^\n]+$"):
        METHODS.load("optuna:TPESampler")(SPACE, START, **options)


def test_each_option_says_what_it_does_in_the_samplers_words() -> None:
    does = {option.name: option.does for option in METHODS.described_options("optuna:TPESampler")}

    assert does["n_ei_candidates"] == (
        "Number of candidate samples used to calculate the expected improvement."
    )
    assert all(does.values())


def test_every_sampler_of_optuna_is_a_method_or_says_why_not() -> None:
    pytest.importorskip("torch")
    refused = {}
    for name in optuna.samplers.__all__:
        if not name.startswith("Base") and name.endswith("Sampler"):
            try:
                METHODS.options(f"optuna:{name}", {})
            except UserError as error:
                refused[name] = str(error)

    rule = "can't be given on a command line"
    assert refused == {
        "GridSampler": f"optuna:GridSampler can't be a method: its search_space {rule}",
        "PartialFixedSampler": f"optuna:PartialFixedSampler can't be a method: its fixed_params {rule}",
    }


def test_an_unknown_sampler_is_told_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"sampler of optuna 'GPSample' \(did you mean 'GPSampler'\?\)"
    ):
        METHODS.load("optuna:GPSample")


def test_a_failed_trial_is_the_worst_so_far_to_a_sampler_with_a_model() -> None:
    method = METHODS.load("optuna:CmaEsSampler")(SPACE, START)

    for result in (Result(Status.FAILED), Result.ok(0.3), Result.ok(0.7), Result(Status.TIMEOUT)):
        method.tell(method.ask(), result)

    assert [trial.value for trial in method._study.trials] == [0.3, 0.3, 0.7, 0.7]


# --- OptunaHub --------------------------------------------------------------------------------

PACKAGE = '''
import numpy as np
import optuna


class Bare(optuna.samplers.RandomSampler):
    """Without a seed, and with a parameter that must be given."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds


class Other(optuna.samplers.RandomSampler):
    def __init__(self, kernel: np.ndarray) -> None:
        super().__init__()
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    pytest.importorskip("optunahub")
    folder = tmp_path / "a_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    return folder


def test_a_sampler_without_a_seed_says_that_it_can_not_be_replayed(package: Path) -> None:
    assert not METHODS.load(f"optunahub:{package}:Bare").replays
    assert METHODS.load("optuna:TPESampler").replays


def test_a_parameter_without_a_default_has_to_be_given(package: Path) -> None:
    name = f"optunahub:{package}:Bare"

    built = METHODS.load(name)(SPACE, START, **METHODS.options(name, {"rounds": 3}))
    assert built._study.sampler.rounds == 3
    with pytest.raises(OptionError, match="needs the option rounds: give it a value"):
        METHODS.load(name)(SPACE, START, **METHODS.options(name, {}))


def test_a_parameter_that_nobody_can_give_is_a_refusal(package: Path) -> None:
    with pytest.raises(UserError, match=r":Other can't be a method: its kernel can't be given"):
        METHODS.load(f"optunahub:{package}:Other")


def test_a_class_that_is_not_in_the_package_is_told_with_those_that_are(package: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"choose from Bare, Other$"):
        METHODS.load(f"optunahub:{package}:Mine")
