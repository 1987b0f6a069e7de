"""Learners, one a file: the space for n rows, the low-cost start, fit and validate."""

from cfo_bench.registry import Registry, Row

LEARNERS = Registry(
    "learner",
    "cfo_bench.learners",
    {
        "synthetic": Row(
            "cfo_bench.learners.synthetic:Synthetic9",
            "analytic loss and cost in the shape of XGBoost's nine hyperparameters",
        ),
        "synthetic-5d": Row(
            "cfo_bench.learners.synthetic:Synthetic5",
            "analytic loss and cost in the shape of the network's five hyperparameters",
        ),
        "xgboost": Row(
            "cfo_bench.learners.xgboost:XGBoost",
            "gradient boosted trees, the paper's nine hyperparameters",
            needs=("xgboost",),
        ),
    },
)
