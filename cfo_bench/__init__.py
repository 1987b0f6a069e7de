"""cfo-bench: given the same seconds, which method finds the better model, and when?

As a library:

>>> from cfo_bench import CFO, Float, Int, Space, minimize
>>> space = Space([Int("trees", 4, 1000, log=True), Float("rate", 0.01, 1.0, log=True)])
>>> def loss(config):
...     return (config["trees"] - 100) ** 2 / 1e4 + abs(config["rate"] - 0.1)
>>> best = minimize(loss, space, {"trees": 4, "rate": 0.1}, max_trials=200, seed=1)
>>> best.loss < 0.05
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = [
    "CFO",
    "Categorical",
    "Choice",
    "Float",
    "Int",
    "Result",
    "Space",
    "Status",
    "Suite",
    "Trial",
    "best_configurations",
    "compare",
    "export_to_deepcave",
    "export_to_optuna",
    "export_trials",
    "fit_best",
    "fit_surrogate",
    "import_trials",
    "load_model",
    "load_results",
    "minimize",
    "python_script",
    "run_suite",
    "runs_of",
    "write_report",
]

if TYPE_CHECKING:
    from cfo_bench.comparison.compare import compare
    from cfo_bench.engines.suite_runs import run_suite, runs_of
    from cfo_bench.exchange.exporting import export_to_deepcave, export_to_optuna, export_trials
    from cfo_bench.exchange.importing import import_trials
    from cfo_bench.minimization import minimize
    from cfo_bench.models.best import best_configurations, fit_best, load_model, python_script
    from cfo_bench.optimizers.cfo import CFO
    from cfo_bench.records import Result, Status, Trial
    from cfo_bench.report.library import write_report
    from cfo_bench.results.frames import load_results
    from cfo_bench.space import Categorical, Float, Int, Space
    from cfo_bench.suite.model import Choice, Suite
    from cfo_bench.surrogates.library import fit_surrogate

# Where each public name lives: loaded at first use, so that `cfo-bench --help` stays light.
_HOME = {
    "CFO": "cfo_bench.optimizers.cfo",
    "Categorical": "cfo_bench.space",
    "Choice": "cfo_bench.suite.model",
    "Float": "cfo_bench.space",
    "Int": "cfo_bench.space",
    "Result": "cfo_bench.records",
    "Space": "cfo_bench.space",
    "Status": "cfo_bench.records",
    "Suite": "cfo_bench.suite.model",
    "Trial": "cfo_bench.records",
    "best_configurations": "cfo_bench.models.best",
    "compare": "cfo_bench.comparison.compare",
    "export_to_deepcave": "cfo_bench.exchange.exporting",
    "export_to_optuna": "cfo_bench.exchange.exporting",
    "export_trials": "cfo_bench.exchange.exporting",
    "fit_best": "cfo_bench.models.best",
    "fit_surrogate": "cfo_bench.surrogates.library",
    "import_trials": "cfo_bench.exchange.importing",
    "load_model": "cfo_bench.models.best",
    "load_results": "cfo_bench.results.frames",
    "minimize": "cfo_bench.minimization",
    "python_script": "cfo_bench.models.best",
    "run_suite": "cfo_bench.engines.suite_runs",
    "runs_of": "cfo_bench.engines.suite_runs",
    "write_report": "cfo_bench.report.library",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'cfo_bench' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
