"""An honest learner, and one for each way to break the contract: `breaks` names the check that sees it."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from cfo_bench.plugins import (
    FitAndPredict,
    Float,
    Problem,
    Result,
    Space,
    Status,
    check_deadline,
    shuffled_order,
)


class Honest:
    """Linear regression with a penalty."""

    breaks = None
    problems = (Problem.REGRESSION,)
    cost_related = ("penalty",)
    virtual = False

    def space(self, n_rows):
        return Space([Float("penalty", 0.01, 100.0, log=True)])

    def start(self, space):
        return {"penalty": 1.0}

    def prepare(self, fold, threads, seed):
        return self.Objective(fold, threads, seed)

    class Objective(FitAndPredict):
        def __init__(self, fold, threads, seed):
            super().__init__(fold)
            self._threads, self._order = threads, shuffled_order(fold, seed)

        def _fit(self, trial, deadline):
            check_deadline(deadline)
            rows = self._order[: trial.rows]
            x, y = numbers(self._fold.train_x[rows]), self._fold.train_y[rows]
            return np.linalg.solve(x.T @ x + trial.config["penalty"] * np.eye(x.shape[1]), x.T @ y)

        def _predict(self, model, x, deadline):
            check_deadline(deadline)
            return numbers(x) @ model


def numbers(x):
    return np.nan_to_num(x[:, :3]).astype(float)


class IgnoresWeights(Honest):
    breaks = "test_weights_count_in_training_and_validation_if_it_takes_them"
    takes_weights = True


class StartsOutsideTheSpace(Honest):
    breaks = "test_the_start_is_a_configuration_of_the_space_for_any_number_of_rows"

    def start(self, space):
        return {"penalty": 0.0}


class NamesAnUnknownCost(Honest):
    breaks = "test_cost_related_hyperparameters_are_some_of_the_space"
    cost_related = ("trees",)


class CountsNoSeconds(Honest):
    breaks = "test_the_start_trains_and_its_seconds_are_counted"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            return super().evaluate(trial, deadline)._replace(fit_seconds=0.0, validate_seconds=0.0)


class ScoresWithoutANumber(Honest):
    breaks = "test_any_configuration_of_the_space_trains_or_fails_cleanly"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            result = super().evaluate(trial, deadline)
            return result._replace(loss=float("nan")) if trial.config["penalty"] > 10 else result


class FailsWithoutAReason(Honest):
    breaks = "test_any_configuration_of_the_space_trains_or_fails_cleanly"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            if trial.config["penalty"] > 10:
                return Result(Status.FAILED)
            return super().evaluate(trial, deadline)


class AnswersWithNumpysNumbers(Honest):
    breaks = "test_results_are_plain_python_numbers"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            result = super().evaluate(trial, deadline)
            return result._replace(loss=None if result.loss is None else np.float64(result.loss))


class LearnsFromEarlierTrials(Honest):
    breaks = "test_the_same_seed_gives_the_same_loss_whatever_was_trained_before"

    class Objective(Honest.Objective):
        def _fit(self, trial, deadline):
            before = self._last
            model = super()._fit(trial, deadline)
            return model if before is None else (model + before) / 2


class KnowsOneThreadOnly(Honest):
    breaks = "test_several_threads_train_too"

    class Objective(Honest.Objective):
        def _fit(self, trial, deadline):
            if self._threads > 1:
                raise ValueError(f"{self._threads} threads are too many")
            return super()._fit(trial, deadline)


class TestsTheFirstModel(Honest):
    breaks = "test_the_model_that_was_evaluated_last_is_tested"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            first = self._last
            result = super().evaluate(trial, deadline)
            self._last = self._last if first is None else first
            return result


class ScalesInPlace(Honest):
    breaks = "test_training_leaves_the_fold_as_it_was"

    class Objective(Honest.Objective):
        def _fit(self, trial, deadline):
            self._fold.valid_x[:, 3] *= 2  # which the model does not look at
            return super()._fit(trial, deadline)


class TreatsAllRowsOtherwise(Honest):
    breaks = "test_as_many_rows_as_there_are_is_the_same_as_all"

    class Objective(Honest.Objective):
        def _fit(self, trial, deadline):
            penalty = trial.config["penalty"] * (1 if trial.rows is None else 2)
            return super()._fit(replace(trial, config={"penalty": penalty}), deadline)


class TakesAllRows(Honest):
    breaks = "test_a_trial_on_fewer_rows_sees_the_first_of_the_shuffled_order_and_no_other"

    class Objective(Honest.Objective):
        def _fit(self, trial, deadline):
            return super()._fit(replace(trial, rows=None), deadline)


class LooksAtNoRow(Honest):
    breaks = "test_a_trial_on_fewer_rows_sees_the_first_of_the_shuffled_order_and_no_other"

    class Objective(Honest.Objective):
        def _fit(self, trial, deadline):
            return super()._fit(trial, deadline) * 0


class RaisesOnFewRows(Honest):
    breaks = "test_a_handful_of_rows_trains_or_fails_cleanly"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            if trial.rows is not None and trial.rows < 3:
                raise ValueError("too few rows")
            return super().evaluate(trial, deadline)


class LooksAtNoClock(Honest):
    breaks = "test_no_trial_is_scored_when_the_deadline_has_passed"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            return super().evaluate(trial, replace(deadline, at=float("inf")))


class ScoresWhatCameTooLate(Honest):
    breaks = "test_the_most_expensive_model_stops_soon_after_its_deadline"

    class Objective(Honest.Objective):
        def evaluate(self, trial, deadline):
            check_deadline(deadline)
            if len(self._order) > 1000:
                time.sleep(0.3)
            return super().evaluate(trial, replace(deadline, at=float("inf")))
