"""CFO as a sampler of optuna: what optuna's users rely on, with optuna's own studies and storages."""

from __future__ import annotations

import copy
import logging
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

optuna = pytest.importorskip("optuna")

from optuna.distributions import (  # noqa: E402
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState  # noqa: E402

from cfo_bench import CFO, Categorical, Float, Int, Result, Space  # noqa: E402
from cfo_bench.errors import OptionError, SpaceError  # noqa: E402
from cfo_bench.optimizers.cfo_tuned import CFOTuned  # noqa: E402
from cfo_bench.optuna import CFOSampler  # noqa: E402
from cfo_bench.optuna.search import PLACE, Dimension  # noqa: E402
from cfo_bench.records import Status  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
START = {"c": "b", "i": 1, "x": 0.5, "y": 0.25}
SPACE = Space(
    [Categorical("c", "abc"), Int("i", 1, 1000, log=True), Float("x", 1e-4, 1.0), Float("y", -1.0, 1.0)]
)
_SCORES = {"a": 0.3, "b": 0.1, "c": 0.0}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(level)


def loss(config: Mapping[str, Any]) -> float:
    return (
        abs(config["i"] - 300) / 300 + 10 * abs(config["x"] - 0.02) + _SCORES[config["c"]] + abs(config["y"])
    )


def suggested(trial: Any) -> dict[str, Any]:
    """In another order than the names have."""
    return {
        "y": trial.suggest_float("y", -1.0, 1.0),
        "i": trial.suggest_int("i", 1, 1000, log=True),
        "c": trial.suggest_categorical("c", "abc"),
        "x": trial.suggest_float("x", 1e-4, 1.0),
    }


def objective(trial: Any) -> float:
    return loss(suggested(trial))


def sampler(seed: int | None = 7, **options: Any) -> CFOSampler:
    return CFOSampler(START, ["i"], seed=seed, **options)


def proposals(cfo: Any, n: int, results: Any = lambda number, config: Result.ok(loss(config))) -> list[Any]:
    """What CFO asks for, without optuna."""
    configs = []
    for number in range(n):
        trial = cfo.ask()
        configs.append(trial.config)
        cfo.tell(trial, results(number, trial.config))
    return configs


def params(study: Any) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


# --- the search is CFO's --------------------------------------------------------------------------


def test_on_a_fixed_space_the_sampler_proposes_what_cfo_proposes() -> None:
    study = optuna.create_study(sampler=sampler())

    study.optimize(objective, n_trials=300)

    assert params(study) == proposals(CFO(SPACE, START, 7), 300)


def test_the_tuned_mode_is_told_the_seconds_that_the_storage_has() -> None:
    study = optuna.create_study(sampler=sampler(mode="tuned", overhead=None))

    study.optimize(objective, n_trials=60)

    tuned = CFOTuned(SPACE, START, 7, cost_related=["i"], overhead=None)
    seconds = [trial.duration.total_seconds() for trial in study.trials]
    assert params(study) == proposals(tuned, 60, lambda n, config: Result.ok(loss(config), seconds[n]))
    assert tuned.threads[0].history.spent_seconds == pytest.approx(sum(seconds))


def test_options_are_cfos() -> None:
    study = optuna.create_study(sampler=sampler(delta_init=0.5, stall="cumulative"))

    study.optimize(objective, n_trials=60)

    assert params(study) == proposals(CFO(SPACE, START, 7, delta_init=0.5, stall="cumulative"), 60)


def test_a_study_that_maximises_searches_as_one_that_minimises_the_negative() -> None:
    study = optuna.create_study(direction="maximize", sampler=sampler())

    study.optimize(lambda trial: -objective(trial), n_trials=60)

    assert params(study) == proposals(CFO(SPACE, START, 7), 60)


def test_pruned_and_failed_trials_are_failures_for_cfo() -> None:
    def troubled(trial: Any) -> float:
        value = objective(trial)
        if trial.number % 5 == 1:
            trial.report(0.0, 0)
            raise optuna.TrialPruned
        if trial.number % 5 == 2:
            raise RuntimeError("boom")
        return float("nan") if trial.number % 5 == 3 else value

    study = optuna.create_study(sampler=sampler())
    study.optimize(troubled, n_trials=60, catch=(RuntimeError,))

    def result(number: int, config: Mapping[str, Any]) -> Result:
        return Result(Status.FAILED) if number % 5 in (1, 2, 3) else Result.ok(loss(config))

    assert {trial.state for trial in study.trials} == {
        TrialState.COMPLETE,
        TrialState.PRUNED,
        TrialState.FAIL,
    }
    assert params(study) == proposals(CFO(SPACE, START, 7), 60, result)


def test_a_failed_first_trial_is_told_as_well() -> None:
    def troubled(trial: Any) -> float:
        value = objective(trial)
        return float("nan") if trial.number == 0 else value

    study = optuna.create_study(sampler=sampler())
    study.optimize(troubled, n_trials=30)

    def result(number: int, config: Mapping[str, Any]) -> Result:
        return Result(Status.FAILED) if number == 0 else Result.ok(loss(config))

    assert params(study) == proposals(CFO(SPACE, START, 7), 30, result)


def test_an_enqueued_trial_is_evaluated_as_it_is_and_the_search_goes_on_beside_it() -> None:
    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=10)
    wanted = {"c": "a", "i": 999, "x": 0.75, "y": -0.5}
    study.enqueue_trial(wanted)
    study.enqueue_trial({"i": 998})

    study.optimize(objective, n_trials=20)

    assert study.trials[10].params == wanted
    assert study.trials[11].params["i"] == 998
    rest = [*study.trials[:10], *study.trials[12:]]
    assert [trial.params for trial in rest] == proposals(CFO(SPACE, START, 7), 28)


