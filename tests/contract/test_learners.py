"""What every registered learner keeps to, whoever wrote it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cfo_bench.clock import Deadline, VirtualClock, WallClock
from cfo_bench.learners import LEARNERS
from cfo_bench.learners.rows import shuffled_order
from cfo_bench.metrics import METRIC_OF
from cfo_bench.records import Fold, Learner, Problem, Status, Trial

N_TRAIN, N_VALID, SEED = 60, 40, 2


@pytest.fixture(params=sorted(LEARNERS.rows()))
def learner(request: pytest.FixtureRequest) -> Learner:
    if LEARNERS.row(request.param).missing is not None:
        pytest.skip(f"learner {request.param!r} needs an extra that is not installed")
    built: Learner = LEARNERS.load(request.param)()
    return built


@pytest.fixture(params=Problem)
def fold(request: pytest.FixtureRequest, learner: Learner) -> Fold:
    if request.param not in learner.problems:
        pytest.skip(f"the learner does not take {request.param} problems")
    return make_fold(request.param)


def make_fold(problem: Problem) -> Fold:
    """Numbers, codes of categories, a constant column and a column without values; some values missing."""
    rng = np.random.default_rng(1)
    n = N_TRAIN + N_VALID
    x = rng.normal(size=(n, 6)).astype(np.float32)
    x[:, 3] = rng.integers(0, 5, n)
    signal = x[:, 0] - x[:, 1] + (x[:, 3] == 2) + rng.normal(size=n)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 4] = 7.0
    x[:, 5] = np.nan
    n_classes = {Problem.BINARY: 2, Problem.MULTICLASS: 3, Problem.REGRESSION: 0}[problem]
    y = np.digitize(signal, [-0.5, 1.0][: n_classes - 1]) if n_classes else signal
    return Fold(
        problem=problem,
        metric=METRIC_OF[problem],
        n_classes=n_classes,
        categorical=(False, False, False, True, False, False),
        train_x=x[:N_TRAIN],
        train_y=y[:N_TRAIN],
        valid_x=x[N_TRAIN:],
        valid_y=y[N_TRAIN:],
        constant_loss=1.0,
    )


def no_deadline(learner: Learner) -> Deadline:
    return Deadline(VirtualClock() if learner.virtual else WallClock())


def loss_of(learner: Learner, fold: Fold, trial: Trial, seed: int = SEED) -> float | None:
    return learner.prepare(fold, threads=1, seed=seed).evaluate(trial, no_deadline(learner)).loss


@pytest.mark.parametrize("n_rows", [1, 3, 4, 5, 60, 30_000, 5_000_000])
def test_the_start_is_a_configuration_of_the_space_for_any_number_of_rows(
    learner: Learner, n_rows: int
) -> None:
    space = learner.space(n_rows)
    start = learner.start(space)
    assert space.check(start) == start
    assert list(start) == [param.name for param in space]


def test_cost_related_hyperparameters_are_some_of_the_space(learner: Learner) -> None:
    assert learner.cost_related and set(learner.cost_related) <= {
        param.name for param in learner.space(N_TRAIN)
    }


def test_the_start_trains_and_its_seconds_are_counted(learner: Learner, fold: Fold) -> None:
    start = learner.start(learner.space(fold.n_rows))
    result = learner.prepare(fold, threads=1, seed=SEED).evaluate(Trial(0, start), no_deadline(learner))
    assert result.status is Status.OK and result.error is None
    assert result.fit_seconds > 0 and result.validate_seconds > 0


def test_any_configuration_of_the_space_trains_or_fails_cleanly(learner: Learner, fold: Fold) -> None:
    objective, space = learner.prepare(fold, threads=1, seed=SEED), learner.space(fold.n_rows)
    rng = np.random.default_rng(SEED)
    for number in range(15):
        result = objective.evaluate(Trial(number, space.sample(rng)), no_deadline(learner))
        if result.status is Status.OK:
            assert result.loss is not None and math.isfinite(result.loss) and result.error is None
        else:
            assert result.status in (Status.FAILED, Status.MEMORY) and result.loss is None
            assert result.error and "\n" not in result.error


def test_results_are_plain_python_numbers(learner: Learner, fold: Fold) -> None:
    objective, start = learner.prepare(fold, threads=1, seed=SEED), learner.start(learner.space(fold.n_rows))
    for rows in (None, 30):
        result = objective.evaluate(Trial(0, start, rows), no_deadline(learner))
        assert {type(value) for value in (result.loss, result.fit_seconds, result.validate_seconds)} == {
            float
        }
        assert type(result.status) is Status


def test_no_trial_is_scored_when_the_deadline_has_passed(learner: Learner, fold: Fold) -> None:
    objective, start = learner.prepare(fold, threads=1, seed=SEED), learner.start(learner.space(fold.n_rows))
    for at in (5.0, 4.0):
        result = objective.evaluate(Trial(0, start), Deadline(VirtualClock(5.0), at=at))
        assert (result.status, result.loss, result.validate_seconds) == (Status.TIMEOUT, None, 0.0)
        assert result.fit_seconds >= 0


def test_the_same_seed_gives_the_same_loss_whatever_was_trained_before(learner: Learner, fold: Fold) -> None:
    space, rng = learner.space(fold.n_rows), np.random.default_rng(SEED)
    trials = [Trial(number, space.sample(rng), rows) for number, rows in enumerate([None, 30, None, 45])]
    objective = learner.prepare(fold, threads=1, seed=SEED)
    in_turn = [objective.evaluate(trial, no_deadline(learner)).loss for trial in trials]
    again = [objective.evaluate(trial, no_deadline(learner)).loss for trial in reversed(trials)]
    alone = [loss_of(learner, fold, trial) for trial in trials]
    assert in_turn == again[::-1] == alone


def test_as_many_rows_as_there_are_is_the_same_as_all(learner: Learner, fold: Fold) -> None:
    start = learner.start(learner.space(fold.n_rows))
    whole = loss_of(learner, fold, Trial(0, start))
    assert [loss_of(learner, fold, Trial(0, start, rows)) for rows in (N_TRAIN, N_TRAIN + 1)] == [
        whole,
        whole,
    ]


def test_a_trial_on_fewer_rows_sees_the_first_of_the_shuffled_order_and_no_other(
    learner: Learner, fold: Fold
) -> None:
    trial = Trial(0, learner.start(learner.space(fold.n_rows)) | cheap_changes(learner), rows=40)
    order = shuffled_order(fold, SEED)
    unseen, seen = fold.train_x.copy(), fold.train_x.copy()
    unseen[order[40:], :3] = 1e6
    seen[order[:40], :3] = 1e6
    loss = loss_of(learner, fold, trial)
    assert loss_of(learner, replace(fold, train_x=unseen), trial) == loss
    if not learner.virtual:  # a formula sees no data at all
        assert loss_of(learner, replace(fold, train_x=seen), trial) != loss


def cheap_changes(learner: Learner) -> dict[str, float]:
    """Enough to make a model of 40 rows depend on them."""
    small_children = {"min_child_weight": 1.0, "min_child_samples": 2}
    return {name: value for name, value in small_children.items() if name in learner.cost_related}


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_handful_of_rows_trains_or_fails_cleanly(learner: Learner, fold: Fold, rows: int) -> None:
    start = learner.start(learner.space(fold.n_rows))
    objective = learner.prepare(fold, threads=1, seed=SEED)
    result = objective.evaluate(Trial(0, start, rows), no_deadline(learner))
    assert result.status in (Status.OK, Status.FAILED)
    assert objective.evaluate(Trial(1, start), no_deadline(learner)).status is Status.OK


def test_the_dearest_model_gives_up_soon_after_its_deadline(learner: Learner) -> None:
    if learner.virtual:
        pytest.skip("a formula takes no time")
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(20_000, 10)).astype(np.float32), rng.normal(size=20_000)
    cut = slice(0, 16_000), slice(16_000, None)
    metric = METRIC_OF[Problem.REGRESSION]
    fold = Fold(Problem.REGRESSION, metric, 0, (False,) * 10, x[cut[0]], y[cut[0]], x[cut[1]], y[cut[1]], 1.0)
    space = learner.space(fold.n_rows)
    config = {param.name: param.at(1 - 1e-9) for param in space}
    objective, clock = learner.prepare(fold, threads=1, seed=SEED), WallClock()
    result = objective.evaluate(Trial(0, config), Deadline(clock, at=clock.now() + 0.1))
    assert (result.status, result.loss) == (Status.TIMEOUT, None)
    # Each of them would take minutes; what is left is one round, batch or chunk on a busy machine.
    assert clock.now() < 10


def test_the_model_that_was_evaluated_last_is_tested(learner: Learner, fold: Fold) -> None:
    if learner.virtual:
        pytest.skip("an analytic loss has no test part")
    tested = replace(fold, test_x=fold.valid_x, test_y=fold.valid_y)
    objective = learner.prepare(tested, threads=1, seed=SEED)
    start = learner.start(learner.space(fold.n_rows))
    for trial in (Trial(0, start), Trial(1, start | cheap_changes(learner), rows=40)):
        assert objective.evaluate(trial, no_deadline(learner)).loss == objective.test_loss()


def test_several_threads_train_too(learner: Learner, fold: Fold) -> None:
    start = learner.start(learner.space(fold.n_rows))
    result = learner.prepare(fold, threads=2, seed=SEED).evaluate(Trial(0, start), no_deadline(learner))
    assert result.status is Status.OK
    learner.prepare(fold, threads=1, seed=SEED)  # some set the number of threads of the whole process


def test_training_leaves_the_fold_as_it_was(learner: Learner, fold: Fold) -> None:
    arrays = (fold.train_x, fold.train_y, fold.valid_x, fold.valid_y)
    before = [array.copy() for array in arrays]
    objective, start = learner.prepare(fold, threads=1, seed=SEED), learner.start(learner.space(fold.n_rows))
    for rows in (None, 30):
        objective.evaluate(Trial(0, start, rows), no_deadline(learner))
    assert all(
        np.array_equal(array, copy, equal_nan=True) for array, copy in zip(arrays, before, strict=True)
    )
