"""Learners, one a file: the space for n rows, the low-cost start, fit and validate."""

from cfo_bench.registry import Registry, Row

LEARNERS = Registry(
    "learner",
    "cfo_bench.learners",
    {
        "dnn": Row(
            "cfo_bench.learners.dnn:DNN",
            "a network of two hidden layers, the paper's five hyperparameters",
            extra="dnn",
            needs=("torch",),
        ),
        "knn": Row(
            "cfo_bench.learners.knn:KNN",
            "K nearest neighbours, K the only hyperparameter",
            needs=("sklearn",),
        ),
        "lightgbm": Row(
            "cfo_bench.learners.lightgbm:LightGBM",
            "gradient boosted trees by LightGBM, eight hyperparameters",
            extra="learners",
            needs=("lightgbm",),
        ),
        "random-forest": Row(
            "cfo_bench.learners.random_forest:RandomForest",
            "a random forest: trees, leaves, and features seen by a split",
            needs=("sklearn",),
        ),
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

# What the reference methods are run with, whichever learner the others tune.
REFERENCES = Registry(
    "reference",
    "cfo_bench.references",
    {
        "constant": Row(
            "cfo_bench.learners.references:ConstantPredictor", "class priors, or the mean of the target"
        ),
        "tuned-rf": Row("cfo_bench.learners.references:TunedForest", "a random forest, tuned within itself"),
    },
)