def test_an_enqueued_first_trial_does_not_take_the_place_of_the_start() -> None:
    study = optuna.create_study(sampler=sampler())
    study.enqueue_trial({"c": "a", "i": 999, "x": 0.75, "y": -0.5})

    study.optimize(objective, n_trials=12)

    assert params(study)[1:] == proposals(CFO(SPACE, START, 7), 11)


# --- where it starts ------------------------------------------------------------------------------


def test_what_the_start_leaves_out_is_lowest_if_it_drives_the_cost_and_in_the_middle_if_not() -> None:
    def wide(trial: Any) -> float:
        trial.suggest_int("trees", 4, 1024, log=True)
        trial.suggest_int("leaves", 4, 1024, step=4)
        trial.suggest_float("rate", 0.01, 1.0, log=True)
        trial.suggest_float("share", 0.0, 1.0)
        trial.suggest_categorical("kind", ["x", "y"])
        return trial.suggest_float("given", 0.0, 1.0)

    study = optuna.create_study(sampler=CFOSampler({"given": 0.125}, ["trees", "leaves"], seed=0))
    study.optimize(wide, n_trials=1)

    assert study.trials[0].params == {
        "trees": 4,
        "leaves": 4,
        "rate": pytest.approx(0.1),
        "share": 0.5,
        "kind": "x",
        "given": 0.125,
    }


@pytest.mark.parametrize("value", [700, "many", None])
def test_a_start_outside_of_its_distribution_is_refused_in_one_line(value: object) -> None:
    study = optuna.create_study(sampler=CFOSampler({"x": value}))

    with pytest.raises(SpaceError, match=f"x = {value!r}") as refused:
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mode": "wild"}, "mode 'wild'"),
        ({"parallel": 2}, "parallel"),
        ({"delta_init": -1}, "delta_init -1"),
        ({"cost_related": "trees"}, "cost_related 'trees'"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words) as refused:
        CFOSampler(**wrong)
    assert "\n" not in str(refused.value)


def test_a_study_with_several_objectives_is_refused_in_one_line() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler())

    with pytest.raises(ValueError, match="2 objectives: CFOSampler supports one") as refused:
        study.optimize(lambda trial: (objective(trial), 1.0), n_trials=1)
    assert "\n" not in str(refused.value)


# --- spaces ---------------------------------------------------------------------------------------

FROM_ONE = st.integers(1, 40)
DISTRIBUTIONS = st.one_of(
    st.builds(
        lambda low, n, step: IntDistribution(low, low + n * step, step=step),
        st.integers(-50, 50),
        FROM_ONE,
        st.integers(1, 7),
    ),
    st.builds(
        lambda low, n, step: FloatDistribution(low / 100, round(low / 100 + n * step, 2), step=step),
        st.integers(-500, 500),
        FROM_ONE,
        st.sampled_from([0.05, 0.1, 0.25, 3.0]),
    ),
    st.builds(lambda low, size: FloatDistribution(low, low + size), st.floats(-5, 5), st.floats(0.1, 9)),
    st.builds(
        lambda low, ratio: FloatDistribution(low, low * ratio, log=True),
        st.floats(1e-6, 5),
        st.floats(1.1, 9),
    ),
    st.builds(lambda low, n: IntDistribution(low, low + n, log=True), FROM_ONE, FROM_ONE),
    st.builds(CategoricalDistribution, st.sampled_from([("a", None), (True, 2, 2.5), (np.nan, "b", 0)])),
)


