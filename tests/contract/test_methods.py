"""What every registered method must do, whoever wrote it. A new row in METHODS is checked here as it is."""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from cfo_bench.errors import Exhausted, OptionError, SpaceError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Optimizer, Result, Status, Trial
from cfo_bench.space import Categorical, Config, Float, Int, Space

TRIALS = 30

# A model that takes long to fit is asked early, and for the best of few candidates; and in fewer trials.
QUICK: dict[str, dict[str, Any]] = {
    "bohb": {"num_samples": 8},
    "gpei": {"n_initial_points": 4, "n_candidates": 100, "n_restarts": 1},
    "gpeips": {"n_initial_points": 4, "n_candidates": 100, "n_restarts": 1},
    "hyperopt-tpe": {"n_startup_jobs": 10},
    "smac": {
        "n_initial": 3,
        "retrain_after": 4,
        "challengers": 20,
        "local_search_iterations": 1,
        "n_trees": 2,
    },
}
FEW = {"GPEI": 6, "GPEIPS": 6, "SMAC": 10}
SLOW = {"gpei", "gpeips", "smac"}

SPACES: dict[str, tuple[Space, Config]] = {
    "integers": (Space([Int("i", 1, 50), Int("j", -5, 5), Int("k", 0, 9)]), {"i": 1, "j": 0, "k": 9}),
    "floats": (Space([Float("x", -1.0, 1.0), Float("y", 0.5, 2.0)]), {"x": 0.25, "y": 1.0}),
    "logarithms": (
        Space([Int("i", 4, 32768, log=True), Float("x", 1e-10, 1.0, log=True)]),
        {"i": 4, "x": 1e-10},
    ),
    "categories": (
        Space([Categorical("c", ["a", "b", None, True]), Categorical("o", [1, 2, 4, 8], ordered=True)]),
        {"c": "a", "o": 1},
    ),
    "mixed": (
        Space(
            [
                Int("i", 1, 1000, log=True),
                Float("x", 0.0, 1.0),
                Categorical("c", "abc"),
                Float("fixed", 2.0, 2.0),
                Float("y", 1e-3, 10.0, log=True),
            ]
        ),
        {"i": 1, "x": 0.0, "c": "b", "fixed": 2.0, "y": 10.0},
    ),
    "one dimension": (Space([Float("x", 0.01, 100.0)]), {"x": 1.0}),
    "thirty dimensions": (
        Space([Float(f"x{i}", 0.1, 10.0) for i in range(20)] + [Int(f"k{i}", 1, 100) for i in range(10)]),
        {**{f"x{i}": 1.0 for i in range(20)}, **{f"k{i}": 10 for i in range(10)}},
    ),
}

# A loss for each kind of value, so that there is something to find in any of the spaces.
SCORES = {"a": 0.3, "b": 0.1, "c": 0.2, None: 0.5, True: 0.0}


def loss(config: Config) -> float:
    return sum(
        abs(SCORES[v] if v in SCORES and type(v) is not int else math.atan(v - 3)) for v in config.values()
    )


# A reference asks for one trial only, of a learner of its own: see tests/learners/test_references.py.
# A study searches nothing: see tests/optimizers/test_study.py.
NAMES = sorted(name for name, row in METHODS.rows().items() if row.learner is None and name != "study")


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    row = METHODS.row(request.param)
    if row.missing:
        pytest.skip(f"{request.param} needs {row.missing}")
    return str(request.param)


def build(name: str, kind: str = "mixed", seed: int = 0, **options: Any) -> Optimizer:
    space, start = SPACES[kind]
    options = METHODS.options(name, {**QUICK.get(name, {}), **options})
    method: Optimizer = METHODS.load(name)(space, start, seed, **options)
    return method


def n_trials(method: Optimizer) -> int:
    return FEW.get(type(method).__name__, TRIALS)


def run(method: Optimizer, results: Any = None) -> list[tuple[Trial, Result]]:
    """So many trials, or fewer of an exhausted method, each with what was told about it."""
    told = []
    answers = itertools.cycle(results) if results else None
    for _ in range(n_trials(method)):
        try:
            trial = method.ask()
        except Exhausted:
            break
        result = next(answers) if answers else Result.ok(loss(trial.config), 0.01, 0.001)
        method.tell(trial, result)
        told.append((trial, result))
    return told


