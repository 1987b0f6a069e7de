"""The digest of a run's trials: everything that a report needs, in a few kilobytes.

It is computed from the trials when a run ends and stored in the end record, with a checksum. A report uses
the stored digest if its checksum and that of the trials are right, and otherwise computes it from the trials.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from operator import gt, le
from typing import Any, overload

import msgspec
import numpy as np
from msgspec import UNSET, Raw, Struct, UnsetType

from cfo_bench.metrics import Array
from cfo_bench.records import EndReason, TrialStatus
from cfo_bench.results.schema import DECODE_ERRORS, NO_DIGEST, ConfigValue, EndRecord, Header, TrialRecord
from cfo_bench.space import Config
from cfo_bench.values import NonNegative, NonNegativeInt

# A digest of another version is ignored. Increase the version if the same trials give another digest.
VERSION = 1

# The cost of trials over time is kept in bins of the elapsed share of the budget: ten for each power of ten.
COST_BIN_EDGES = np.concatenate(([0.0], np.logspace(-4, 0, 41)))
N_BINS = len(COST_BIN_EDGES) - 1


class Incumbents(Struct, frozen=True):
    """The incumbents of a run in order: each has a lower loss than the one before."""

    seconds: list[NonNegative]  # the time of each
    losses: list[float]
    test_scores: list[float | None]
    costs: list[NonNegative]  # seconds to fit and validate each
    overheads: list[NonNegative]  # seconds of the method's ask and tell
    # Their configurations. If all have the same hyperparameters, `names` has these once, and each row the
    # values; otherwise `names` is None, and each row is a configuration.
    names: list[str] | None
    rows: list[list[ConfigValue] | dict[str, ConfigValue]] = msgspec.field(name="configs")

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def configs(self) -> Sequence[Config]:
        return Configs(self)

    @property
    def best_config(self) -> Config:
        """The configuration of the last incumbent; empty without one."""
        return self.configs[-1] if self.rows else {}

    @property
    def tested(self) -> Incumbents:
        """The incumbents with a test score. In place of an incumbent without one, the previous one counts."""
        kept = [at for at, score in enumerate(self.test_scores) if score is not None]
        if len(kept) == len(self):
            return self
        return Incumbents(
            seconds=[self.seconds[at] for at in kept],
            losses=[self.losses[at] for at in kept],
            test_scores=[self.test_scores[at] for at in kept],
            costs=[self.costs[at] for at in kept],
            overheads=[self.overheads[at] for at in kept],
            names=self.names,
            rows=[self.rows[at] for at in kept],
        )


NO_INCUMBENTS = Incumbents([], [], [], [], [], [], [])


def _is_consistent(incumbents: Incumbents) -> bool:
    """Whether stored incumbents can have come from trials."""
    seconds, losses, names = incumbents.seconds, incumbents.losses, incumbents.names
    width = None if names is None else len(names)
    columns = (losses, incumbents.test_scores, incumbents.costs, incumbents.overheads, incumbents.rows)
    return (
        all(len(column) == len(seconds) for column in columns)
        and all(map(le, seconds, seconds[1:]))
        and all(map(gt, losses, losses[1:]))
        and all((None if isinstance(row, dict) else len(row)) == width for row in incumbents.rows)
    )


def without_configs(seconds: list[float], losses: list[float]) -> Incumbents:
    """Losses at given times in the form of incumbents; they need not come from trials."""
    n = len(seconds)
    return Incumbents(seconds, losses, [None] * n, [0.0] * n, [0.0] * n, [], [[] for _ in range(n)])


class Configs(Sequence[Config]):
    """The configurations of incumbents. Each becomes a dict only when it is used, because few of them are."""

    def __init__(self, incumbents: Incumbents, chosen: slice = slice(None)) -> None:
        self._names, self._rows = incumbents.names, incumbents.rows[chosen]
        self._incumbents = incumbents

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Config: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Config]: ...
    def __getitem__(self, at: int | slice) -> Config | Sequence[Config]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        row = self._rows[at]
        return dict(row) if isinstance(row, dict) else dict(zip(self._names or (), row, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class TrialDigest(Struct, frozen=True, kw_only=True):
    """A summary of all trials of a run. An `ok` trial that ended past the budget counts as a timeout."""

    version: int = VERSION
    trials: NonNegativeInt
    statuses: dict[TrialStatus, NonNegativeInt]  # number of trials by status
    incumbents: Incumbents = msgspec.field(name="steps")
    # Among trials on all rows only; None: the same as `incumbents`.
    only_full: Incumbents | None = msgspec.field(name="full")
    method_seconds: NonNegative  # of asks and tells, including those cut off: see `_method_seconds`
    fit_seconds: NonNegative
    validate_seconds: NonNegative
    # Spent in trials that cost more than the final incumbent.
    expensive_seconds: NonNegative = msgspec.field(name="dearer_seconds")
    cost_bins: list[NonNegative | None]  # mean cost of the trials that ended in each bin
    last_ended: NonNegative  # the end of the last trial; 0 without a trial
    # Processor seconds per second of the trials in which they were measured; absent: in none.
    learner_threads: NonNegative | UnsetType = UNSET  # of the evaluations
    method_threads: NonNegative | UnsetType = UNSET  # of the asks and tells

    @property
    def full_incumbents(self) -> Incumbents:
        """The incumbents among the trials on all rows."""
        return self.incumbents if self.only_full is None else self.only_full


# --- storing --------------------------------------------------------------------------------------

_DECODER = msgspec.json.Decoder(TrialDigest)


def sealed(end: EndRecord, header: Header, trials: Sequence[TrialRecord], crc32: int) -> EndRecord:
    """The end record with the digest of the trials; `crc32` is the checksum of their lines.

    An interrupted run gets no digest, since it will be resumed.
    """
    end = msgspec.structs.replace(end, trials_crc32=crc32)
    if end.reason is EndReason.INTERRUPTED:
        return end
    digest = msgspec.json.encode(digest_of(header, trials, end))
    return msgspec.structs.replace(end, digest=Raw(digest), digest_crc32=zlib.crc32(digest, crc32))


def stored_digest(end: EndRecord, budget_seconds: float) -> TrialDigest | None:
    """The digest in an end record; None if it is missing or damaged, contradicts the end record, or has
    another version.

    The checksum of a digest continues that of the trials, which ties the digest to the trials.
    """
    text = bytes(end.digest)
    if text == bytes(NO_DIGEST) or end.trials_crc32 is None:
        return None
    if end.digest_crc32 != zlib.crc32(text, end.trials_crc32):
        return None
    try:
        digest = _DECODER.decode(text)
    except DECODE_ERRORS:
        return None
    columns = (digest.incumbents, digest.full_incumbents)
    best_loss = digest.incumbents.losses[-1] if digest.incumbents.losses else None
    is_ours = (
        digest.version == VERSION
        and digest.trials == end.trials == sum(digest.statuses.values())
        and len(digest.cost_bins) == N_BINS
        and best_loss == end.best_loss
        and all(map(_is_consistent, columns))
        # A trial past the budget never counts, whoever wrote the digest.
        and all(moment <= budget_seconds for incumbents in columns for moment in incumbents.seconds[-1:])
    )
    return digest if is_ours else None


def agrees(stored: TrialDigest, computed: TrialDigest) -> bool:
    """Whether two digests are equal, up to the rounding errors of sums in another order."""
    pairs = [(getattr(stored, name), getattr(computed, name)) for name in TrialDigest.__struct_fields__]
    return all(_are_close(value, other) for value, other in pairs)


def _are_close(value: Any, other: Any) -> bool:
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_are_close, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(value == other)


# --- computing ------------------------------------------------------------------------------------


class _Trials(Struct, frozen=True):
    """The trials of a run as arrays, in the order in which they ended; a missing number is NaN."""

    line: Any  # the index of the trial in the trace
    counts: Any  # whether it has a loss and ended within the budget
    loss: Any
    test_score: Any
    ended: Any
    overhead: Any
    cost: Any


_NUMBERS = (
    *("number", "rows", "loss", "test_score", "started", "ended", "asked"),
    *("ask_seconds", "tell_seconds", "fit_seconds", "validate_seconds"),
    *("cpu_seconds", "method_cpu_seconds"),
)


def digest_of(header: Header, trials: Sequence[TrialRecord], end: EndRecord | None) -> TrialDigest:
    """The digest, computed from the trials."""
    budget = float(header.spec.budget_seconds)
    columns = {name: np.array([getattr(trial, name) for trial in trials], dtype=float) for name in _NUMBERS}
    line = np.argsort(columns["ended"], kind="stable")
    ordered = {name: column[line] for name, column in columns.items()}
    seconds = {name: np.nan_to_num(ordered[name]) for name in _NUMBERS if name.endswith("_seconds")}
    is_ok = np.array([trial.status is TrialStatus.OK for trial in trials], dtype=bool)[line]
    is_late = is_ok & (ordered["ended"] > budget)
    statuses = Counter(trial.status for trial in trials)
    if n_late := int(is_late.sum()):
        statuses.update({TrialStatus.OK: -n_late, TrialStatus.TIMEOUT: n_late})
    arrays = _Trials(
        line=line,
        counts=is_ok & ~is_late,
        loss=ordered["loss"],
        test_score=ordered["test_score"],
        ended=ordered["ended"],
        overhead=seconds["ask_seconds"] + seconds["tell_seconds"],
        cost=seconds["fit_seconds"] + seconds["validate_seconds"],
    )
    on_all_rows = ~(ordered["rows"] < header.data.train_rows)

    def config_at(at: int) -> Config:
        return trials[at].config

    incumbents = _incumbents(arrays, arrays.counts, config_at)
    only_full = None if on_all_rows.all() else _incumbents(arrays, arrays.counts & on_all_rows, config_at)
    final_cost = incumbents.costs[-1] if incumbents.costs else math.inf
    return TrialDigest(
        trials=len(trials),
        statuses={status: n for status, n in sorted(statuses.items()) if n},
        incumbents=incumbents,
        only_full=None if only_full == incumbents else only_full,
        method_seconds=_method_seconds(columns, header.spec.parallel, end),
        fit_seconds=float(seconds["fit_seconds"].sum()),
        validate_seconds=float(seconds["validate_seconds"].sum()),
        expensive_seconds=float(arrays.cost[arrays.cost > final_cost].sum()),
        cost_bins=_cost_bins(arrays, budget),
        last_ended=float(arrays.ended.max(initial=0.0)),
        learner_threads=_threads(ordered["cpu_seconds"], ordered["ended"] - ordered["started"]),
        method_threads=_threads(ordered["method_cpu_seconds"], arrays.overhead),
    )


def _threads(cpu_seconds: Array, seconds: Array) -> float | UnsetType:
    """The average number of running threads in the trials in which it was measured."""
    is_measured = ~np.isnan(cpu_seconds)
    measured_seconds = float(seconds[is_measured].sum())
    return float(cpu_seconds[is_measured].sum()) / measured_seconds if measured_seconds > 0.0 else UNSET


def _incumbents(trials: _Trials, wanted: Array, config_at: Callable[[int], Config]) -> Incumbents:
    scored = np.flatnonzero(wanted)
    if not len(scored):
        return NO_INCUMBENTS
    losses = trials.loss[scored]
    before = np.append(np.inf, np.minimum.accumulate(losses)[:-1])
    better = scored[losses < before]
    configs = [config_at(int(line)) for line in trials.line[better]]
    names = list(configs[-1])
    are_alike = all(list(config) == names for config in configs)
    return Incumbents(
        seconds=trials.ended[better].tolist(),
        losses=trials.loss[better].tolist(),
        test_scores=[None if math.isnan(score) else score for score in trials.test_score[better].tolist()],
        costs=trials.cost[better].tolist(),
        overheads=trials.overhead[better].tolist(),
        names=names if are_alike else None,
        rows=[list(config.values()) if are_alike else dict(config) for config in configs],
    )


def _method_seconds(columns: dict[str, Array], parallel: int, end: EndRecord | None) -> float:
    """The seconds in which evaluators had no trial because the method was in its ask or tell.

    Without parallel trials, these are the method's seconds. With parallel trials, some evaluators may be busy
    while others wait: each waiting evaluator counts. The trace does not contain the start of a tell. It is
    the first time at which its trial had ended, and the method had returned from the previous tell and asks.
    """
    ask, tell = (np.nan_to_num(columns[name]) for name in ("ask_seconds", "tell_seconds"))
    cut = end.cut_ask_seconds + end.cut_tell_seconds if end else 0.0
    if parallel == 1:
        return float(ask.sum() + tell.sum()) + cut
    started, ended = columns["started"], columns["ended"]
    asked_by = {int(number): second for number, second in zip(columns["number"], started, strict=True)}
    told_by = 0.0
    calls = [(second - seconds, second) for second, seconds in zip(started, ask, strict=True)]
    for second, asked, seconds in zip(ended, columns["asked"], tell, strict=True):
        last_ask = 0.0 if math.isnan(asked) else asked_by.get(int(asked) - 1, 0.0)
        began = max(second, told_by, last_ask)
        told_by = began + seconds
        calls.append((began, told_by))
    if end and cut:
        calls.append((end.elapsed - cut, end.elapsed))
    first, last = np.array(calls, dtype=float).reshape(-1, 2).T
    busy = _sum_of_least(ended, last) - _sum_of_least(started, last)
    busy -= _sum_of_least(ended, first) - _sum_of_least(started, first)
    return float(np.maximum(parallel * (last - first) - busy, 0.0).sum())


def _sum_of_least(values: Array, limits: Array) -> Array:
    """For each limit, the sum of all values, with larger values replaced by the limit."""
    values = np.sort(values)
    below = np.searchsorted(values, limits)
    return np.append(0.0, np.cumsum(values))[below] + limits * (len(values) - below)


def _cost_bins(trials: _Trials, budget: float) -> list[float | None]:
    """Mean seconds of the trials that ended in each bin of the budget; None without a trial."""
    share = trials.ended / budget
    bins = np.clip(np.searchsorted(COST_BIN_EDGES, share, side="left") - 1, 0, N_BINS - 1)
    sums = np.bincount(bins, weights=trials.cost, minlength=N_BINS)
    counts = np.bincount(bins, minlength=N_BINS)
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]