@given(DISTRIBUTIONS, st.integers(0, 2**32 - 1))
def test_every_value_lies_in_its_distribution_and_comes_back_as_it_was(
    distribution: BaseDistribution, seed: int
) -> None:
    dimension, rng = Dimension.of("x", distribution), np.random.default_rng(seed)
    start = dimension.start({}, ())

    for inner in (start, dimension.around(start, rng), dimension.param.at(rng.random())):
        value = dimension.to_optuna(inner)
        assert distribution._contains(distribution.to_internal_repr(value))
        assert dimension.from_optuna(value) == inner


def test_numbers_with_a_step_are_searched_on_their_grid() -> None:
    def gridded(trial: Any) -> float:
        leaves = trial.suggest_int("leaves", 32, 1024, step=32)
        return abs(leaves - 512) / 512 + abs(trial.suggest_float("share", 0.1, 1.0, step=0.1) - 0.7)

    study = optuna.create_study(sampler=CFOSampler(cost_related=["leaves"], seed=1))
    study.optimize(gridded, n_trials=80)

    assert study.trials[0].params["leaves"] == 32
    assert {trial.params["leaves"] % 32 for trial in study.trials} == {0}
    assert study.best_value < 0.2


def test_a_conditional_hyperparameter_starts_at_its_start_and_is_searched_from_then_on() -> None:
    def conditional(trial: Any) -> float:
        if trial.suggest_categorical("kind", ["forest", "net"]) == "forest":
            return 1.0 + abs(trial.suggest_int("trees", 4, 4096) - 64) / 4096
        return abs(trial.suggest_int("units", 4, 4096) - 64) / 4096

    study = optuna.create_study(sampler=CFOSampler(cost_related=["trees", "units"], seed=0))
    study.optimize(conditional, n_trials=60)

    first = next(trial for trial in study.trials if "units" in trial.params)
    assert study.trials[0].params == {"kind": "forest", "trees": 4}
    assert first.params == {"kind": "net", "units": 4}
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert sorted(space) == ["kind", "trees", "units"]
    assert study.best_value < 0.05


def by_kind(trial: Any) -> float:
    """A linear model ends at 0.3 and a tree at 0.2; a net is worse than both at its start, and ends at 0."""
    kind = trial.suggest_categorical("kind", ["linear", "tree", "net"])
    if kind == "linear":
        return 0.3 + abs(math.log10(trial.suggest_float("c", 1e-4, 1e4, log=True)) - 1) / 50
    if kind == "tree":
        return 0.2 + abs(math.log2(trial.suggest_int("depth", 1, 512, log=True)) - 4) / 20
    rate, units = (
        trial.suggest_float("rate", 1e-5, 1, log=True),
        trial.suggest_int("units", 4, 1024, log=True),
    )
    layers = trial.suggest_categorical("layers", [1, 2])
    dropout = trial.suggest_float("dropout", 0.0, 0.9) if layers == 2 else 0.9
    return abs(math.log10(rate) + 2.5) / 5 + abs(math.log2(units) - 7) / 10 + abs(dropout - 0.3) / 5


CHEAP = {"kind": "linear", "c": 1.0, "depth": 1, "units": 4, "rate": 0.1, "layers": 1, "dropout": 0.0}


@pytest.mark.parametrize("mode", ["paper", "tuned"])
def test_every_branch_of_a_conditional_space_is_searched_and_the_best_one_most(mode: str) -> None:
    """In one search over all hyperparameters the best loss after 80 trials was 0.3 for most seeds."""
    losses = []
    for seed in range(3):
        study = optuna.create_study(sampler=CFOSampler(CHEAP, ["depth", "units"], seed=seed, mode=mode))
        study.optimize(by_kind, n_trials=120)
        losses.append(study.best_value)
        kinds = [trial.params["kind"] for trial in study.trials]
        assert all(kinds.count(kind) >= 15 for kind in ("linear", "tree", "net"))
        first = next(trial for trial in study.trials[1:] if trial.params["kind"] == "tree")
        assert first.params == {"kind": "tree", "depth": 1}
    assert sorted(losses)[1] < 0.15


