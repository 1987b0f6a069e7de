"""What every learner that answers from a recording keeps to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.learners import LEARNERS
from cfo_bench.metrics import METRICS
from cfo_bench.recording import LEAST_SECONDS, RecordedLearner, RecordedTask
from cfo_bench.records import DataRef, Fold, Result, Status, Trial

SEED, N_TRIALS = 2, 40


class RecordedLearnerContract:
    """The checks of one recorded learner: subclass it, name the `learner`, and give a task's ref by `ref`."""

    learner: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def ref(self) -> DataRef:
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
        space, rng = built.space(fold.n_rows), np.random.default_rng(SEED)
        start = Trial(0, built.start(space))
        return [start, *(Trial(i, space.sample(rng)) for i in range(1, N_TRIALS))]

    def test_it_is_virtual_and_says_what_it_answers_for(
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
            assert evaluate(built, fold, trials[:1])[0].status is Status.OK

    def test_a_configuration_of_the_space_has_a_loss_or_fails_cleanly(
        self, built: RecordedLearner, fold: Fold, trials: list[Trial]
    ) -> None:
        for result in evaluate(built, fold, trials):
            assert type(result.fit_seconds) is type(result.validate_seconds) is float
            assert result.fit_seconds >= LEAST_SECONDS and result.validate_seconds >= 0
            if result.status is Status.OK:
                assert type(result.loss) is float and math.isfinite(result.loss)
            else:
                assert result.status is Status.FAILED and result.error and "\n" not in result.error

    def test_the_same_question_has_the_same_answer_whatever_was_asked_before(
        self, built: RecordedLearner, task: RecordedTask, trials: list[Trial]
    ) -> None:
        in_turn = evaluate(built, task.fold(0), trials)

        assert evaluate(built, task.fold(0), trials[::-1]) == in_turn[::-1]

    def test_no_loss_is_below_the_optimum(
        self, built: RecordedLearner, fold: Fold, trials: list[Trial]
    ) -> None:
        assert fold.recording is not None
        optimum = fold.recording.optimum
        if optimum is None:
            pytest.skip("the recording does not know its optimum")
        assert all(result.value >= optimum for result in evaluate(built, fold, trials))

    def test_a_trial_is_a_timeout_at_its_deadline(
        self, built: RecordedLearner, fold: Fold, trials: list[Trial]
    ) -> None:
        objective = built.prepare(fold, threads=1, seed=SEED)
        whole = objective.evaluate(trials[0], Deadline(VirtualClock()))
        seconds = whole.fit_seconds + whole.validate_seconds

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
        whole, full = evaluate(built, fold, trials[:1])[0], fold.recording.full_rows
        few, config = (full or 100) // 10, trials[0].config

        [part] = evaluate(built, fold, [Trial(0, config, few)])

        if full is None:
            assert part.status is Status.FAILED and "all rows only" in (part.error or "")
            return
        assert part.status is Status.OK and part != whole
        assert evaluate(built, fold, [Trial(0, config, full)]) == [whole]
        assert evaluate(built, fold, [Trial(0, config, full + 1)]) == [whole]
        assert evaluate(built, fold, [Trial(0, config, 1)])[0].status is Status.OK


def evaluate(learner: RecordedLearner, fold: Fold, trials: list[Trial]) -> list[Result]:
    """The results of trials that have all the time they want."""
    objective = learner.prepare(fold, threads=1, seed=SEED)
    return [objective.evaluate(trial, Deadline(VirtualClock())) for trial in trials]