@pytest.mark.parametrize("kind", SPACES)
def test_the_first_trial_is_the_start(name: str, kind: str) -> None:
    assert build(name, kind).ask().config == SPACES[kind][1]


@pytest.mark.parametrize("kind", SPACES)
def test_every_configuration_is_a_plain_one_of_the_space(name: str, kind: str) -> None:
    space, _ = SPACES[kind]

    trials = [trial for trial, _ in run(build(name, kind))]

    assert len(trials) >= 3  # FLOW² of one dimension has two sides and no more
    for trial in trials:
        assert list(trial.config.items()) == list(space.check(trial.config).items())
        for param in space:
            # np.float64 and np.int64 pass for numbers, and orjson refuses them.
            plain = {Int: (int,), Float: (float,), Categorical: (str, int, float, bool, type(None))}[
                type(param)
            ]
            assert type(trial.config[param.name]) in plain
        assert (
            orjson.loads(orjson.dumps(trial.config)) == json.loads(json.dumps(trial.config)) == trial.config
        )


def test_trials_are_numbered_from_zero(name: str) -> None:
    method = build(name)

    assert [trial.number for trial, _ in run(method)] == list(range(n_trials(method)))


def test_the_same_seed_asks_the_same(name: str) -> None:
    assert run(build(name, seed=3)) == run(build(name, seed=3))


def test_another_seed_asks_otherwise(name: str) -> None:
    assert run(build(name, seed=3)) != run(build(name, seed=4))


def test_a_replay_asks_the_same(name: str) -> None:
    told = run(build(name))
    replayed = build(name)

    for trial, result in told:
        assert replayed.ask() == trial
        replayed.tell(trial, result)


TROUBLE = {
    "failures": [Result(Status.FAILED, error="boom"), Result(Status.TIMEOUT), Result(Status.MEMORY)],
    "a failed start": [Result(Status.FAILED), *[Result.ok(0.1 * i) for i in range(TRIALS)]],
    "equal losses": [Result.ok(0.5)],
    "no number": [Result.ok(1.0), Result.ok(math.nan), Result(Status.OK, math.nan), Result.ok(math.inf)],
    "enormous losses": [Result.ok(1e300), Result.ok(-1e300), Result.ok(0.0)],
    "a mixture": [
        Result.ok(0.5),
        Result(Status.TIMEOUT, None, 3.0),
        Result.ok(0.4),
        Result(Status.MEMORY),
        Result.ok(0.4),
        Result(Status.FAILED),
        Result.ok(0.3),
    ],
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (one, kind)
        for one in NAMES
        for kind in ["mixed", *(["integers", "one dimension"] if one not in SLOW else [])]
    ],
    indirect=["name"],
)
@pytest.mark.parametrize("trouble", TROUBLE)
def test_it_goes_on_whatever_comes_of_its_trials(name: str, kind: str, trouble: str) -> None:
    space, _ = SPACES[kind]

    trials = run(build(name, kind), TROUBLE[trouble])

    assert len(trials) >= 3  # FLOW² of one dimension has two sides and no more
    for trial, _ in trials:
        space.check(trial.config)


