"""Methods, one a file, with `ask` and `tell`; they know nothing of tasks, files or time."""

from cfo_bench.registry import Registry, Row

METHODS = Registry(
    "method",
    "cfo_bench.methods",
    {
        "cfo": Row(
            "cfo_bench.optimizers.cfo:CFO",
            "the paper's CFO: FLOW² with restarts and an adaptive step (Alg. 2, 3)",
        ),
        "cfo-0": Row("cfo_bench.optimizers.cfo0:CFO0", "CFO's frame around the zeroth-order step ZOGD"),
        "cfo-tuned": Row("cfo_bench.optimizers.cfo:CFOTuned", "CFO with our own settings, not the paper's"),
        "constant": Row(
            "cfo_bench.optimizers.reference:Constant",
            "a reference, scaled score 0: class priors, or the mean of the target",
            learner="constant",
        ),
        "flow2": Row(
            "cfo_bench.optimizers.flow2:FLOW2", "randomised direct search with a constant step (Alg. 1)"
        ),
        "rs": Row("cfo_bench.optimizers.random_search:RandomSearch", "random search"),
        "tuned-rf": Row(
            "cfo_bench.optimizers.reference:TunedForest",
            "a reference, scaled score 1: a random forest, its max_features tuned by cross-validation",
            learner="tuned-rf",
        ),
    },
)
