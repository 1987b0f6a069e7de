"""The trials of results folders, by learner and task, as a surrogate is fitted to them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import SpaceError, TraceError, UserError
from cfo_bench.files.writing import read_regular
from cfo_bench.metrics import Array
from cfo_bench.recordings.surrogate import Encoding
from cfo_bench.records import Status
from cfo_bench.registry import label
from cfo_bench.results.folder import TRACE_SUFFIX, run_files
from cfo_bench.results.trace import split_torn
from cfo_bench.results.validation import Lines, check
from cfo_bench.space import Categorical, Space

# What has to be the same in all runs of a learner on a task, so that losses and seconds are of one kind.
_SAME_SETTINGS = ("n_folds", "learner_options", "threads", "validation", "holdout_share", "clock")
_SAME_DATA = ("sha256", "target")


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """All trials of one learner on one task, in the order of their runs."""

    learner: str
    task: str
    header: Mapping[str, Any]  # of the run that stands for all: the folds differ by a row at the most
    space: Space
    encoding: Encoding
    methods: Array  # the label of each trial's method
    folds: Array  # which of `fold_keys` each trial was on
    fold_keys: Sequence[tuple[int, int]]  # (seed, fold)
    vectors: Array
    losses: Array  # NaN: no loss
    seconds: Array
    was_cut_off: Array
    failed: Array
    validate_share: float
    on_parts: bool  # some trials were on a part of the rows

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def scored(self) -> int:
        """How many trials have a loss."""
        return int(np.isfinite(self.losses).sum())


@dataclass(slots=True)
class FoundTrials:
    """What is in the folders."""

    trials: list[Trials]
    traces: int
    traces_sha256: str
    skipped: list[str] = field(default_factory=list)  # a line for each kind of run that is of no use


def read_trials(folders: Sequence[Path]) -> FoundTrials:
    """The trials of every trace in the folders: of finished runs, and of those that were interrupted."""
    runs: dict[tuple[str, str], list[Lines]] = {}
    digests: list[str] = []
    skipped: Counter[str] = Counter()
    for run_id, found, sha256 in _traces(folders):
        why = _useless(found)
        if why is not None:
            skipped[why] += 1
            continue
        spec = found.header["spec"]
        runs.setdefault((label(spec["learner"]), spec["task"]), []).append(found)
        digests.append(f"{run_id} {sha256}")
    if not runs:
        names = ", ".join(map(str, folders))
        there = f"found only {' and '.join(_in_words(skipped))}; " if skipped else ""
        raise UserError(
            f"no trials in {names} that a surrogate can be fitted to: {there}give results of real training "
            "with cfo-bench run"
        )
    return FoundTrials(
        trials=[_together(learner, task, found) for (learner, task), found in sorted(runs.items())],
        traces=len(digests),
        traces_sha256=hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest(),
        skipped=_in_words(skipped),
    )


def _in_words(skipped: Counter[str]) -> list[str]:
    """The most frequent first."""
    return [f"runs {why} ({count})" for why, count in skipped.most_common()]


def _traces(folders: Sequence[Path]) -> Iterator[tuple[str, Lines, str]]:
    """The id of each run, its lines and the SHA-256 of its trace."""
    for folder in folders:
        listed = run_files(folder)
        if listed.unreadable:
            raise TraceError(listed.unreadable[0])
        for run_id in sorted(listed.runs):
            if TRACE_SUFFIX not in listed.runs[run_id]:
                continue
            path = folder / f"{run_id}{TRACE_SUFFIX}"
            try:
                data = read_regular(path)
            except OSError as error:
                raise TraceError(f"can't read {path}: {error.strerror}") from None
            found = check(path, split_torn(data)[0])
            if found is not None:
                yield run_id, found, hashlib.sha256(data).hexdigest()


def lookups(
    folders: Sequence[Path],
) -> dict[tuple[str, str, str], tuple[list[dict[str, Any]], list[int | None]]]:
    """What runs on surrogates have asked: configurations and rows, by learner, task and method."""
    asked: dict[tuple[str, str, str], tuple[list[dict[str, Any]], list[int | None]]] = {}
    for _, found, _ in _traces(folders):
        spec = found.header["spec"]
        family, _, learner = spec["learner"].partition(":")
        if family == "surrogate":
            configs, rows = asked.setdefault((learner, spec["task"], label(spec["method"])), ([], []))
            configs += [dict(one) for one in found.columns["config"]]
            rows += found.columns["rows"]
    return asked


def _useless(found: Lines) -> str | None:
    """Why nothing can be learned from a run; None if something can."""
    header = found.header
    if header.get("imported"):
        return "that were imported, so that their data and machine are not known"
    if header["data"].get("recording"):
        return "of recordings, which are no training"
    if not header.get("space"):
        return "without a search space: references, such as constant and tuned-rf"
    if not found.columns["number"]:
        return "without a trial"
    return None


def _together(learner: str, task: str, runs: Sequence[Lines]) -> Trials:
    _check_alike(learner, task, runs)
    # Most folds have so many training rows.
    train_rows = Counter(one.header["data"]["train_rows"] for one in runs).most_common()
    usual = max(train_rows, key=lambda pair: (pair[1], pair[0]))[0]
    header = next(one.header for one in runs if one.header["data"]["train_rows"] == usual)
    try:
        spaces = [Space.from_json(one.header["space"]) for one in runs]
        space = Space.from_json(header["space"])
    except (SpaceError, LookupError, TypeError) as error:
        raise TraceError(f"learner {learner!r} on task {task!r}: a space can't be read ({error})") from None
    _check_spaces(learner, task, space, spaces)
    encoding = Encoding(space, usual)
    keys = sorted({(one.header["spec"]["seed"], one.header["spec"]["fold"]) for one in runs})
    parts = [_columns(one, encoding, keys) for one in runs]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    validate, took = joined.pop("validate_seconds"), joined["seconds"]
    ended = ~joined["was_cut_off"] & np.isfinite(joined["losses"]) & (took > 0)
    return Trials(
        learner=learner,
        task=task,
        header=header,
        space=space,
        encoding=encoding,
        fold_keys=keys,
        validate_share=float(np.median(validate[ended] / took[ended])) if np.any(ended) else 0.0,
        on_parts=bool(np.any(joined["vectors"][:, -1] < 0)),
        **joined,
    )


def _check_alike(learner: str, task: str, runs: Sequence[Lines]) -> None:
    """Runs whose losses or seconds are not of one kind can't be fitted together."""
    first = runs[0].header
    for one in runs[1:]:
        pairs = [(name, first["spec"].get(name), one.header["spec"].get(name)) for name in _SAME_SETTINGS]
        pairs += [
            (f"data {name}", first["data"].get(name), one.header["data"].get(name)) for name in _SAME_DATA
        ]
        pairs.append(("metric", first["metric"], one.header["metric"]))
        for name, there, here in pairs:
            if there != here:
                raise UserError(
                    f"runs of learner {learner!r} on task {task!r} differ in {name} "
                    f"({there!r} and {here!r}): fit them apart, from a folder each"
                )


