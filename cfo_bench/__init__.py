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

__version__ = "0.1.0"
__all__ = ["CFO", "Categorical", "Float", "Int", "Result", "Space", "Status", "Trial", "minimize"]

if TYPE_CHECKING:
    from cfo_bench.minimization import minimize
    from cfo_bench.optimizers.cfo import CFO
    from cfo_bench.records import Result, Status, Trial
    from cfo_bench.space import Categorical, Float, Int, Space

# Where each public name lives: loaded at first use, so that `cfo-bench --help` stays light.
_HOME = {
    "CFO": "cfo_bench.optimizers.cfo",
    "Categorical": "cfo_bench.space",
    "Float": "cfo_bench.space",
    "Int": "cfo_bench.space",
    "Result": "cfo_bench.records",
    "Space": "cfo_bench.space",
    "Status": "cfo_bench.records",
    "Trial": "cfo_bench.records",
    "minimize": "cfo_bench.minimization",
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
