"""Hyperparameters: the importance of each on a task, and the values of the incumbents over time.

The importance is fANOVA's (Hutter et al. 2014), as optuna computes it. A random forest learns the loss from
the configurations. The importance of a hyperparameter is the share of the variance of the forest's
predictions over the whole space that it explains alone; the rest are interactions. The order of the
hyperparameters may depend on the trials of a forest. Therefore several forests learn from different samples,
and their spread is reported. This needs every trial, so the traces are read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import fmean, stdev
from typing import Any

import numpy as np

from cfo_bench.errors import MissingPackageError, TraceError, install_command
from cfo_bench.metrics import Array
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import Run, read_run
from cfo_bench.space import Categorical, Param, Space, is_fixed

# With more trials, random samples are taken, because the time of fANOVA grows faster than the number of
# trials.
MOST_TRIALS = 500
# With fewer trials, the forest learns nothing.
FEWEST_TRIALS = 30
# Each forest has its own sample. A tree takes a tenth of a second.
FORESTS, TREES = 5, 16


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of each hyperparameter of a task, each between 0 and 1: means over the forests."""

    shares: dict[str, float]
    interactions: float
    spreads: dict[str, float]  # standard deviations over the forests
    interactions_spread: float
    used: int  # the number of trials from which a forest learned
    scored: int  # trials with a loss, of which these are a sample


@dataclass(frozen=True, slots=True)
class _Scored:
    """A trial with its loss, relative to the mean of its fold."""

    config: Mapping[str, Any]
    loss: float


def require_optuna() -> None:
    """Raise a MissingPackageError if optuna is not installed, before traces are read."""
    if find_spec("optuna") is None:
        raise MissingPackageError("--importance", "optuna", install_command("baselines"))


def importance(runs: Sequence[Run], most: int = MOST_TRIALS) -> Importance | None:
    """The importances on one task, from the trials of all methods and folds together.

    If there are more than `most` trials, samples are taken. None if fewer than FEWEST_TRIALS have a loss, or
    if the traces have no search space.
    """
    spaces: list[Space] = []
    by_fold: dict[int, list[_Scored]] = {}
    for run in sorted(runs, key=lambda run: (run.method, run.fold, run.seed)):
        if (space_and_trials := _read(run)) is not None:
            spaces.append(space_and_trials[0])
            by_fold.setdefault(run.fold, []).extend(space_and_trials[1])
    params = _common_params(spaces)
    trials = [trial for _, on_fold in sorted(by_fold.items()) for trial in _centred(on_fold)]
    trials = [trial for trial in trials if all(param.name in trial.config for param in params)]
    if not params or len(trials) < FEWEST_TRIALS:
        return None
    rng = np.random.default_rng(len(trials))
    forests = [_fanova(params, _sample(trials, most, rng), seed) for seed in range(FORESTS)]
    shares = {param.name: [forest[param.name] for forest in forests] for param in params}
    together = [max(1 - sum(forest.values()), 0.0) if any(forest.values()) else 0.0 for forest in forests]
    return Importance(
        shares={name: fmean(values) for name, values in shares.items()},
        interactions=fmean(together),
        spreads={name: stdev(values) for name, values in shares.items()},
        interactions_spread=stdev(together),
        used=min(len(trials), most),
        scored=len(trials),
    )


def _sample(trials: Sequence[_Scored], most: int, rng: np.random.Generator) -> Sequence[_Scored]:
    """At most `most` trials, in their order."""
    if len(trials) <= most:
        return trials
    return [trials[at] for at in sorted(rng.choice(len(trials), most, replace=False))]


def _read(run: Run) -> tuple[Space, list[_Scored]] | None:
    """The space of a run, and its trials on all rows that ended well and in time.

    Losses above that of the constant predictor are clipped to it, so that differences among bad
    configurations do not hide those among good ones.
    """
    try:
        whole = read_run(run.path, parse_trials=True)
    except TraceError:
        return None
    space = whole.header.search_space if whole else None
    if whole is None or not space:
        return None
    train_rows = whole.header.data.train_rows
    return space, [
        _Scored(trial.config, min(trial.loss, run.constant_loss))
        for trial in whole.trials
        if trial.loss is not None
        and trial.ended <= run.budget_seconds
        and (trial.rows is None or trial.rows >= train_rows)
    ]


def _centred(trials: Sequence[_Scored]) -> list[_Scored]:
    """Losses relative to the mean of their fold, which removes differences between folds."""
    mean = float(np.mean([trial.loss for trial in trials])) if trials else 0.0
    return [_Scored(trial.config, trial.loss - mean) for trial in trials]


def _common_params(spaces: Sequence[Space]) -> list[Param]:
    """The hyperparameters of all runs, with bounds that include those of every run.

    Bounds may depend on the number of training rows, which differs between folds. A hyperparameter whose type
    or choices differ is left out.
    """
    if not spaces:
        return []
    common: list[Param] = []
    for param in spaces[0]:
        same = [other for space in spaces for other in space if other.name == param.name]
        if len(same) < len(spaces) or any(type(other) is not type(param) for other in same):
            continue
        if isinstance(param, Categorical):
            if all(other == param for other in same):
                common.append(param)
            continue
        numbers = [other for other in same if not isinstance(other, Categorical)]
        low, high = min(other.low for other in numbers), max(other.high for other in numbers)
        log = all(other.log for other in numbers)
        common.append(type(param)(param.name, low, high, log))  # type: ignore[arg-type]
    return common


