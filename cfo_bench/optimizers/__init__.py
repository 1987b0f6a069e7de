"""The methods that are compared, one a file: each is a class with `ask` and `tell`.

A method is given a space, a start and a seed. It knows nothing of tasks, files or time, and imports only
the words. `run/` builds methods through METHODS, which also lists those of installed packages.

cfo, cfo0, flow2       the paper's algorithms, on local_search (ask and tell) and geometry (the vectors)
random_search          random search
bandster, smac_forest, gaussian_process, hyperopt_tpe, optuna_tpe, flaml_peers
                       methods of other packages, on packaged
reference_methods      the constant predictor and the tuned forest, which scale the scores
study                  every value of one hyperparameter
"""

from cfo_bench.registry import Registry, Row

METHODS = Registry(
    "method",
    "cfo_bench.methods",
    {
        "blendsearch": Row(
            "cfo_bench.optimizers.flaml_peers:BlendSearch",
            "FLAML's BlendSearch: its local searches, started where optuna's TPE points",
            extra="baselines",
            needs=("flaml", "optuna"),
        ),
        "bohb": Row(
            "cfo_bench.optimizers.bandster:BOHB",
            "hpbandster's BOHB: Hyperband over training rows, kernel density estimates",
            extra="baselines",
            needs=("hpbandster", "ConfigSpace"),
        ),
        "cfo": Row(
            "cfo_bench.optimizers.cfo:CFO",
            "the paper's CFO: FLOW² with restarts and an adaptive step (Alg. 2, 3)",
        ),
        "cfo-0": Row("cfo_bench.optimizers.cfo0:CFO0", "CFO's frame around the zeroth-order step ZOGD"),
        "cfo-tuned": Row("cfo_bench.optimizers.cfo:CFOTuned", "CFO with our own settings, not the paper's"),
        "constant": Row(
            "cfo_bench.optimizers.reference_methods:ConstantReference",
            "a reference, scaled score 0: class priors, or the mean of the target",
            learner="constant",
        ),
        "flaml-cfo": Row(
            "cfo_bench.optimizers.flaml_peers:FlamlCFO",
            "FLAML's own CFO",
            extra="baselines",
            needs=("flaml", "optuna"),  # optuna: to silence what FLAML has it announce
        ),
        "flow2": Row(
            "cfo_bench.optimizers.flow2:FLOW2", "randomised direct search with a constant step (Alg. 1)"
        ),
        "gpei": Row(
            "cfo_bench.optimizers.gaussian_process:GPEI",
            "scikit-optimize's Gaussian process, expected improvement",
            extra="baselines",
            needs=("skopt",),
        ),
        "gpeips": Row(
            "cfo_bench.optimizers.gaussian_process:GPEIPS",
            "scikit-optimize's Gaussian process, expected improvement per second",
            extra="baselines",
            needs=("skopt",),
        ),
        "hyperband": Row(
            "cfo_bench.optimizers.bandster:Hyperband",
            "hpbandster's Hyperband over training rows, random configurations",
            extra="baselines",
            needs=("hpbandster", "ConfigSpace"),
        ),
        "hyperopt-tpe": Row(
            "cfo_bench.optimizers.hyperopt_tpe:HyperoptTPE",
            "hyperopt's tree-structured Parzen estimator",
            extra="baselines",
            needs=("hyperopt",),
        ),
        "rs": Row("cfo_bench.optimizers.random_search:RandomSearch", "random search"),
        "smac": Row(
            "cfo_bench.optimizers.smac_forest:SMAC",
            "SMAC 2, a random forest with expected improvement",
            extra="baselines",
            needs=("smac", "ConfigSpace"),
        ),
        "tpe": Row(
            "cfo_bench.optimizers.optuna_tpe:OptunaTPE",
            "optuna's tree-structured Parzen estimator",
            extra="baselines",
            needs=("optuna",),
        ),
        "study": Row(
            "cfo_bench.optimizers.study:Study",
            "no search: every value of the first hyperparameter in turn, the others as at the start",
        ),
        "tuned-rf": Row(
            "cfo_bench.optimizers.reference_methods:TunedForestReference",
            "a reference, scaled score 1: a random forest, its max_features tuned by cross-validation",
            learner="tuned-rf",
        ),
    },
)