def test_a_branch_in_which_all_trials_fail_takes_its_turns_only() -> None:
    def failing(trial: Any) -> float:
        if trial.suggest_categorical("kind", ["a", "b", "c"]) == "b":
            raise ValueError("no such model")
        name = trial.params["kind"]
        return trial.suggest_float(f"x{name}", 0.0, 1.0) + (name == "c")

    study = optuna.create_study(sampler=CFOSampler(seed=1))
    study.optimize(failing, n_trials=60, catch=ValueError)

    kinds = [trial.params["kind"] for trial in study.trials]
    assert kinds.count("b") <= 20 < kinds.count("a")
    assert study.best_value < 0.05


def test_a_study_of_a_conditional_space_is_resumed_where_it_stood() -> None:
    def params(pieces: Sequence[int]) -> list[dict[str, Any]]:
        storage = optuna.storages.InMemoryStorage()
        for n_trials in pieces:
            study = optuna.create_study(
                storage=storage, study_name="s", load_if_exists=True, sampler=CFOSampler(CHEAP, seed=3)
            )
            study.optimize(by_kind, n_trials=n_trials)
        return [trial.params for trial in study.trials]

    assert params([40]) == params([7, 20, 13])


def test_a_hyperparameter_whose_range_changes_is_left_out_of_the_search() -> None:
    def changing(trial: Any) -> float:
        return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("n", 1, 10 + trial.number)

    study = optuna.create_study(sampler=CFOSampler(seed=0))
    study.optimize(changing, n_trials=8)

    assert list(study.sampler.infer_relative_search_space(study, study.trials[-1])) == ["x"]


def test_hyperparameters_with_a_single_value_are_no_part_of_the_space() -> None:
    study = optuna.create_study(sampler=CFOSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_int("one", 1, 1), n_trials=5)

    assert list(study.sampler.infer_relative_search_space(study, study.trials[-1])) == ["x"]


def test_when_all_within_reach_was_tried_the_rest_is_random_and_a_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=CFOSampler(seed=0))
    with caplog.at_level(logging.WARNING):
        optuna.logging.enable_propagation()
        study.optimize(lambda trial: trial.suggest_int("n", 1, 3), n_trials=20)
        optuna.logging.disable_propagation()

    assert len(study.trials) == 20 and study.best_value == 1
    assert [record.message for record in caplog.records if "random" in record.message] == [
        "CFO has tried all within its reach: from now on, configurations are random."
    ]


def test_ask_and_tell_with_a_space_that_is_given() -> None:
    study = optuna.create_study(sampler=sampler())
    given = {
        "c": CategoricalDistribution("abc"),
        "i": IntDistribution(1, 1000, log=True),
        "x": FloatDistribution(1e-4, 1.0),
        "y": FloatDistribution(-1.0, 1.0),
    }

    for _ in range(30):
        trial = study.ask(given)
        study.tell(trial, loss(trial.params))

    assert params(study) == proposals(CFO(SPACE, START, 7), 30)


def test_it_searches_under_a_hyperband_pruner() -> None:
    def long(trial: Any) -> float:
        value = objective(trial)
        for step in range(9):
            trial.report(value + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study = optuna.create_study(sampler=sampler(), pruner=optuna.pruners.HyperbandPruner(1, 9))
    study.optimize(long, n_trials=60)

    assert TrialState.PRUNED in {trial.state for trial in study.trials}
    assert study.trials[0].params == START
    assert study.best_value < study.trials[0].value


# --- seeds ----------------------------------------------------------------------------------------


def test_without_a_seed_studies_differ_and_each_keeps_its_own() -> None:
    storage = optuna.storages.InMemoryStorage()
    studies = [
        optuna.create_study(study_name=name, storage=storage, sampler=sampler(None)) for name in ("a", "b")
    ]
    for study in studies:
        study.optimize(objective, n_trials=10)
    again = optuna.load_study(study_name="a", storage=storage, sampler=sampler(None))
    again.optimize(objective, n_trials=10)

    seed = storage.get_study_system_attrs(again._study_id)["cfo_bench:seed"]
    assert params(studies[0]) != params(studies[1])
    assert params(again) == proposals(CFO(SPACE, START, seed), 20)


def test_a_sampler_may_serve_several_studies_in_turn() -> None:
    shared = sampler()
    studies = [optuna.create_study(sampler=shared) for _ in range(2)]

    for _ in range(10):
        for study in studies:
            study.optimize(objective, n_trials=1)

    assert params(studies[0]) == params(studies[1]) == proposals(CFO(SPACE, START, 7), 10)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda sampler: pickle.loads(pickle.dumps(sampler))])
