from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import xgboost

from cfo_bench.clock import Deadline
from cfo_bench.errors import OptionError
from cfo_bench.learners.evaluation import shuffled_order
from cfo_bench.learners.xgboost import XGBoost, XGBoostObjective
from cfo_bench.records import Fold, Problem, Status, Trial
from cfo_bench.space import Config
from tests.helpers.clocks import CountingClock, forever
from tests.helpers.folds import make_fold
from tests.helpers.losses import sklearn_loss

N_TRAIN = 400


def wrappers_loss(fold: Fold, config: Config, seed: int, categories: str) -> float:
    """What a user gets from xgboost's own scikit-learn wrapper and scikit-learn's metric."""
    options = dict(
        config, tree_method="hist", grow_policy="lossguide", max_depth=0, n_jobs=1, random_state=seed
    )
    if categories == "native":
        options |= {
            "enable_categorical": True,
            "feature_types": ["c" if c else "q" for c in fold.categorical],
        }
    kind = xgboost.XGBRegressor if fold.problem is Problem.REGRESSION else xgboost.XGBClassifier
    return sklearn_loss(fold, kind(**options).fit(fold.train_x, fold.train_y))


def start() -> Config:
    learner = XGBoost()
    return learner.start(learner.space(N_TRAIN))


@pytest.fixture
def objective() -> XGBoostObjective:
    return XGBoost().prepare(make_fold(Problem.BINARY, N_TRAIN), threads=1, seed=0)


@pytest.mark.parametrize("categories", ["codes", "native"])
@pytest.mark.parametrize("problem", Problem)
def test_losses_are_those_of_xgboosts_own_wrapper_with_scikit_learns_metric(
    problem: Problem, categories: str
) -> None:
    learner, fold, seed = XGBoost(categories=categories), make_fold(problem, N_TRAIN), 3
    objective = learner.prepare(fold, threads=1, seed=seed)
    space = learner.space(150)  # at most 150 trees: quick
    rng = np.random.default_rng(0)
    tolerance = 1e-6 if problem is Problem.MULTICLASS else 1e-12
    for number in range(8):
        config = space.sample(rng)
        expected = wrappers_loss(fold, config, seed, categories)
        assert objective.evaluate(Trial(number, config), forever()).loss == pytest.approx(
            expected, abs=tolerance
        )


def test_native_categories_make_another_model_than_codes() -> None:
    fold, trial = (
        make_fold(Problem.REGRESSION, N_TRAIN),
        Trial(0, start() | {"n_estimators": 40, "max_leaves": 16}),
    )
    codes, native = (
        XGBoost(categories=c).prepare(fold, 1, 0).evaluate(trial, forever()) for c in ("codes", "native")
    )
    assert codes.status is native.status is Status.OK and codes.loss != native.loss


def test_native_categories_may_be_new_in_the_validation_part() -> None:
    fold = make_fold(Problem.BINARY, N_TRAIN)
    unseen = fold.valid_x.copy()
    unseen[:, 4] = 99
    objective = XGBoost(categories="native").prepare(replace(fold, valid_x=unseen), 1, 0)
    assert objective.evaluate(Trial(0, start()), forever()).status is Status.OK


def test_an_unknown_way_with_categories_is_refused() -> None:
    with pytest.raises(OptionError, match=r"categories = 'onehot' .* choose from codes, native"):
        XGBoost(categories="onehot")


def test_trees_and_leaves_are_bounded_by_the_rows_and_by_32768() -> None:
    bounds = {
        n: [
            (XGBoost().space(n)[name].low, XGBoost().space(n)[name].high)
            for name in ("n_estimators", "max_leaves")
        ]
        for n in (1, 4, 500, 10**6)
    }
    assert bounds == {1: [(4, 4)] * 2, 4: [(4, 4)] * 2, 500: [(4, 500)] * 2, 10**6: [(4, 32768)] * 2}


