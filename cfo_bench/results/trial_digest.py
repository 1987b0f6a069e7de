"""What a report needs to know of a run's trials, in a few kilobytes, computed from the trials."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np
import orjson

from cfo_bench.metrics import Array
from cfo_bench.records import EndRecord, Status
from cfo_bench.results.other_lines import counted_trials, split_lines, with_limits
from cfo_bench.results.validation import Lines
from cfo_bench.space import Config

# The cost of trials over time is kept in bins of the elapsed share of the budget: ten for each power of ten.
COST_BIN_EDGES = np.concatenate(([0.0], np.logspace(-4, 0, 41)))
N_BINS = len(COST_BIN_EDGES) - 1

# So many lines are parsed at a time, since the parsed lines of a long run don't fit into memory.
_BATCH = 5000


@dataclass(frozen=True, slots=True)
class Configs(Sequence[dict[str, Any]]):
    """Configurations that have the same hyperparameters, with the names once.

    A folder of results has half a million of them, and few are looked at: each is a dict only when it is.
    """

    names: list[str]
    rows: list[list[Any]]  # the values of each configuration, in the order of the names

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> Configs: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | Configs:
        if isinstance(at, slice):
            return Configs(self.names, self.rows[at])
        return dict(zip(self.names, self.rows[at], strict=True))


@dataclass(frozen=True, slots=True)
class Steps:
    """The incumbents of a run, one after the other: each has a lower loss than the one before."""

    seconds: list[float]  # when each was found
    losses: list[float]
    test_scores: list[float | None]
    costs: list[float]  # seconds to fit and validate it
    overheads: list[float]  # seconds of the method to ask for it and be told
    best_config: dict[str, Any]  # the configuration of the last one
    configs: Sequence[dict[str, Any]] = ()  # the configuration of each


def tested(steps: Steps) -> Steps:
    """Without the incumbents that have no test score: the one before counts in their place."""
    kept = [at for at, score in enumerate(steps.test_scores) if score is not None]
    if len(kept) == len(steps.test_scores):
        return steps
    configs = [steps.configs[at] for at in kept]
    return Steps(
        seconds=[steps.seconds[at] for at in kept],
        losses=[steps.losses[at] for at in kept],
        test_scores=[steps.test_scores[at] for at in kept],
        costs=[steps.costs[at] for at in kept],
        overheads=[steps.overheads[at] for at in kept],
        best_config=configs[-1] if configs else {},
        configs=configs,
    )


@dataclass(frozen=True, slots=True)
class TrialDigest:
    """All trials of a run. One that ended past the budget is a timeout, whatever its line says."""

    trials: int
    statuses: dict[str, int]  # how many trials have each status
    steps: Steps
    full: Steps  # the same, of trials on all rows only
    method_seconds: float  # of asks and tells, also those cut off: see `_method_seconds`
    fit_seconds: float
    validate_seconds: float
    dearer_seconds: float  # in trials that cost more than the final incumbent
    cost_bins: list[float | None]  # mean cost of the trials that ended in each of COST_BIN_EDGES
    last_ended: float  # when the last trial ended; 0 without a trial


def digest_of_trials(found: Lines) -> TrialDigest:
    configs = found.columns["config"]
    return _digest(found.header, _arrays(found.columns), found.end or {}, lambda line: configs[line])


def digest_of_text(whole: bytes, end: EndRecord) -> TrialDigest:
    """The digest of a trace's text before its end. The lines are not checked: our own writer wrote them.

    A text that is no trace is a KeyError, a TypeError or a ValueError.
    """
    header, *texts = split_lines(whole)
    trials, resumes = counted_trials(texts)
    batches = []
    for start in range(0, len(trials) or 1, _BATCH):
        rows = list(map(orjson.loads, trials[start : start + _BATCH]))
        batches.append(_arrays({name: [row.get(name) for row in rows] for name in _COLUMNS}))
    arrays = {name: np.concatenate([batch[name] for batch in batches]) for name in _COLUMNS}
    return _digest(
        with_limits(orjson.loads(header), resumes),
        arrays,
        asdict(end),
        lambda line: dict(orjson.loads(trials[line])["config"]),
    )


_NUMBERS = (
    *("number", "rows", "loss", "test_score", "started", "ended", "asked"),
    *("ask_seconds", "tell_seconds", "fit_seconds", "validate_seconds"),
)
_COLUMNS = ("status", *_NUMBERS)


def _arrays(columns: Mapping[str, Sequence[Any]]) -> dict[str, Array]:
    """The columns that a digest is made of; a missing number is NaN."""
    numbers = {name: np.array(columns[name], dtype=float) for name in _NUMBERS}
    return {"status": np.array(columns["status"], dtype="U8"), **numbers}


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """The trials of a run as arrays, in the order in which they ended; a missing number is NaN."""

    line: Array  # which trial of the trace it is
    counts: Array  # it has a loss, and ended within the budget
    loss: Array
    test_score: Array
    ended: Array
    overhead: Array
    cost: Array


def _digest(
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    end: Mapping[str, Any],
    config_of: Callable[[int], Config],
) -> TrialDigest:
    budget = float(header["spec"]["budget_seconds"])
    line = np.argsort(arrays["ended"], kind="stable")
    sorted_by_end = {name: column[line] for name, column in arrays.items()}
    seconds = {name: np.nan_to_num(sorted_by_end[name]) for name in _NUMBERS if name.endswith("_seconds")}
    ended = sorted_by_end["ended"]
    is_late = (sorted_by_end["status"] == Status.OK) & (ended > budget)
    statuses = np.where(is_late, str(Status.TIMEOUT), sorted_by_end["status"])
    trials = _Trials(
        line=line,
        counts=statuses == Status.OK,
        loss=sorted_by_end["loss"],
        test_score=sorted_by_end["test_score"],
        ended=ended,
        overhead=seconds["ask_seconds"] + seconds["tell_seconds"],
        cost=seconds["fit_seconds"] + seconds["validate_seconds"],
    )
    on_all_rows = ~(sorted_by_end["rows"] < header["data"]["train_rows"])
    steps = _steps(trials, trials.counts, config_of)
    return TrialDigest(
        trials=len(line),
        statuses=dict(sorted(Counter(statuses.tolist()).items())),
        steps=steps,
        full=steps if on_all_rows.all() else _steps(trials, trials.counts & on_all_rows, config_of),
        method_seconds=_method_seconds(arrays, header["spec"].get("parallel", 1), end),
        fit_seconds=float(seconds["fit_seconds"].sum()),
        validate_seconds=float(seconds["validate_seconds"].sum()),
        dearer_seconds=float(trials.cost[trials.cost > steps.costs[-1]].sum()) if steps.costs else 0.0,
        cost_bins=_cost_bins(trials, budget),
        last_ended=float(ended.max(initial=0.0)),
    )


def _steps(trials: _Trials, wanted: Array, config_of: Callable[[int], Config]) -> Steps:
    scored = np.flatnonzero(wanted)
    if not len(scored):
        return Steps([], [], [], [], [], {})
    losses = trials.loss[scored]
    before = np.append(np.inf, np.minimum.accumulate(losses)[:-1])
    better = scored[losses < before]
    configs = [dict(config_of(int(line))) for line in trials.line[better]]
    return Steps(
        trials.ended[better].tolist(),
        trials.loss[better].tolist(),
        [None if math.isnan(score) else score for score in trials.test_score[better].tolist()],
        trials.cost[better].tolist(),
        trials.overhead[better].tolist(),
        configs[-1],
        _packed(configs),
    )


def _packed(configs: list[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    names = list(configs[-1])
    if any(list(config) != names for config in configs):
        return configs
    return Configs(names, [list(config.values()) for config in configs])


def _method_seconds(arrays: Mapping[str, Array], parallel: int, end: Mapping[str, Any]) -> float:
    """Seconds that evaluators had no trial because the method was asked or told.

    One trial at a time: simply the method's seconds. With several, an evaluator may be busy meanwhile, and
    others may wait: each of those counts. When a tell began is not in the trace. It is the first moment at
    which its trial had ended, and the method was done with the tell and with the asks before.
    """
    ask, tell = (np.nan_to_num(arrays[name]) for name in ("ask_seconds", "tell_seconds"))
    cut = float(end.get("cut_ask_seconds", 0.0) + end.get("cut_tell_seconds", 0.0))
    if parallel == 1:
        return float(ask.sum() + tell.sum()) + cut
    started, ended = arrays["started"], arrays["ended"]
    asked_by = {int(number): second for number, second in zip(arrays["number"], started, strict=True)}
    told_by = 0.0
    calls = [(second - seconds, second) for second, seconds in zip(started, ask, strict=True)]
    for second, asked, seconds in zip(ended, arrays["asked"], tell, strict=True):
        last_ask = 0.0 if math.isnan(asked) else asked_by.get(int(asked) - 1, 0.0)
        began = max(second, told_by, last_ask)
        told_by = began + seconds
        calls.append((began, told_by))
    if cut:
        calls.append((end["elapsed"] - cut, end["elapsed"]))
    first, last = np.array(calls, dtype=float).reshape(-1, 2).T
    busy = _sum_of_least(ended, last) - _sum_of_least(started, last)
    busy -= _sum_of_least(ended, first) - _sum_of_least(started, first)
    return float(np.maximum(parallel * (last - first) - busy, 0.0).sum())


def _sum_of_least(values: Array, limits: Array) -> Array:
    """For each limit the sum of all values, where the limit counts in place of a larger value."""
    values = np.sort(values)
    below = np.searchsorted(values, limits)
    return np.append(0.0, np.cumsum(values))[below] + limits * (len(values) - below)


def _cost_bins(trials: _Trials, budget: float) -> list[float | None]:
    """Mean seconds of the trials that ended in each bin of the budget; None where none did."""
    share = trials.ended / budget
    bins = np.clip(np.searchsorted(COST_BIN_EDGES, share, side="left") - 1, 0, N_BINS - 1)
    sums = np.bincount(bins, weights=trials.cost, minlength=N_BINS)
    counts = np.bincount(bins, minlength=N_BINS)
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]
