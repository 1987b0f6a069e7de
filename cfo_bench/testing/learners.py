"""The contracts of learners: the checks that every learner has to pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from cfo_bench.clock import Deadline, VirtualClock, WallClock
from cfo_bench.learners import LEARNERS
from cfo_bench.learners.estimator import Estimator
from cfo_bench.learners.evaluation import shuffled_order
from cfo_bench.metrics import METRIC_OF, METRICS, Array
from cfo_bench.records import (
    LEAST_SECONDS,
    DataRef,
    Fold,
    FoldFrames,
    Learner,
    Objective,
    Problem,
    RecordedLearner,
    RecordedTask,
    Result,
    Status,
    Trial,
)
from cfo_bench.space import Config, Space

N_TRAIN, N_VALID, SEED = 60, 40, 2
N_CATEGORIES = 5
# The fold of a training that has to stop at its deadline: its number of rows, the seconds until the deadline,
# and the seconds after which the training must have stopped.
N_LARGE, SECONDS, MOST_SECONDS = 20_000, 0.1, 10.0
# The seed and the number of the trials of a recorded learner.
RECORDED_SEED, N_TRIALS = 2, 40


class LearnerContract:
    """The checks of one learner, on folds of 60 rows and one of 16,000: subclass it and set `learner`.

    The small folds have numbers, a category, a constant column and a column without values. A pipeline gets
    them as a frame with the columns `number_0` to `number_2`, `category`, `constant` and `empty`.

    Attributes
    ----------
    learner : str or Estimator
        A registered name, or path/to/file.py:Class; or the learner of an estimator.
    options : mapping of str to value, default {}
        Options of the learner.
    fine : dict, default {}
        Changes to the learner's start with which a model of 40 rows depends on each row. Set it if the start
        is so cheap that every model is the same.
    """

    learner: ClassVar[str | Estimator]
    options: ClassVar[Mapping[str, Any]] = {}
    fine: ClassVar[Config] = {}

    @pytest.fixture
    def built(self) -> Learner:
        if not isinstance(self.learner, str):
            return self.learner
        built: Learner = LEARNERS.load(self.learner)(**LEARNERS.options(self.learner, self.options))
        return built

    @pytest.fixture(params=Problem)
    def fold(self, request: pytest.FixtureRequest, built: Learner) -> Fold:
        if request.param not in built.problems:
            pytest.skip(f"the learner does not take {request.param} problems")
        return small_fold(request.param)

    # --- the space ----------------------------------------------------------------------------

    @pytest.mark.parametrize("n_rows", [1, 3, 4, 5, 60, 30_000, 5_000_000])
    def test_the_start_is_a_configuration_of_the_space_for_any_number_of_rows(
        self, built: Learner, n_rows: int
    ) -> None:
        space = built.space(n_rows)
        start = built.start(space)

        assert space.check(start) == start, "start() has to return plain values of the space"
        names = [param.name for param in space]
        assert list(start) == names, "start() has to name the hyperparameters in the order of the space"

    def test_cost_related_hyperparameters_are_some_of_the_space(self, built: Learner) -> None:
        if isinstance(built, Estimator) and not built.cost_related:
            pytest.skip("the description names no cost-related hyperparameter")
        assert built.cost_related, (
            "cost_related has to name a hyperparameter that the cost of a trial depends on"
        )
        unknown = set(built.cost_related) - {param.name for param in built.space(N_TRAIN)}
        assert not unknown, f"cost_related names {unknown}, which the space does not have"

    # --- results ------------------------------------------------------------------------------

    def test_the_start_trains_and_its_seconds_are_counted(self, built: Learner, fold: Fold) -> None:
        result = evaluate(built, prepare(built, fold), start_trial(built))

        assert_ok(result)
        assert result.error is None, "a result that is ok has no error"
        assert result.fit_seconds > 0, "the seconds of training have to be counted in fit_seconds"
        assert result.validate_seconds > 0, "the seconds of predicting have to be counted in validate_seconds"

    def test_any_configuration_of_the_space_trains_or_fails_cleanly(self, built: Learner, fold: Fold) -> None:
        objective, space, rng = prepare(built, fold), built.space(N_TRAIN), np.random.default_rng(SEED)

        for number in range(15):
            result = evaluate(built, objective, Trial(number, sampled(built, space, rng)))
            if result.status is Status.OK:
                assert result.loss is not None and math.isfinite(result.loss) and result.error is None, (
                    f"a trial that is ok has a finite loss and no error, and this one has {result}"
                )
            else:
                assert result.status in (Status.FAILED, Status.MEMORY), "a trial without a deadline timed out"
                assert result.loss is None, "a trial that failed has no loss"
                assert result.error and "\n" not in result.error, (
                    "a trial that failed has an error of one line"
                )

    def test_results_are_plain_python_numbers(self, built: Learner, fold: Fold) -> None:
        objective = prepare(built, fold)

        for rows in (None, 30):
            result = evaluate(built, objective, start_trial(built, rows))
            numbers = (result.loss, result.fit_seconds, result.validate_seconds)
            assert_ok(result)
            assert {type(number) for number in numbers} == {float}, (
                "numbers have to be floats: write float(x)"
            )
            assert type(result.status) is Status

    def test_the_same_seed_gives_the_same_loss_whatever_was_trained_before(
        self, built: Learner, fold: Fold
    ) -> None:
        space, rng = built.space(N_TRAIN), np.random.default_rng(SEED)
        trials = [
            Trial(number, sampled(built, space, rng), rows)
            for number, rows in enumerate([None, 30, None, 45])
        ]
        objective = prepare(built, fold)

        in_turn = [evaluate(built, objective, trial).loss for trial in trials]
        backwards = [evaluate(built, objective, trial).loss for trial in reversed(trials)]
        alone = [loss_of(built, fold, trial) for trial in trials]

        assert in_turn == alone, "a loss differs: draw from a generator made from `seed` in each trial"
        assert backwards[::-1] == alone, "a loss depends on earlier trials: train a new model in each trial"

    def test_several_threads_train_too(self, built: Learner, fold: Fold) -> None:
        objective = built.prepare(fold, threads=2, seed=SEED)

        result = evaluate(built, objective, start_trial(built))

        prepare(built, fold)  # some learners set the number of threads of the whole process
        assert_ok(result)

    def test_the_model_that_was_evaluated_last_is_tested(self, built: Learner, fold: Fold) -> None:
        if built.virtual:
            pytest.skip("a formula has no test part")
        objective = prepare(built, with_frames(replace(fold, test_x=fold.valid_x, test_y=fold.valid_y)))

        for trial in (start_trial(built), self._fine_trial(built)):
            loss = evaluate(built, objective, trial).loss
            assert loss == objective.test_loss(), "test_loss() has to predict with the model evaluated last"

    def test_training_leaves_the_fold_as_it_was(self, built: Learner, fold: Fold) -> None:
        arrays = (fold.train_x, fold.train_y, fold.valid_x, fold.valid_y)
        before = [array.copy() for array in arrays]
        objective = prepare(built, fold)

        for rows in (None, 30):
            evaluate(built, objective, start_trial(built, rows))

        for array, copy in zip(arrays, before, strict=True):
            assert np.array_equal(array, copy, equal_nan=True), (
                "the arrays of the fold were changed: copy them"
            )

    # --- weights ------------------------------------------------------------------------------

    def test_weights_count_in_training_and_validation_if_it_takes_them(
        self, built: Learner, fold: Fold
    ) -> None:
        if not getattr(built, "takes_weights", False):
            pytest.skip("the learner does not take weights of rows")
        train_weight = np.where(np.arange(N_TRAIN) % 2, 5.0, 0.1)
        valid_weight = np.where(np.arange(N_VALID) % 2, 5.0, 0.1)
        trial = self._fine_trial(built)
        loss = loss_of(built, fold, trial)

        assert loss_of(built, replace(fold, train_weight=train_weight), trial) != loss, (
            "takes_weights is true, but fold.train_weight does not change the model: train with it"
        )
        assert loss_of(built, replace(fold, valid_weight=valid_weight), trial) != loss, (
            "fold.valid_weight does not change the loss: metric.loss(truth, prediction, fold.valid_weight)"
        )

    # --- rows ---------------------------------------------------------------------------------

    def test_as_many_rows_as_there_are_is_the_same_as_all(self, built: Learner, fold: Fold) -> None:
        whole = loss_of(built, fold, start_trial(built))

        for rows in (N_TRAIN, N_TRAIN + 1):
            loss = loss_of(built, fold, start_trial(built, rows))
            assert loss == whole, f"{rows} rows of {N_TRAIN} have to be the same as all"

    def test_a_trial_on_fewer_rows_sees_the_first_of_the_shuffled_order_and_no_other(
        self, built: Learner, fold: Fold
    ) -> None:
        trial = self._fine_trial(built)
        order = shuffled_order(fold, SEED)
        loss = loss_of(built, fold, trial)

        outside = loss_of(built, with_other_numbers(fold, order[trial.rows :]), trial)
        assert outside == loss, "a trial used rows after the first trial.rows of shuffled_order(fold, seed)"
        if not built.virtual:  # a formula uses no data
            inside = loss_of(built, with_other_numbers(fold, order[: trial.rows]), trial)
            assert inside != loss, (
                "a trial did not use the first trial.rows of shuffled_order(fold, seed), or its model is the "
                "same for all data: then set `fine` to a configuration with which it is not"
            )

    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_a_handful_of_rows_trains_or_fails_cleanly(self, built: Learner, fold: Fold, rows: int) -> None:
        objective = prepare(built, fold)

        few = evaluate(built, objective, start_trial(built, rows))
        all_rows = evaluate(built, objective, start_trial(built))

        assert few.status in (Status.OK, Status.FAILED), f"{rows} rows gave {few}"
        assert_ok(all_rows)

    # --- time ---------------------------------------------------------------------------------

    def test_no_trial_is_scored_when_the_deadline_has_passed(self, built: Learner, fold: Fold) -> None:
        objective = prepare(built, fold)

        for at in (5.0, 4.0):
            result = objective.evaluate(start_trial(built), Deadline(VirtualClock(5.0), at=at))
            outcome = (result.status, result.loss, result.validate_seconds)
            assert outcome == (Status.TIMEOUT, None, 0.0), "call check_deadline(deadline) before training"
            assert result.fit_seconds >= 0

    def test_the_most_expensive_model_stops_soon_after_its_deadline(self, built: Learner) -> None:
        if built.virtual:
            pytest.skip("a formula takes no time")
        if not getattr(built, "checks_deadline", True):
            pytest.skip("the supervisor ends its trials at the deadline (checks_deadline = False)")
        fold = large_fold(built.problems[-1])
        config = {param.name: param.at(1 - 1e-9) for param in built.space(fold.n_rows)}
        objective, clock = prepare(built, fold), WallClock()
        deadline = Deadline(clock, at=clock.now() + SECONDS)

        result = objective.evaluate(Trial(0, config), deadline)

        # After the deadline it may finish one round, batch or chunk, on a busy machine.
        assert clock.now() < MOST_SECONDS, (
            "the training went on after its deadline: call check_deadline(deadline) in each round, batch or "
            "chunk, or set checks_deadline = False to leave it to the supervisor"
        )
        if deadline.passed():
            assert (result.status, result.loss) == (Status.TIMEOUT, None)

    def _fine_trial(self, built: Learner) -> Trial:
        start = start_trial(built, rows=40)
        return replace(start, config=start.config | self.fine)


class RecordedLearnerContract:
    """The checks of one recorded learner: subclass it, set `learner`, and override the fixture `ref`.

    Attributes
    ----------
    learner : str
        A registered name, or path/to/file.py:Class.
    options : mapping of str to value, default {}
        Options of the learner.
    """

    learner: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def ref(self) -> DataRef:
        """The reference of one of the learner's tasks."""
        raise NotImplementedError("give the ref of one of the learner's tasks")

    @pytest.fixture
    def built(self) -> RecordedLearner:
        built: RecordedLearner = LEARNERS.load(self.learner)(**LEARNERS.options(self.learner, self.options))
        return built

    @pytest.fixture
    def task(self, built: RecordedLearner, ref: DataRef) -> RecordedTask:
        return built.recorded(ref)

    @pytest.fixture
    def fold(self, task: RecordedTask) -> Fold:
        return task.fold(0)

    @pytest.fixture
    def trials(self, built: RecordedLearner, fold: Fold) -> list[Trial]:
        space, rng = built.space(fold.n_rows), np.random.default_rng(RECORDED_SEED)
        start = Trial(0, built.start(space))
        return [start, *(Trial(i, space.sample(rng)) for i in range(1, N_TRIALS))]

    def test_it_is_virtual_and_describes_its_task(
        self, built: RecordedLearner, ref: DataRef, task: RecordedTask
    ) -> None:
        assert built.virtual
        assert (ref.source, ref.recorded_folds) == (built.recording, task.n_folds)
        facts = task.facts
        assert facts.name == ref.task and facts.recording and facts.problem in built.problems
        assert facts.metric in METRICS and len(facts.sha256) == 64
        assert built.recorded(ref).facts == facts

    def test_the_start_is_a_configuration_of_the_space(self, built: RecordedLearner, fold: Fold) -> None:
        space = built.space(fold.n_rows)
        start = built.start(space)

        assert space.check(start) == start
        assert built.cost_related and set(built.cost_related) <= set(start)

    def test_every_fold_opens_and_no_other_matters(
        self, built: RecordedLearner, task: RecordedTask, trials: list[Trial]
    ) -> None:
        for number in range(task.n_folds):
            fold = task.fold(number)
            assert fold.recording is not None and fold.metric == task.facts.metric
            assert evaluate_all(built, fold, trials[:1])[0].status is Status.OK

    def test_a_configuration_of_the_space_has_a_loss_or_fails_cleanly(
        self, built: RecordedLearner, fold: Fold, trials: list[Trial]
    ) -> None:
        for result in evaluate_all(built, fold, trials):
            assert type(result.fit_seconds) is type(result.validate_seconds) is float
            assert result.fit_seconds >= LEAST_SECONDS and result.validate_seconds >= 0
            if result.status is Status.OK:
                assert type(result.loss) is float and math.isfinite(result.loss)
            else:
                assert result.status is Status.FAILED and result.error and "\n" not in result.error

    def test_the_same_question_has_the_same_answer_whatever_was_asked_before(
        self, built: RecordedLearner, task: RecordedTask, trials: list[Trial]
    ) -> None:
        in_turn = evaluate_all(built, task.fold(0), trials)

        assert evaluate_all(built, task.fold(0), trials[::-1]) == in_turn[::-1]

    def test_no_loss_is_below_the_optimum(
        self, built: RecordedLearner, fold: Fold, trials: list[Trial]
    ) -> None:
        assert fold.recording is not None
        optimum = fold.recording.optimum
        if optimum is None:
            pytest.skip("the recording does not know its optimum")
        assert all(result.value >= optimum for result in evaluate_all(built, fold, trials))

    def test_a_trial_is_a_timeout_at_its_deadline(
        self, built: RecordedLearner, fold: Fold, trials: list[Trial]
    ) -> None:
        objective = built.prepare(fold, threads=1, seed=RECORDED_SEED)
        whole = objective.evaluate(trials[0], Deadline(VirtualClock()))
        seconds = whole.seconds

        cut = objective.evaluate(trials[0], Deadline(VirtualClock(5.0), at=5.0 + 0.9 * seconds))
        late = objective.evaluate(trials[0], Deadline(VirtualClock(5.0), at=4.0))
        in_time = objective.evaluate(trials[0], Deadline(VirtualClock(5.0), at=5.0 + 1.1 * seconds))

        assert (cut.status, cut.loss) == (late.status, late.loss) == (Status.TIMEOUT, None)
        assert cut.fit_seconds == pytest.approx(0.9 * seconds) and late.fit_seconds == 0.0
        assert in_time == whole

    def test_fewer_rows_are_the_fidelity_or_an_error_that_says_so(
        self, built: RecordedLearner, fold: Fold, trials: list[Trial]
    ) -> None:
        assert fold.recording is not None
        whole, full = evaluate_all(built, fold, trials[:1])[0], fold.recording.full_rows
        few, config = (full or 100) // 10, trials[0].config

        [part] = evaluate_all(built, fold, [Trial(0, config, few)])

        if full is None:
            assert part.status is Status.FAILED and "all rows only" in (part.error or "")
            return
        assert part.status is Status.OK and part != whole
        assert evaluate_all(built, fold, [Trial(0, config, full)]) == [whole]
        assert evaluate_all(built, fold, [Trial(0, config, full + 1)]) == [whole]
        assert evaluate_all(built, fold, [Trial(0, config, 1)])[0].status is Status.OK


