"""What a report needs to know of a run's trials, in a few kilobytes: the `digest` in the end of a trace.

The writer of a trace computes it when the run ends, so that a report need not parse millions of lines. It
counts only if its own checksum and that of the trials are right; else every line is read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from operator import gt, le
from typing import Any, overload

import numpy as np
import orjson

from cfo_bench.metrics import Array
from cfo_bench.records import EndReason, EndRecord, Status
from cfo_bench.results.validation import (
    Lines,
    Outline,
    are_configs,
    are_plain,
    counted_trials,
    digest_crc32,
    split_lines,
    trials_crc32,
    with_limits,
)
from cfo_bench.space import Config

# A digest of another version is ignored. Raise it whenever the same trials give another digest.
VERSION = 1

# The cost of trials over time is kept in bins of the elapsed share of the budget: ten for each power of ten.
COST_BIN_EDGES = np.concatenate(([0.0], np.logspace(-4, 0, 41)))
_N_BINS = len(COST_BIN_EDGES) - 1

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


# --- from trials to a digest ----------------------------------------------------------------------


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
    bins = np.clip(np.searchsorted(COST_BIN_EDGES, share, side="left") - 1, 0, _N_BINS - 1)
    sums = np.bincount(bins, weights=trials.cost, minlength=_N_BINS)
    counts = np.bincount(bins, minlength=_N_BINS)
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]


# --- in the end of a trace ------------------------------------------------------------------------


def _to_json(digest: TrialDigest) -> dict[str, Any]:
    """As it stands in the end of a trace. `full` is null where it is the same as `steps`."""
    row = {**asdict(digest), "steps": steps_to_json(digest.steps)}
    return {
        "version": VERSION,
        **row,
        "full": None if digest.full == digest.steps else steps_to_json(digest.full),
    }


def steps_to_json(steps: Steps) -> dict[str, Any]:
    """Where all configurations have the same hyperparameters, their names stand once."""
    row = {name: getattr(steps, name) for name in ("seconds", "losses", "test_scores", "costs", "overheads")}
    if isinstance(steps.configs, Configs):
        return {**row, "names": steps.configs.names, "configs": steps.configs.rows}
    if not steps.configs:
        return {**row, "names": [], "configs": []}
    return {**row, "names": None, "configs": steps.configs}


def sealed(end: EndRecord, before: bytes) -> EndRecord:
    """The end with checksum and digest of the trials in the text before it.

    An interrupted run gets no digest, since it will be resumed.
    """
    crc32 = trials_crc32(before)
    end = replace(end, trials_crc32=crc32)
    if end.reason is EndReason.INTERRUPTED:
        return end
    try:
        row = _to_json(digest_of_text(before, end))
    except (KeyError, TypeError, ValueError, AttributeError, MemoryError):  # then a report reads every line
        return end
    return replace(end, digest=row, digest_crc32=digest_crc32(row, crc32))


def from_outline(found: Outline) -> TrialDigest | None:
    """The digest in the end of a trace; None without one, and for one of another version or another shape."""
    row = found.end["digest"]
    if row is None or row.get("version") != VERSION:
        return None
    try:
        digest = _from_json(row, found.end["trials"])
        # A trial past the budget never counts, whoever wrote the digest.
        last = max([0.0, *digest.steps.seconds[-1:], *digest.full.seconds[-1:]])
        _require(last <= found.header["spec"]["budget_seconds"])
        return digest
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _from_json(row: Mapping[str, Any], trials: int) -> TrialDigest:
    """Raises one of several errors if anything is not as our writer writes it."""
    statuses = {str(Status(name)): _count(number) for name, number in row["statuses"].items()}
    steps = steps_from_json(row["steps"])
    _require(row["trials"] == trials == sum(statuses.values()))
    _require(len(_numbers(row["cost_bins"], may_miss=True)) == _N_BINS)
    _seconds([cost for cost in row["cost_bins"] if cost is not None])
    return TrialDigest(
        trials=trials,
        statuses=statuses,
        steps=steps,
        full=steps if row["full"] is None else steps_from_json(row["full"]),
        cost_bins=row["cost_bins"],
        **dict(zip(_SECONDS, _seconds([row[name] for name in _SECONDS]), strict=True)),
    )


_SECONDS = ("method_seconds", "fit_seconds", "validate_seconds", "dearer_seconds", "last_ended")


def steps_from_json(row: Mapping[str, Any]) -> Steps:
    """What `steps_to_json` made; a ValueError, TypeError or KeyError for anything else."""
    seconds, costs, overheads = (_seconds(row[name]) for name in ("seconds", "costs", "overheads"))
    losses, test_scores = _numbers(row["losses"]), _numbers(row["test_scores"], may_miss=True)
    _require(len(seconds) == len(losses) == len(test_scores) == len(costs) == len(overheads))
    _require(all(map(le, seconds, seconds[1:])) and all(map(gt, losses, losses[1:])))
    names, configs = row["names"], row["configs"]
    _require(len(configs) == len(seconds))
    if names is None:
        _require(are_configs(configs))
    else:
        _require(all(isinstance(name, str) for name in names))
        _require(all(type(values) is list and len(values) == len(names) for values in configs))
        _require(are_plain(chain.from_iterable(configs)))
        configs = Configs(names, configs) if configs else ()
    best = configs[-1] if configs else {}
    return Steps(seconds, losses, test_scores, costs, overheads, best, configs)


def _require(is_so: bool) -> None:
    if not is_so:
        raise ValueError


def _count(value: Any) -> int:
    _require(type(value) is int and value >= 0)
    return int(value)


def _numbers(values: Any, may_miss: bool = False) -> list[Any]:
    """A list of numbers, which are checked all at once: a folder of results has millions."""
    types = {int, float, type(None)} if may_miss else {int, float}
    _require(type(values) is list and types.issuperset(map(type, values)))
    return list(values)


def _seconds(values: Any) -> list[float]:
    _require(not values or min(_numbers(values)) >= 0.0)
    return _numbers(values)
