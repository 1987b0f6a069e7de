"""All that a plug-in is written against, in one import: `from cfo_bench.plugins import …`.

The modules that these names come from may be moved; this one stays. docs/extending.md shows how the names
are used, and `cfo_bench.testing` has the checks that a plug-in should pass. Importing this module loads
numpy and nothing heavier; the names for engines are loaded at first use.

- For everybody: `Trial`, `Result`, `Status`, `Space` and its hyperparameters `Int`, `Float` and
  `Categorical`. `Param` is any of these three. `Config` is a configuration: a dict from the names of the
  hyperparameters to plain Python values.
- Errors: `UserError`, `OptionError`, `SpaceError`, `DataError`, `Exhausted`.
- A method is an `Optimizer`.
- A learner is a `Learner` that makes an `Objective` from a `Fold`. Its help: `Problem`, `Deadline`,
  `METRICS` (a dict from the name of a metric to the `Metric`), `shuffled_order`, `attempt`, `OutOfTime`,
  `check_deadline`, `FitAndPredict`, `DenseRows`, `dense_levels` and `DenseObjective`. `Array` is a
  numpy array.
- A task source is a `TaskSource`.
- An engine is an `Engine`. Its help: `RunSpec`, `Job`, `Verdict`, `Outcome`, `Listener`, `Active`, `Stop`,
  `Interrupted`, `signals_into`, `already_done` and `supervise`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cfo_bench.clock import Deadline
from cfo_bench.engines import Engine
from cfo_bench.errors import DataError, Exhausted, OptionError, SpaceError, UserError
from cfo_bench.learners.dense import DenseObjective, DenseRows, dense_levels
from cfo_bench.learners.evaluation import FitAndPredict, OutOfTime, attempt, check_deadline, shuffled_order
from cfo_bench.metrics import METRICS, Array, Metric
from cfo_bench.records import (
    Fold,
    Learner,
    Objective,
    Optimizer,
    Problem,
    Result,
    RunSpec,
    Status,
    Trial,
)
from cfo_bench.space import Categorical, Config, Float, Int, Param, Space
from cfo_bench.tasks.sources.plugins import TaskSource

if TYPE_CHECKING:
    from cfo_bench.engines.loop import Active, Listener, signals_into
    from cfo_bench.errors import Interrupted
    from cfo_bench.run.job import Job
    from cfo_bench.run.supervisor import Outcome, Stop, Verdict, already_done, supervise

# Where the names for engines are, as "module:name": these modules load everything that a run needs.
_LOADED_AT_FIRST_USE = {
    "Active": "cfo_bench.engines.loop:Active",
    "Interrupted": "cfo_bench.errors:Interrupted",
    "Job": "cfo_bench.run.job:Job",
    "Listener": "cfo_bench.engines.loop:Listener",
    "Outcome": "cfo_bench.run.supervisor:Outcome",
    "Stop": "cfo_bench.run.supervisor:Stop",
    "Verdict": "cfo_bench.run.supervisor:Verdict",
    "already_done": "cfo_bench.run.supervisor:already_done",
    "signals_into": "cfo_bench.engines.loop:signals_into",
    "supervise": "cfo_bench.run.supervisor:supervise",
}

__all__ = [
    "METRICS",
    "Active",
    "Array",
    "Categorical",
    "Config",
    "DataError",
    "Deadline",
    "DenseObjective",
    "DenseRows",
    "Engine",
    "Exhausted",
    "FitAndPredict",
    "Float",
    "Fold",
    "Int",
    "Interrupted",
    "Job",
    "Learner",
    "Listener",
    "Metric",
    "Objective",
    "Optimizer",
    "OptionError",
    "OutOfTime",
    "Outcome",
    "Param",
    "Problem",
    "Result",
    "RunSpec",
    "Space",
    "SpaceError",
    "Status",
    "Stop",
    "TaskSource",
    "Trial",
    "UserError",
    "Verdict",
    "already_done",
    "attempt",
    "check_deadline",
    "dense_levels",
    "shuffled_order",
    "signals_into",
    "supervise",
]


def __getattr__(name: str) -> Any:
    if name not in _LOADED_AT_FIRST_USE:
        raise AttributeError(f"module 'cfo_bench.plugins' has no attribute {name!r}")
    module, _, attribute = _LOADED_AT_FIRST_USE[name].partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