# --- trials and folds ------------------------------------------------------------------------------


def prepare(learner: Learner, fold: Fold) -> Objective:
    return learner.prepare(fold, threads=1, seed=SEED)


def evaluate(learner: Learner, objective: Objective, trial: Trial) -> Result:
    """The result of a trial without a deadline."""
    return objective.evaluate(trial, Deadline(VirtualClock() if learner.virtual else WallClock()))


def loss_of(learner: Learner, fold: Fold, trial: Trial) -> float | None:
    """The loss of a trial as the first one of a new objective."""
    return evaluate(learner, prepare(learner, fold), trial).loss


def assert_ok(result: Result) -> None:
    assert result.status is Status.OK, f"a trial of the start was {result.status}: {result.error}"


def sampled(learner: Learner, space: Space, rng: np.random.Generator) -> Config:
    """A configuration drawn from the space. It is cheap if nothing in this process would end its training."""
    config = space.sample(rng)
    if getattr(learner, "checks_deadline", True):
        return config
    start = learner.start(space)
    return {**config, **{name: start[name] for name in learner.cost_related}}


def start_trial(learner: Learner, rows: int | None = None) -> Trial:
    return Trial(0, learner.start(learner.space(N_TRAIN)), rows)


def small_fold(problem: Problem) -> Fold:
    """Numbers, codes of categories, a constant column and a column without values; some values missing."""
    rng = np.random.default_rng(1)
    n = N_TRAIN + N_VALID
    x = rng.normal(size=(n, 6)).astype(np.float32)
    x[:, 3] = rng.integers(0, N_CATEGORIES, n)
    signal = x[:, 0] - x[:, 1] + (x[:, 3] == 2) + rng.normal(size=n)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 4] = 7.0
    x[:, 5] = np.nan
    return _fold(problem, (False, False, False, True, False, False), x, signal, N_TRAIN)


