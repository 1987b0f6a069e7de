"""The tree-structured Parzen estimator (TPE) of hyperopt, the first implementation of TPE."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from cfo_bench.optimizers.options import check_counts, check_number
from cfo_bench.optimizers.packaged import Packaged, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space


class HyperoptTPE(Packaged[int]):
    """The tree-structured Parzen estimator of hyperopt.

    n_startup_jobs   random configurations before the model, the start among them
    n_ei_candidates  candidates, of which the most promising is taken
    gamma            this times the square root of the number of results is the number of good trials
    prior_weight     the weight of the space's own distribution in the model, beside the trials
    parallel         trials at once
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_startup_jobs: int = 20,
        n_ei_candidates: int = 24,
        gamma: float = 0.25,
        prior_weight: float = 1.0,
        parallel: int = 1,
    ) -> None:
        check_counts(n_startup_jobs=n_startup_jobs, n_ei_candidates=n_ei_candidates)
        check_number("gamma", gamma, 0.01)
        check_number("prior_weight", prior_weight, 0.0)
        super().__init__(space, start, seed, parallel)
        if not self.searched:
            return
        with silence():
            from hyperopt import Trials, tpe
            from hyperopt.base import Domain

            self._domain = Domain(lambda config: None, {param.name: _node(param) for param in self.searched})
        self._trials = Trials()
        self._documents: dict[int, Any] = {}
        self._rng = np.random.default_rng(self.seed)
        self._suggest = partial(
            tpe.suggest,
            n_startup_jobs=n_startup_jobs,
            n_EI_candidates=n_ei_candidates,
            gamma=gamma,
            prior_weight=prior_weight,
            verbose=False,
        )

    def begin(self) -> int:
        values = self.first_values
        [tid] = self._trials.new_trial_ids(1)
        misc = {
            "tid": tid,
            "cmd": self._domain.cmd,
            "workdir": None,
            "idxs": {name: [tid] for name in values},
            "vals": {name: [value] for name, value in values.items()},
        }
        self._insert(self._trials.new_trial_docs([tid], [None], [self._domain.new_result()], [misc]))
        return int(tid)

    def suggest(self) -> tuple[Mapping[str, Any], int]:
        [tid] = self._trials.new_trial_ids(1)
        documents = self._suggest([tid], self._domain, self._trials, int(self._rng.integers(2**31 - 1)))
        self._insert(documents)
        drawn = documents[0]["misc"]["vals"]
        return {param.name: drawn[param.name][0] for param in self.searched}, tid

    def learn(self, token: int, result: Result) -> None:
        from hyperopt import JOB_STATE_DONE, STATUS_OK

        document = self._documents.pop(token)
        # hyperopt only ranks losses. A failed trial (infinite loss) and a running one (no loss) rank last.
        document["result"] = {"status": STATUS_OK, "loss": result.value}
        document["state"] = JOB_STATE_DONE

    def _insert(self, documents: list[Any]) -> None:
        self._trials.insert_trial_docs(documents)
        self._trials.refresh()
        # Trials keeps the documents that it is given, so that a result can be written into them.
        self._documents[documents[0]["tid"]] = self._trials._dynamic_trials[-1]


def _node(param: Param) -> Any:
    """hyperopt has no integers on a log scale: they are rounded reals, half a step wider at both ends."""
    from hyperopt import hp

    if isinstance(param, Categorical):
        if param.ordered:
            return hp.uniform(param.name, -0.5, len(param.choices) - 0.5)
        return hp.randint(param.name, len(param.choices))
    low, high = _bounds(param)
    if param.log:
        return hp.loguniform(param.name, math.log(low), math.log(high))
    return hp.uniform(param.name, low, high)


def _bounds(param: Any) -> tuple[float, float]:
    half = 0.5 if isinstance(param, Int) else 0.0
    return param.low - half, param.high + half