def test_it_prints_nothing(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    run(build(name))

    assert capfd.readouterr() == ("", "")


def test_it_leaves_no_files_threads_or_processes_behind(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(name)  # what its package starts when it is imported is not the method's
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    threads = threading.active_count()

    run(build(name))

    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == threads
    assert multiprocessing.active_children() == []


def test_numpys_global_generator_is_left_alone(name: str) -> None:
    before = repr(np.random.get_state())  # noqa: NPY002

    run(build(name))

    assert repr(np.random.get_state()) == before  # noqa: NPY002


def test_a_space_of_single_values_is_exhausted_by_the_start(name: str) -> None:
    start = {"x": 1.0, "c": "a"}
    space = Space([Float("x", 1.0, 1.0), Categorical("c", ["a"])])
    method = METHODS.load(name)(space, start, 0, **METHODS.options(name, {}))

    first = method.ask()
    method.tell(first, Result.ok(0.5))

    assert first.config == start
    if name == "rs":  # remembers nothing, and draws the same again
        assert method.ask().config == start
    else:
        with pytest.raises(Exhausted):
            method.ask()


def test_another_process_asks_the_same() -> None:
    """All methods in one process: their packages live together. Python's hashes differ between the two."""
    names = [name for name in NAMES if METHODS.row(name).missing is None]
    code = (
        f"import runpy; here = runpy.run_path({__file__!r}); "
        f"print(*[repr(here['run'](here['build'](name))) for name in {names!r}], sep='\\n')"
    )

    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )

    told = dict(zip(names, answer.stdout.splitlines(), strict=True))
    assert {name: repr(run(build(name))) for name in names} == told


def test_a_start_outside_the_space_is_refused(name: str) -> None:
    with pytest.raises(SpaceError, match=r"x = 7\.0"):
        METHODS.load(name)(Space([Float("x", 0.0, 1.0)]), {"x": 7.0}, 0, **METHODS.options(name, {}))


def test_an_unknown_option_is_refused_by_name(name: str) -> None:
    with pytest.raises(
        OptionError, match=f"method '{name}' has no option 'wings': its options are "
    ) as refused:
        METHODS.options(name, {"wings": 2})

    assert "\n" not in str(refused.value)


def test_workers_are_as_many_trials_at_once(name: str) -> None:
    if "parallel" not in METHODS.options(name, {}):
        pytest.skip(f"{name} has one trial at a time")
    method = build(name, parallel=3)

    for _ in range(5):
        trials = [method.ask() for _ in range(3)]
        assert len({trial.number for trial in trials}) == 3
        for trial in reversed(trials):
            method.tell(trial, Result.ok(loss(trial.config)))


WRONG = [
    ("cfo", "parallel", 0),
    ("cfo", "parallel", "two"),
    ("cfo", "scale", "log10"),
    ("cfo", "mode", "tuned"),
    ("cfo", "delta_init", 0),
    ("cfo", "delta_init", "long"),
    ("cfo", "delta_init", math.inf),
    ("cfo", "n_threshold", "3d"),
    ("cfo", "n_threshold", 0),
    ("cfo", "n_threshold", 2.5),
    ("cfo", "stall", "never"),
    ("cfo", "delta_lower", 0.01),
    ("cfo", "redraw", "yes"),
    ("cfo", "linear_span", -1.0),
    ("cfo-tuned", "mode", "paper"),
    ("cfo-0", "step", "newton"),
    ("cfo-0", "scale", None),
    ("flow2", "step", -0.1),
    ("flow2", "parallel", True),
    ("flow2", "linear_span", math.nan),
    ("rs", "parallel", -1),
    ("gpei", "xi", -0.1),
    ("gpei", "acq_optimizer", "newton"),
    ("gpeips", "n_candidates", 0),
    ("smac", "n_initial", 0),
    ("smac", "parallel", 0),
    ("bohb", "eta", 1),
    ("bohb", "top_n_percent", 100),
    ("bohb", "random_fraction", 2.0),
    ("bohb", "min_bandwidth", 0),
    ("hyperband", "min_rows", 0),
    ("tpe", "multivariate", "yes"),
    ("tpe", "n_startup_trials", 0),
    ("hyperopt-tpe", "gamma", 0),
    ("hyperopt-tpe", "n_ei_candidates", 0),
    ("blendsearch", "experimental", 1),
]


@pytest.mark.parametrize(("method", "option", "value"), WRONG)
def test_a_wrong_value_of_an_option_is_refused_in_one_line(method: str, option: str, value: object) -> None:
    space, start = SPACES["mixed"]
    for make in (
        lambda: build(method, **{option: value}),
        lambda: METHODS.load(method)(space, start, **{option: value}),
    ):
        with pytest.raises(OptionError) as refused:
            make()

        text = str(refused.value)
        assert option in text
        assert repr(value) in text
        assert "\n" not in text
