"""Logs of FLAML become traces: logs that FLAML itself writes here."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfo_bench import import_trials
from cfo_bench.errors import UserError
from tests.helpers.traces import existing_run

NAMES = {"learner": "xgboost", "task": "adult", "metric": "mse"}


@pytest.fixture
def tune_log(tmp_path: Path) -> tuple[Path, list[Any]]:
    """The log of eight trials, and what FLAML itself says of them."""
    from flaml import tune

    def evaluate(config: dict[str, Any]) -> dict[str, Any]:
        return {"loss": (config["x"] - 1) ** 2 + config["n"]}

    log = tmp_path / "tune.log"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = tune.run(
            evaluate,
            {"x": tune.loguniform(0.1, 10), "n": tune.randint(1, 9), "kind": tune.choice(["a", "b"])},
            metric="loss",
            mode="min",
            low_cost_partial_config={"n": 1},
            num_samples=8,
            log_file_name=str(log),
            verbose=3,
            use_ray=False,
        )
    for handler in logging.getLogger("flaml.tune").handlers:
        handler.close()
    return log, analysis.trials


def test_a_log_of_tune_becomes_a_trace(tmp_path: Path, tune_log: tuple[Path, list[Any]]) -> None:
    log, known = tune_log

    [one] = import_trials(log, tmp_path / "r", **NAMES)

    found = existing_run(one.path)
    assert one.clock == "durations" and "clock" in one.unknown and found.spec.clock == "virtual"
    assert [trial.loss for trial in found.trials] == [trial.last_result["loss"] for trial in known]
    assert [trial.config for trial in found.trials] == [trial.config for trial in known]
    seconds = [trial.last_result["time_total_s"] for trial in known]
    assert [trial.ended for trial in found.trials] == pytest.approx(np.cumsum(seconds))


def test_a_log_of_automl_becomes_a_trace(tmp_path: Path) -> None:
    from flaml import AutoML
    from sklearn.datasets import load_diabetes

    log = tmp_path / "automl.log"
    x, y = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AutoML().fit(
            x[:80],
            y[:80],
            task="regression",
            metric="r2",
            estimator_list=["kneighbor"],
            max_iter=3,
            time_budget=90,
            n_jobs=1,
            log_file_name=str(log),
            log_type="all",
            eval_method="holdout",
            verbose=0,
        )

    [one] = import_trials(log, tmp_path / "r", task="diabetes", metric="r2")

    found = existing_run(one.path)
    assert one.path.parts[-4:] == ("kneighbor", "diabetes", "imported flaml", "fold-0_seed-0.jsonl")
    assert one.clock == "wall" and len(found.trials) >= 1
    assert all("n_neighbors" in trial.config and trial.loss is not None for trial in found.trials)
    assert found.header.data.train_rows > 0 and "space" in one.unknown


RECORD = (
    '{{"record_id": {0}, "iter_per_learner": 1, "logged_metric": null, "trial_time": 1.5, '
    '"wall_clock_time": {1}, "validation_loss": {2}, "config": {{"n": 3}}, "learner": "{3}", '
    '"sample_size": {4}}}\n'
)


def test_the_learner_of_a_record_is_a_choice_where_there_are_several(tmp_path: Path) -> None:
    log = tmp_path / "automl.log"
    log.write_text(
        RECORD.format(0, 2.0, 0.5, "rf", 50)
        + RECORD.format(1, 4.0, 0.25, "lgbm", 100)
        + '{"curr_best_record_id": 1}\n'
    )

    [one] = import_trials(log, tmp_path / "r", task="adult", metric="auc")

    found = existing_run(one.path)
    assert [trial.config for trial in found.trials] == [
        {"learner": "rf", "n": 3},
        {"learner": "lgbm", "n": 3},
    ]
    assert [(trial.started, trial.ended, trial.rows) for trial in found.trials] == [
        (0.5, 2.0, 50),
        (2.5, 4.0, None),
    ]
    assert found.spec.learner == "flaml-automl"
    assert one.remarks == ("each trial is better than the one before: log_type='all' logs the others, too",)


def test_a_value_is_named_where_a_trial_has_several(tmp_path: Path) -> None:
    log = tmp_path / "tune.log"
    result = "result: {{'auc': np.float64({}), 'size': 3, 'training_iteration': {}, 'config': {{'x': {}}}, "
    result += "'config/x': 1, 'experiment_tag': 'exp', 'time_total_s': {}}}\n"
    log.write_text(
        result.format(0.8, 0, 1, 2.0)
        + result.format(0.9, 1, 1, 3.0)  # the same trial, later
        + result.format("nan", 0, 2, 1.0)
    )
    names = {"learner": "l", "task": "t", "metric": "auc"}

    with pytest.raises(UserError, match="several values: name one of auc, size"):
        import_trials(log, tmp_path / "r", **names)
    with pytest.raises(UserError, match="unknown value of a trial 'f1'"):
        import_trials(log, tmp_path / "r", **names, score="f1")
    [one] = import_trials(log, tmp_path / "r", **names, score="auc")

    assert [(trial.score, trial.status) for trial in existing_run(one.path).trials] == [
        (0.9, "ok"),
        (None, "failed"),
    ]


def test_what_is_no_log_of_flaml_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "other.log"
    log.write_text("nothing\n")

    with pytest.raises(UserError, match=r"the format of .* is not known: name it with --from"):
        import_trials(log, tmp_path / "r", **NAMES)
    with pytest.raises(UserError, match="has no trials of FLAML"):
        import_trials(log, tmp_path / "r", **NAMES, format="flaml")
    log.write_text("result: {'loss': __import__('os')}\n")
    with pytest.raises(UserError, match="has a result that can't be read"):
        import_trials(log, tmp_path / "r", **NAMES)
