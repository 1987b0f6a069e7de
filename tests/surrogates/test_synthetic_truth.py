"""A surrogate of real runs on the synthetic learner, whose loss and cost are known everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cfo_bench import Suite, fit_surrogate, run_suite
from cfo_bench.learners.dnn import network_start
from cfo_bench.learners.synthetic import NETWORK, SyntheticObjective
from cfo_bench.recordings.surrogate import ModelledFold
from cfo_bench.recordings.surrogate_file import read
from cfo_bench.surrogates.quality import rank_correlation


def test_methods_and_configurations_that_it_has_not_seen_are_ordered_as_by_the_formula(
    tmp_path: Path,
) -> None:
    run_suite(
        Suite(
            learners=["synthetic-5d"],
            tasks=["synthetic-1k"],
            methods=["cfo", "rs", "cfo-0"],
            folds="0",
            budget_seconds=1e6,
            max_trials=120,
            results=tmp_path / "results",
        )
    )

    [fit] = fit_surrogate(tmp_path / "results", tmp_path / "s.npz").fits

    # CFO searches a small region, in which random search has few trials.
    ranks = {left.method: (left.loss_rank or 0.0, left.seconds_rank or 0.0) for left in fit.quality.left_out}
    assert ranks["rs"][0] > 0.6 and ranks["rs"][1] > 0.8
    assert (fit.quality.loss_rank or 0.0) > 0.6 and (fit.quality.seconds_rank or 0.0) > 0.8
    one = read(tmp_path / "s.npz").of("synthetic-5d", "synthetic-1k")
    truth = SyntheticObjective(NETWORK, one.space, network_start(), one.train_rows, seed=0)
    rng = np.random.default_rng(5)
    configs = [one.space.sample(rng) for _ in range(200)]
    answers = [ModelledFold(one, 0, 0).look_up(config, None) for config in configs]
    losses = np.array([answer.loss for answer in answers], dtype=float)
    seconds = np.array([answer.fit_seconds + answer.validate_seconds for answer in answers])
    assert (rank_correlation(losses, np.array([truth.loss(c, one.train_rows) for c in configs])) or 0) > 0.7
    assert (rank_correlation(seconds, np.array([truth.cost(c, one.train_rows) for c in configs])) or 0) > 0.9
