"""A pipeline of your own: columns with their own types, a search space with a condition, and the best model.

python examples/own_pipeline.py
"""

import sys
from pathlib import Path

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from cfo_bench import (
    Categorical,
    Estimator,
    Float,
    Space,
    Suite,
    best_configurations,
    load_results,
    run_suite,
)

COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
)
LEARNER = Estimator(
    Pipeline([("columns", COLUMNS), ("svc", SVC())]),
    Space(
        [
            Categorical("svc__kernel", ["linear", "rbf"]),
            Float("svc__C", 1e-3, 1e3, log=True),
            Float("svc__gamma", 1e-4, 10.0, log=True, when={"svc__kernel": "rbf"}),
        ]
    ),
    start={"svc__kernel": "linear", "svc__C": 0.1, "svc__gamma": 0.1},
    cost_related=["svc__C"],
)

if __name__ == "__main__":
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results-own-pipeline")
    outcome = run_suite(
        Suite(
            tasks=["breast_cancer"],
            learners=[LEARNER, "xgboost"],
            methods=["cfo"],
            folds="0",
            budget_seconds=2,
            results=results,
        )
    )
    assert not outcome.failures, outcome.failures
    print(load_results(results).runs[["learner", "method", "trials", "metric", "best_score"]].to_string())
    best = best_configurations(results)[0]
    print(f"best: {best.learner} with {best.config}")
