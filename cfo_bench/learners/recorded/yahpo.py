"""The models of YAHPO Gym's scenarios: `yahpo:rbv2_xgboost` and the like, answered by a surrogate.

The start has the cheap end of each hyperparameter that drives the cost, and of the others the scenario's own
default.
"""

from __future__ import annotations

import inspect
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any, ClassVar

from cfo_bench.errors import OptionError, SpaceError
from cfo_bench.learners.recorded.objective import RecordedObjective, objective_of
from cfo_bench.recording import RecordedTask
from cfo_bench.recordings.yahpo import open_instance
from cfo_bench.recordings.yahpo_folder import existing
from cfo_bench.recordings.yahpo_space import Scenario, scenario_of
from cfo_bench.records import DataRef, Fold, Problem
from cfo_bench.space import Config, Space


class YahpoLearner:
    """A model that YAHPO Gym has a surrogate of. Each hyperparameter is an option: a value holds it there."""

    problems = tuple(Problem)
    recording = "yahpo"
    virtual = True
    scenario: ClassVar[Scenario]

    def __init__(self, **options: Any) -> None:
        names = {option_name(name): name for name in self.scenario.params}
        self._fixed: Config = {}
        for key, value in options.items():
            if value is not None:
                param = self.scenario.params[names[key]]
                try:
                    self._fixed[param.name] = param.check(value)
                except SpaceError as error:
                    raise OptionError(str(error)) from None
        self._params = self.scenario.searched(self._fixed)

    @property
    def cost_related(self) -> tuple[str, ...]:
        return tuple(param.name for param in self._params if param.name in self.scenario.facts.cheap)

    def space(self, n_rows: int) -> Space:
        return Space(self._params)

    def start(self, space: Space) -> Config:
        return self.scenario.start(self._params)

    def recorded(self, ref: DataRef) -> RecordedTask:
        return open_instance(self.scenario.name, ref, self._fixed, self.start(self.space(0)))

    def prepare(self, fold: Fold, threads: int, seed: int) -> RecordedObjective:
        return objective_of(fold)


def option_name(hyperparameter: str) -> str:
    """`num.impute.selected.cpo` as an option's name: `num_impute_selected_cpo`; `lambda` is `lambda_`."""
    name = "".join(one if one.isalnum() else "_" for one in hyperparameter)
    return f"{name}_" if iskeyword(name) else name


def learner_of_scenario(name: str) -> type[YahpoLearner]:
    """The learner `yahpo:NAME`, from the user's copy of YAHPO's data."""
    return _made(name, existing(f"learner 'yahpo:{name}'"))


@cache
def _made(name: str, folder: Path) -> type[YahpoLearner]:
    scenario = scenario_of(name, folder)
    searched = {param.name for param in scenario.searched({})}

    def __init__(self: YahpoLearner, **options: Any) -> None:
        YahpoLearner.__init__(self, **options)

    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(
                inspect.Parameter(option_name(one), inspect.Parameter.KEYWORD_ONLY, default=None)
                for one in scenario.params
                if one in searched
            ),
        ]
    )
    doc = (
        f"YAHPO Gym's surrogate of {name}. An option holds a hyperparameter at a value; null: it is searched."
    )
    return type(
        f"Yahpo_{name}", (YahpoLearner,), {"scenario": scenario, "__init__": __init__, "__doc__": doc}
    )