def large_fold(problem: Problem) -> Fold:
    """A fold of noise, four fifths of it training rows."""
    rng = np.random.default_rng(4)
    x, signal = rng.normal(size=(N_LARGE, 10)).astype(np.float32), rng.normal(size=N_LARGE)
    return _fold(problem, (False,) * 10, x, signal, N_LARGE * 4 // 5)


def _fold(problem: Problem, categorical: tuple[bool, ...], x: Array, signal: Array, n_train: int) -> Fold:
    n_classes = {Problem.BINARY: 2, Problem.MULTICLASS: 3, Problem.REGRESSION: 0}[problem]
    y = np.digitize(signal, [-0.5, 1.0][: n_classes - 1]) if n_classes else signal
    fold = Fold(
        problem=problem,
        metric=METRIC_OF[problem],
        n_classes=n_classes,
        categorical=categorical,
        train_x=x[:n_train],
        train_y=y[:n_train],
        valid_x=x[n_train:],
        valid_y=y[n_train:],
        constant_loss=1.0,
    )
    return with_frames(fold)


def with_frames(fold: Fold) -> Fold:
    """The fold with its arrays as frames."""

    def frames() -> FoldFrames:
        test = None if fold.test_x is None else _frame(fold.test_x, fold.categorical)
        return FoldFrames(
            _frame(fold.train_x, fold.categorical), _frame(fold.valid_x, fold.categorical), test
        )

    return replace(fold, frames=frames)


def _frame(x: Array, categorical: tuple[bool, ...]) -> Any:
    import pandas as pd

    last = ["category", "constant", "empty"] if any(categorical) else []
    names = [*(f"number_{at}" for at in range(x.shape[1] - len(last))), *last]
    frame = pd.DataFrame(x.astype(np.float64), columns=names)
    if last:
        labels = pd.CategoricalDtype([f"label {code}" for code in range(N_CATEGORIES)])
        frame["category"] = frame["category"].map(lambda code: f"label {code:.0f}", "ignore").astype(labels)
    return frame


def with_other_numbers(fold: Fold, rows: Array) -> Fold:
    """The fold with other numbers in these training rows."""
    train_x = fold.train_x.copy()
    train_x[rows, :3] = 1e6
    return with_frames(replace(fold, train_x=train_x))


def evaluate_all(learner: RecordedLearner, fold: Fold, trials: list[Trial]) -> list[Result]:
    """The results of trials without a deadline."""
    objective = learner.prepare(fold, threads=1, seed=RECORDED_SEED)
    return [objective.evaluate(trial, Deadline(VirtualClock())) for trial in trials]
