"""Every registered method keeps the contract that cfo_bench.testing has for everybody's.

All of them are built in this process, so that their packages must live together; each is compared with
itself in another process.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import OptionError
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import family_of, label
from cfo_bench.testing import MethodContract
from cfo_bench.testing.searches import SPACES, build

# A sampler in a folder that is laid out as OptunaHub has them.
HUB = f"optunahub:{Path(__file__).parent / 'hub_package'}:Halves"
FOREST = {"n_initial": 3, "retrain_after": 4, "challengers": 20, "local_search_iterations": 1, "n_trees": 2}

BOTORCH = {"n_initial_points": 4, "n_candidates": 16, "n_restarts": 1}

# A model that takes long to fit is asked early, and for the best of few candidates; and in fewer trials.
QUICK: dict[str, dict[str, Any]] = {
    "boca": BOTORCH,
    "bohb": {"num_samples": 8},
    "botorch-ei": BOTORCH,
    "botorch-eips": BOTORCH,
    "cfo-tuned": {"overhead": None},  # else its model would be silent, as the trials are short
    "fabolas": BOTORCH,
    "gp-cooled": {"n_initial_points": 4, "n_candidates": 100, "n_restarts": 1},
    "gpei": {"n_initial_points": 4, "n_candidates": 100, "n_restarts": 1},
    "gpeips": {"n_initial_points": 4, "n_candidates": 100, "n_restarts": 1},
    "hyperopt-tpe": {"n_startup_jobs": 10},
    "nevergrad:NGOpt": {"planned_trials": 10},  # fewer than are asked for
    "optuna-gp": {"n_startup_trials": 4},
    "optuna:NSGAIISampler": {"population_size": 4},
    "optuna:QMCSampler": {"scramble": True},  # without it, every seed gives the same sequence
    "smac": FOREST,
    "smac-mf": FOREST,
}
FEW = {
    **dict.fromkeys(["boca", "botorch-ei", "botorch-eips", "fabolas", "gp-cooled", "gpei", "gpeips"], 6),
    **dict.fromkeys(["smac", "smac-mf"], 10),
    "optuna-gp": 5,
}

# One of each family, and one of those of its package that go another way than the rest.
OF_FAMILIES = ["nevergrad:NGOpt", "nevergrad:NgIohTuned", "optuna:NSGAIISampler", "optuna:QMCSampler", HUB]

# These take long, and have the model of gpei, botorch-ei or boca, or are another optimizer of nevergrad's.
LIKE_ANOTHER = ["botorch-eips", "fabolas", "gp-cooled", "gpeips", "nevergrad:NgIohTuned"]

# A reference asks for one trial only, of a learner of its own: see tests/learners/test_references.py.
# A study searches nothing: see tests/optimizers/test_baselines.py.
ROWS = [name for name, row in METHODS.rows().items() if row.learner is None and name != "study"]
NAMES = [*sorted(ROWS), *OF_FAMILIES]


def contract(name: str) -> type[MethodContract]:
    """The checks of one method; those of an absent extra are skipped."""
    attributes: dict[str, Any] = {
        "method": name,
        "options": QUICK.get(name, {}),
        "trials": FEW.get(name, 30),
        "repeats": name == "rs",
        # One other process does it for all methods, below: most of its time goes into imports.
        "test_another_process_asks_the_same": None,
    }
    if name in FEW:
        attributes["troubled_spaces"] = ["mixed"]
    missing = METHODS.row(name).missing
    if name in LIKE_ANOTHER:
        attributes["pytestmark"] = pytest.mark.slow
    made = type(f"Test_{label(name)}", (MethodContract,), attributes)
    return pytest.mark.skipif(missing is not None, reason=f"{name} needs {missing}")(made)


globals().update({f"Test_{label(name)}": contract(name) for name in NAMES})


@pytest.fixture(scope="module")
def in_another_process() -> dict[str, str]:
    """What each method at hand asks for, there."""
    at_hand = {name: globals()[f"Test_{label(name)}"] for name in NAMES if METHODS.row(name).missing is None}
    code = (
        "from cfo_bench.testing.searches import build, search\n"
        f"for method, options, trials in {[(n, dict(c.options), c.trials) for n, c in at_hand.items()]!r}:\n"
        "    print(search(build(method, options, 'mixed', 0), trials))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert answer.returncode == 0, answer.stderr
    return dict(zip(at_hand, answer.stdout.splitlines(), strict=True))


@pytest.mark.timeout(300)  # the first one waits for all methods
@pytest.mark.parametrize("name", NAMES)
def test_another_process_asks_the_same(name: str, in_another_process: dict[str, str]) -> None:
    """Python's hashes of texts differ between the two."""
    if name not in in_another_process:
        pytest.skip(f"{name} needs {METHODS.row(name).missing}")
    checks = globals()[f"Test_{label(name)}"]()

    assert in_another_process[name] == repr(checks.search(checks.build()))


def test_every_family_is_put_through_the_contract() -> None:
    assert {family_of(name) for name in OF_FAMILIES} == set(METHODS.families) - {"exec"}


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
    ("cfo", "n_threshold", True),
    ("cfo", "stall", "never"),
    ("cfo", "delta_lower", 0.01),
    ("cfo", "redraw", "yes"),
    ("cfo", "linear_span", -1.0),
    ("cfo-tuned", "overhead", -0.1),
    ("cfo-tuned", "overhead", "none"),
    ("cfo-tuned", "parallel", 0),
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
    ("tpe-multivariate", "group", "yes"),
    ("optuna-gp", "n_startup_trials", 0),
    ("optuna-gp", "deterministic_objective", 1),
    ("cma-es", "sigma0", 0),
    ("cma-es", "popsize", 2.5),
    ("dehb", "mutation_factor", -1),
    ("dehb", "crossover_prob", 1.5),
    ("dehb", "population_size", 3),
    ("smac-mf", "eta", 1),
    ("smac-mf", "min_rows", 0),
    ("gp-cooled", "budget_seconds", -1.0),
    ("nevergrad:NGOpt", "planned_trials", 0),
    ("hyperopt-tpe", "gamma", 0),
    ("hyperopt-tpe", "n_ei_candidates", 0),
    ("blendsearch", "experimental", 1),
    ("botorch-ei", "n_initial_points", 0),
    ("botorch-ei", "n_restarts", 0),
    ("botorch-eips", "cooling", 1),
    ("boca", "min_rows", 0),
    ("boca", "n_levels", 0),
    ("fabolas", "incumbent_every", 0),
]


@pytest.mark.parametrize(("method", "option", "value"), WRONG)
def test_a_wrong_value_of_an_option_is_refused_in_one_line(method: str, option: str, value: object) -> None:
    if missing := METHODS.row(method).missing:
        pytest.skip(f"{method} needs {missing}")
    space, start = SPACES["mixed"]
    for make in (
        lambda: build(method, {option: value}, "mixed", 0),
        lambda: METHODS.load(method)(space, start, **{option: value}),
    ):
        with pytest.raises(OptionError) as refused:
            make()

        text = str(refused.value)
        assert option in text
        assert repr(value) in text
        assert "\n" not in text