def _check_spaces(learner: str, task: str, space: Space, others: Iterable[Space]) -> None:
    """Bounds may depend on the rows of a fold, and so differ by a little; all else has to be the same."""
    mine = {param.name: param for param in space}
    for other in others:
        own = {param.name: param for param in other}
        for name in mine | own:
            one, two = mine.get(name), own.get(name)
            if type(one) is not type(two) or (isinstance(one, Categorical) and one != two):
                raise UserError(
                    f"runs of learner {learner!r} on task {task!r} have different values of hyperparameter "
                    f"{name!r}: fit them apart, from a folder each"
                )


def _columns(run: Lines, encoding: Encoding, keys: Sequence[tuple[int, int]]) -> dict[str, Array]:
    """One run's trials as arrays. A trial that was cut off has the seconds up to then."""
    spec, columns = run.header["spec"], run.columns
    status = np.array(columns["status"])
    fit = np.array(columns["fit_seconds"], dtype=float)
    validate = np.array(columns["validate_seconds"], dtype=float)
    losses = np.array([np.nan if loss is None else loss for loss in columns["loss"]], dtype=float)
    losses[status != Status.OK.value] = np.nan
    train_rows = run.header["data"]["train_rows"]
    rows = [None if own is None or own >= train_rows else int(own) for own in columns["rows"]]
    return {
        "methods": np.array([label(spec["method"])] * len(fit)),
        "folds": np.full(len(fit), keys.index((spec["seed"], spec["fold"]))),
        "vectors": encoding.encode_all([dict(one) for one in columns["config"]], rows),
        "losses": losses,
        "seconds": np.maximum(fit + validate, 1e-6),
        "was_cut_off": status == Status.TIMEOUT.value,
        "failed": np.isin(status, [Status.FAILED.value, Status.MEMORY.value]),
        "validate_seconds": validate,
    }
