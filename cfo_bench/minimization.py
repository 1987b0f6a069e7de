"""A search for a user's own function, in this process, without tasks or traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import OptionError, RunError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result, Trial
from cfo_bench.run.loop import Limits, Referee, search
from cfo_bench.space import Config, Space


@dataclass(frozen=True, slots=True)
class Best:
    """The best configuration that `minimize` found."""

    config: Config
    loss: float
    trials: int  # in all
    seconds: float  # from the start of the search until it was found


def minimize(
    function: Callable[[Config], float],
    space: Space,
    start: Mapping[str, Any],
    *,
    budget_seconds: float = math.inf,
    max_trials: int | None = None,
    seed: int = 0,
    method: str = "cfo-tuned",
    **options: Any,
) -> Best:
    """Searches for the configuration with the lowest value of `function`, in this process.

    A call that raises, or returns no finite number, is a failed trial. If all trials fail, that is a
    `RunError`. A call that is running when the budget ends is waited for, and does not count.

    function        takes a configuration (a dict), and returns its loss: lower is better
    space           the hyperparameters and their ranges
    start           a cheap configuration, where the search begins: one value for each hyperparameter
    budget_seconds  stop after so many seconds; give this, `max_trials` or both
    max_trials      stop after so many calls
    seed            the same seed, losses and seconds give the same search; to "cfo", seconds don't matter
    method          any method of `cfo-bench methods`; "cfo" is the paper's
    options         options of the method, such as `cost_related=["trees"]`: what makes a call take longer
    returns         the best configuration with its loss, and when it was found

    >>> from cfo_bench import Int, Space, minimize
    >>> minimize(lambda c: (c["k"] - 7) ** 2, Space([Int("k", 1, 100)]), {"k": 1}, budget_seconds=5).config
    {'k': 7}
    """
    if budget_seconds == math.inf and max_trials is None:
        raise OptionError("minimize has no end: give budget_seconds, max_trials or both")
    settings = METHODS.options(method, options)
    if "budget_seconds" in settings and math.isfinite(budget_seconds):
        settings["budget_seconds"] = budget_seconds
    optimizer = METHODS.load(method)(space, start, seed, **settings)
    referee = Referee(space, Limits(budget_seconds, max_trials))
    clock = WallClock()
    best, trials, last_error = Best({}, math.inf, 0, 0.0), 0, "the budget was over"
    for record in search(optimizer, _Function(function), clock, referee):
        trials += 1
        last_error = record.error or last_error
        if record.loss is not None and record.loss < best.loss:
            best = Best(record.config, record.loss, trials, record.ended)
    if best.loss == math.inf:
        raise RunError(f"none of {trials} trials gave a loss; the last one said: {last_error}")
    return replace(best, trials=trials)


class _Function:
    def __init__(self, function: Callable[[Config], float]) -> None:
        self._function = function

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        began = deadline.now()
        loss = float(self._function(dict(trial.config)))
        return Result.ok(loss, deadline.now() - began)

    def test_loss(self) -> float:
        raise NotImplementedError("a user's function has no test part")
