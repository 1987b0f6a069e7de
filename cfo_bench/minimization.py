"""`minimize`: a search for a user's own function, in this process, without tasks or traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import OptionError, RunError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result, Trial
from cfo_bench.run.loop import InProcessPool, Limits, Referee, search
from cfo_bench.space import Config, Space


@dataclass(frozen=True, slots=True)
class Best:
    """The best configuration that `minimize` found.

    Attributes
    ----------
    config : dict
        The configuration.
    loss : float
        Its loss.
    trials : int
        The number of trials of the whole search.
    seconds : float
        The time from the start of the search until the best configuration was evaluated.
    """

    config: Config
    loss: float
    trials: int
    seconds: float


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
    """Search for the configuration with the lowest value of a function.

    The function is called in this process. A call that raises, or that returns no finite number, is a failed
    trial. A call that is still running when the budget ends is waited for, but does not count.

    Parameters
    ----------
    function : callable
        Takes a configuration (a dict) and returns its loss: lower is better.
    space : Space
        The hyperparameters and their ranges.
    start : mapping of str to value
        A cheap configuration, where the search begins: one value for each hyperparameter.
    budget_seconds : float, optional
        Stop after this many seconds. Give this, `max_trials` or both.
    max_trials : int, optional
        Stop after this many calls.
    seed : int, default 0
        The same seed, losses and seconds give the same search. The method "cfo" ignores the seconds.
    method : str, default "cfo-tuned"
        A method listed by `cfo-bench methods`; "cfo" is the paper's.
    **options
        Options of the method, such as `cost_related=["trees"]`, the hyperparameters that make a call take
        longer.

    Returns
    -------
    Best
        The best configuration with its loss, and the time at which it was found.

    Raises
    ------
    OptionError
        If neither `budget_seconds` nor `max_trials` is given, or the method does not accept an option.
    SpaceError
        If `start` is not a configuration of the space.
    RunError
        If every trial failed.

    Examples
    --------
    >>> from cfo_bench import Int, Space, minimize
    >>> space = Space([Int("k", 1, 100)])
    >>> minimize(lambda config: (config["k"] - 7) ** 2, space, {"k": 1}, budget_seconds=5).config
    {'k': 7}
    """
    if budget_seconds == math.inf and max_trials is None:
        raise OptionError("minimize has no end: give budget_seconds, max_trials or both")
    settings = METHODS.options(method, options)
    if "budget_seconds" in settings and math.isfinite(budget_seconds):
        settings["budget_seconds"] = budget_seconds
    optimizer = METHODS.load(method)(space, start, seed, **settings)
    referee = Referee(space, Limits(budget_seconds, max_trials))
    best, trials, last_error = Best({}, math.inf, 0, 0.0), 0, "the budget was over"
    clock = WallClock()
    pool = InProcessPool(_FunctionObjective(function), clock, referee)
    for record in search(optimizer, pool, clock, referee):
        trials += 1
        last_error = record.error or last_error
        if record.loss is not None and record.loss < best.loss:
            best = Best(record.config, record.loss, trials, record.ended)
    if best.loss == math.inf:
        raise RunError(f"none of {trials} trials gave a loss; the last error: {last_error}")
    return replace(best, trials=trials)


class _FunctionObjective:
    """A user's function as an objective."""

    def __init__(self, function: Callable[[Config], float]) -> None:
        self._function = function

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        began = deadline.now()
        loss = float(self._function(dict(trial.config)))
        return Result.ok(loss, deadline.now() - began)

    def test_loss(self) -> float:
        raise NotImplementedError("a user's function has no test part")