def _fanova(params: Sequence[Param], trials: Sequence[_Scored], seed: int) -> dict[str, float]:
    """The importances by one forest.

    Hyperparameters on a log scale are passed as logarithms, as they are searched. Otherwise nearly all of the
    space would be large values for optuna's forest.
    """
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
    from optuna.importance import FanovaImportanceEvaluator

    searched = [param for param in params if not is_fixed(param)]
    shares = {param.name: 0.0 for param in params}
    if not searched or len({trial.loss for trial in trials}) < 2:
        return shares
    distributions: dict[str, BaseDistribution] = {
        param.name: CategoricalDistribution(list(map(repr, param.choices)))
        if isinstance(param, Categorical)
        else FloatDistribution(_on_scale(param, param.low), _on_scale(param, param.high))
        for param in searched
    }
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study()
        study.add_trials(
            [
                optuna.trial.create_trial(
                    value=trial.loss,
                    params={param.name: _on_scale(param, trial.config[param.name]) for param in searched},
                    distributions=distributions,
                )
                for trial in trials
            ]
        )
        evaluated = FanovaImportanceEvaluator(n_trees=TREES, seed=seed).evaluate(study)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return shares | {name: float(share) for name, share in evaluated.items()}


def _on_scale(param: Param, value: Any) -> Any:
    if isinstance(param, Categorical):
        return repr(value)
    inside = min(max(value, param.low), param.high)
    return math.log(inside) if param.log else float(inside)


# --- incumbents over time -------------------------------------------------------------------------


# The shares of the budget at which the incumbents are compared.
MOMENTS = tuple(np.geomspace(1e-3, 1.0, 31).tolist())

_NUMBERS = {int, float}


def numeric_names(results: LearnerResults) -> tuple[list[str], list[str]]:
    """The hyperparameters that are numbers in every incumbent, in the learner's order; and the others."""
    types: dict[str, set[type]] = {}
    for runs in results.compared.values():
        for run in runs:
            for name, value_types in _types(results.incumbents(run)):
                types.setdefault(name, set()).update(value_types)
    numbers = [name for name, value_types in types.items() if value_types <= _NUMBERS]
    return numbers, [name for name in types if name not in numbers]


def _types(incumbents: Incumbents) -> Iterable[tuple[str, Iterable[type]]]:
    """The types of the values of each hyperparameter."""
    if incumbents.names is None:
        return ((name, (type(value),)) for config in incumbents.configs for name, value in config.items())
    columns = zip(*incumbents.rows, strict=True)
    return ((name, map(type, values)) for name, values in zip(incumbents.names, columns, strict=False))


def footprint(results: LearnerResults, method: str, names: Sequence[str]) -> Array:
    """The typical value of each hyperparameter (column) in a method's incumbents at each of MOMENTS (row).

    It is the median over tasks of the median over a task's runs. It is NaN until every task has a run with
    an incumbent, so that a line does not jump when another task joins. Tasks that never have one are left
    out.
    """
    tasks: dict[str, list[Array]] = {}
    for (task, name), runs in results.compared.items():
        if name == method:
            tracks = [_track(results.incumbents(run), run.budget_seconds, names) for run in runs]
            if available := [track for track in tracks if track is not None]:
                tasks[task] = available
    if not tasks:
        return np.full((len(MOMENTS), len(names)), np.nan)
    typical: Array = np.median([_median_of_known(np.array(tracks)) for tracks in tasks.values()], axis=0)
    return typical


def _median_of_known(tracks: Array) -> Array:
    """The median over the first axis without NaN; NaN where all are NaN. numpy's function takes ten times as
    long.
    """
    in_order = np.sort(tracks, axis=0)  # NaN comes last
    known = (~np.isnan(tracks)).sum(axis=0)[None]
    lower, upper = (
        np.take_along_axis(in_order, np.maximum(at, 0), axis=0)[0] for at in ((known - 1) // 2, known // 2)
    )
    middle: Array = np.where(known[0] > 0, (lower + upper) / 2, np.nan)
    return middle


def _track(incumbents: Incumbents, budget_seconds: float, names: Sequence[str]) -> Array | None:
    """A run's values at each of MOMENTS, NaN before its first incumbent; None for a run without any."""
    if not incumbents.seconds:
        return None
    count = np.searchsorted(np.array(incumbents.seconds) / budget_seconds, MOMENTS, side="right")
    begun = int((count == 0).sum())
    track = np.full((len(MOMENTS), len(names)), np.nan)
    if begun < len(MOMENTS):
        track[begun:] = _values(incumbents, count[begun:] - 1, names)
    return track


def _values(incumbents: Incumbents, places: Array, names: Sequence[str]) -> list[list[Any]]:
    """The values of these hyperparameters in the incumbents with these indices; NaN where one is missing."""
    configs = incumbents.configs
    chosen = {place: configs[place] for place in set(places.tolist())}
    return [[chosen[place].get(name, np.nan) for name in names] for place in places.tolist()]
