"""The learners, one a file: models to tune.

A learner gives its space for n rows and its low-cost start, and prepares a fold to be fitted and validated
on. Learners import only the words. `run/` builds them through LEARNERS, which also lists those of installed
packages.

xgboost, lightgbm, random_forest, dnn (with network), knn
                real models
synthetic       formulas, for the virtual clock
references      the models of the reference methods
attempt         how a training ends: with a loss, out of time or memory, or failed
rows, dense     what several learners do with their data: fewer rows, matrices without gaps
"""

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

# The reference methods are run with these, whatever learner the other methods tune.
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
