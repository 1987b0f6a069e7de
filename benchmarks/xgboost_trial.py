"""How much faster is a cheap trial than XGBoost's scikit-learn wrapper with scikit-learn's metric?

    python benchmarks/xgboost_trial.py

Four trees of four leaves, one thread. The two take turns on the same data; medians are compared.
Exits with 1 when a ratio is below its floor or the two disagree about the loss.
"""

from __future__ import annotations

import statistics
import sys
from time import perf_counter

import numpy as np
import xgboost
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.figures import figure
from cfo_bench.clock import Deadline, WallClock
from cfo_bench.learners.xgboost import XGBoost
from cfo_bench.metrics import METRIC_OF
from cfo_bench.records import Fold, Problem, Trial
from cfo_bench.space import Config

# name, problem, classes, rows, features, turns, the least ratio that will do
CASES = (
    ("1.7k x 6, binary", Problem.BINARY, 2, 1_700, 6, 200, 4.0),
    ("1.7k x 6, 7 classes", Problem.MULTICLASS, 7, 1_700, 6, 100, 1.0),
    ("1.7k x 6, regression", Problem.REGRESSION, 0, 1_700, 6, 200, 1.0),
    ("20k x 20, binary", Problem.BINARY, 2, 20_000, 20, 40, 8.0),
    ("20k x 20, 7 classes", Problem.MULTICLASS, 7, 20_000, 20, 20, 1.0),
    ("20k x 20, regression", Problem.REGRESSION, 0, 20_000, 20, 40, 1.0),
)


def make_fold(problem: Problem, n_classes: int, n_rows: int, n_features: int) -> Fold:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=n_rows)
    borders = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]) if n_classes else []
    y = np.digitize(signal, borders) if n_classes else signal
    cut = n_rows * 4 // 5
    categorical = (False,) * n_features
    return Fold(problem, METRIC_OF[problem], n_classes, categorical, x[:cut], y[:cut], x[cut:], y[cut:], 1.0)


def wrapper_trial(fold: Fold, config: Config) -> float:
    regression = fold.problem is Problem.REGRESSION
    model = (xgboost.XGBRegressor if regression else xgboost.XGBClassifier)(
        **config,
        tree_method="hist",
        grow_policy="lossguide",
        max_depth=0,
        n_jobs=1,
        random_state=0,
        verbosity=0,
    )
    model.fit(fold.train_x, fold.train_y)
    if regression:
        return 1 - float(r2_score(fold.valid_y, model.predict(fold.valid_x).astype(np.float64)))
    probability = model.predict_proba(fold.valid_x)
    if fold.problem is Problem.BINARY:
        return 1 - float(roc_auc_score(fold.valid_y, probability[:, 1]))
    return float(log_loss(fold.valid_y, probability, labels=range(fold.n_classes)))


def main() -> int:
    learner = XGBoost()
    good = True
    for name, problem, n_classes, n_rows, n_features, turns, least in CASES:
        fold = make_fold(problem, n_classes, n_rows, n_features)
        config = learner.start(learner.space(fold.n_rows))
        objective = learner.prepare(fold, threads=1, seed=0)
        trial, deadline = Trial(0, config), Deadline(WallClock())
        theirs, ours = [], []
        for _ in range(turns):
            begun = perf_counter()
            their_loss = wrapper_trial(fold, config)
            between = perf_counter()
            our_loss = objective.evaluate(trial, deadline).value
            theirs.append(between - begun)
            ours.append(perf_counter() - between)
        ratio = statistics.median(theirs) / statistics.median(ours)
        same = abs(their_loss - our_loss) < (1e-6 if problem is Problem.MULTICLASS else 1e-12)
        figure(f"{name}: our trial", 1e3 * statistics.median(ours), "ms")
        good &= figure(f"{name}: times as fast as the wrapper", ratio, at_least=least) and same
        if not same:
            print(f"the losses differ: {our_loss} and {their_loss}")
    return 0 if good else 1


if __name__ == "__main__":
    # The wrapper's `n_jobs=1` leaves some of its steps on all cores, which makes it slower here, not faster.
    with threadpool_limits(1):
        sys.exit(main())