def test_a_copied_sampler_goes_on_with_the_study(copied: Any) -> None:
    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=10)
    study.sampler = copied(study.sampler)

    study.optimize(objective, n_trials=10)

    assert params(study) == proposals(CFO(SPACE, START, 7), 20)


# --- several at once, and again -------------------------------------------------------------------


def test_trials_at_once_are_searches_side_by_side() -> None:
    together = threading.Barrier(3)

    def slow(trial: Any) -> float:
        value = objective(trial)
        together.wait(30)
        return value

    study = optuna.create_study(sampler=sampler())
    study.optimize(slow, n_trials=30, n_jobs=3)

    places = [tuple(trial.system_attrs[PLACE][:3]) for trial in study.trials if PLACE in trial.system_attrs]
    assert study.trials[0].params == START
    assert len(set(places)) == len(places) >= 27
    assert {stream for _, stream, _ in places} == {0, 1, 2}


@pytest.fixture
def url() -> Iterator[str]:
    """In memory where there is such a folder: SQLite waits for the disk several times a trial."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield f"sqlite:///{folder}/study.db"


def open_study(url: str, **options: Any) -> Any:
    return optuna.create_study(study_name="s", storage=url, load_if_exists=True, sampler=sampler(), **options)


def test_a_study_in_sqlite_is_resumed_where_it_stood(url: str) -> None:
    open_study(url).optimize(objective, n_trials=5)
    study = open_study(url)
    study.optimize(objective, n_trials=5)

    assert params(study) == proposals(CFO(SPACE, START, 7), 10)


WORKER = """
import os, signal, sys, time
import optuna
sys.path.insert(0, {root!r})
from tests.optuna.test_sampler import objective, open_study
optuna.logging.set_verbosity(optuna.logging.WARNING)
def work(trial):
    value = objective(trial)
    if trial.number == {killed_at}:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return value
open_study({url!r}).optimize(work, n_trials={trials})
"""


def start_worker(url: str, trials: int, killed_at: int = -1) -> subprocess.Popen[str]:
    code = WORKER.format(root=str(ROOT), url=url, trials=trials, killed_at=killed_at)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def test_the_trial_of_a_killed_process_is_proposed_again(url: str) -> None:
    killed = start_worker(url, 20, killed_at=3)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL

    study = open_study(url)
    study.optimize(objective, n_trials=5)

    assert study.trials[3].state == TrialState.RUNNING
    assert study.trials[3].params == study.trials[4].params
    done = [trial.params for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert done == proposals(CFO(SPACE, START, 7), 8)


@pytest.mark.slow
def test_processes_on_one_storage_search_side_by_side(url: str) -> None:
    open_study(url).optimize(objective, n_trials=2)
    workers = [start_worker(url, 8) for _ in range(2)]
    for worker in workers:
        _, err = worker.communicate(timeout=100)
        assert worker.returncode == 0, err

    study = open_study(url)
    places = [trial.system_attrs[PLACE] for trial in study.trials if PLACE in trial.system_attrs]
    assert len(study.trials) == 18
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert {place[4] for place in places} == {os.getpid(), *(worker.pid for worker in workers)}
    # Two may take the same proposal at the same moment: then it is evaluated twice, and counts once.
    assert len({tuple(place[:3]) for place in places}) >= len(places) - 3


# --- the module -----------------------------------------------------------------------------------


def test_cfo_bench_does_not_import_optuna_and_its_module_gets_the_real_one() -> None:
    code = (
        "import sys, cfo_bench; assert 'optuna' not in sys.modules; "
        "import cfo_bench.optuna, optuna; "
        "assert optuna is cfo_bench.optuna.sampler.optuna; print(optuna.__version__)"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert answer.stdout.strip() == optuna.__version__, answer.stderr


def test_without_optuna_its_module_says_what_to_install() -> None:
    code = "import sys; sys.modules['optuna'] = None; import cfo_bench.optuna"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert answer.stderr.splitlines()[-1].endswith(
        "cfo_bench.optuna needs the package 'optuna', which is not installed: pip install optuna"
    )
