"""What is said of a surrogate before it is used, and when it is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cfo_bench.errors import UserError
from cfo_bench.recordings.surrogate_file import read
from cfo_bench.surrogates.building import PoorSurrogateError, fit_surrogate
from cfo_bench.surrogates.quality import within_folds
from tests.helpers.surrogates import write_traces


def test_a_method_that_was_left_out_is_predicted_from_the_others(tmp_path: Path) -> None:
    results = write_traces(tmp_path / "results")

    done = fit_surrogate(results, tmp_path / "s.npz")

    [one] = done.fits
    assert one.quality.is_enough
    assert one.quality.loss_rank is not None and one.quality.loss_rank > 0.7
    assert one.quality.seconds_rank is not None and one.quality.seconds_rank > 0.9
    assert [left.method for left in one.quality.left_out] == ["cfo", "rs", "tpe"]
    assert all(left.loss_error < 0.03 and left.seconds_factor < 1.5 for left in one.quality.left_out)
    file = read(tmp_path / "s.npz")
    assert file.sha256 == done.sha256 and file.traces_sha256 == done.traces_sha256
    assert file.surrogates[0].quality["loss_rank"] == one.quality.loss_rank


@pytest.mark.slow
def test_losses_without_a_pattern_are_refused_unless_forced(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    results = write_traces(tmp_path / "results", losses=lambda config, fold: 0.2 + 0.1 * float(rng.random()))

    with pytest.raises(PoorSurrogateError, match=r"xgboost on bowl .*asked for are 0.3 for losses"):
        fit_surrogate(results, tmp_path / "s.npz")

    assert not (tmp_path / "s.npz").exists()
    done = fit_surrogate(results, tmp_path / "s.npz", force=True)
    assert not done.fits[0].quality.is_enough
    assert read(tmp_path / "s.npz").surrogates[0].task == "bowl"


def test_the_traces_of_a_single_method_are_left_out_in_parts(tmp_path: Path) -> None:
    results = write_traces(tmp_path / "results", methods=("rs",), trials=50)

    [one] = fit_surrogate(results, tmp_path / "s.npz").fits

    assert one.quality.by == "part"
    assert [left.method for left in one.quality.left_out] == [f"part {i} of 5" for i in range(1, 6)]


def test_too_few_trials_are_refused(tmp_path: Path) -> None:
    results = write_traces(tmp_path / "results", methods=("rs",), folds=(0,), trials=20)

    with pytest.raises(UserError, match="has 20 trials with a loss, and a surrogate needs 30"):
        fit_surrogate(results, tmp_path / "s.npz", force=True)


def test_runs_of_different_settings_are_not_fitted_together(tmp_path: Path) -> None:
    results = write_traces(tmp_path / "results", methods=("rs",))
    write_traces(results, methods=("cfo",), settings={"threads": 2})

    with pytest.raises(UserError, match="differ in threads"):
        fit_surrogate(results, tmp_path / "s.npz")


def test_another_trace_is_another_hash(tmp_path: Path) -> None:
    from cfo_bench.surrogates.trials import read_trials

    one = read_trials([write_traces(tmp_path / "a", trials=5)])
    moved = read_trials([write_traces(tmp_path / "b", trials=5)])
    other = read_trials([write_traces(tmp_path / "c", trials=6)])

    assert one.traces == 6
    assert one.traces_sha256 == moved.traces_sha256 != other.traces_sha256


def test_ranks_are_compared_within_a_fold() -> None:
    predicted, folds = np.arange(20.0), np.repeat([0, 1], 10)
    truth = predicted - 100 * folds

    assert within_folds(predicted, truth, folds) == pytest.approx(1.0)