def test_a_trial_on_fewer_rows_trains_on_the_first_of_the_shuffled_order() -> None:
    fold, seed = make_fold(Problem.MULTICLASS, N_TRAIN), 5
    objective = XGBoost().prepare(fold, threads=1, seed=seed)
    first = shuffled_order(fold, seed)[:120]
    part = replace(fold, train_x=fold.train_x[first], train_y=fold.train_y[first])
    loss = objective.evaluate(Trial(0, start(), rows=120), forever()).loss
    assert loss == pytest.approx(wrappers_loss(part, start(), seed, "codes"), abs=1e-6)
    assert loss != objective.evaluate(Trial(1, start()), forever()).loss


def test_a_level_of_rows_is_binned_once(objective: XGBoostObjective) -> None:
    for number, rows in enumerate([100, 200, 100, 200, 100, None, N_TRAIN, N_TRAIN + 1]):
        objective.evaluate(Trial(number, start(), rows), forever())
    assert objective._train.on(100) is objective._train.on(100)


def test_the_deadline_is_checked_before_every_round(objective: XGBoostObjective) -> None:
    # Two looks at the start, one before each of 19 rounds, one that finds the time up, one for the seconds.
    config = start() | {"n_estimators": 200}
    result = objective.evaluate(Trial(0, config), Deadline(CountingClock(), at=22.0))
    assert (result.status, result.loss, result.fit_seconds) == (Status.TIMEOUT, None, 22.0)
    assert objective.evaluate(Trial(0, start()), Deadline(CountingClock(), at=22.0)).status is Status.OK


def test_fit_and_validation_are_timed_apart(objective: XGBoostObjective) -> None:
    # Looks: the start, one for each of 4 rounds, the end of the fit; then the end of the validation.
    result = objective.evaluate(Trial(0, start()), Deadline(CountingClock()))
    assert (result.fit_seconds, result.validate_seconds) == (5.0, 1.0)


def test_a_value_that_xgboost_refuses_fails_the_trial_with_one_line(objective: XGBoostObjective) -> None:
    result = objective.evaluate(Trial(0, start() | {"subsample": -1.0}), forever())
    assert result.status is Status.FAILED and result.loss is None
    assert result.error is not None and "subsample" in result.error
    assert "\n" not in result.error and not result.error.startswith("[") and ".cc:" not in result.error
    assert objective.evaluate(Trial(1, start()), forever()).status is Status.OK


def test_a_validation_part_of_one_class_fails_the_trial() -> None:
    fold = make_fold(Problem.BINARY, N_TRAIN)
    objective = XGBoost().prepare(replace(fold, valid_y=np.ones_like(fold.valid_y)), 1, 0)
    result = objective.evaluate(Trial(0, start()), forever())
    assert (result.status, result.error) == (Status.FAILED, "the loss is nan")


def test_a_trial_without_enough_memory_ends_as_memory_and_the_next_one_is_as_ever() -> None:
    code = """
import resource
import numpy as np
from cfo_bench.clock import Deadline, WallClock
from cfo_bench.learners.xgboost import XGBoost
from cfo_bench.records import Fold, Problem, Trial

rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 200)).astype(np.float32)
y = rng.normal(size=4000)
fold = Fold(Problem.REGRESSION, "r2", 0, (False,) * 200, x[:3000], y[:3000], x[3000:], y[3000:], 1.0)
learner = XGBoost()
objective = learner.prepare(fold, threads=1, seed=0)
cheap = learner.start(learner.space(3000))
deadline = Deadline(WallClock())
before = objective.evaluate(Trial(0, cheap), deadline)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, resource.getrlimit(resource.RLIMIT_AS)[1]))
dear = objective.evaluate(Trial(1, cheap | {"max_leaves": 3000, "min_child_weight": 0.01}), deadline)
after = objective.evaluate(Trial(2, cheap), deadline)
print(dear.status, dear.loss, "\\n" in dear.error, after.loss == before.loss, sep=",")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "memory,None,False,True"
