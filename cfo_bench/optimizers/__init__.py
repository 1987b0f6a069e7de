"""The methods that are compared: each is a class with `ask` and `tell`.

A method receives a space, a start and a seed. It has no access to tasks, files or clocks. `run/` builds
methods through METHODS, which also lists the methods of installed plug-ins.

cfo, cfo0, flow2       the paper's algorithms; they use local_search (ask and tell) and geometry (vectors)
cfo_tuned              our own method, with the model in tuned_model
baselines              random search, the reference methods that scale the scores, and the study of one
                       hyperparameter
bohb, botorch, dehb, flaml, gaussian_process, hyperopt, nevergrad, optuna_samplers, smac
                       methods of other packages; they use packaged
program                a method that is a separate program
options                checks of option values
description            what a method receives and supports, its packages, and the time of a suggestion
"""

from cfo_bench.registry import Registry, Row

# The groups of the listing, in its order: the methods of the paper, others that train on all rows, methods
# that also train on part of them, and the references of the scores.
PAPER, PEERS, FIDELITY, REFERENCES = "paper", "peers", "multi-fidelity", "references"
_ARXIV = "https://arxiv.org/abs/"

# Names of classes, functions and packages of other tools, each with an answer. `cfo-bench methods WORD` lists
# the methods that the answer quotes.
_OTHER_NAMES = (
    (
        "random random-search randomsearch randomsampler randomfacade randomizedsearchcv dummy-minimize "
        "rand.suggest",
        "random search is called 'rs' here",
    ),
    (
        "optuna optunasearch optunasearchcv",
        "optuna's default sampler is called 'tpe' here; any other is optuna:NAME, such as optuna:GPSampler",
    ),
    ("tpesampler", "optuna's TPESampler is called 'tpe' here"),
    ("gpsampler", "optuna's GPSampler is called 'optuna-gp' here"),
    ("cmaessampler", "optuna's CmaEsSampler is called 'cma-es' here"),
    (
        "hyperopt hyperoptsearch fmin tpe.suggest",
        "hyperopt's TPE, as its fmin runs it, is called 'hyperopt-tpe' here",
    ),
    (
        "anneal anneal.suggest atpe atpe.suggest",
        "of hyperopt's algorithms, only TPE is available, called 'hyperopt-tpe'; random search is rs",
    ),
    (
        "turbo autosampler hebosampler",
        "samplers of OptunaHub are 'optunahub:FOLDER:CLASS', from a folder on this machine",
    ),
    ("sobol quasi-random qmc", "Sobol points are optuna:QMCSampler, one of 'optuna:NAME'"),
    (
        "scikit-optimize skopt bayessearchcv",
        "scikit-optimize's methods are called 'gpei', 'gpeips' and 'gp-cooled' here",
    ),
    ("gp-minimize", "scikit-optimize's gp_minimize is called 'gpei' here"),
    ("tunebohb hyperbandforbohb", "BOHB is called 'bohb' here"),
    ("hpbandster", "hpbandster's methods are called 'bohb' and 'hyperband' here"),
    ("flaml", "FLAML's searchers are called 'blendsearch' and 'flaml-cfo' here"),
    (
        "bo smbo gp gp-ei bayesian bayes-opt bayesopt bayesoptsearch bayesianoptimization "
        "bayesian-optimization bayesian-optimisation gpyopt spearmint blackboxfacade smac4bb",
        "Bayesian optimisation with a Gaussian process is called 'gpei', 'botorch-ei' or 'optuna-gp' here",
    ),
    (
        "logei qei expectedimprovement logexpectedimprovement qexpectedimprovement qlogexpectedimprovement "
        "qnoisyexpectedimprovement qlognoisyexpectedimprovement singletaskgp botorchsampler",
        "BoTorch's LogExpectedImprovement is called 'botorch-ei' here",
    ),
    ("eipu", "expected improvement per unit of cost is called 'gpeips' or 'botorch-eips' here"),
    ("ucb upper-confidence-bound upperconfidencebound", "an upper confidence bound is used by 'boca' here"),
    (
        "mes max-value-entropy entropy-search qmultifidelitymaxvalueentropy singletaskmultifidelitygp",
        "max-value entropy is used by 'fabolas' here",
    ),
    (
        "knowledge-gradient qknowledgegradient qmultifidelityknowledgegradient",
        "there is no knowledge gradient here: 'botorch-ei' is BoTorch's expected improvement",
    ),
    ("smac3", "SMAC is called 'smac' here, and 'smac-mf' on parts of the rows"),
    (
        "hyperparameteroptimizationfacade hpofacade smac4hpo algorithmconfigurationfacade smac4ac "
        "forest-minimize gbrt-minimize",
        "SMAC, whose model is a random forest, is called 'smac' here",
    ),
    ("multifidelityfacade smac4mf", "SMAC on parts of the rows is called 'smac-mf' here"),
    (
        "hyperbandfacade hyperbandpruner successivehalving successivehalvingpruner halvingrandomsearchcv",
        "Hyperband is called 'hyperband' here",
    ),
    ("cmaes", "CMA-ES is called 'cma-es' here"),
    ("nevergrad", "any optimizer of nevergrad is 'nevergrad:NAME', such as nevergrad:NGOpt"),
    (
        "hebo hebosearch ax axclient axsearch ax-platform bore syne-tune synetune",
        "HEBO, Ax and Syne Tune's BORE are programs, 'exec:COMMAND': docs/methods.md has the commands",
    ),
    (
        "neps priorband openbox vizier",
        "this package needs a program of your own, 'exec:COMMAND': docs/methods.md has examples",
    ),
    ("robo", "RoBO's FABOLAS is called 'fabolas' here"),
    ("dragonfly", "Dragonfly's BOCA is called 'boca' here"),
    ("bhpt", "BHPT has no public implementation: 'boca' and 'fabolas' are its relatives"),
    ("grid grid-search gridsearchcv", "there is no grid search here: 'rs' is random search"),
    (
        "asha ashascheduler asynchyperbandscheduler",
        "there is no ASHA here: 'hyperband', 'bohb' and 'dehb' are its relatives",
    ),
    (
        "pbt populationbasedtraining population-based-training",
        "there is no population-based training: 'hyperband', 'bohb' and 'dehb' end bad trials early",
    ),
    ("rf", "the random forest that scores are measured against is called 'tuned-rf' here"),
)

