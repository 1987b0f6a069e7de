"""Every registered learner keeps the contract that cfo_bench.testing has for everybody's."""

from __future__ import annotations

import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from cfo_bench import Categorical, Estimator, Float, Int, Space
from cfo_bench.learners import LEARNERS
from cfo_bench.space import Config
from cfo_bench.testing import LearnerContract

# Leaves so small that a tree on 40 rows depends on them.
FINE: dict[str, Config] = {
    "hist-gradient-boosting": {"min_samples_leaf": 2},
    "lightgbm": {"min_child_samples": 2},
    "xgboost": {"min_child_weight": 1.0},
}


def contract(name: str) -> type[LearnerContract]:
    """The checks of one learner; those of an absent extra are skipped."""
    missing = LEARNERS.row(name).missing
    made = type(f"Test_{name}", (LearnerContract,), {"learner": name, "fine": FINE.get(name, {})})
    return pytest.mark.skipif(missing is not None, reason=f"{name} needs {missing}")(made)


RECORDED = ("hpobench-mlp", "hpolib")

globals().update({f"Test_{name}": contract(name) for name in LEARNERS.rows() if name not in RECORDED})


class TestPipeline(LearnerContract):
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
    learner = Estimator(
        Pipeline([("columns", columns), ("svc", SVC())]),
        Space(
            [
                Categorical("svc__kernel", ["linear", "rbf"]),
                Float("svc__C", 0.01, 100.0, log=True),
                Float("svc__gamma", 0.001, 1.0, log=True, when={"svc__kernel": "rbf"}),
            ]
        ),
        {"svc__kernel": "linear", "svc__C": 0.1, "svc__gamma": 0.1},
        cost_related=["svc__C"],
    )


class TestPlainEstimator(LearnerContract):
    learner = Estimator(
        DecisionTreeRegressor,
        Space([Int("max_leaf_nodes", 2, 1000, log=True)]),
        {"max_leaf_nodes": 2},
        cost_related=["max_leaf_nodes"],
    )


class TestEstimatorWithoutCosts(LearnerContract):
    learner = Estimator(Ridge, Space([Float("alpha", 0.001, 1000.0, log=True)]), {"alpha": 1.0})
