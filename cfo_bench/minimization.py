"""`minimize`: a search for a user's own function, in this process, without tasks or traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.errors import OptionError, RunError, SpaceError, UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Optimizer, Result, Status, Trial
from cfo_bench.results.frames import CONFIG_PREFIX, prefixed
from cfo_bench.run.loop import InProcessPool, Limits, Referee, search
from cfo_bench.space import Categorical, Config, Int, Param, Space

if TYPE_CHECKING:
    import pandas as pd


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
        The number of trials of this search.
    seconds : float
        The time from the start of the search until the best configuration was evaluated; 0 if it is one of
        the earlier results.
    """

    config: Config
    loss: float
    trials: int
    seconds: float
    _rows: Sequence[Mapping[str, Any]] = field(default=(), compare=False, repr=False)

    @property
    def history(self) -> pd.DataFrame:
        """One row for each trial, earlier results first: `status`, `loss`, `seconds`, `error`, and a column
        `config.NAME` for each hyperparameter.
        """
        import pandas as pd

        return pd.DataFrame(self._rows)


def minimize(
    function: Callable[[Config], float],
    space: Space,
    start: Mapping[str, Any],
    *,
    budget_seconds: float = math.inf,
    max_trials: int | None = None,
    seed: int = 0,
    method: str = "cfo-tuned",
    initial: Iterable[Mapping[str, Any]] = (),
    history: pd.DataFrame | None = None,
    callback: Callable[[Trial, Result], object] | None = None,
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
    initial : iterable of mapping, optional
        Configurations to evaluate first, before `start`. The method then starts at the best configuration
        known.
    history : pandas.DataFrame, optional
        Earlier results: the `history` of an earlier search, or any frame with a column `loss` and a column
        `config.NAME` for each hyperparameter, such as the trials of `load_results`. They are not evaluated
        again before the method starts, and the method starts at the best configuration known.
    callback : callable, optional
        Called with each trial and its result, before the next trial. The search stops if it returns a
        true value.
    **options
        Options of the method, such as `cost_related=["trees"]`, the hyperparameters that make a call take
        longer.

    Returns
    -------
    Best
        The best configuration with its loss, the time at which it was found, and the history of all trials.

    Raises
    ------
    OptionError
        If neither `budget_seconds` nor `max_trials` is given, or the method does not accept an option.
    SpaceError
        If `start`, or a configuration of `initial` or `history`, is not in the space.
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
    if isinstance(initial, Mapping):
        raise UserError("initial is one configuration: give a list of them")
    settings = METHODS.options(method, options)
    if "budget_seconds" in settings and math.isfinite(budget_seconds):
        settings["budget_seconds"] = budget_seconds
    method_class, first = METHODS.load(method), [space.check(config) for config in initial]
    earlier = [] if history is None else _earlier_results(history, space)
    optimizer: Optimizer = method_class(space, start, seed, **settings)
    if first or earlier:
        optimizer = _KnownFirst(
            lambda best: method_class(space, best, seed, **settings), [*first, space.check(start)], earlier
        )
    best, trials, last_error = Best({}, math.inf, 0, 0.0), 0, "the budget was over"
    for config, result in earlier:
        if result.value < best.loss:
            best = Best(config, result.value, 0, 0.0)
    rows = [_row(config, result) for config, result in earlier]
    referee, clock = Referee(space, Limits(budget_seconds, max_trials)), WallClock()
    pool = InProcessPool(_FunctionObjective(function), clock, referee)
    for record in search(optimizer, pool, clock, referee):
        trials += 1
        rows.append(_row(record.config, record.result()))
        last_error = record.error or last_error
        if record.loss is not None and record.loss < best.loss:
            best = Best(record.config, record.loss, trials, record.ended)
        trial = Trial(record.number, dict(record.config), record.rows)
        if callback is not None and callback(trial, record.result()):
            break
    if best.loss == math.inf:
        raise RunError(f"none of {trials} trials gave a loss; the last error: {last_error}")
    return replace(best, trials=trials, _rows=rows)


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


class _KnownFirst:
    """Evaluates the given configurations first, then builds the method, which starts at the best known one.

    The method's own first trial is not evaluated if its result is known.
    """

    def __init__(
        self,
        build: Callable[[Config], Optimizer],
        first: Sequence[Config],
        earlier: Sequence[tuple[Config, Result]],
    ) -> None:
        self._build, self._fallback = build, first[-1]
        self._known = list(earlier)
        self._first = [config for i, config in enumerate(first) if config not in first[:i]]
        self._first = [config for config in self._first if self._result_of(config) is None]
        self._optimizer: Optimizer | None = None
        self._asked = 0
        self._inner: Trial | None = None  # the running trial, with the number that the method gave it

    def ask(self) -> Trial:
        if self._asked < len(self._first):
            trial = Trial(self._asked, self._first[self._asked])
        else:
            self._inner = self._next()
            trial = replace(self._inner, number=self._asked)
        self._asked += 1
        return trial

    def tell(self, trial: Trial, result: Result) -> None:
        if self._optimizer is None:
            self._known.append((trial.config, result))
        else:
            assert self._inner is not None
            self._optimizer.tell(self._inner, result)

    def _next(self) -> Trial:
        """The method's next trial."""
        if self._optimizer is not None:
            return self._optimizer.ask()
        best, result = min(self._known, key=lambda known: known[1].value)
        self._optimizer = self._build(best if math.isfinite(result.value) else self._fallback)
        trial = self._optimizer.ask()
        known = self._result_of(trial.config)
        if known is None or trial.rows is not None:
            return trial
        self._optimizer.tell(trial, known)
        return self._optimizer.ask()

    def _result_of(self, config: Config) -> Result | None:
        return next((result for known, result in self._known if known == config), None)


# --- the history ----------------------------------------------------------------------------------


def _row(config: Config, result: Result) -> dict[str, Any]:
    return {
        "status": str(result.status),
        "loss": result.loss,
        "seconds": result.seconds,
        "error": result.error,
        **prefixed(config),
    }


def _earlier_results(history: pd.DataFrame, space: Space) -> list[tuple[Config, Result]]:
    """The configurations and results of the rows of a frame. A row without a loss is a failed trial."""
    if not hasattr(history, "columns"):
        raise UserError(f"history is a {type(history).__name__}: give a pandas DataFrame")
    columns = {param.name: f"{CONFIG_PREFIX}{param.name}" for param in space}
    if missing := [name for name in ("loss", *columns.values()) if name not in history.columns]:
        raise UserError(
            f"history has no column {missing[0]!r}: it needs loss and {', '.join(columns.values())}"
        )
    earlier = []
    for number, row in enumerate(history.to_dict("records")):
        values = {param.name: _plain(param, row[columns[param.name]]) for param in space}
        try:
            config = space.check(values)
        except SpaceError as error:
            raise SpaceError(f"row {number} of history: {error}") from None
        loss, seconds = row["loss"], row.get("seconds")
        seconds = float(seconds) if isinstance(seconds, int | float) and math.isfinite(seconds) else 0.0
        if isinstance(loss, int | float) and math.isfinite(loss):
            earlier.append((config, Result.ok(loss, seconds)))
        else:
            earlier.append((config, Result(Status.FAILED, fit_seconds=seconds)))
    return earlier


def _plain(param: Param, value: Any) -> Any:
    """The value before pandas stored it: in a column with gaps, integers become floats, and None NaN."""
    if isinstance(param, Int) and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(param, Categorical) and isinstance(value, float) and math.isnan(value):
        return None
    return value