METHODS = Registry(
    "method",
    "cfo_bench.methods",
    {
        "bohb": Row(
            "cfo_bench.optimizers.bohb:BOHB",
            "hpbandster's BOHB: Hyperband over training rows, kernel density estimates",
            extra="baselines",
            needs=("hpbandster", "ConfigSpace"),
            group=PAPER,
            source=f"{_ARXIV}1807.01774",
        ),
        "cfo": Row(
            "cfo_bench.optimizers.cfo:CFO",
            "the paper's CFO: FLOW² with restarts and an adaptive step (Alg. 2, 3)",
            group=PAPER,
            source=f"{_ARXIV}2005.01571",
        ),
        "cfo-0": Row(
            "cfo_bench.optimizers.cfo0:CFO0",
            "CFO with the zeroth-order gradient step ZOGD instead of FLOW²",
            group=PAPER,
            source=f"{_ARXIV}2005.01571",
        ),
        "flow2": Row(
            "cfo_bench.optimizers.flow2:FLOW2",
            "randomised direct search with a constant step (Alg. 1)",
            group=PAPER,
            source=f"{_ARXIV}2005.01571",
        ),
        "gpei": Row(
            "cfo_bench.optimizers.gaussian_process:GPEI",
            "scikit-optimize's Gaussian process, expected improvement",
            extra="baselines",
            needs=("skopt",),
            group=PAPER,
            source=f"{_ARXIV}1206.2944",
        ),
        "gpeips": Row(
            "cfo_bench.optimizers.gaussian_process:GPEIPS",
            "scikit-optimize's Gaussian process, expected improvement per second",
            extra="baselines",
            needs=("skopt",),
            group=PAPER,
            source=f"{_ARXIV}1206.2944",
        ),
        "rs": Row(
            "cfo_bench.optimizers.baselines:RandomSearch",
            "random search",
            group=PAPER,
            source="https://jmlr.org/papers/v13/bergstra12a.html",
        ),
        "smac": Row(
            "cfo_bench.optimizers.smac:SMAC",
            "SMAC 2, a random forest with expected improvement",
            extra="baselines",
            needs=("smac", "ConfigSpace"),
            group=PAPER,
            source=f"{_ARXIV}2109.09831",
        ),
        "blendsearch": Row(
            "cfo_bench.optimizers.flaml:BlendSearch",
            "FLAML's BlendSearch: local searches that start at configurations proposed by optuna's TPE",
            extra="baselines",
            needs=("flaml", "optuna"),
            group=PEERS,
            source="https://openreview.net/forum?id=VbLH04pRA3",
        ),
        "botorch-ei": Row(
            "cfo_bench.optimizers.botorch:BoTorchEI",
            "BoTorch's Gaussian process, log expected improvement",
            extra="botorch",
            needs=("botorch", "gpytorch", "torch"),
            group=PEERS,
            source=f"{_ARXIV}2310.20708",
        ),
        "botorch-eips": Row(
            "cfo_bench.optimizers.botorch:BoTorchEIPS",
            "BoTorch's Gaussian process, log expected improvement per second",
            extra="botorch",
            needs=("botorch", "gpytorch", "torch"),
            group=PEERS,
            source=f"{_ARXIV}2310.20708",
        ),
        "cfo-tuned": Row(
            "cfo_bench.optimizers.cfo_tuned:CFOTuned",
            "our own method, not the paper's: CFO's search with a climb first and steps chosen by a model",
            group=PEERS,
            source=f"{_ARXIV}2005.01571",
        ),
        "cma-es": Row(
            "cfo_bench.optimizers.optuna_samplers:CmaEs",
            "optuna's CMA-ES: a normal distribution that adapts its covariance",
            extra="baselines",
            needs=("optuna", "cmaes"),
            group=PEERS,
            source=f"{_ARXIV}1604.00772",
        ),
        "flaml-cfo": Row(
            "cfo_bench.optimizers.flaml:FlamlCFO",
            "FLAML's own CFO",
            extra="baselines",
            needs=("flaml", "optuna"),  # optuna: to silence the messages that FLAML makes it print
            group=PEERS,
            source=f"{_ARXIV}1911.04706",
        ),
        "gp-cooled": Row(
            "cfo_bench.optimizers.gaussian_process:GPCooled",
            "Gaussian process, improvement per second^α, with α falling from 1 to 0 (CArBO's EI-cool)",
            extra="baselines",
            needs=("skopt",),
            group=PEERS,
            source=f"{_ARXIV}2003.10870",
        ),
        "hyperopt-tpe": Row(
            "cfo_bench.optimizers.hyperopt:HyperoptTPE",
            "hyperopt's tree-structured Parzen estimator",
            extra="baselines",
            needs=("hyperopt",),
            group=PEERS,
            source="https://proceedings.mlr.press/v28/bergstra13.html",
        ),
        "optuna-gp": Row(
            "cfo_bench.optimizers.optuna_samplers:OptunaGP",
            "optuna's Gaussian process, log expected improvement",
            extra="baselines,dnn",
            needs=("optuna", "torch"),
            group=PEERS,
            source=f"{_ARXIV}1907.10902",
        ),
        "tpe": Row(
            "cfo_bench.optimizers.optuna_samplers:OptunaTPE",
            "optuna's default sampler: a tree-structured Parzen estimator, all hyperparameters together",
            extra="baselines",
            needs=("optuna",),
            group=PEERS,
            source=f"{_ARXIV}2304.11127",
        ),
        "tpe-multivariate": Row(
            "cfo_bench.optimizers.optuna_samplers:MultivariateTPE",
            "another name of tpe, for results of version 0.2 and earlier",
            extra="baselines",
            needs=("optuna",),
            group=PEERS,
            source=f"{_ARXIV}2304.11127",
        ),
        "tpe-univariate": Row(
            "cfo_bench.optimizers.optuna_samplers:UnivariateTPE",
            "optuna's tree-structured Parzen estimator, each hyperparameter by itself",
            extra="baselines",
            needs=("optuna",),
            group=PEERS,
            source=f"{_ARXIV}2304.11127",
        ),
        "boca": Row(
            "cfo_bench.optimizers.botorch:Boca",
            "BOCA on BoTorch: a confidence bound on all rows, evaluated on the cheapest informative rows",
            extra="botorch",
            needs=("botorch", "gpytorch", "torch"),
            group=FIDELITY,
            source=f"{_ARXIV}1703.06240",
        ),
        "dehb": Row(
            "cfo_bench.optimizers.dehb:DEHB",
            "DEHB: Hyperband over training rows, differential evolution",
            extra="baselines",
            needs=("dehb",),
            group=FIDELITY,
            source=f"{_ARXIV}2105.09821",
        ),
        "fabolas": Row(
            "cfo_bench.optimizers.botorch:Fabolas",
            "experimental, after FABOLAS, on BoTorch: information about the optimum on all rows, per second",
            extra="botorch",
            needs=("botorch", "gpytorch", "torch"),
            group=FIDELITY,
            source=f"{_ARXIV}1605.07079",
        ),
        "hyperband": Row(
            "cfo_bench.optimizers.bohb:Hyperband",
            "hpbandster's Hyperband over training rows, random configurations",
            extra="baselines",
            needs=("hpbandster", "ConfigSpace"),
            group=FIDELITY,
            source=f"{_ARXIV}1603.06560",
        ),
        "smac-mf": Row(
            "cfo_bench.optimizers.smac:SMACFidelity",
            "SMAC 2's multi-fidelity facade: Hyperband over training rows, a random forest",
            extra="baselines",
            needs=("smac", "ConfigSpace"),
            group=FIDELITY,
            source=f"{_ARXIV}2109.09831",
        ),
        "constant": Row(
            "cfo_bench.optimizers.baselines:ConstantReference",
            "a reference, scaled score 0: class priors, or the mean of the target",
            learner="constant",
            group=REFERENCES,
            source=f"{_ARXIV}1907.00909",
        ),
        "study": Row(
            "cfo_bench.optimizers.baselines:Study",
            "no search: every value of the first hyperparameter in turn, the others as at the start",
            group=REFERENCES,
            source=f"{_ARXIV}2005.01571",
        ),
        "tuned-rf": Row(
            "cfo_bench.optimizers.baselines:TunedForestReference",
            "a reference, scaled score 1: a random forest, its max_features tuned by cross-validation",
            learner="tuned-rf",
            group=REFERENCES,
            source=f"{_ARXIV}1907.00909",
        ),
    },
    families={
        "exec": Row(
            "cfo_bench.optimizers.program:method_of",
            "a program: HEBO, Ax or BORE (docs/methods.md), or your own in any language (docs/protocol.md)",
            group=PEERS,
            source="docs/protocol.md",
            takes="COMMAND",
            takes_all=True,
        ),
        "nevergrad": Row(
            "cfo_bench.optimizers.nevergrad:optimizer_called",
            "any optimizer of nevergrad's registry: nevergrad:NGOpt, NgIohTuned, CMA, DE, PSO and so on",
            extra="baselines",
            needs=("nevergrad",),
            group=PEERS,
            source="https://github.com/facebookresearch/nevergrad",
            members="cfo_bench.optimizers.nevergrad:optimizers",
        ),
        "optuna": Row(
            "cfo_bench.optimizers.optuna_samplers:sampler_called",
            "any sampler of the installed optuna, such as optuna:GPSampler or optuna:QMCSampler",
            extra="baselines",
            needs=("optuna",),
            group=PEERS,
            source=f"{_ARXIV}1907.10902",
            members="cfo_bench.optimizers.optuna_samplers:samplers",
        ),
        "optunahub": Row(
            "cfo_bench.optimizers.optuna_samplers:hub_sampler_called",
            "a sampler of an OptunaHub package in a local folder",
            extra="baselines,optunahub",
            needs=("optuna", "optunahub"),
            group=PEERS,
            source="https://hub.optuna.org",
            takes="FOLDER:CLASS",
        ),
    },
    other_names={name: answer for names, answer in _OTHER_NAMES for name in names.split()},
)
